// tier: test
/* Spans of traces stay with their samples: through merging, selecting, pprof and queries; and they never become labels. */
#include "pprof_file.h"
#include "random_profile.h"
#include "spelled_profile.h"
#include "unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/tree/select.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"

#include <errno.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static const struct random_shape LINKS = { .n_stacks = 40, .n_samples = 500, .links = true };

START_TEST(equal_ones_have_one_id)
{
	struct link_table t = { 0 };
	struct trace_link l = { 0 };

	ck_assert_uint_eq(link_intern(&t, &l), 0);
	ck_assert_ptr_null(link_get(&t, 0));
	for (uint32_t i = 1; i <= 3000; i++) {
		memcpy(l.span, &i, sizeof i);
		ck_assert_uint_eq(link_intern(&t, &l), i);
	}
	for (uint32_t i = 3000; i; i--) {
		memcpy(l.span, &i, sizeof i);
		ck_assert_uint_eq(link_intern(&t, &l), i);
		ck_assert_mem_eq(link_get(&t, i), &l, sizeof l);
	}
	link_table_done(&t);
}
END_TEST

START_TEST(those_beyond_the_limit_are_counted)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct trace_link l = { 0 };

	for (uint32_t i = 1; i <= LINK_MAX + 5; i++) {
		memcpy(l.trace, &i, sizeof i);
		ck_assert_uint_eq(s->ops->link(s, &l), i <= LINK_MAX ? i : 0);
	}
	memset(&l, 0, sizeof l);
	l.trace[0] = 7;
	ck_assert_uint_eq(s->ops->link(s, &l), 7);
	ck_assert_uint_eq(p->meta.loss[LOSS_LINKS_DROPPED], 5);
	profile_free(p);
}
END_TEST

START_TEST(ids_are_read_as_they_are_written)
{
	uint8_t bytes[LINK_TRACE_BYTES];
	char text[LINK_TEXT_BYTES];
	static const char *const wrong[] = { "",
					     "0",
					     SPAN,
					     TRACE "0",
					     "4bf92f3577b34da6a3ce929d0e0e473g",
					     "4bf92f3577b34da6 3ce929d0e0e4736" };

	ck_assert(link_parse(TRACE, 32, bytes, 16));
	link_text(bytes, 16, text);
	ck_assert_str_eq(text, TRACE);
	ck_assert(link_parse("4BF92F3577B34DA6A3CE929D0E0E4736", 32, bytes, 16));
	link_text(bytes, 16, text);
	ck_assert_str_eq(text, TRACE);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert(!link_parse(wrong[i], strlen(wrong[i]), bytes, 16));
}
END_TEST

/* The samples of a merge are those of both profiles. */
START_TEST(merging_preserves_them)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct random_profile a = random_profile(seed, LINKS);
		struct random_profile b = random_profile(seed + 50, LINKS);
		struct profile *ab = profile_new(), *ba = profile_new();

		profile_merge(ab, a.p);
		ab->meta.start_mono_ns = a.p->meta.start_mono_ns;
		assert_same_profile(ab, a.p, 0);
		profile_merge(ab, b.p);
		ba->meta.start_mono_ns = 5000;
		profile_merge(ba, b.p);
		profile_merge(ba, a.p);
		assert_same_profile(ab, ba, 0);
		ck_assert_uint_gt(ab->links.all.n, a.p->links.all.n);
		profile_free(ab);
		profile_free(ba);
		profile_free(a.p);
		profile_free(b.p);
	}
}
END_TEST

START_TEST(selecting_preserves_them)
{
	struct random_profile r = random_profile(3, LINKS);
	struct select_opts opts = { 0 };
	struct profile *again;

	ck_assert_int_eq(profile_select(r.p, &opts, &again, NULL), 0);
	assert_same_profile(r.p, again, 0);
	profile_free(again);
	profile_free(r.p);
}
END_TEST

/* --- pprof ------------------------------------------------------------------------------------- */

START_TEST(pprof_preserves_them)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct random_profile r = random_profile(seed, LINKS);
		struct profile *once = written_and_read(r.p), *twice = written_and_read(once);

		ck_assert_uint_eq(once->links.all.n, r.p->links.all.n);
		ck_assert_uint_eq(once->series.sets.n, twice->series.sets.n);
		assert_same_profile(once, twice, 0);
		profile_free(once);
		profile_free(twice);
		profile_free(r.p);
	}
}
END_TEST

struct said {
	const char *key, *str;
	uint64_t num;
	const char *trace, *span; /* NULL: it stays a label */
};

/* One sample with one label. */
static struct profile *profile_with(const struct said *said)
{
	struct pprof_file f = { 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "samples", "count");
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE);
	pb_put_u64(&f.b, SAMPLE_VALUE, 1);
	size_t label = pb_begin(&f.b, SAMPLE_LABEL);
	pb_put_u64(&f.b, LABEL_KEY, file_text(&f, said->key));
	if (said->str)
		pb_put_u64(&f.b, LABEL_STR, file_text(&f, said->str));
	if (said->num)
		pb_put_u64(&f.b, LABEL_NUM, said->num);
	pb_end(&f.b, label);
	pb_end(&f.b, mark);
	return profile_of_file(&f);
}

START_TEST(links_of_other_producers_are_understood)
{
	static const struct said all[] = {
		{ "trace_id", TRACE, 0, TRACE, "0000000000000000" },
		{ "span_id", SPAN, 0, "00000000000000000000000000000000", SPAN },
		{ "profile_id", SPAN, 0, "00000000000000000000000000000000", SPAN },
		{ "span_id", NULL, 0x1122334455667788, "00000000000000000000000000000000",
		  "1122334455667788" },
		{ "span id", NULL, 0x1ff, "00000000000000000000000000000000", "00000000000001ff" },
		{ "span id", "18446744073709551615", 0, "00000000000000000000000000000000",
		  "ffffffffffffffff" },
		{ .key = "span id", .str = "18446744073709551616" },
		{ .key = "span id", .str = SPAN "0123456789abcdef0123456789abcdef" },
		{ .key = "trace_id", .str = SPAN },
		{ .key = "trace_id", .num = 17 },
		{ .key = "span_id", .str = "none" },
		{ .key = "trace", .str = TRACE },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct profile *p = profile_with(&all[i]);
		const struct trace_link *link = link_get(&p->links, sample_link(&p->samples, 0));
		char text[LINK_TEXT_BYTES];

		ck_assert_uint_eq(p->samples.n, 1);
		ck_assert_uint_eq(p->series.labels.n, all[i].trace ? 0 : 1);
		ck_assert_int_eq(link != NULL, all[i].trace != NULL);
		if (link) {
			link_text(link->trace, sizeof link->trace, text);
			ck_assert_str_eq(text, all[i].trace);
			link_text(link->span, sizeof link->span, text);
			ck_assert_str_eq(text, all[i].span);
			/* Their text is removed, too. */
			ck_assert_uint_eq(strtab_find(&p->strings, TRACE), UINT32_MAX);
		}
		profile_free(p);
	}
}
END_TEST

/* --- queries ----------------------------------------------------------------------------------- */

static bool is_of_trace(const struct profile *p, size_t row, const char *text)
{
	const struct trace_link *l = link_get(&p->links, sample_link(&p->samples, row));
	struct trace_link none = { 0 };
	char own[LINK_TEXT_BYTES] = "";

	if (l && memcmp(l->trace, none.trace, sizeof none.trace) != 0)
		link_text(l->trace, sizeof l->trace, own);
	return strcmp(own, text) == 0;
}

/* The sum over the rows of a trace, or of all others. */
static int64_t naive_sum(const struct random_profile *r, const char *trace, bool equal)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->p->samples.n; i++)
		if (r->p->series.series.v[r->p->samples.series[i]].type == r->cpu &&
		    is_of_trace(r->p, i, trace) == equal)
			sum += r->p->samples.value[i];
	return sum;
}

static void check_query(const struct random_profile *r, const char *op, const char *trace)
{
	struct source *source = source_of_profile(r->p);
	char *text = xasprintf("cpu{trace_id%s'%s'}", op, trace);
	struct query q = { .source = source, .type = r->cpu };
	struct profile *out;
	struct selector *s;
	struct err err = { 0 };
	int64_t sum = 0;

	ck_assert_msg(selector_parse(text, &s, &err) == 0, "%s", err.text);
	q.selector = s;
	source->ops->range(source, &q.from_ns, &q.to_ns);
	ck_assert_int_eq(query_profile(&q, true, &out, NULL, &err), 0);
	for (size_t i = 0; i < out->samples.n; i++) {
		sum += out->samples.value[i];
		ck_assert_int_eq(is_of_trace(out, i, trace), op[0] == '=');
	}
	ck_assert_int_eq(sum, naive_sum(r, trace, op[0] == '='));
	profile_free(out);

	struct query_tree tree;
	ck_assert_int_eq(query_tree(&q, &tree, &err), 0);
	ck_assert_int_eq(tree.tree->nodes.v[TREE_ROOT].total, sum);
	tree_free(tree.tree);
	selector_free(s);
	source->ops->close(source);
	free(text);
}

START_TEST(a_selector_takes_one_trace)
{
	struct random_profile r = random_profile(
		9, (struct random_shape){ .n_stacks = 40, .n_samples = 3000, .links = true });

	for (size_t i = 0; i < 20; i++) {
		char text[LINK_TEXT_BYTES];
		link_text(r.p->links.all.v[i].trace, LINK_TRACE_BYTES, text);
		if (strspn(text, "0") == strlen(text))
			continue;
		check_query(&r, "=", text);
		check_query(&r, "!=", text);
		check_query(&r, "=~", text);
		check_query(&r, "!~", text);
	}
	check_query(&r, "=", "");
	check_query(&r, "!=", "");
	check_query(&r, "=", TRACE);
	profile_free(r.p);
}
END_TEST

START_TEST(a_selector_names_the_place_of_a_wrong_one)
{
	struct selector *s;
	struct err err = { 0 };

	ck_assert_int_eq(selector_parse("cpu{trace_id=\"12\"}", &s, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "32 hexadecimal digits"));
	ck_assert_ptr_nonnull(strstr(err.text, "column 14"));
	ck_assert_int_eq(selector_parse("cpu{trace_id=~\"12.*\"}", &s, &err), 0);
	selector_free(s);
	ck_assert_int_eq(
		selector_parse("{trace_id=\"4BF92F3577B34DA6A3CE929D0E0E4736\"}", &s, &err), 0);
	selector_free(s);
}
END_TEST

UNIT_MAIN("links", equal_ones_have_one_id, those_beyond_the_limit_are_counted,
	  ids_are_read_as_they_are_written, merging_preserves_them, selecting_preserves_them,
	  pprof_preserves_them, links_of_other_producers_are_understood, a_selector_takes_one_trace,
	  a_selector_names_the_place_of_a_wrong_one)
