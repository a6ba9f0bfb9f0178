/* tests/unit/view_world.h: a store of random samples of some series, stacks and days, and the rows that it was given, one by one. */
#ifndef CRESSET_TESTS_VIEW_WORLD_H
#define CRESSET_TESTS_VIEW_WORLD_H

#include "rand.h"
#include "unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "store/day/store_state.h"

#include <unistd.h>

#define DAY0_NS   (20000 * STORE_DAY_NS)
#define SECOND_NS 1000000000ll

enum { SERIES = 7, STACKS = 40, DAYS = 3, ROUNDS = 12 };

/* One sample, as it was given. */
struct told {
	uint32_t series, stack;
	int64_t window_ns, value;
};

struct world {
	char *dir;
	struct store *s;
	int64_t now_ns;
	struct rng r;
	VEC(struct told) rows;
	uint32_t names; /* version of the names that batches carry */
};

static inline int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ns;
}

static inline void open_store(struct world *w, bool read_only, struct store **out)
{
	struct store_opts opts = {
		.read_only = read_only, .hot_ns = -1, .now_ns = world_now, .ctx = w
	};
	struct err err = { 0 };

	ck_assert_msg(store_open(w->dir, &opts, out, &err) == 0, "%s", err.text);
}

static inline void world_init(struct world *w, uint64_t seed)
{
	char path[] = "/tmp/cresset-view-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	*w = (struct world){ .dir = xstrdup(path), .now_ns = DAY0_NS, .r = { seed } };
	open_store(w, false, &w->s);
}

static inline void world_done(struct world *w)
{
	char *command = xasprintf("rm -r '%s'", w->dir);

	ck_assert_int_eq(store_close(w->s, NULL), 0);
	ck_assert_int_eq(system(command), 0);
	free(command);
	free(w->dir);
	vec_done(&w->rows);
}

/* --- batches ---------------------------------------------------------------------------------- */

static inline bool is_weighted(uint32_t series)
{
	return series % 3 == 2;
}

static inline uint32_t add_series(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct type wait = { .name = sink_string(s, "off-cpu"),
			     .sample_type = sink_string(s, "delay"),
			     .unit = sink_string(s, "nanoseconds") };
	char comm[16];

	snprintf(comm, sizeof comm, "c%u", n);
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, comm) };
	struct series series = { .type = s->ops->type(s, is_weighted(n) ? &wait : &cpu),
				 .period = is_weighted(n) ? 0 : 10000000,
				 .labels = s->ops->labels(s, &label, 1) };
	return s->ops->series(s, &series);
}

static inline uint32_t add_frame(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, "/bin/a"), .build_id_len = 8 };

	m.build_id[0] = 1 + n % 3;
	return s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						 .mapping = s->ops->mapping(s, &m),
						 .offset = 4096 + n });
}

static inline void name_frame(struct profile *p, uint32_t frame, uint32_t n, uint32_t version)
{
	struct sink *s = profile_sink(p);
	char name[32];

	snprintf(name, sizeof name, "f%u_v%u", n, version);
	struct function f = { .name = sink_string(s, name) };
	struct line line = { .function = s->ops->function(s, &f) };
	s->ops->names(s, frame, &line, 1);
}

/* Stack n; some share their beginning. */
static inline uint32_t add_stack(struct profile *p, uint32_t n, uint32_t version)
{
	uint32_t frames[6], depth = 0, offsets[] = { n % 2, 10 + n % 5, 20 + n % 7, 100 + n };

	for (; depth < 4; depth++) {
		frames[depth] = add_frame(p, offsets[depth]);
		if (version)
			name_frame(p, frames[depth], offsets[depth], version);
	}
	return p->sink.ops->stack(&p->sink, frames, depth);
}

static inline void add_sample(struct world *w, struct profile *p, int64_t time_ns)
{
	struct sink *s = profile_sink(p);
	struct told t = { .series = rng_below(&w->r, SERIES), .stack = rng_below(&w->r, STACKS) };
	struct sample sample = {
		.time_ns = time_ns, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID
	};

	t.value = is_weighted(t.series) ? 1 + rng_below(&w->r, 1000000) : 1 + rng_below(&w->r, 3);
	t.window_ns = time_ns / BLOCK_WINDOW_NS * BLOCK_WINDOW_NS;
	sample.series = add_series(p, t.series);
	sample.stack = add_stack(p, t.stack, w->names);
	sample.value = t.value;
	s->ops->sample(s, &sample);
	vec_push(&w->rows, t);
}

static inline void give(struct world *w, struct profile *p)
{
	struct store_batch batch = { .p = p };
	struct err err = { 0 };

	ck_assert_msg(store_ingest(w->s, &batch, 1, NULL, &err) == 0, "%s", err.text);
	profile_free(p);
}

/* Gives n samples from up to back_ns before now. Times are Unix time. */
static inline void give_random(struct world *w, size_t n, int64_t back_ns)
{
	struct profile *p = profile_new();

	for (size_t i = 0; i < n; i++) {
		int64_t at = w->now_ns - (int64_t)rng_below(&w->r, back_ns);
		add_sample(w, p, at < DAY0_NS ? DAY0_NS : at);
	}
	give(w, p);
}

static inline void maintain(struct world *w)
{
	struct err err = { 0 };
	int rc;

	while ((rc = store_maintain(w->s, SECOND_NS, &err)) > 0)
		continue;
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* --- its answers --- */

static inline int64_t total_of(struct store_view *v, int64_t from_ns, int64_t to_ns, bool *rounded)
{
	struct store_merged merged;
	int64_t total = 0;

	ck_assert_int_eq(store_merge(v, NULL, from_ns, to_ns, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++)
			total += merged.parts[i].value[k];
	*rounded = merged.rounded;
	store_merged_done(&merged);
	return total;
}

#endif
