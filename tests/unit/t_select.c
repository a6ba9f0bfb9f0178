/* A part of a profile, against trees of the whole with the same options. */
#include "naive_tree.h"
#include "random_profile.h"
#include "unit.h"

#include "profile/select.h"

#include <errno.h>

enum { SEEDS = 6 };
static const struct random_shape SMALL = { .n_stacks = 120, .n_samples = 400 };
static const struct random_shape TWO_PERIODS = { .n_stacks = 60,
						 .n_samples = 300,
						 .periods_differ = true };

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

/* Paths with their values in the period's unit, whoever was inlined. */
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
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_profile r = random_profile(seed, seed % 2 ? SMALL : TWO_PERIODS);
		for (int i = 0; i < OPTIONS; i++) {
			assert_part_is_tree(r.p, r.cpu, &EACH_OPTION[i]);
			assert_part_is_tree(r.p, r.alloc, &EACH_OPTION[i]);
		}
		profile_free(r.p);
	}
}
END_TEST

/* Without filters nothing that a sample refers to is lost: merged, both are twice the one. */
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

START_TEST(what_nothing_refers_to_is_gone)
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

START_TEST(a_part_in_time_begins_there)
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

/* Exact times are of a whole thread: a part in time has none. */
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
	struct random_profile r = random_profile(6, SMALL);
	size_t n = r.p->samples.n;
	bool *keep = calloc(n, sizeof *keep);
	int64_t sum = 0, left = 0;
	for (size_t i = 0; i < n; i += 3) {
		keep[i] = true;
		sum += r.p->samples.value[i];
	}
	profile_keep_samples(r.p, keep);
	ck_assert_uint_eq(r.p->samples.n, (n + 2) / 3);
	for (size_t i = 0; i < r.p->samples.n; i++)
		left += r.p->samples.value[i];
	ck_assert_int_eq(left, sum);
	free(keep);
	profile_free(r.p);
}
END_TEST

UNIT_MAIN("select", the_tree_of_a_part_is_the_filtered_tree_of_the_whole,
	  all_of_a_profile_is_that_profile, what_nothing_refers_to_is_gone,
	  a_part_in_time_begins_there, threads_stay_with_any_part_but_one_in_time,
	  a_bad_expression_is_refused, samples_are_taken_away)
