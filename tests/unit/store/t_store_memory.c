// tier: test
/* A question about many days does not have all their dictionaries in memory at the same time, and says so where it would have to. */
#include "base/err.h"
#include "profile/tree/tree.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/source.h"
#include "store_witness.h"
#include "store_world.h"
#include "unit.h"

enum { DAYS = 8, STACKS = 6000 };

/* Each day has its own frames: its dictionary is large. */
static void feed_day(struct store_world *w, int day)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t id = s->ops->series(s, &series);
	struct err err = { 0 };
	char name[64];

	for (int i = 0; i < STACKS; i++) {
		uint32_t frames[2];
		snprintf(name, sizeof name, "a_function_of_day_%d_number_%d", day, i);
		for (int k = 0; k < 2; k++) {
			struct frame f = { .kind = FRAME_PYTHON,
					   .mapping = MAPPING_NONE,
					   .function = sink_string(s, k ? name : "main") };
			frames[k] = s->ops->frame(s, &f);
		}
		struct sample sample = { .time_ns = w->now_ns - 1 - i % 3000 * SECOND_NS,
					 .value = 1 + i % 7,
					 .series = id,
					 .stack = s->ops->stack(s, frames, 2) };
		s->ops->sample(s, &sample);
	}
	struct store_batch b = { .p = p };
	ck_assert_msg(store_ingest(w->s, &b, 1, NULL, &err) == 0, "%s", err.text);
	profile_free(p);
	w->now_ns += DAY_NS;
	store_world_maintain(w);
}

static void feed(struct store_world *w, uint64_t memory_bytes)
{
	store_world_init(w, (struct store_opts){ .memory_bytes = 64 << 20, .hot_ns = -1 });
	for (int day = 0; day < DAYS; day++)
		feed_day(w, day);
	store_world_maintain(w);
	w->opts.memory_bytes = memory_bytes;
	store_world_restart(w, false);
}

struct peak {
	struct store *s;
	uint64_t bytes, parts;
	int64_t total;
};

static int add_part(void *ctx, const struct store_sums *sums)
{
	struct peak *p = ctx;

	for (uint32_t i = 0; i < sums->n; i++)
		p->total += sums->value[i];
	p->bytes = p->s->readers.dict_bytes > p->bytes ? p->s->readers.dict_bytes : p->bytes;
	p->parts += sums->n != 0;
	return 0;
}

static int64_t merge_each(struct store_world *w, struct peak *p)
{
	struct store_view *v;
	struct err err = { 0 };
	bool rounded;

	*p = (struct peak){ .s = w->s };
	ck_assert_int_eq(store_view_open(w->s, &v, &err), 0);
	ck_assert_msg(store_merge_each(v, NULL, 0, INT64_MAX, add_part, p, &rounded, &err) == 0,
		      "%s", err.text);
	store_view_close(v);
	return p->total;
}

START_TEST(days_are_released_in_turn)
{
	struct store_world w;
	struct peak all, few;

	feed(&w, 0);
	merge_each(&w, &all);
	uint64_t day_bytes = all.bytes / DAYS;
	ck_assert_uint_eq(all.parts, DAYS);
	w.opts.memory_bytes = day_bytes * 4;
	store_world_restart(&w, false);
	ck_assert_int_eq(merge_each(&w, &few), all.total);
	ck_assert_uint_le(few.bytes, 3 * day_bytes);
	ck_assert_uint_eq(few.parts, DAYS);
	ck_assert_int_eq(merge_each(&w, &few), all.total); /* what was released is read again */
	struct store_stats stats;
	store_get_stats(w.s, &stats);
	ck_assert_uint_le(stats.memory_bytes, w.opts.memory_bytes);
	store_world_done(&w);
}
END_TEST

START_TEST(exceeding_the_memory_is_reported)
{
	struct store_world w;
	struct store_merged merged;
	struct store_view *v;
	struct err err = { 0 };
	struct peak p;

	feed(&w, 0);
	merge_each(&w, &p);
	w.opts.memory_bytes = p.bytes / DAYS * 8;
	store_world_restart(&w, false);
	ck_assert_int_eq(store_view_open(w.s, &v, &err), 0);
	ck_assert_int_eq(store_merge(v, NULL, 0, INT64_MAX, &merged, &err), -ENOMEM);
	ck_assert_ptr_nonnull(strstr(err.text, "so many days"));
	/* A question about fewer days is answered, by the same view or another one. */
	store_view_close(v);
	ck_assert_int_eq(store_view_open(w.s, &v, &err), 0);
	ck_assert_int_eq(store_merge(v, NULL, START_NS - DAY_NS, START_NS + DAY_NS, &merged, &err),
			 0);
	store_merged_done(&merged);
	store_view_close(v);
	ck_assert_uint_le(w.s->readers.dict_bytes, w.opts.memory_bytes);
	store_world_done(&w);
}
END_TEST

/* The tree of all days is the same, with any amount of memory. */
static int64_t ask(struct store *s, uint32_t *nodes)
{
	struct source *source;
	struct query_tree tree;
	struct err err = { 0 };

	ck_assert_int_eq(source_of_store(s, &source, &err), 0);
	struct query q = { .source = source, .from_ns = 0, .to_ns = INT64_MAX };
	ck_assert_msg(query_tree(&q, &tree, &err) == 0, "%s", err.text);
	int64_t total = tree.tree->unfiltered_total;
	*nodes = tree.tree->nodes.n;
	tree_free(tree.tree);
	source_close(source);
	return total;
}

START_TEST(a_tree_of_all_days_is_the_same)
{
	struct store_world w;
	uint32_t nodes, fewer;
	struct peak p;

	feed(&w, 0);
	int64_t total = ask(w.s, &nodes);
	merge_each(&w, &p);
	w.opts.memory_bytes = p.bytes / DAYS * 4;
	store_world_restart(&w, false);
	ck_assert_int_eq(ask(w.s, &fewer), total);
	ck_assert_uint_eq(nodes, fewer);
	ck_assert_uint_gt(nodes, DAYS * STACKS);
	store_world_done(&w);
}
END_TEST

UNIT_MAIN("store_memory", days_are_released_in_turn, exceeding_the_memory_is_reported,
	  a_tree_of_all_days_is_the_same)
