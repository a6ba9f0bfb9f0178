/* store/names/names_db_state.h: the state of an open names.db. Only names_*.c include it.
 *
 * Names are added in memory (names_db.c), merged into the tables now and then (names_write.c), and
 * looked up in both (names_apply.c). */
#ifndef CRESSET_STORE_NAMES_NAMES_DB_STATE_H
#define CRESSET_STORE_NAMES_NAMES_DB_STATE_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/names_chunk.h"
#include "store/names/names_db_opts.h"
#include "store/sqlite/db.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;

/* --- names_gathered.c ---
 *
 * Names in memory that are not in names.db yet, in order of arrival. One writer adds and clears;
 * readers of this process look names up. Any change and any lookup needs `lock`.
 *
 * Most names are written before they are looked up, so the index is built by lookups, from entries
 * added since the last one. An address may have several lists; names_lines_less decides between
 * them. A lookup changes only `index` and `best`: the writer may read the rest without `lock`. */

struct gathered_entry {
	uint64_t offset;
	uint32_t mapping;
	struct line_run run; /* of names.lines */
};

struct names_gathered {
	pthread_mutex_t lock;
	struct strtab keys;    /* of mappings (names_db.h); a mapping is its key's id, from 1 */
	VEC(int32_t) days;     /* by mapping: last day of use */
	struct strtab strings; /* some are not indexed: strings and functions may have duplicates */
	struct names names;    /* functions and lines */
	VEC(struct gathered_entry) entries;
	struct map index;    /* (mapping, offset) → first entry there, of those in `best` */
	VEC(uint32_t) best;  /* by entry: for the first one of an address, the best one */
	uint64_t generation; /* changes with each added name; from 1 */
};
void names_gathered_init(struct names_gathered *g);
void names_gathered_done(struct names_gathered *g);
/* Removes all names; the generation stays. */
void names_gathered_clear(struct names_gathered *g);
bool names_gathered_is_empty(const struct names_gathered *g);
uint64_t names_gathered_bytes(const struct names_gathered *g);

/* Returns the mapping, added if new, and marks it as used on this day. */
uint32_t names_gathered_use(struct names_gathered *g, const void *key, size_t len, int32_t day);
/* Returns the mapping, or 0 if not found. */
uint32_t names_gathered_mapping(const struct names_gathered *g, const void *key, size_t len);

/* Adds a list of at least one line, with functions of g->names. */
void names_gathered_put(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			const struct line *lines, uint32_t n);
/* Appends all strings and functions of these tables, which is faster than looking up the known
 * ones. Returns the offset to add to function ids. */
uint32_t names_gathered_append(struct names_gathered *g, const struct strtab *strings,
			       const struct names *names);
/* Finds the best list of an address. Returns false if none exists. */
bool names_gathered_find(struct names_gathered *g, uint32_t mapping, uint64_t offset,
			 struct names_lines *out);
struct names_lines names_gathered_lines(const struct names_gathered *g, uint32_t entry);

/* --- names_seen, of names_db.c ---
 *
 * A cache of recently seen hashes, of fixed size: sets of one cache line each, with LRU
 * replacement. */

struct names_seen {
	uint64_t *room, *slots; /* slots: room, aligned to a cache line */
	uint64_t sets;          /* a power of two */
};
void names_seen_init(struct names_seen *s, uint64_t bytes); /* at least one set */
void names_seen_done(struct names_seen *s);
void names_seen_clear(struct names_seen *s);

/* Prefetches the memory for a lookup. */
void names_seen_prefetch(const struct names_seen *s, uint64_t hash);
/* Returns whether the hash is known, and then makes it the most recent. */
bool names_seen_has(struct names_seen *s, uint64_t hash);
/* Adds the hash. Returns false if it was known. */
bool names_seen_put(struct names_seen *s, uint64_t hash);

uint64_t names_seen_bytes(const struct names_seen *s);

/* --- names_table.c: the tables of names.db (names_db.h), row by row --- */

extern const struct db_schema names_schema;

/* 0 before the first change. */
int names_version_read(struct db *db, uint64_t *version, struct err *err);
int names_version_next(struct db *db, struct err *err);

struct names_key {
	const void *data;
	size_t len;
};
/* Returns 1 with *id, or 0 if none exists. */
int names_mapping_find(struct db *db, struct names_key key, int64_t *id, struct err *err);
/* Marks it as used on this day; created if missing. */
int names_mapping_make(struct db *db, struct names_key key, int32_t day, int64_t *id,
		       struct err *err);
/* Marks it as used on this day, if it exists. */
int names_mapping_use(struct db *db, struct names_key key, int32_t day, struct err *err);
/* Deletes some mappings not used on this day or later, with their names. Returns 1 if there were
 * any, or 0. */
int names_mapping_drop(struct db *db, int32_t before_day, struct err *err);

/* A chunk of the table, and the range that its offsets may have. */
struct names_stretch {
	int64_t row; /* 0: not stored yet */
	uint64_t first, last;
	struct names_chunk chunk;
};
/* Reads the chunk to which this offset belongs; the first chunk also takes smaller offsets. t: to
 * be given to names_stretch_done in any case. */
int names_stretch_find(struct db *db, int64_t mapping, uint64_t offset, struct names_stretch *t,
		       struct err *err);
void names_stretch_done(struct names_stretch *t);
/* Replaces t's chunk by c, in as many pieces as needed. */
int names_stretch_write(struct db *db, int64_t mapping, const struct names_stretch *t,
			const struct names_chunk *c, struct names_packer *packer, struct err *err);
/* Adds an encoded chunk. first: its first offset. */
int names_chunk_insert(struct db *db, int64_t mapping, uint64_t first, const struct buf *data,
		       struct err *err);

/* --- an open names.db --- */

struct names_db {
	struct db *db;
	struct names_db_opts opts;
	struct names_gathered gathered;
	uint64_t first_sequence; /* first batch of gathered names; UINT64_MAX: none */
	struct names_seen seen;  /* hashes of (mapping, offset, lines); allocated with the first */
	struct map used;         /* hash of a mapping's key → last day noted */
	uint64_t epoch;          /* changes when `seen` or `used` are emptied */
	struct buf key;          /* reused from call to call */
};

/* Returns the key of a mapping; valid until the next call. */
struct names_key names_db_key(struct names_db *db, const struct profile *p, uint32_t mapping);

/* Begins or goes on with the readers up to the key's own, the oldest first: sets *reader (0: begin)
 * and *out, the key of the same mapping's names by that one, in b. Returns false after the last. */
bool names_key_next(struct names_key key, uint32_t *reader, struct buf *b, struct names_key *out);

/* Merges gathered names into the tables, inside a transaction. */
int names_write_all(struct names_db *db, struct err *err);

#endif
