/* store/catalog.h: meta.db: types, labels and series of a store, and from when on it keeps something.
 *
 * Series are numbered as they come: blocks have these numbers. The places of series that nobody refers to any more become free, and are taken by others
 * once nobody can mean the old ones: see store/collect.h. The tables are kept as chunks (profile/chunk.h): what is new is
 * added by each catalog_sync, and the first one after opening writes all of it in one piece.
 *
 * No more than max_series are active, which is: had rows in the last 24 hours. A series beyond that becomes one whose label with the most
 * values, in all of the catalog, is `[other]`; beyond an eighth more of such, one after the other of its labels. So nothing is refused,
 * and the number of series stays bounded whatever a sender puts into labels. */
#ifndef CRESSET_STORE_CATALOG_H
#define CRESSET_STORE_CATALOG_H

#include "base/err.h"
#include "profile/profile.h"
#include "store/clock_watch.h"
#include "store/kept.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct catalog_opts {
	bool read_only;
	uint32_t max_series;
	uint64_t max_bytes; /* of memory: beyond it new series are folded, too; 0: any */
	const char *vfs;
};

struct catalog;
int catalog_open(const char *path, const struct catalog_opts *opts, struct catalog **out,
		 struct err *err);
void catalog_close(struct catalog *c); /* NULL is fine */
/* Whether its file is sound, as db_verify says. */
int catalog_verify(struct catalog *c, struct err *err);

/* Types, labels and series; no samples. Free places are among the series: series_is_free. Another one after catalog_take_rest. */
const struct profile *catalog_profile(const struct catalog *c);

/* The series of the catalog that rows of src's series belong to. */
uint32_t catalog_resolve(struct catalog *c, const struct profile *src, uint32_t series,
			 int64_t now_ns);

/* Rows of one of its series came. False: it was not active, or it is one of `[other]`: what a sender's series becomes may be another one now. */
bool catalog_use(struct catalog *c, uint32_t series, int64_t now_ns);

/* Whether rows of a series differ in what they weigh, so that their number and squares are kept: values that are neither counts of
 * samples nor worth a period each. */
bool catalog_is_weighted(const struct catalog *c, uint32_t series);

/* A batch that is in the inbox has it. */
void catalog_had(struct catalog *c, uint32_t series, uint64_t seq);
/* Whether there is a series of this number. */
bool catalog_has(const struct catalog *c, uint32_t series);
/* How many there are. */
uint32_t catalog_count(const struct catalog *c);
/* Another one whenever a series comes or goes. */
uint64_t catalog_version(const struct catalog *c);

/* --- places that become free ---
 *
 * Series go whose kept[] (n long; others stay) is false and which no batch behind `seq` had; synced when it returns 0. They are gone once the rest
 * was taken, false: none went. Then their places wait until catalog_reuse. */
int catalog_collect(struct catalog *c, const bool *kept, uint32_t n, uint64_t seq, struct err *err);
bool catalog_take_rest(struct catalog *c);
bool catalog_has_waiting(const struct catalog *c);
void catalog_reuse(struct catalog *c);

/* What is new is on the disk when it returns 0. */
int catalog_sync(struct catalog *c, struct err *err);

/* The first moment of the first day that is kept; synced when it returns 0. */
int64_t catalog_kept_from(const struct catalog *c);
int catalog_keep_from(struct catalog *c, int64_t from_ns, struct err *err); /* never back */
/* The same, also back: what was there came of a clock that was ahead. */
int catalog_keep_again(struct catalog *c, int64_t from_ns, struct err *err);

/* What the clocks said at the last look; zeroed: there was none. Synced when it returns 0. */
int catalog_clock(struct catalog *c, struct clock_watch *out, struct err *err);
int catalog_set_clock(struct catalog *c, const struct clock_watch *w, struct err *err);

/* What is to be kept; synced when it returns 0. */
const struct store_asked *catalog_asked(const struct catalog *c);
int catalog_ask(struct catalog *c, const struct store_asked *asked, struct err *err);

/* Hours of the hot tier before this take no samples unless they are there (store/hot.h). 1: *out is set, 0: it never was. */
int catalog_hot_from(struct catalog *c, int64_t *out_ns, struct err *err);
int catalog_hot_keep_from(struct catalog *c, int64_t from_ns, struct err *err); /* never back */
/* The same, also back. What was there waits: catalog_hot_waiting tells the latest that does, INT64_MIN: none. */
int catalog_hot_keep_again(struct catalog *c, int64_t from_ns, struct err *err);
int catalog_hot_waiting(struct catalog *c, int64_t *out_ns, struct err *err);

/* Ranges whose exact samples stay; synced when it returns 0. -E2BIG, -ENOENT. */
int catalog_pin(struct catalog *c, const struct store_pin *pin, struct err *err);
int catalog_unpin(struct catalog *c, const struct store_pin *pin, struct err *err);
bool catalog_is_pinned(const struct catalog *c, int64_t from_ns, int64_t to_ns);
size_t catalog_pins(const struct catalog *c, const struct store_pin **out);

/* Series that were folded into `[other]`, each as often as it was asked for in a batch. */
uint64_t catalog_folded(const struct catalog *c);
uint64_t catalog_size_bytes(const struct catalog *c); /* of its memory */
uint64_t catalog_file_bytes(const struct catalog *c);

#endif
