// tier: test
#include "pprof_cases.h"

static void put_pair(struct pprof_file *f, int64_t period)
{
	file_value_type(f, PROFILE_SAMPLE_TYPE, "samples", "count");
	file_value_type(f, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	file_value_type(f, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	pb_put_u64(&f->b, PROFILE_PERIOD, period);
	file_function(f, 1, "main", "main.c", 0);
	file_location(f, 1, 0, 0, LINES(1));
}

START_TEST(samples_and_their_time_are_one_type)
{
	struct pprof_file f = { 0 };
	put_pair(&f, 1000);
	put_two_values(&f, 3, 3000);
	put_two_values(&f, 0, 0);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 1);
	ck_assert_str_eq(profile_str(p, p->series.types.v[0].name), "cpu");
	ck_assert_int_eq(p->series.series.v[0].period, 1000);
	ck_assert_int_eq(profile_total(p, 0), 3);
	struct profile *again = written_and_read(p);
	ck_assert_uint_eq(again->series.types.n, 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(times_that_are_not_the_samples_stay)
{
	struct pprof_file f = { 0 };
	put_pair(&f, 1000);
	put_two_values(&f, 3, 3000);
	put_two_values(&f, 1, 1001);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 2);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "samples")), 4);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "cpu")), 4001);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* A lone column of samples gets no time column when read and written. */
START_TEST(a_lone_column_stays_alone)
{
	struct profile *p = read_golden("parca-symbolizer-profile"), *again = written_and_read(p);
	ck_assert_uint_eq(again->series.types.n, 1);
	ck_assert_uint_eq(again->meta.sample_types.n, 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(equal_columns_are_distinguished)
{
	struct pprof_file f = { 0 };
	for (int i = 0; i < 2; i++)
		file_value_type(&f, PROFILE_SAMPLE_TYPE, "objects", "count");
	file_function(&f, 1, "main", "main.c", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	put_two_values(&f, 5, 7);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->series.types.n, 2);
	ck_assert_int_eq(profile_total(p, 0), 5);
	ck_assert_int_eq(profile_total(p, 1), 7);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

/* Samples at 200 Hz count half in a file of 100 Hz; their time is exact. */
START_TEST(rates_that_differ_are_brought_together)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct series series = { .type = s->ops->type(s, &cpu) };
	for (int i = 1; i <= 2; i++) {
		series.period = 10000000 / i;
		struct sample sample = { .series = s->ops->series(s, &series), .value = 10 };
		s->ops->sample(s, &sample);
	}
	struct profile *again = written_and_read(p);
	ck_assert_int_eq(profile_total(again, profile_pick_type(again, "samples")), 15);
	profile_free(again);
	profile_free(p);
}
END_TEST

START_TEST(one_type_can_be_requested)
{
	struct profile *p = read_golden("parca-alloc_objects");
	struct buf b = written_bytes(p, "inuse_space");
	struct profile *one = profile_of_bytes(b.data, b.len);
	ck_assert_uint_eq(one->series.types.n, 1);
	ck_assert_int_eq(profile_total(one, 0), 14730706);
	profile_free(one);
	buf_done(&b);
	b = written_bytes(p, "space"); /* the name that all four share */
	one = profile_of_bytes(b.data, b.len);
	ck_assert_uint_eq(one->series.types.n, 4);
	profile_free(one);
	buf_done(&b);
	profile_free(p);
}
END_TEST

/* --- labels ----------------------------------------------------------------------------------- */

static void put_label(struct pprof_file *f, const char *key, const char *str, int64_t num,
		      const char *unit)
{
	size_t mark = pb_begin(&f->b, SAMPLE_LABEL);
	pb_put_u64(&f->b, LABEL_KEY, file_text(f, key));
	if (str)
		pb_put_u64(&f->b, LABEL_STR, file_text(f, str));
	if (num)
		pb_put_u64(&f->b, LABEL_NUM, num);
	if (unit)
		pb_put_u64(&f->b, LABEL_NUM_UNIT, file_text(f, unit));
	pb_end(&f->b, mark);
}

START_TEST(pid_tid_and_cpu_are_columns)
{
	struct pprof_file f = { 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "samples", "count");
	file_function(&f, 1, "main", "", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	size_t mark = pb_begin(&f.b, PROFILE_SAMPLE);
	pb_put_u64(&f.b, SAMPLE_LOCATION_ID, 1);
	pb_put_u64(&f.b, SAMPLE_VALUE, 1);
	put_label(&f, "pid", NULL, 42, NULL);
	put_label(&f, "tid", NULL, 43, NULL);
	put_label(&f, "cpu", NULL, 0, NULL);
	put_label(&f, "pid", NULL, 99, NULL);   /* a second one */
	put_label(&f, "tid", "text", 0, NULL);  /* text */
	put_label(&f, "cpu", NULL, 3, "bytes"); /* a quantity */
	put_label(&f, "cpu", NULL, -1, NULL);   /* no cpu */
	put_label(&f, "comm", "", 0, NULL);
	put_label(&f, "key", "a", 0, NULL);
	put_label(&f, "key", "b", 0, NULL);
	pb_end(&f.b, mark);
	struct profile *p = profile_of_file(&f);
	ck_assert_uint_eq(p->samples.pid[0], 42);
	ck_assert_uint_eq(p->samples.tid[0], 43);
	ck_assert_uint_eq(p->samples.cpu[0], 0);
	uint32_t set = p->series.series.v[p->samples.series[0]].labels;
	ck_assert_uint_eq(p->series.sets.v[set].n, 7);
	const struct label *comm = label_find(&p->series, set, strtab_find(&p->strings, "comm"));
	ck_assert(comm && !comm->is_num && comm->str == 0);
	struct profile *again = written_and_read(p);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	profile_free(p);
}
END_TEST

UNIT_MAIN("pprof_types", samples_and_their_time_are_one_type, times_that_are_not_the_samples_stay,
	  a_lone_column_stays_alone, equal_columns_are_distinguished,
	  rates_that_differ_are_brought_together, one_type_can_be_requested,
	  pid_tid_and_cpu_are_columns)
