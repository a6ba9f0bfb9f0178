// tier: test
#include "folded_text.h"
#include "rand.h"

#include "base/err.h"
#include "base/utf8.h"
#include "profile/tree/tree.h"

#include <errno.h>

/* Sorted, the output is sort(1)'s of the files: each has every stack once. Frames that async-profiler marks as inlined are compiled code here. */
START_TEST(files_are_written_as_they_were)
{
	static const char *const files[] = { "tests/golden/folded/tall.txt",
					     "tests/golden/folded/async-profiler-sample1.collapsed",
					     "tests/golden/gpu/xpu-perf-gpu_trace.folded" };
	struct format_write_opts opts = { .annotate = ANNOTATE_ALL };
	char dir[32], path[64];
	struct err err = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/out", dir);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct profile *p = read_golden(files[i]);
		ck_assert_int_eq(format_write_file(&format_folded, p, &opts, path, &err), 0);
		char *want = shell("sed 's,_\\[i\\],_[j],g' %s | LC_ALL=C sort", files[i]);
		char *got = shell("LC_ALL=C sort %s", path);
		ck_assert_str_eq(got, want);
		free(got);
		free(want);
		profile_free(p);
	}
	shell_do("rm -r %s", dir);
}
END_TEST

static void check_state(struct profile *p, const char *leaf, enum thread_state state,
			const char *reason)
{
	uint32_t name = strtab_find(&p->strings, leaf);
	for (uint32_t s = 1; s < p->stacks.stacks.n; s++) {
		uint32_t frame = stack_leaf(&p->stacks, s);
		if (p->frames.frames.v[frame].function != name)
			continue;
		struct stack_state got = state_of_stack(p, s);
		ck_assert_int_eq(got.state, state);
		ck_assert_str_eq(profile_str(p, got.reason), reason);
		return;
	}
	ck_abort_msg("no stack ends in %s", leaf);
}

/* A wall profile comes back mark by mark; lines are in the writer's order. */
START_TEST(wall_profiles_come_back)
{
	static const char text[] = "[off-CPU below 1ms]_[o] 6\n"
				   "[off-CPU]_[o] 1\n"
				   "a;[on-CPU, not sampled]_[c] 4\n"
				   "a;lock;[blocked: futex/lock];[woken by: w (7)]_[o] 9\n"
				   "a;lock;[blocked: futex/lock];[woken by: w (7)];wake_[o] 3\n"
				   "a;off_[o] 5\n"
				   "a;read_[c] 1\n"
				   "a;read;[blocked: disk I/O]_[o] 8\n"
				   "a;read;[sched-wait] 2\n"
				   "a;work_[c] 70\n";
	struct profile *p = folded_profile(text);
	check_state(p, "[on-CPU, not sampled]", STATE_ON_CPU, "");
	check_state(p, "[woken by: w (7)]", STATE_OFF_CPU, "futex/lock");
	check_state(p, "wake", STATE_OFF_CPU, "futex/lock");
	check_state(p, "[off-CPU]", STATE_OFF_CPU, "");
	check_state(p, "[blocked: disk I/O]", STATE_OFF_CPU, "disk I/O");
	check_state(p, "[sched-wait]", STATE_SCHED_WAIT, "");
	check_state(p, "[off-CPU below 1ms]", STATE_OFF_CPU, "");
	check_state(p, "work", STATE_UNSAID, "");
	profile_free(p);
	check_rewritten(text, text);
	/* A mark of one line does not apply to the next. */
	check_rewritten("a;b_[o] 1\na;b_[o];c_[c] 2\n", "a;b_[o] 1\na;b_[o];c_[c] 2\n");
	check_rewritten("m;k_[k]_[c] 1\nm;w_[o] 1\n", "m;k_[c] 1\nm;w_[o] 1\n");
}
END_TEST

/* Only wall profiles have marked leaves by default. */
START_TEST(other_types_are_marked_when_asked)
{
	struct profile *p = folded_profile("a;read;[blocked: disk I/O] 8\na;off_[o] 5\n");
	struct format_write_opts opts = { 0 };
	char *plain = written(&format_folded, p, &opts);
	ck_assert_str_eq(plain, "a;off;[off-CPU] 5\na;read;[blocked: disk I/O] 8\n");
	opts.annotate = 1u << ANNOTATE_OFF_CPU;
	char *marked = written(&format_folded, p, &opts);
	ck_assert_str_eq(marked, "a;off_[o] 5\na;read;[blocked: disk I/O]_[o] 8\n");
	free(plain);
	free(marked);
	profile_free(p);
}
END_TEST

START_TEST(annotate_writes_the_asked_suffixes)
{
	struct profile *p = folded_profile("k_[k];j_[j];i_[i];G_[G];g_[g];plain 1\n");
	static const struct {
		unsigned annotate;
		const char *want;
	} cases[] = {
		{ 0, "k;j;i;G;g;plain 1\n" },
		{ ANNOTATE_ALL, "k_[k];j_[j];i_[i];G_[G];g_[g];plain 1\n" },
		{ 1 << ANNOTATE_KERNEL, "k_[k];j;i;G;g;plain 1\n" },
		{ 1 << ANNOTATE_JIT | 1 << ANNOTATE_GPU_INSTRUCTION,
		  "k;j_[j];i;G;g_[g];plain 1\n" },
		{ 1 << ANNOTATE_INTERPRETED | 1 << ANNOTATE_GPU_SOURCE,
		  "k;j;i_[i];G_[G];g;plain 1\n" },
		{ 1 << ANNOTATE_ON_CPU | 1 << ANNOTATE_OFF_CPU, "k;j;i;G;g;plain 1\n" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct format_write_opts opts = { .annotate = cases[i].annotate };
		char *got = written(&format_folded, p, &opts);
		ck_assert_str_eq(got, cases[i].want);
		free(got);
	}
	profile_free(p);
}
END_TEST

/* A profile with one stack of these frames. */
static struct profile *named_profile(const char *const *names, const size_t *lens, size_t n)
{
	struct profile *p = folded_profile("x 0\n");
	struct sink *s = profile_sink(p);
	uint32_t frames[16];
	for (size_t i = 0; i < n; i++) {
		struct frame f = { .mapping = MAPPING_NONE };
		f.function = s->ops->string(s, names[i], lens ? lens[i] : strlen(names[i]));
		frames[i] = s->ops->frame(s, &f);
	}
	struct sample sample = { .value = 1, .stack = s->ops->stack(s, frames, n) };
	s->ops->sample(s, &sample);
	return p;
}

START_TEST(hostile_names_are_replaced)
{
	static const char *const names[] = { "#hash",        "a;b",      "new\nline\r\ttab",
					     "\x1b[31m\x7f", "\xff\xfe", "gr\xc3\xbc\xc3\x9f",
					     "\xc2\x85 c1",  "# inner" };
	struct profile *p = named_profile(names, NULL, 8);
	char *got = folded_of(p);
	ck_assert_str_eq(got,
			 "?hash;a:b;new line  tab;?[31m?;??;gr\xc3\xbc\xc3\x9f;? c1;# inner 1\n");
	free(got);
	profile_free(p);
}
END_TEST

/* With names of any characters, each stack is one line that a reader finds again, with its depth and value. */
START_TEST(random_names_survive)
{
	struct rng r = { 99 };
	for (int round = 0; round < 300; round++) {
		char bytes[8][24];
		const char *names[8];
		size_t lens[8], n = 1 + rng_below(&r, 8);
		for (size_t i = 0; i < n; i++) {
			lens[i] = 1 + rng_below(&r, sizeof bytes[i] - 1);
			for (size_t k = 0; k < lens[i]; k++)
				bytes[i][k] = rng_next(&r) >> 20;
			names[i] = bytes[i];
		}
		struct profile *p = named_profile(names, lens, n);
		char *got = folded_of(p);
		for (const char *c = got; *c; c += utf8_len(c, strlen(c)))
			ck_assert_uint_gt(utf8_len(c, strlen(c)), 0);
		struct profile *again = folded_profile(got);
		ck_assert_uint_eq(again->samples.n, 1);
		ck_assert_uint_eq(stack_depth(&again->stacks, again->samples.stack[0]), n);
		ck_assert_int_eq(again->samples.value[0], 1);
		ck_assert_uint_eq(again->meta.loss[LOSS_INPUT_SKIPPED], 0);
		char *twice = folded_of(again);
		ck_assert_str_eq(twice, got);
		free(got);
		free(twice);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

/* One sample of value in a type of this unit. */
static struct profile *typed_profile(const char *name, const char *sample_type, const char *unit,
				     const char *period_unit, int64_t period, int64_t value)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, name),
			     .sample_type = sink_string(s, sample_type),
			     .unit = sink_string(s, unit),
			     .period_type = sink_string(s, period_unit ? name : ""),
			     .period_unit = sink_string(s, period_unit) };
	struct series series = { .type = s->ops->type(s, &type), .period = period };
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, "f") };
	uint32_t frame = s->ops->frame(s, &f);
	struct sample sample = { .value = value,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, &frame, 1) };
	s->ops->sample(s, &sample);
	return p;
}

/* The value written in a unit; -1 if refused. */
static long long value_in(struct profile *p, const char *unit, struct err *err)
{
	struct format_write_opts opts = { .unit = unit };
	char dir[32], path[64];
	long long value = -1;
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/out", dir);
	int rc = format_write_file(&format_folded, p, &opts, path, err);
	ck_assert(rc == 0 || rc == -EINVAL);
	char *text = taken_file(dir, "out");
	if (text && *text)
		ck_assert_int_eq(sscanf(text, "f %lld", &value), 1);
	ck_assert(rc == 0 || !text);
	free(text);
	ck_assert_int_eq(rmdir(dir), 0);
	return value;
}

START_TEST(values_are_in_the_asked_unit)
{
	struct err err = { 0 };
	struct profile *cpu = typed_profile("cpu", "samples", "count", "nanoseconds", 10101010, 99);
	ck_assert_int_eq(value_in(cpu, NULL, &err), 99);
	ck_assert_int_eq(value_in(cpu, "samples", &err), 99);
	ck_assert_int_eq(value_in(cpu, "ns", &err), 999999990);
	ck_assert_int_eq(value_in(cpu, "us", &err), 1000000);
	ck_assert_int_eq(value_in(cpu, "ms", &err), 1000);
	ck_assert_int_eq(value_in(cpu, "s", &err), 1);
	ck_assert_int_eq(value_in(cpu, "bytes", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.hint, "samples, ns, us, ms, s"));
	profile_free(cpu);

	struct profile *off = typed_profile("off-cpu", "off-cpu", "nanoseconds", NULL, 0, 2500600);
	ck_assert_int_eq(value_in(off, NULL, &err), 2501);
	ck_assert_int_eq(value_in(off, "ns", &err), 2500600);
	ck_assert_int_eq(value_in(off, "nanoseconds", &err), 2500600);
	ck_assert_int_eq(value_in(off, "ms", &err), 3);
	ck_assert_int_eq(value_in(off, "samples", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.hint, "ns, us, ms, s"));
	profile_free(off);

	struct profile *alloc = typed_profile("alloc", "alloc_space", "bytes", NULL, 0, 4096);
	ck_assert_int_eq(value_in(alloc, NULL, &err), 4096);
	ck_assert_int_eq(value_in(alloc, "bytes", &err), 4096);
	ck_assert_int_eq(value_in(alloc, "us", &err), -1);
	ck_assert_str_eq(err.hint, "possible: bytes");
	profile_free(alloc);

	struct profile *plain = typed_profile("samples", "samples", "count", NULL, 0, 5);
	ck_assert_int_eq(value_in(plain, NULL, &err), 5);
	ck_assert_int_eq(value_in(plain, "ms", &err), -1);
	profile_free(plain);
}
END_TEST

START_TEST(a_type_that_is_not_there_is_named)
{
	struct profile *p = folded_profile("a 1\n");
	struct format_write_opts opts = { .type = "off-cpu" };
	struct err err = { 0 };
	ck_assert_int_eq(format_write_file(&format_folded, p, &opts, "/tmp/cresset-no", &err),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "off-cpu"));
	ck_assert_ptr_nonnull(strstr(err.hint, "samples"));
	ck_assert_int_ne(access("/tmp/cresset-no", F_OK), 0);
	profile_free(p);
}
END_TEST

/* Functions that differ only in what folded stacks cannot express are merged. */
START_TEST(each_stack_is_written_once)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, "main") };
	struct type type = { .name = sink_string(s, "samples") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct sample sample = { .series = s->ops->series(s, &series),
				 .pid = SAMPLE_NO_ID,
				 .tid = SAMPLE_NO_ID,
				 .cpu = SAMPLE_NO_ID };
	uint32_t main_frame = s->ops->frame(s, &f);
	static const char *const files[] = { "a.js", "b.js", "c.js" };
	f.function = sink_string(s, "(anonymous)");
	for (int i = 0; i < 3; i++) {
		f.file = sink_string(s, files[i]);
		f.binary = i == 2 ? sink_string(s, "libx.so") : 0;
		uint32_t frames[] = { main_frame, s->ops->frame(s, &f), main_frame };
		sample.stack = s->ops->stack(s, frames, 3);
		sample.value = 1 << i;
		s->ops->sample(s, &sample);
	}
	struct format_write_opts opts = { 0 };
	char *got = written(&format_folded, p, &opts);
	ck_assert_str_eq(got, "main;(anonymous);main 7\n");
	free(got);
	profile_free(p);
}
END_TEST

UNIT_MAIN("folded_write", files_are_written_as_they_were, wall_profiles_come_back,
	  other_types_are_marked_when_asked, annotate_writes_the_asked_suffixes,
	  hostile_names_are_replaced, random_names_survive, values_are_in_the_asked_unit,
	  a_type_that_is_not_there_is_named, each_stack_is_written_once)
