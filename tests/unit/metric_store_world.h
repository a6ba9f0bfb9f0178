/* tests/unit/metric_store_world.h: a store in its own directory, with a clock that the test sets, batches of points, and a list of all points that
 * were ever given. */
#ifndef CRESSET_TESTS_METRIC_STORE_WORLD_H
#define CRESSET_TESTS_METRIC_STORE_WORLD_H

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "store/codec/metric_samples.h"
#include "store/day/store_state.h"

#include <check.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (20000 * DAY_NS + 5 * HOUR_NS)

enum { SERIES = 5 };

struct world {
	char dir[64];
	int64_t now_ns;
	struct store_opts opts;
	struct store *s;
	struct metric_points want[SERIES]; /* as they came */
};

static inline int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static inline void world_open(struct world *w)
{
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &w->opts, &w->s, &err) == 0, "%s", err.text);
}

static inline void world_init(struct world *w, struct store_opts opts)
{
	*w = (struct world){ .dir = "/tmp/t_metric.XXXXXX", .now_ns = START_NS, .opts = opts };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->opts.now_ns = world_now;
	w->opts.ctx = w;
	world_open(w);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void world_done(struct world *w)
{
	store_abandon(w->s);
	for (int i = 0; i < SERIES; i++)
		vec_done(&w->want[i]);
	ck_assert_int_eq(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void world_maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* cpu_busy{host="h0"} …; those with odd numbers are counters. */
static inline uint32_t series_of(struct profile *p, int i)
{
	char host[16];

	snprintf(host, sizeof host, "h%d", i);
	struct label l = { .key = strtab_put(&p->strings, "host"),
			   .str = strtab_put(&p->strings, host) };
	uint32_t set = label_set_intern(&p->series, &l, 1);
	return metric_series(p, i & 1 ? "requests" : "cpu_busy", i & 1 ? "" : "percent",
			     i & 1 ? METRIC_COUNTER : METRIC_GAUGE, set);
}

struct batch {
	struct profile *p;
	struct metric_samples m;
};

static inline struct batch batch_new(void)
{
	return (struct batch){ .p = profile_new() };
}

static inline void batch_add(struct batch *b, int series, int64_t time_ns, double value)
{
	uint32_t id = series_of(b->p, series);

	vec_push(&b->m, (struct metric_sample){ id, time_ns, value });
}

static inline void batch_done(struct batch *b)
{
	profile_free(b->p);
	vec_done(&b->m);
}

static inline int send_batch(struct store *s, const struct batch *b, uint64_t sequence,
			     struct err *err)
{
	static const uint8_t sender[STORE_SENDER_BYTES] = "metrics";
	const struct store_batch batch = {
		.p = b->p, .sender = sender, .sequence = sequence, .metrics = &b->m
	};

	return store_ingest(s, &batch, 1, NULL, err);
}

static inline void witness(struct world *w, const struct batch *b)
{
	for (int k = 0; k < SERIES; k++) {
		uint32_t id = series_of(b->p, k);
		for (size_t i = 0; i < b->m.n; i++)
			if (b->m.v[i].series == id)
				vec_push(&w->want[k], (struct metric_point){ b->m.v[i].time_ns,
									     b->m.v[i].value });
	}
}

/* --- the content ------------------------------------------------------------------------------ */

static inline uint32_t find_series(const struct profile *catalog, int i)
{
	char host[16];

	snprintf(host, sizeof host, "h%d", i);
	for (uint32_t k = 0; k < catalog->series.series.n; k++) {
		struct label_set set = catalog->series.sets.v[catalog->series.series.v[k].labels];
		if (set.n == 1 &&
		    strcmp(profile_str(catalog, catalog->series.labels.v[set.first].str), host) ==
			    0)
			return k;
	}
	return UINT32_MAX;
}

static inline int take(void *ctx, const struct metric_point *points, size_t n)
{
	struct metric_points *out = ctx;

	vec_append(out, points, n);
	return 0;
}

static inline struct metric_points read_series(struct store_view *v, int i, int64_t from_ns,
					       int64_t to_ns)
{
	struct metric_points out = { 0 };
	uint32_t id = find_series(store_view_catalog(v), i);
	struct err err = { 0 };

	if (id != UINT32_MAX)
		ck_assert_msg(store_points(v, id, from_ns, to_ns, take, &out, &err) == 0, "%s",
			      err.text);
	return out;
}

/* --- the file of a day ------------------------------------------------------------------------ */

static inline int64_t sql_number(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

static inline char *first_part(const struct world *w)
{
	return xstrdup(w->s->parts.v[0]->path);
}

#endif
