/* store/names/names_db.h: names.db: the names of addresses, stored apart from stacks, so that a
 * late or corrected name applies to old data as well.
 *
 *     version(id, n)                              n goes up with every change
 *     mapping(id, key, day)                       day: the last one it was used on (days since
 *                                                 1970)
 *     names(mapping, first, data)                 names_chunk.h; first: the chunk's first offset,
 *                                                 top bit inverted, so that SQLite's order is
 *                                                 that of offsets
 *
 *     key    [u8 reader]  'B' build id
 *                         'T' build id as text
 *                         'F' u64 identity  u64 start  u64 offset  name   little endian
 *
 * So names go by build id, on whatever machine the mapping was; without a build id, by the hash and
 * the name of the file. Of two lists of lines for one address that of the newer reader
 * (NAMES_READER; the first ones wrote no number) is shown. Of two by one reader the one with more
 * detail stays; at equal detail, the later one. Recently offered names are not offered again.
 *
 * New names are gathered in memory, where lookups find them, and written many at the same time, as
 * each write rewrites chunks. A crash before names_db_write loses them, so their batches have to be
 * stored elsewhere, from names_db_first_sequence on. One thread at a time adds and writes; readers
 * of the same process, with separate handles, may look up in the meantime.
 *
 * Hashes of recently offered names take a 32nd of the memory. New names are written when they take
 * another 32nd, or before their batch leaves the inbox. */
#ifndef CRESSET_STORE_NAMES_NAMES_DB_H
#define CRESSET_STORE_NAMES_NAMES_DB_H

#include "base/vec.h"
#include "store/names/names_db_opts.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct names_db;
struct profile;

int names_db_open(const char *path, const struct names_db_opts *opts, struct names_db **out,
		  struct err *err);
/* Names not written are lost. */
void names_db_close(struct names_db *db); /* NULL is fine */
/* Checks the file with db_verify. */
int names_db_verify(struct names_db *db, struct err *err);

/* Names of a batch, added in two steps, so that known names need not be stored with the batch.
 * names_db_offer finds the frames with a mapping whose names were not offered recently, and the
 * mappings not used on that day yet. names_db_take adds these once they are durable with the batch.
 * A name is known only if it is in the database, or in memory from a batch taken before. */
struct names_offer {
	const struct profile *p;
	int32_t day;
	VEC(struct names_fresh {
		uint32_t frame;
		uint64_t hash;
	})
	fresh;
	VEC(uint32_t) used; /* mappings not noted for this day yet */
};
/* Also marks the mappings of p as used on this day. seq: of the batch, or less; must not
 * decrease. */
void names_db_offer(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq,
		    struct names_offer *out);
/* Several offers may be made before the first is taken; names in two of them are taken once. */
void names_db_take(struct names_db *db, const struct names_offer *o, uint64_t seq);
/* Returns whether at least seven eighths of the frames are fresh and hardly any strings belong to
 * others, so that copying whole tables is cheapest. */
bool names_offer_is_all(const struct names_offer *o);
void names_offer_done(struct names_offer *o); /* zeroed is fine */
/* Call this when offers did not become durable: the days of mappings are offered again. */
void names_db_forget_offers(struct names_db *db);
/* Changes whenever names may have to be offered again. */
uint64_t names_db_epoch(const struct names_db *db);
/* Offers and takes immediately. */
void names_db_add(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq);

/* Marks the mappings of p as used on this day. Called for the dictionaries of kept days, so that
 * their names stay. */
void names_db_use(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq);

/* Returns the first batch of which something is only in memory; UINT64_MAX: none. */
uint64_t names_db_first_sequence(const struct names_db *db);
/* Writes gathered names to the database in one transaction, synced; does nothing if none exists.
 * On failure they stay in memory. */
int names_db_write(struct names_db *db, struct err *err);

uint64_t names_db_gathered_bytes(struct names_db *db);
uint64_t names_db_memory_bytes(struct names_db *db); /* gathered names and caches */

/* Deletes mappings that were not used on this day or later, a few MiB at a time, then returns free
 * space of the file. Writes gathered names before. Returns 1 if there is more to do. */
int names_db_collect(struct names_db *db, int32_t before_day, struct err *err);

/* Which frames of a dictionary have names of which version. Zeroed: none. */
struct names_applied {
	uint64_t version;
	VEC(uint8_t) frames; /* enum of names_apply.c; 0: not yet */
	size_t n;            /* number of others */
	uint64_t gathered;   /* generation of gathered names that the first gathered_frames have */
	size_t gathered_frames;
	/* A bit for each stack: its frames have names of `version` and of stacks_gathered. */
	VEC(uint64_t) stacks;
	uint64_t stacks_gathered;
};
void names_applied_done(struct names_applied *a);
/* Whether the frame's names are by an older reader. */
bool names_applied_is_older(const struct names_applied *a, uint32_t frame);

/* Sets the names of these frames (NULL: all) in dict, as far as known. A second call costs next to
 * nothing unless something has changed. */
int names_db_apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		   const uint32_t *frames, size_t n, struct err *err);
/* The same for the frames of these stacks; may set names of more frames. */
int names_db_apply_stacks(struct names_db *db, struct profile *dict, struct names_applied *applied,
			  const uint32_t *stacks, size_t n, struct err *err);

#endif
