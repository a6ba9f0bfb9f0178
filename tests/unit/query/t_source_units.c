// tier: test
#include "unit.h"

#include "profile/profile.h"
#include "query/source.h"

#include <string.h>

static uint32_t series_in(struct profile *p, const char *unit)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "wall"),
			     .sample_type = sink_string(s, "wall"),
			     .unit = sink_string(s, unit) };
	struct series series = { .type = s->ops->type(s, &type) };
	return s->ops->series(s, &series);
}

/* One stack, once in nanoseconds and twice in microseconds. */
static struct profile *both_units(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, "main") };
	uint32_t frame = s->ops->frame(s, &f), stack = s->ops->stack(s, &frame, 1);
	uint32_t ns = series_in(p, "nanoseconds"), us = series_in(p, "us");
	for (int i = 0; i < 3; i++) {
		struct sample sample = { .series = i ? us : ns,
					 .stack = stack,
					 .time_ns = 1000 + i,
					 .value = i ? 10 * i : 7,
					 .pid = 1,
					 .tid = 1,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
	return p;
}

static int add_row(void *ctx, const struct source_row *row)
{
	*(int64_t *)ctx += row->value;
	return 0;
}

START_TEST(values_are_in_one_unit)
{
	const bool all[2] = { true, true }, us[2] = { false, true };
	const uint32_t group[2] = { 0, 0 };
	enum { SUM = 7 + 30000 };
	struct profile *p = both_units();
	struct source *s = source_unify_units(source_of_profile(p));
	const struct profile *catalog = s->ops->catalog(s);
	ck_assert_uint_eq(catalog->series.types.n, 1);
	ck_assert_uint_eq(catalog->series.series.n, 2);
	ck_assert_str_eq(profile_str(catalog, catalog->series.types.v[0].unit), "nanoseconds");

	int64_t sum = 0, from_ns, to_ns;
	s->ops->range(s, &from_ns, &to_ns);
	ck_assert_int_eq(s->ops->rows(s, all, from_ns, to_ns, add_row, &sum, NULL), 0);
	ck_assert_int_eq(sum, SUM);
	sum = 0;
	ck_assert_int_eq(source_columns(s, us, from_ns, to_ns, add_row, NULL, NULL, &sum, NULL), 0);
	ck_assert_int_eq(sum, 30000);
	sum = 5;
	ck_assert_int_eq(s->ops->steps(s, group, from_ns, to_ns - from_ns, 1, &sum, NULL), 0);
	ck_assert_int_eq(sum, 5 + SUM);

	struct source_merged merged;
	double squares = 0;
	sum = 0;
	ck_assert_int_eq(s->ops->merge(s, all, from_ns, to_ns, &merged, NULL), 0);
	for (size_t i = 0; i < merged.n; i++) {
		for (uint32_t k = 0; k < merged.parts[i].n; k++) {
			const struct source_sums *part = &merged.parts[i];
			sum += part->value[k];
			squares += part->squares ? part->squares[k] : (double)part->value[k];
		}
	}
	ck_assert_int_eq(sum, SUM);
	ck_assert_double_gt(squares, 1e7); /* of samples of 10 000 ns and more */
	source_merged_done(&merged);
	source_close(s);
	profile_free(p);
}
END_TEST

START_TEST(nothing_to_convert_costs_nothing)
{
	struct profile *p = profile_new();
	series_in(p, "nanoseconds");
	series_in(p, "count");
	struct source *s = source_of_profile(p);
	ck_assert_ptr_eq(source_unify_units(s), s);
	source_close(s);
	profile_free(p);
}
END_TEST

UNIT_MAIN("source_units", values_are_in_one_unit, nothing_to_convert_costs_nothing)
