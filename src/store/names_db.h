/* store/names_db.h: names.db: what addresses are called, apart from the stacks that have them, so that a name that comes late, or is
 * corrected, is what old data shows, too.
 *
 *     version(id, n)                              n goes up with every change
 *     mapping(id, key, day)                       day: the last one it was used on (days since 1970)
 *     names(mapping, first, data)                 names_chunk.h; first: the chunk's first offset, its top bit turned over so that SQLite's
 *                                                 order is that of offsets
 *
 *     key    'B' build id
 *            'T' build id as text
 *            'F' u64 identity  u64 start  u64 offset  name                little endian
 *
 * So what a mapping is called is known by its build id on whatever machine it ran; without one by the hash and the name of the file. Of two lists of
 * lines for one address the one stays that says more; of two that say as much, the later one; what was offered lately is not offered anew.
 *
 * Names that are new are gathered in memory, where whoever asks finds them, and written many at once: each of these rewrites chunks. Until
 * names_db_write a crash takes them, so the batch they came with has to be somewhere else; names_db_first_sequence tells from which one on. One
 * thread at a time adds and writes; readers of the same process, with handles of their own, may ask meanwhile. */
#ifndef CRESSET_STORE_NAMES_DB_H
#define CRESSET_STORE_NAMES_DB_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct names_db;

struct names_db_opts {
	bool read_only; /* names can be added, and are found; they are never written */
	bool foreign;   /* db.h */
	uint64_t cache_bytes;
	uint64_t seen_bytes; /* for what was offered lately; 0: 1 MiB */
	struct names_db
		*beside; /* what this one has gathered is found, too; it outlives this one; NULL */
	const char *vfs;
};
int names_db_open(const char *path, const struct names_db_opts *opts, struct names_db **out,
		  struct err *err);
/* What is not written is lost. */
void names_db_close(struct names_db *db); /* NULL is fine */
/* Whether its file is sound, as db_verify says. */
int names_db_verify(struct names_db *db, struct err *err);

/* What a batch brings of names, in two steps, so that known ones need not be kept anywhere with the batch: which of its frames with a mapping
 * have names that were not offered lately, and which of its mappings were not used that day yet; these, once they are safe with the batch. A name is known only when it is in the database, or in memory with
 * a batch that was taken before. */
struct names_offer {
	const struct profile *p;
	int32_t day;
	VEC(struct names_fresh {
		uint32_t frame;
		uint64_t hash;
	})
	fresh;
	VEC(uint32_t) used; /* mappings that were not noted for this day */
};
/* The mappings of p are used on this day from now on. seq: of the batch, or less; never less than before. */
void names_db_offer(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq,
		    struct names_offer *out);
/* Several may be offered before the first is taken: what two of them have is taken once. */
void names_db_take(struct names_db *db, const struct names_offer *o, uint64_t seq);
/* All but an eighth of the frames are fresh, and there are no strings of others to speak of: to copy the tables as they are costs least. */
bool names_offer_is_all(const struct names_offer *o);
void names_offer_done(struct names_offer *o); /* zeroed is fine */
/* What was offered is not safe: which days mappings are used on is asked anew. */
void names_db_forget_offers(struct names_db *db);
/* Another one whenever names that were offered before may have to be offered again. */
uint64_t names_db_epoch(const struct names_db *db);
/* Both at once. */
void names_db_add(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq);

/* The mappings of p are used on this day. For days' dictionaries: those of a day that stays keep their names. */
void names_db_use(struct names_db *db, const struct profile *p, int32_t day, uint64_t seq);

/* The first batch of which something is only in memory; UINT64_MAX: there is none. */
uint64_t names_db_first_sequence(const struct names_db *db);
/* What was gathered is in the database, synced: one transaction, none when there is nothing. On failure it stays in memory. */
int names_db_write(struct names_db *db, struct err *err);

uint64_t names_db_gathered_bytes(struct names_db *db);
uint64_t names_db_memory_bytes(struct names_db *db); /* gathered and remembered */

/* Forgets some of the mappings that were not used on this day or later, a few MiB at a time, and gives back what is free in the file then. What was
 * gathered is written before. 1: there is more. */
int names_db_collect(struct names_db *db, int32_t before_day, struct err *err);

/* Which frames of one dictionary have the names of which version. Zeroed: none. */
struct names_applied {
	uint64_t version;
	VEC(bool) frames;
	size_t n;          /* of those */
	uint64_t gathered; /* which names of memory all of the first gathered_frames have */
	size_t gathered_frames;
	VEC(uint64_t)
	stacks; /* a bit for each: its frames have names of the version, and of memory as it was then */
	uint64_t stacks_gathered;
};
void names_applied_done(struct names_applied *a);

/* Gives dict the names of these frames (NULL: of all), where there are any. A second time costs next to nothing unless something changed. */
int names_db_apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		   const uint32_t *frames, size_t n, struct err *err);
/* The same for the frames of these stacks; perhaps more have names then. */
int names_db_apply_stacks(struct names_db *db, struct profile *dict, struct names_applied *applied,
			  const uint32_t *stacks, size_t n, struct err *err);

#endif
