/* store/catalog/catalog.h: meta.db: the types, labels and series of a store, and what it retains
 * since when.
 *
 * Series get consecutive numbers, which blocks refer to. A number without references becomes free,
 * and is reused once no reader can mean the old series: see store/write/gc.c. The tables are stored
 * as chunks (profile/chunk.h): catalog_sync adds the new ones, and the first one after opening
 * rewrites everything in one piece.
 *
 * At most max_series are active, that is, had rows in the last 24 hours. A further series is
 * folded: its label with the most values in the catalog becomes `[other]`. Beyond an eighth more of
 * such series, its other labels follow one by one. Nothing is refused, and the number of series
 * stays bounded whatever a sender puts into labels.
 *
 * A series with a label `user` has two shares of max_series, so that a program which renames itself
 * does not use up others' (catalog_shares.c):
 *
 *     a sixteenth    host, user, unit, executable
 *     a quarter      host, user; users without a name together
 *
 * but at least 64. Beyond its share a series is folded, and others are not. When no further name
 * has come for 10 minutes, the series that the storm has left are no longer active, so that the
 * program has its share again; the next time after 40 minutes, 160, at most a day. While all are
 * taken, users with less than 64 series still get some, until there are a quarter more. */
#ifndef CRESSET_STORE_CATALOG_CATALOG_H
#define CRESSET_STORE_CATALOG_CATALOG_H

#include "store/codec/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_watch;
struct err;

struct catalog_opts {
	bool read_only;
	uint32_t max_series;
	uint64_t max_bytes; /* of memory; beyond it new series are folded as well; 0: no limit */
	const char *vfs;
};

struct catalog;
int catalog_open(const char *path, const struct catalog_opts *opts, struct catalog **out,
		 struct err *err);
void catalog_close(struct catalog *c); /* NULL is fine */
/* Checks the file with db_verify. */
int catalog_verify(struct catalog *c, struct err *err);

/* Types, labels and series without samples. The series include free places (series_is_free).
 * catalog_take_rest replaces the profile. */
const struct profile *catalog_profile(const struct catalog *c);

/* Returns the catalog's series for a series of src, which is added or folded if it is new. */
uint32_t catalog_resolve(struct catalog *c, const struct profile *src, uint32_t series,
			 int64_t now_ns);

/* Notes new rows of a series. Returns false if the series was not active or has `[other]`; the
 * sender's series may then belong to another one now. */
bool catalog_use(struct catalog *c, uint32_t series, int64_t now_ns);

/* Returns whether sample weights vary in a series, so that counts and squares are stored: its
 * values are neither counts of samples nor one period each. */
bool catalog_is_weighted(const struct catalog *c, uint32_t series);

/* Notes that a batch in the inbox has the series. */
void catalog_had(struct catalog *c, uint32_t series, uint64_t seq);
/* Returns whether the series exists. */
bool catalog_has(const struct catalog *c, uint32_t series);
/* Returns the number of series. */
uint32_t catalog_count(const struct catalog *c);
/* Changes whenever a series is added or removed. */
uint64_t catalog_version(const struct catalog *c);

/* --- places that become free ---
 *
 * catalog_gc writes the catalog without the series whose kept[] is false (n long; later ones stay)
 * and that no batch after `seq` had; synced when it returns 0. catalog_take_rest puts that into
 * effect, and returns false if no series went. Their places are reused only after catalog_reuse. */
int catalog_gc(struct catalog *c, const bool *kept, uint32_t n, uint64_t seq, struct err *err);
bool catalog_take_rest(struct catalog *c);
bool catalog_has_waiting(const struct catalog *c);
void catalog_reuse(struct catalog *c);

/* Writes what is new; synced when it returns 0. */
int catalog_sync(struct catalog *c, struct err *err);

/* The start of the first day that is retained; synced when the setter returns 0. */
int64_t catalog_kept_from(const struct catalog *c);
int catalog_keep_from(struct catalog *c, int64_t from_ns, struct err *err); /* only forward */
/* The same, backward as well: the old value came from a clock that was ahead. */
int catalog_keep_again(struct catalog *c, int64_t from_ns, struct err *err);

/* The clocks at the last look; zeroed: there was none. Synced when the setter returns 0. */
int catalog_clock(struct catalog *c, struct clock_watch *out, struct err *err);
int catalog_set_clock(struct catalog *c, const struct clock_watch *w, struct err *err);

/* The retention settings; synced when the setter returns 0. */
const struct store_asked *catalog_asked(const struct catalog *c);
int catalog_ask(struct catalog *c, const struct store_asked *asked, struct err *err);

/* Reports what is retained at this time. */
void catalog_kept_of(const struct catalog *c, int64_t now_ns, struct store_kept *out);

/* Hours of the hot tier before this time take no samples unless they exist (store/day/hot.h).
 * Returns 1 with *out, or 0 if it was never set. */
int catalog_hot_from(struct catalog *c, int64_t *out_ns, struct err *err);
int catalog_hot_keep_from(struct catalog *c, int64_t from_ns, struct err *err); /* only forward */
/* The same, backward as well. The old value is retained aside: catalog_hot_waiting returns the
 * latest such value, INT64_MIN: none. */
int catalog_hot_keep_again(struct catalog *c, int64_t from_ns, struct err *err);
int catalog_hot_waiting(struct catalog *c, int64_t *out_ns, struct err *err);

/* Pinned ranges, whose exact samples stay; synced when they return 0. -E2BIG, -ENOENT. */
int catalog_pin(struct catalog *c, const struct store_pin *pin, struct err *err);
int catalog_unpin(struct catalog *c, const struct store_pin *pin, struct err *err);
bool catalog_is_pinned(const struct catalog *c, int64_t from_ns, int64_t to_ns);
size_t catalog_pins(const struct catalog *c, const struct store_pin **out);

/* Returns whether a program has used up its share since the last call, with words for the log. */
bool catalog_news(struct catalog *c, struct err *words);

/* Number of times that a batch's series was folded into `[other]`. */
uint64_t catalog_folded(const struct catalog *c);
uint64_t catalog_size_bytes(const struct catalog *c); /* of its memory */
uint64_t catalog_file_bytes(const struct catalog *c);

#endif
