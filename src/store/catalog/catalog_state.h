/* store/catalog/catalog_state.h: the state of an open catalog. Only catalog*.c include it. */
#ifndef CRESSET_STORE_CATALOG_CATALOG_STATE_H
#define CRESSET_STORE_CATALOG_CATALOG_STATE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/store.h"

#include <stdbool.h>
#include <stdint.h>

struct chunk_reader;
struct label;
struct profile;
struct series;

#define NO_SHARE UINT32_MAX
struct series_use {
	int64_t seen_ns;        /* 0: not since the store was opened */
	uint64_t sequence;      /* the last batch with it since then */
	uint32_t program, user; /* shares; NO_SHARE: it has no user */
	bool is_active, is_other;
};
/* Whose series: hashes of labels, see catalog_shares.c; 0: nobody's. */
struct series_owner {
	uint64_t program, user;
};
struct series_share {
	uint64_t key;
	uint32_t active;   /* series, without [other] */
	uint32_t others;   /* series with [other]; of a user only */
	int64_t folded_ns; /* the last time that a series did not fit; 0: no storm */
	int64_t over_ns;   /* the end of the storm before */
	int64_t quiet_ns;  /* how long no further name may come until a storm is over */
};
struct series_shares {
	VEC(struct series_share) v;
	struct map index; /* by key */
	struct err news;  /* for the log; code 0: none */
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
	struct series_shares shares;
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

/* --- catalog_shares.c --- */

struct series_owner catalog_owner(const struct profile *p, const struct label *labels, uint32_t n);
/* Sets the shares of a series. */
void catalog_share_note(struct catalog *c, struct series_use *use, struct series_owner owner);
/* Counts an active series in its shares. */
void catalog_share_count(struct catalog *c, const struct series_use *use);
/* Returns the share that has no space for a further series, or NULL. */
struct series_share *catalog_share_full(const struct catalog *c, struct series_owner owner);
/* Whether a user has so few series that the limit of all is not for them. */
bool catalog_share_is_small(const struct catalog *c, struct series_owner owner);
/* Whether a user may have a further series with [other]. */
bool catalog_share_takes_other(const struct catalog *c, struct series_owner owner);
/* Notes that a series with these labels did not fit. */
void catalog_share_folded(struct catalog *c, struct series_share *share, const struct profile *p,
			  const struct label *labels, uint32_t n, int64_t now_ns);
/* Lets go of the series of storms that are over, and sets all shares to no active series. */
void catalog_shares_release(struct catalog *c, int64_t now_ns);
/* Moves the shares to *before; and takes over the ones that still have series, once these are noted
 * again. */
void catalog_shares_begin_again(struct catalog *c, struct series_shares *before);
void catalog_shares_take_over(struct catalog *c, struct series_shares *before);
void catalog_shares_done(struct series_shares *s);
uint64_t catalog_shares_bytes(const struct catalog *c);

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
