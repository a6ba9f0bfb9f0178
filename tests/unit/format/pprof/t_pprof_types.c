// tier: test
#include "pprof_cases.h"

#include "base/buf.h"
#include "profile/state.h"
#include "profile/tree/tree.h"
#include "profile/units.h"

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
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, "samples")), "samples");
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, "cpu")), "cpu");
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

START_TEST(columns_of_one_quantity_in_two_units_are_not_added_up)
{
	static const char *const units[][2] = { { "nanoseconds", "ms" },
						{ "bytes", "MiB" },
						{ "", "count" } };
	static const int64_t values[][2] = { { 5000000, 5 }, { 3 << 20, 3 }, { 7, 7 } };
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		struct pprof_file f = { 0 };
		file_value_type(&f, PROFILE_SAMPLE_TYPE, "size", units[i][0]);
		file_value_type(&f, PROFILE_SAMPLE_TYPE, "size", units[i][1]);
		file_function(&f, 1, "main", "main.c", 0);
		file_location(&f, 1, 0, 0, LINES(1));
		put_two_values(&f, values[i][0], values[i][1]);
		struct profile *p = profile_of_file(&f);
		profile_unify_units(p);
		ck_assert_uint_eq(p->series.types.n, 2);
		ck_assert_int_eq(profile_total(p, 0), values[i][0]);
		ck_assert_int_eq(profile_total(p, 1), values[i][0]);
		profile_free(p);
	}
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

static void check_default(struct profile *p, const char *sample_type, int64_t total)
{
	uint32_t type = profile_pick_type(p, NULL);
	ck_assert_str_eq(profile_str(p, p->series.types.v[type].sample_type), sample_type);
	ck_assert_int_eq(profile_total(p, type), total);
}

/* As in pprof: the default that the file names, else the last column. */
START_TEST(the_last_column_is_shown_unless_the_file_says)
{
	static const struct {
		const char *name, *sample_type;
		int64_t total;
	} cases[] = { { "go127-heap", "inuse_space", 50297731 },
		      { "go127-block", "delay", 401277023 },
		      { "datadog-time-contexts", "cpu", 974015984 },
		      { "parca-alloc_objects", "alloc_space", 116044559690 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = read_golden(cases[i].name);
		struct profile *again = written_and_read(p);
		check_default(p, cases[i].sample_type, cases[i].total);
		check_default(again, cases[i].sample_type, cases[i].total);
		profile_free(again);
		profile_free(p);
	}
}
END_TEST

START_TEST(a_default_that_no_column_has_is_none)
{
	struct pprof_file f = { 0 };
	put_pair(&f, 1000);
	put_two_values(&f, 3, 4000);
	pb_put_u64(&f.b, PROFILE_DEFAULT_SAMPLE_TYPE, file_text(&f, "gone"));
	struct profile *p = profile_of_file(&f);
	check_default(p, "cpu", 4000);
	profile_free(p);
}
END_TEST

/* Go writes threads without a stack as one location at the end of the address space. */
START_TEST(an_address_at_the_end_of_all_is_no_frame)
{
	struct profile *p = read_golden("go127-threadcreate");
	for (size_t i = 0; i < p->samples.n; i++)
		ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[i]), 0);
	ck_assert_int_eq(profile_total(p, 0), 3);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
}
END_TEST

/* Of the four types of a heap profile each is named, not the period they share. */
START_TEST(a_tree_is_named_by_the_type_that_is_shown)
{
	static const struct {
		const char *file, *type, *name;
		enum thread_state unmarked;
	} cases[] = { { "go127-heap", NULL, "inuse_space", STATE_UNSAID },
		      { "go127-heap", "alloc_objects", "alloc_objects", STATE_UNSAID },
		      { "datadog-time-contexts", NULL, "cpu", STATE_ON_CPU },
		      { "datadog-time-contexts", "wall", "wall", STATE_UNSAID },
		      { "datadog-time-contexts", "sample", "wall", STATE_UNSAID } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = read_golden(cases[i].file);
		struct tree_opts opts = { .type = profile_pick_type(p, cases[i].type) };
		struct tree *t;
		ck_assert_int_eq(tree_build(p, &opts, &t, NULL), 0);
		ck_assert_str_eq(t->type_name, cases[i].name);
		ck_assert_uint_eq(t->unmarked, cases[i].unmarked);
		tree_free(t);
		profile_free(p);
	}
}
END_TEST

/* The event loop's "(idle)" waits; nothing is known of other stacks of wall time. */
START_TEST(an_idle_event_loop_is_off_cpu)
{
	struct profile *p = read_golden("datadog-time-contexts");
	size_t idle = 0;
	for (size_t i = 0; i < p->samples.n; i++) {
		struct stack_state s = state_of_stack(p, p->samples.stack[i]);
		const struct frame *leaf = frame_of_sample(p, i);
		bool is_idle = strcmp(profile_str(p, leaf->function), "(idle)") == 0;
		ck_assert_int_eq(s.state, is_idle ? STATE_OFF_CPU : STATE_UNSAID);
		idle += is_idle;
	}
	ck_assert_uint_gt(idle, 0);
	profile_free(p);
}
END_TEST

/* Also in a file that has only one of them. A count of samples counts what the last column
 * measures. */
START_TEST(columns_without_a_period_have_their_own_names)
{
	struct pprof_file f = { 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	file_function(&f, 1, "main", "main.c", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	put_two_values(&f, 2, 64);
	struct profile *p = profile_of_file(&f);
	struct buf b = written_bytes(p, "alloc_objects");
	struct profile *one = profile_of_bytes(b.data, b.len);
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, "alloc_space")), "alloc_space");
	ck_assert_str_eq(profile_str(one, one->series.types.v[0].name), "alloc_objects");
	ck_assert_str_eq(profile_type_name(one, 0), "alloc_objects");
	ck_assert_uint_eq(one->meta.comments.n, 0);
	profile_free(one);
	profile_free(p);
	buf_done(&b);
	f = (struct pprof_file){ 0 };
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "samples", "count");
	file_value_type(&f, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	file_function(&f, 1, "main", "main.c", 0);
	file_location(&f, 1, 0, 0, LINES(1));
	put_two_values(&f, 2, 64);
	p = profile_of_file(&f);
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, "samples")), "samples");
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, "cpu")), "cpu");
	profile_free(p);
}
END_TEST

START_TEST(one_type_can_be_asked_for)
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
	  columns_of_one_quantity_in_two_units_are_not_added_up,
	  rates_that_differ_are_brought_together, the_last_column_is_shown_unless_the_file_says,
	  a_default_that_no_column_has_is_none, an_address_at_the_end_of_all_is_no_frame,
	  a_tree_is_named_by_the_type_that_is_shown, an_idle_event_loop_is_off_cpu,
	  columns_without_a_period_have_their_own_names, one_type_can_be_asked_for,
	  pid_tid_and_cpu_are_columns)
