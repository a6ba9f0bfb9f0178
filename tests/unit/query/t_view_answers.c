// tier: test
/* Answers of a store without detail, with late names, and as a source. */
#include "view_world.h"

#include "base/err.h"
#include "query/source.h"

#include <errno.h>

/* --- without detail --------------------------------------------------------------------------- */

/* Whole hours stay exact; a range that ends inside an hour takes all of it if it has its middle, else nothing. */
START_TEST(without_detail)
{
	struct world w;
	struct store_view *v;
	struct err err = { 0 };
	int64_t hours[3] = { 0 };
	bool rounded;

	world_init(&w, 6);
	w.now_ns += 3 * HEAD_SLOT_NS - 1;
	give_random(&w, 2000, 3 * HEAD_SLOT_NS - 1);
	for (size_t i = 0; i < w.rows.n; i++)
		hours[(w.rows.v[i].window_ns - DAY0_NS) / HEAD_SLOT_NS] += w.rows.v[i].value;
	store_lock(w.s);
	ck_assert_int_eq(store_part_flush(w.s, w.s->parts.v[0], &err), 0);
	store_unlock(w.s);
	ck_assert_int_eq(part_drop_detail(w.s->parts.v[0]->part, &err), 0);

	ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
	ck_assert_int_eq(total_of(v, DAY0_NS, DAY0_NS + 2 * HEAD_SLOT_NS, &rounded),
			 hours[0] + hours[1]);
	ck_assert(!rounded);
	int64_t before = DAY0_NS + HEAD_SLOT_NS + HEAD_SLOT_NS / 2;
	ck_assert_int_eq(total_of(v, DAY0_NS, before, &rounded), hours[0]);
	ck_assert(rounded);
	ck_assert_int_eq(total_of(v, DAY0_NS, before + BLOCK_WINDOW_NS, &rounded),
			 hours[0] + hours[1]);
	ck_assert(rounded);
	store_view_close(v);
	world_done(&w);
}
END_TEST

/* --- names ------------------------------------------------------------------------------------ */

/* The number of frames in all stacks of an answer with a name of this version, and with another. */
static void count_names(struct store_view *v, uint32_t version, size_t *with, size_t *without)
{
	struct store_merged merged;
	char suffix[16];

	snprintf(suffix, sizeof suffix, "_v%u", version);
	*with = *without = 0;
	ck_assert_int_eq(store_merge(v, NULL, 0, INT64_MAX, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++) {
			struct profile *p = merged.parts[i].dict;
			uint32_t frames[16], stack = merged.parts[i].stack[k];

			stack_frames(&p->stacks, stack, frames);
			for (uint32_t f = 0; f < stack_depth(&p->stacks, stack); f++) {
				const struct line *line;
				bool has =
					names_get(&p->names, frames[f], &line) &&
					strstr(profile_str(
						       p,
						       p->names.functions.v[line->function].name),
					       suffix);
				*(has ? with : without) += 1;
			}
		}
	store_merged_done(&merged);
}

START_TEST(late_names)
{
	struct world w;
	struct store_view *v;
	size_t with, without;

	world_init(&w, 7);
	for (uint32_t version = 0; version < 3; version++) {
		/* All stacks on each of three days; names come only with the last one. */
		w.names = version;
		w.now_ns += STORE_DAY_NS;
		give_random(&w, 2000, STORE_DAY_NS / 3);
		maintain(&w);
		ck_assert_int_eq(store_view_open(w.s, &v, NULL), 0);
		count_names(v, version, &with, &without);
		ck_assert_uint_gt(version ? with : without, STACKS * 3);
		ck_assert_uint_eq(version ? without : with, 0);
		store_view_close(v);
	}
	world_done(&w);
}
END_TEST

/* --- as a source, and stopped ----------------------------------------------------------------- */

static bool stop_at_once(void *ctx)
{
	++*(int *)ctx;
	return true;
}

START_TEST(as_a_source)
{
	struct world w;
	struct source *source;
	struct source_merged merged;
	struct err err = { 0 };
	int64_t total = 0, expected = 0, from, to;
	int asked = 0;

	world_init(&w, 8);
	w.now_ns += STORE_DAY_NS / 2;
	give_random(&w, 1000, STORE_DAY_NS / 4);
	store_lock(w.s);
	ck_assert_int_eq(store_part_flush(w.s, w.s->parts.v[0], &err), 0);
	store_unlock(w.s);
	give_random(&w, 100, STORE_DAY_NS / 4);
	for (size_t i = 0; i < w.rows.n; i++)
		expected += w.rows.v[i].value;

	ck_assert_msg(source_open_store(w.dir, &source, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(source->ops->catalog(source)->series.series.n, SERIES);
	source->ops->range(source, &from, &to);
	ck_assert_int_eq(source->ops->merge(source, NULL, from, to, &merged, &err), 0);
	for (size_t i = 0; i < merged.n; i++)
		for (uint32_t k = 0; k < merged.parts[i].n; k++)
			total += merged.parts[i].value[k];
	ck_assert_int_eq(total, expected);
	source_merged_done(&merged);

	source->stop = stop_at_once;
	source->stop_ctx = &asked;
	ck_assert_int_eq(source->ops->merge(source, NULL, from, to, &merged, &err), -ECANCELED);
	ck_assert_int_eq(asked, 1);
	source_close(source);
	world_done(&w);
}
END_TEST

UNIT_MAIN("view_answers", without_detail, late_names, as_a_source)
