/* store/catalog_state.h: what an open catalog is. Only files catalog*.c include it. */
#ifndef CRESSET_STORE_CATALOG_STATE_H
#define CRESSET_STORE_CATALOG_STATE_H

#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "store/catalog.h"
#include "store/db.h"

struct series_use {
	int64_t seen_ns;   /* 0: not since the store was opened */
	uint64_t sequence; /* of the last batch that had it, since then */
	bool is_active, is_other;
};
struct catalog_places {
	VEC(uint32_t) v;
};
struct catalog {
	struct db *db;
	struct profile *p;
	struct chunk_writer *writer; /* NULL: the next catalog_sync writes everything */
	uint32_t synced;             /* series that are on the disk, but for those in `taken` */
	uint64_t version;            /* another one whenever a series, or a type, comes or goes */
	int64_t kept_from_ns;
	struct store_asked asked;
	VEC(struct store_pin) pins;
	uint32_t max_series, active, others;
	uint64_t max_bytes;
	int64_t counted_ns;
	VEC(struct series_use) uses; /* by series */
	uint32_t other;              /* the string [other] */
	struct map values;           /* labels with their values that are there */
	struct map n_values;         /* by key: how many different ones */
	uint64_t folded;
	VEC(struct label) labels; /* of the series at hand */
	/* Places of series that are gone: not to be used yet; to be used; used, and not on the disk yet. */
	struct catalog_places waiting, free, taken;
	struct profile *next; /* what catalog_collect has written; NULL: nothing */
	struct chunk_writer *next_writer;
};

/* What is known of series that have come behind all others. */
void catalog_note_new(struct catalog *c);
/* Of one that has taken a place. */
void catalog_note_place(struct catalog *c, uint32_t id);
/* Of all of them, once c->p is another one: places that were free before still are, others wait. */
void catalog_note_all(struct catalog *c);

/* Tables of p that `writer` has not written yet go into the file, inside of a transaction. */
int catalog_write(struct catalog *c, const struct profile *p, struct chunk_writer *writer,
		  struct err *err);

/* --- catalog_asked.c --- */

int catalog_read_asked(struct catalog *c, struct err *err);

/* --- catalog_kept.c --- */

int catalog_read_kept(struct catalog *c, struct err *err);
int catalog_read_pins(struct catalog *c, struct err *err);

/* --- catalog_places.c --- */

/* A series that is not there: in a free place, where there is one. */
uint32_t catalog_put(struct catalog *c, const struct series *s);
/* Places that were taken go into the file, inside of a transaction. */
int catalog_write_taken(struct catalog *c, struct err *err);
/* And come from there, once the tables are read. */
int catalog_read_taken(struct catalog *c, const struct chunk_reader *reader, struct err *err);

#endif
