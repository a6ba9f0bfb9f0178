// tier: test
/* A part of a profile, compared with trees of the whole with the same options. */
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include "base/err.h"
#include "profile/tree/select.h"
#include "profile/tree/time_range.h"

#include <errno.h>

enum { SEEDS = 6 };
static const struct random_shape SMALL = { .n_stacks = 120, .n_samples = 400 };
static const struct random_shape TWO_PERIODS = { .n_stacks = 60,
						 .n_samples = 300,
						 .periods_differ = true };

static const struct random_shape WAITS = { .n_stacks = 60, .n_samples = 400, .waits = true };

static const struct tree_opts EACH_OPTION[] = {
	{ 0 },
	{ .focus = "fn_0[1-5]" },
	{ .focus = "no such function" },
	{ .focus = "binary:^libc" },
	{ .focus = "file:app\\.py$|file3" },
	{ .ignore = "fn_1|named_0" },
	{ .ignore = "kind:^kernel$" },
	{ .ignore = "." },
	{ .hide = "fn_0|named_1" },
	{ .hide = "binary:." },
	{ .hide = "." },
	{ .focus = "fn_0", .ignore = "fn_1[0-3]", .hide = "kind:jit|gpu" },
	{ .no_kernel = true },
	{ .no_user = true },
	{ .time_from_ns = 200 },
	{ .time_to_ns = 700 },
	{ .time_from_ns = 300, .time_to_ns = 500 },
	{ .time_from_ns = 2000 },
	{ .by = { BY_COMM }, .n_by = 1 },
	{ .by = { BY_TID }, .n_by = 1, .focus = "fn_0" },
	{ .by = { BY_PROCESS, BY_NONE, BY_CPU }, .n_by = 3 },
	{ .by = { BY_PROCESS, BY_TID, BY_CPU, BY_COMM }, .n_by = 4, .hide = "fn" },
	{ .by = { BY_CONTAINER }, .n_by = 1, .no_user = true, .time_from_ns = 100 },
};
enum { OPTIONS = sizeof EACH_OPTION / sizeof *EACH_OPTION };

static struct profile *part_of(struct profile *p, const struct select_opts *o)
{
	struct profile *part = NULL;
	struct err err = { 0 };
	ck_assert_msg(profile_select(p, o, &part, &err) == 0, "%s", err.text);
	return part;
}

/* The same type has another id in another profile. */
static uint32_t type_like(const struct profile *p, const struct profile *whole, uint32_t type)
{
	uint32_t t =
		profile_pick_type(p, profile_str(whole, whole->series.types.v[type].sample_type));
	ck_assert_uint_ne(t, UINT32_MAX);
	return t;
}

static void strip_inlined(char *path)
{
	const char *word = "|inlined";
	for (char *at; (at = strstr(path, word));)
		memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

/* Paths with their values in the unit of the period, including inlined functions. */
static struct spelled spell(struct profile *p, const struct tree_opts *o)
{
	struct tree *t = NULL;
	struct err err = { 0 };
	ck_assert_msg(tree_build(p, o, &t, &err) == 0, "%s", err.text);
	struct spelled s = spell_tree(t);
	for (size_t i = 0; i < s.rows.n; i++) {
		strip_inlined(s.rows.v[i].path);
		s.rows.v[i].value *= t->scale > 0 ? (int64_t)t->scale : 1;
	}
	spelled_normal(&s);
	tree_free(t);
	return s;
}

static void assert_part_is_tree(struct profile *p, uint32_t type, const struct tree_opts *filters)
{
	struct tree_opts whole = *filters, plain = { 0 };
	struct profile *part = part_of(p, &(struct select_opts){ .tree = *filters });
	whole.type = type;
	plain.type = type_like(part, p, type);
	struct spelled want = spell(p, &whole), got = spell(part, &plain);
	assert_spelled_eq(&got, &want);
	spelled_done(&want);
	spelled_done(&got);
	profile_free(part);
}

START_TEST(the_tree_of_a_part_is_the_filtered_tree_of_the_whole)
{
	const struct random_shape shapes[] = { SMALL, TWO_PERIODS, WAITS };
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_profile r = random_profile(seed, shapes[seed % 3]);
		for (int i = 0; i < OPTIONS; i++) {
			assert_part_is_tree(r.p, r.cpu, &EACH_OPTION[i]);
			assert_part_is_tree(r.p, r.alloc, &EACH_OPTION[i]);
		}
		profile_free(r.p);
	}
}
END_TEST

/* Without filters nothing that a sample refers to is lost: merging both gives twice the one. */
START_TEST(all_of_a_profile_is_that_profile)
{
	struct random_profile r = random_profile(7, SMALL);
	struct profile *part = part_of(r.p, &(struct select_opts){ 0 });
	ck_assert_uint_eq(part->samples.n, r.p->samples.n);
	ck_assert_int_eq(part->meta.start_mono_ns, r.p->meta.start_mono_ns);
	for (size_t i = 0; i < part->samples.n; i++) {
		const struct sample_columns *a = &part->samples, *b = &r.p->samples;
		if (a->time_ns[i] != b->time_ns[i] || a->value[i] != b->value[i] ||
		    a->pid[i] != b->pid[i] || a->tid[i] != b->tid[i] || a->cpu[i] != b->cpu[i])
			ck_abort_msg("row %zu", i);
	}
	size_t n_stacks = r.p->stacks.stacks.n, n_frames = r.p->frames.frames.n;
	profile_merge(r.p, part);
	ck_assert_uint_eq(r.p->stacks.stacks.n, n_stacks);
	ck_assert_uint_eq(r.p->frames.frames.n, n_frames);
	profile_free(part);
	profile_free(r.p);
}
END_TEST

static bool has_string(const struct profile *p, const char *s)
{
	return strtab_find(&p->strings, s) != UINT32_MAX;
}

START_TEST(unreferenced_entries_are_removed)
{
	struct random_profile r = random_profile(3, SMALL);
	bool *types = calloc(r.p->series.types.n, sizeof *types);
	types[r.alloc] = true;
	struct select_opts o = { .types = types, .tree.ignore = "fn_07" };
	struct profile *part = part_of(r.p, &o);
	ck_assert(has_string(r.p, "fn_07") && has_string(r.p, "samples"));
	ck_assert(!has_string(part, "fn_07") && !has_string(part, "samples"));
	ck_assert(has_string(part, "alloc_space"));
	ck_assert_uint_eq(part->series.types.n, 1);
	profile_free(part);
	types[r.alloc] = false;
	part = part_of(r.p, &o);
	ck_assert_uint_eq(part->series.types.n + part->samples.n + part->frames.frames.n, 0);
	profile_free(part);
	free(types);
	profile_free(r.p);
}
END_TEST

START_TEST(a_time_range_starts_there)
{
	struct random_profile r = random_profile(4, SMALL);
	r.p->meta.start_wall_ns = 1000000;
	r.p->meta.duration_ns = 1000;
	struct select_opts o = { .tree = { .time_from_ns = 300, .time_to_ns = 2000 } };
	struct profile *part = part_of(r.p, &o);
	ck_assert_int_eq(part->meta.start_mono_ns, 5300);
	ck_assert_int_eq(part->meta.start_wall_ns, 1000300);
	ck_assert_int_eq(part->meta.duration_ns, 700);
	for (size_t i = 0; i < part->samples.n; i++)
		ck_assert(part->samples.time_ns[i] >= 5300);
	/* 100 … 200 of the part is 400 … 500 of the whole */
	struct select_opts inner = { .tree = { .time_from_ns = 100, .time_to_ns = 200 } };
	struct select_opts same = { .tree = { .time_from_ns = 400, .time_to_ns = 500 } };
	struct profile *a = part_of(part, &inner), *b = part_of(r.p, &same);
	ck_assert_uint_gt(a->samples.n, 0);
	ck_assert_uint_eq(a->samples.n, b->samples.n);
	profile_free(a);
	profile_free(b);
	profile_free(part);
	profile_free(r.p);
}
END_TEST

/* Exact times are for a whole thread: a part in time has none. */
START_TEST(threads_stay_with_any_part_but_one_in_time)
{
	struct random_shape shape = { .n_stacks = 5, .n_samples = 20, .waits = true };
	struct random_profile r = random_profile(5, shape);
	struct select_opts cases[] = {
		{ .types = NULL },
		{ .tree = { .focus = "fn_0" } },
		{ .tree = { .time_from_ns = 1 } },
		{ .tree = { .time_to_ns = 500 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *part = part_of(r.p, &cases[i]);
		ck_assert_uint_eq(part->threads.all.n, i < 2 ? r.p->threads.all.n : 0);
		for (size_t k = 0; k < part->threads.all.n; k++) {
			struct thread_times a = r.p->threads.all.v[k], b = part->threads.all.v[k];
			ck_assert_str_eq(profile_str(r.p, a.name), profile_str(part, b.name));
			a.name = b.name;
			ck_assert_mem_eq(&a, &b, sizeof a);
		}
		profile_free(part);
	}
	profile_free(r.p);
}
END_TEST

/* Including the ends of waits, and points before and after all samples. */
static size_t random_cuts(struct rng *rng, int64_t *cuts, size_t max)
{
	size_t n = 0;
	for (int64_t at = 1 + rng_below(rng, 300); n < max && at < 2500;
	     at += 1 + rng_below(rng, rng_below(rng, 3) ? 600 : 3))
		cuts[n++] = at;
	return n;
}

/* However the axis is cut, the parts of every stack add up to the whole, and no part reaches beyond its range. */
START_TEST(parts_of_a_partition_add_up)
{
	enum { CUTS = 40 };
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct random_profile r = random_profile(seed, WAITS);
		struct tree_opts o = { .type = seed % 2 ? r.cpu : r.alloc };
		struct spelled want = spell(r.p, &o), got = { 0 };
		int64_t cuts[CUTS];
		size_t n = random_cuts(&r.rng, cuts, CUTS);
		for (size_t i = 0; i <= n; i++) {
			o.time_from_ns = i ? cuts[i - 1] : 0;
			o.time_to_ns = i < n ? cuts[i] : 0;
			struct spelled part = spell(r.p, &o);
			for (size_t k = 0; k < part.rows.n; k++)
				vec_push(&got.rows, part.rows.v[k]);
			vec_done(&part.rows);
			struct profile *cut = part_of(r.p, &(struct select_opts){ .tree = o });
			for (size_t k = 0; k < cut->samples.n; k++) {
				int64_t start = cut->samples.time_ns[k] - 5000;
				int64_t end = start + sample_length_ns(&cut->samples, k);
				ck_assert_int_ge(start, o.time_from_ns);
				ck_assert(!o.time_to_ns || end <= o.time_to_ns);
			}
			profile_free(cut);
		}
		spelled_normal(&got);
		assert_spelled_eq(&got, &want);
		spelled_done(&got);
		spelled_done(&want);
		profile_free(r.p);
	}
}
END_TEST

/* A 40-minute wait is not one spike, and times at the limits of the type are handled. */
START_TEST(a_long_wait_is_cut_exactly)
{
	struct random_profile r = random_profile(1, (struct random_shape){ .n_stacks = 3 });
	int64_t minute = 60000000000;
	struct sample wait = { .time_ns = 5000 - 5 * minute,
			       .length_ns = 40 * minute,
			       .value = 40 * minute,
			       .series = r.series[3],
			       .stack = 1 };
	r.p->sink.ops->sample(&r.p->sink, &wait);
	wait.time_ns = INT64_MAX - 5;
	wait.length_ns = INT64_MAX;
	wait.value = INT64_MIN;
	r.p->sink.ops->sample(&r.p->sink, &wait);
	wait.time_ns = INT64_MIN;
	r.p->sink.ops->sample(&r.p->sink, &wait);
	struct tree_opts o = { .time_from_ns = minute + 1, .time_to_ns = 2 * minute + 2 };
	struct sample_part part = { 0 };
	ck_assert(sample_part_in(r.p, 0, &o, &part));
	ck_assert_int_eq(part.time_ns, 5000 + minute + 1);
	ck_assert_int_eq(part.length_ns, minute + 1);
	ck_assert_int_eq(part.value, minute + 1);
	ck_assert(!sample_part_in(r.p, 1, &o, &part) && !sample_part_in(r.p, 2, &o, &part));
	ck_assert(sample_part_in(r.p, 1, &(struct tree_opts){ 0 }, &part));
	ck_assert_int_eq(part.value, INT64_MIN);
	o = (struct tree_opts){ .time_from_ns = 35 * minute };
	ck_assert(!sample_part_in(r.p, 0, &o, &part));
	o = (struct tree_opts){ .time_from_ns = 35 * minute - 1, .time_to_ns = 36 * minute };
	ck_assert(sample_part_in(r.p, 0, &o, &part) && part.length_ns == 1 && part.value == 1);
	profile_free(r.p);
}
END_TEST

START_TEST(a_bad_expression_is_refused)
{
	struct random_profile r = random_profile(5, SMALL);
	struct profile *part = NULL;
	struct err err = { 0 };
	struct select_opts o = { .tree.hide = "(" };
	ck_assert_int_eq(profile_select(r.p, &o, &part, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "hide"));
	ck_assert_ptr_null(part);
	profile_free(r.p);
}
END_TEST

START_TEST(samples_are_taken_away)
{
	struct random_profile r = random_profile(6, WAITS);
	size_t n = r.p->samples.n;
	bool *keep = calloc(n, sizeof *keep);
	int64_t sum = 0, left = 0;
	for (size_t i = 0; i < n; i += 3) {
		keep[i] = true;
		sum += r.p->samples.value[i] + sample_length_ns(&r.p->samples, i);
	}
	profile_keep_samples(r.p, keep);
	ck_assert_uint_eq(r.p->samples.n, (n + 2) / 3);
	for (size_t i = 0; i < r.p->samples.n; i++)
		left += r.p->samples.value[i] + sample_length_ns(&r.p->samples, i);
	ck_assert_int_eq(left, sum);
	free(keep);
	profile_free(r.p);
}
END_TEST

UNIT_MAIN("select", the_tree_of_a_part_is_the_filtered_tree_of_the_whole,
	  all_of_a_profile_is_that_profile, unreferenced_entries_are_removed,
	  a_time_range_starts_there, threads_stay_with_any_part_but_one_in_time,
	  parts_of_a_partition_add_up, a_long_wait_is_cut_exactly, a_bad_expression_is_refused,
	  samples_are_taken_away)
