/* tests/unit/store_world.h: a store in its own directory, with a clock that the test sets. */
#ifndef CRESSET_TESTS_STORE_WORLD_H
#define CRESSET_TESTS_STORE_WORLD_H

#include "base/err.h"
#include "store/day/store_state.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
#define START_NS  (20000 * DAY_NS + 5 * HOUR_NS)

struct store_world {
	char dir[64];
	int64_t now_ns;
	struct store_opts opts;
	struct store *s;
};

static inline int64_t store_world_now(void *ctx)
{
	return ((struct store_world *)ctx)->now_ns;
}

static inline void store_world_open(struct store_world *w)
{
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &w->opts, &w->s, &err) == 0, "%s", err.text);
}

/* The world must not be moved afterwards. */
static inline void store_world_init(struct store_world *w, struct store_opts opts)
{
	*w = (struct store_world){ .dir = "/tmp/cresset-store.XXXXXX",
				   .now_ns = START_NS,
				   .opts = opts };
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	w->opts.now_ns = store_world_now;
	w->opts.ctx = w;
	store_world_open(w);
}

static inline int store_world_remove(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void store_world_done(struct store_world *w)
{
	store_abandon(w->s);
	ck_assert_int_eq(nftw(w->dir, store_world_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Does all that is due, in steps of a second of CPU. */
static inline void store_world_maintain(struct store_world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* Ends the writer, closing or abandoning it. */
static inline void store_world_restart(struct store_world *w, bool abandon)
{
	struct err err = { 0 };

	if (abandon)
		store_abandon(w->s);
	else
		ck_assert_msg(store_close(w->s, &err) == 0, "%s", err.text);
	store_world_open(w);
}

#endif
