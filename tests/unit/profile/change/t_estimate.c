// tier: test
/* Errors of sums whose stacks are estimates. Wilson's intervals are from another program: for 0.3 of 100 it is 0.218948853 to 0.395848546, for 0.5 of
 * 20 it is 0.299298008 to 0.700701992. */
#include "unit.h"

#include "base/buf.h"
#include "format/table/table.h"
#include "profile/change/estimate.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/tree/top.h"

#define S INT64_C(1000000000)

static uint32_t stack_of(struct sink *s, const char *a, const char *b, const char *c)
{
	const char *names[] = { a, b, c };
	uint32_t frames[3];
	for (int i = 0; i < 3; i++) {
		struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, names[i]) };
		frames[i] = s->ops->frame(s, &f);
	}
	return s->ops->stack(s, frames, 3);
}

/* from: NULL for exact ones. */
static void put(struct profile *p, const char *function, const char *kernel, const char *from,
		int64_t ns)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "gpu-time"),
			     .sample_type = sink_string(s, "gpu-time"),
			     .unit = sink_string(s, "nanoseconds") };
	struct label labels[] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, function) },
		{ .key = sink_string(s, ESTIMATE_LABEL), .str = sink_string(s, from) }
	};
	struct series series = { .type = s->ops->type(s, &type),
				 .labels = s->ops->labels(s, labels, from ? 2 : 1) };
	struct sample sample = { .time_ns = S,
				 .length_ns = ns,
				 .value = ns,
				 .series = s->ops->series(s, &series),
				 .stack = stack_of(s, "main", function, kernel),
				 .pid = 7,
				 .tid = 7,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

/* train has 0.3 of the gemm and half of the copies, infer the rest; and train has one exact second. */
static struct profile *two_kinds(void)
{
	struct profile *p = profile_new();
	put(p, "train", "gemm", NULL, S);
	put(p, "train", "gemm", "100", S / 10);
	put(p, "train", "gemm", "100", S / 5);
	put(p, "infer", "gemm", "100", S - S / 10 - S / 5);
	put(p, "train", "copy", "20", S / 2);
	put(p, "infer", "copy", "20", S / 2);
	return p;
}

struct asked {
	struct tree *tree;
	struct estimates *estimates;
};

static struct asked ask(struct profile *p, const struct tree_opts *opts)
{
	struct asked a;
	ck_assert_int_eq(tree_build(p, opts, &a.tree, NULL), 0);
	ck_assert_int_eq(estimates_build(p, opts, &a.estimates, NULL), 0);
	return a;
}

static void asked_done(struct asked *a)
{
	estimates_free(a->estimates);
	tree_free(a->tree);
}

static struct top_row row_of(const struct tree *t, const char *name)
{
	struct top_table top = { 0 };
	struct top_row found = { .func = UINT32_MAX };
	top_build(t, &top);
	for (size_t i = 0; i < top.rows.n; i++)
		if (strcmp(strtab_get(&t->strings, t->funcs.v[top.rows.v[i].func].name), name) == 0)
			found = top.rows.v[i];
	ck_assert_uint_ne(found.func, UINT32_MAX);
	top_done(&top);
	return found;
}

static void check_total(const struct asked *a, const char *name, int64_t total, int64_t low,
			int64_t high)
{
	struct top_row r = row_of(a->tree, name);
	struct estimate e = estimates_get(a->estimates, a->tree, r.func, r.self, r.total);
	ck_assert_int_eq(r.total, total);
	ck_assert_int_eq(e.self_low, r.self);
	ck_assert_int_eq(e.self_high, r.self);
	ck_assert_int_le(llabs(e.total_low - low), 1);
	ck_assert_int_le(llabs(e.total_high - high), 1);
}

/* 0.8 s are estimates: 0.3 off by 0.081051 and 0.095849, 0.5 by 0.200702 each way, together 0.216450 and 0.222415. */
START_TEST(kinds_add_up_as_squares)
{
	struct profile *p = two_kinds();
	struct asked a = ask(p, &(struct tree_opts){ 0 });
	check_total(&a, "train", S + 800000000, S + 583550057, S + 1022414553);
	check_total(&a, "main", 3 * S, 3 * S, 3 * S);
	check_total(&a, "gemm", 2 * S, 2 * S, 2 * S);
	ck_assert_int_eq(estimates_total(a.estimates), 2 * S);
	asked_done(&a);
	profile_free(p);
}
END_TEST

/* The part left by a filter is still a share of the whole kind. */
START_TEST(filters_leave_the_whole)
{
	struct profile *p = two_kinds();
	struct asked a = ask(p, &(struct tree_opts){ .focus = "train", .ignore = "copy" });
	check_total(&a, "train", S + 300000000, S + 218948853, S + 395848546);
	check_total(&a, "main", S + 300000000, S + 218948853, S + 395848546);
	asked_done(&a);
	profile_free(p);
}
END_TEST

START_TEST(nothing_is_an_estimate)
{
	struct profile *p = profile_new();
	put(p, "train", "gemm", NULL, S);
	struct asked a = ask(p, &(struct tree_opts){ 0 });
	ck_assert_ptr_null(a.estimates);
	asked_done(&a);
	profile_free(p);
}
END_TEST

static void print(const struct asked *a, const struct profile *p,
		  void (*write)(const struct table *t, const struct table_opts *opts,
				struct buf *b),
		  struct buf *b)
{
	struct top_table top = { 0 };
	struct table t = { .profile = p, .tree = a->tree, .top = &top, .estimates = a->estimates };
	top_build(a->tree, &top);
	write(&t, &(struct table_opts){ .utf8 = true, .width = 100 }, b);
	top_done(&top);
}

START_TEST(tables_say_so)
{
	struct profile *p = two_kinds();
	struct asked a = ask(p, &(struct tree_opts){ 0 });
	struct buf b = { 0 };
	print(&a, p, table_text, &b);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "self     total         \302\261 kind"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "1.80 s    222 ms native"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "2.00 s are estimates"));
	buf_clear(&b);
	print(&a, p, table_csv, &b);
	ck_assert_ptr_nonnull(
		strstr(buf_cstr(&b), ",file,self_low,self_high,total_low,total_high\n"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), ",0,1800000000,native,train,,,0,0,15835"));
	buf_clear(&b);
	print(&a, p, table_json, &b);
	ck_assert_ptr_nonnull(
		strstr(buf_cstr(&b), "\"self_low\":0,\"self_high\":0,\"total_low\":15835"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "\"estimated\":2000000000"));
	buf_done(&b);
	asked_done(&a);
	profile_free(p);
}
END_TEST

UNIT_MAIN("estimate", kinds_add_up_as_squares, filters_leave_the_whole, nothing_is_an_estimate,
	  tables_say_so)
