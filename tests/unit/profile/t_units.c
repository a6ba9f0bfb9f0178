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

/* As of two files: one with samples of 10 ms of CPU time, one with CPU time. */
START_TEST(counts_of_samples_become_the_time_of_another_file)
{
	struct profile *p = profile_new();
	uint32_t count = series_of(p, "samples", "count", 10000000, "nanoseconds");
	uint32_t ns = series_of(p, "cpu", "nanoseconds", 0, "");
	add(p, count, 7);
	add(p, ns, 5);
	p->meta.default_type = 1;
	ck_assert(profile_has_counts_and_times(p));
	profile_unify_names(p, true);
	ck_assert(!profile_has_counts_and_times(p));
	ck_assert_uint_eq(p->series.types.n, 1);
	ck_assert_uint_eq(p->series.series.n, 1);
	ck_assert_uint_eq(p->meta.default_type, 0);
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), "nanoseconds");
	ck_assert_int_eq(p->samples.value[0], 70000000);
	ck_assert_int_eq(p->samples.value[1], 5);
	ck_assert_int_eq(profile_total(p, 0), 70000005);
	profile_free(p);
}
END_TEST

static const char *type_names(const struct profile *p)
{
	static char text[256];
	size_t len = 0;
	for (size_t i = 0; i < p->series.types.n; i++) {
		const struct type *t = &p->series.types.v[i];
		len += snprintf(text + len, sizeof text - len, "%s:%s:%s ", profile_str(p, t->name),
				profile_str(p, t->sample_type), profile_str(p, t->unit));
	}
	return text;
}

/* Without a period the time is not known; and both of one file may be of the same samples. */
START_TEST(counts_without_a_time_have_another_name)
{
	struct profile *p = profile_new();
	add(p, series_of(p, "samples", "count", 0, ""), 7);
	add(p, series_of(p, "cpu", "nanoseconds", 0, ""), 5);
	add(p, series_of(p, "cpu", "count", 0, ""), 3);
	profile_unify_names(p, true);
	ck_assert_str_eq(type_names(p),
			 "samples:samples:count cpu:cpu:nanoseconds cpu-count:cpu-count:count ");
	ck_assert_int_eq(p->samples.value[0], 7);
	profile_free(p);
	p = profile_new();
	add(p, series_of(p, "samples", "count", 10000000, "nanoseconds"), 7);
	add(p, series_of(p, "cpu", "nanoseconds", 0, ""), 70000000);
	profile_unify_names(p, false);
	ck_assert_str_eq(type_names(p), "samples:samples:count cpu:cpu:nanoseconds ");
	profile_free(p);
}
END_TEST

/* Sums are cut at 2^63 - 1, which is counted by sample. */
START_TEST(values_that_are_too_large_are_counted)
{
	struct profile *p = profile_new();
	uint32_t ns = series_of(p, "cpu", "nanoseconds", 0, "");
	uint32_t count = series_of(p, "samples", "count", 0, "");
	add(p, ns, INT64_MAX - 1);
	add(p, ns, 1);
	add(p, count, 1);
	ck_assert_uint_eq(profile_too_large(p), 0);
	add(p, ns, -1);
	add(p, ns, 0);
	add(p, count, INT64_MAX);
	add(p, count, INT64_MIN);
	ck_assert_uint_eq(profile_too_large(p), 3);
	profile_free(p);
}
END_TEST

UNIT_MAIN("units", names_of_units, types_of_one_quantity_are_one, catalogs_retain_their_series,
	  counts_of_samples_become_the_time_of_another_file,
	  counts_without_a_time_have_another_name, values_that_are_too_large_are_counted)
