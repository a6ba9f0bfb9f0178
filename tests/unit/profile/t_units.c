// tier: test
#include "unit.h"

#include "profile/profile.h"
#include "profile/units.h"

#include <string.h>

static uint32_t series_of(struct profile *p, const char *sample_type, const char *unit,
			  int64_t period, const char *period_unit)
{
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, sample_type),
			     .unit = sink_string(s, unit),
			     .period_type = sink_string(s, *period_unit ? "cpu" : ""),
			     .period_unit = sink_string(s, period_unit) };
	struct series series = { .type = s->ops->type(s, &type), .period = period };
	return s->ops->series(s, &series);
}

static void add(struct profile *p, uint32_t series, int64_t value)
{
	struct sink *s = profile_sink(p);
	struct sample sample = { .series = series,
				 .stack = s->ops->stack(s, NULL, 0),
				 .value = value,
				 .pid = SAMPLE_NO_ID,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };
	s->ops->sample(s, &sample);
}

START_TEST(names_of_units)
{
	static const struct {
		const char *unit, *base;
		int64_t scale;
	} cases[] = {
		{ "nanoseconds", "nanoseconds", 1 },
		{ "ns", "nanoseconds", 1 },
		{ "microsecond", "nanoseconds", 1000 },
		{ "\xc2\xb5s", "nanoseconds", 1000 },
		{ "MilliSeconds", "nanoseconds", 1000000 },
		{ "ms", "nanoseconds", 1000000 },
		{ "s", "nanoseconds", 1000000000 },
		{ "minute", "nanoseconds", 60000000000 },
		{ "Bytes", "bytes", 1 },
		{ "kB", "bytes", 1024 },
		{ "megabyte", "bytes", 1048576 },
		{ "MiB", "bytes", 1048576 },
		{ "GB", "bytes", 1073741824 },
		{ "sec", "nanoseconds", 1000000000 },
		{ "nsec", "nanoseconds", 1 },
		{ "min", "nanoseconds", 60000000000 },
		{ "hr", "nanoseconds", 3600000000000 },
		{ "day", "nanoseconds", 86400000000000 },
		{ "week", "nanoseconds", 604800000000000 },
		{ "kbyte", "bytes", 1024 },
		{ "PB", "bytes", 1125899906842624 },
		{ "count", "count", 1 },
		{ "1", "count", 1 },
		{ "n", NULL, 1 },
		{ "m", NULL, 1 },
		{ "objects", NULL, 1 },
		{ "", NULL, 1 },
		{ "millionths", NULL, 1 },
		{ "microbytes", NULL, 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct unit_base u = unit_base_of(cases[i].unit);
		ck_assert_msg(u.scale == cases[i].scale, "%s", cases[i].unit);
		ck_assert_msg(cases[i].base ? u.base && strcmp(u.base, cases[i].base) == 0
					    : !u.base,
			      "%s", cases[i].unit);
	}
}
END_TEST

START_TEST(types_of_one_quantity_are_one)
{
	struct profile *p = profile_new();
	uint32_t ns = series_of(p, "cpu", "nanoseconds", 10000000, "nanoseconds");
	uint32_t us = series_of(p, "cpu", "microseconds", 10000, "microseconds");
	uint32_t ms = series_of(p, "cpu", "ms", 10, "ms");
	uint32_t count = series_of(p, "samples", "count", 10, "milliseconds");
	p->meta.default_type = p->series.series.v[ms].type;
	for (uint32_t i = 0; i < 4; i++)
		vec_push(&p->meta.sample_types, i);
	add(p, ns, 70000000);
	add(p, us, 30000);
	add(p, ms, 100);
	add(p, count, 7);
	add(p, us, INT64_MAX);
	profile_unify_units(p);
	ck_assert_uint_eq(p->series.types.n, 2);
	ck_assert_uint_eq(p->series.series.n, 2);
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "nanoseconds");
	ck_assert_str_eq(profile_str(p, p->series.types.v[1].unit), "count");
	ck_assert_str_eq(profile_str(p, p->series.types.v[1].period_unit), "nanoseconds");
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(p->series.series.v[i].period, 10000000);
	static const int64_t want[] = { 70000000, 30000000, 100000000, 7, INT64_MAX };
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(p->samples.value[i], want[i]);
	ck_assert_uint_eq(p->meta.default_type, 0);
	ck_assert_uint_eq(p->meta.sample_types.n, 2);
	/* The tables find what is in them. */
	ck_assert_uint_eq(series_of(p, "cpu", "nanoseconds", 10000000, "nanoseconds"), 0);
	ck_assert_uint_eq(series_of(p, "samples", "count", 10000000, "nanoseconds"), 1);
	ck_assert_uint_eq(p->series.types.n, 2);
	profile_free(p);
}
END_TEST

START_TEST(catalogs_retain_their_series)
{
	struct profile *p = profile_new();
	int64_t *factors;
	series_of(p, "cpu", "nanoseconds", 0, "");
	ck_assert_ptr_null(catalog_unify_units(p, &factors));
	uint32_t us = series_of(p, "cpu", "microseconds", 5, "us");
	struct series none = series_free_place(us + 1, 1);
	vec_push(&p->series.series, none);
	struct profile *c = catalog_unify_units(p, &factors);
	ck_assert_uint_eq(c->series.types.n, 2);
	ck_assert_uint_eq(c->series.series.n, 3);
	ck_assert_int_eq(c->series.series.v[us].period, 5000);
	ck_assert(series_is_free(&c->series, 2));
	ck_assert(factors[0] == 1 && factors[us] == 1000);
	ck_assert_str_eq(profile_str(p, p->series.types.v[1].unit), "microseconds");
	free(factors);
	profile_free(c);
	profile_free(p);
}
END_TEST

UNIT_MAIN("units", names_of_units, types_of_one_quantity_are_one, catalogs_retain_their_series)
