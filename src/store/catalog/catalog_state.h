/* store/catalog/catalog_state.h: the state of an open catalog. Only catalog*.c include it. */
#ifndef CRESSET_STORE_CATALOG_CATALOG_STATE_H
#define CRESSET_STORE_CATALOG_CATALOG_STATE_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/store.h"

#include <stdbool.h>
#include <stdint.h>

struct chunk_reader;
struct err;
struct series;

struct series_use {
	int64_t seen_ns;   /* 0: not since the store was opened */
	uint64_t sequence; /* the last batch with it since then */
	bool is_active, is_other;
};
struct catalog_places {
	VEC(uint32_t) v;
};
struct catalog {
	struct db *db;
	struct profile *p;
	struct chunk_writer *writer; /* NULL: the next catalog_sync writes everything */
	uint32_t synced;             /* series on the disk, except those in `taken` */
	uint64_t version;            /* changes whenever a series or a type is added or removed */
	int64_t kept_from_ns;
	struct store_asked asked;
	VEC(struct store_pin) pins;
	uint32_t max_series, active, others;
	uint64_t max_bytes;
	int64_t counted_ns;
	VEC(struct series_use) uses; /* by series */
	uint32_t other;              /* the string [other] */
	struct map values;           /* existing labels with their values */
	struct map n_values;         /* by key: number of different values */
	uint64_t folded;
	VEC(struct label) labels; /* of the current series */
	/* Places of removed series: not reusable yet; reusable; reused but not on the disk yet. */
	struct catalog_places waiting, free, taken;
	struct profile *next; /* what catalog_gc has written; NULL: nothing */
	struct chunk_writer *next_writer;
};

/* Updates `uses` and the like for series appended at the end. */
void catalog_note_new(struct catalog *c);
/* The same for a series in a reused place. */
void catalog_note_place(struct catalog *c, uint32_t id);
/* The same for all series after c->p was replaced: places that were free stay free, other places
 * are not reusable yet. */
void catalog_note_all(struct catalog *c);

/* Writes tables of p that `writer` has not written yet, inside a transaction. */
int catalog_write(struct catalog *c, const struct profile *p, struct chunk_writer *writer,
		  struct err *err);

/* --- catalog_asked.c --- */

int catalog_read_asked(struct catalog *c, struct err *err);

/* --- catalog_kept.c --- */

int catalog_read_kept(struct catalog *c, struct err *err);
int catalog_read_pins(struct catalog *c, struct err *err);

/* --- catalog_places.c --- */

/* Adds a series that does not exist, in a free place if there is one. */
uint32_t catalog_put(struct catalog *c, const struct series *s);
/* Writes the series in reused places, inside a transaction. */
int catalog_write_taken(struct catalog *c, struct err *err);
/* Reads them, after the tables. */
int catalog_read_taken(struct catalog *c, const struct chunk_reader *reader, struct err *err);

#endif
