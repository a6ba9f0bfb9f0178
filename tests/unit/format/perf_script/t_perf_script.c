// tier: test
/* perf script: whole files, samples of all forms, and limits. */
#include "base/buf.h"
#include "base/err.h"
#include "format/formats.h"
#include "perf_script_text.h"
#include "spelled_profile.h"

#include <errno.h>

/* --- golden files ----------------------------------------------------------------------------- */

static void check_golden(const char *name, const char *answer, const char *got, const char *dir)
{
	char path[64];
	struct err err = { 0 };
	struct out out;
	snprintf(path, sizeof path, "%s/got", dir);
	ck_assert_int_eq(out_open(&out, path, &err), 0);
	ck_assert_int_eq(out_write(&out, got, strlen(got), &err), 0);
	ck_assert_int_eq(out_commit(&out, &err), 0);
	char *ours = shell("awk -f " GOLDEN "tidy.awk %s | LC_ALL=C sort", path);
	char *want =
		shell("awk -f " GOLDEN "tidy.awk " GOLDEN "expected/%s | LC_ALL=C sort", answer);
	ck_assert_msg(strcmp(ours, want) == 0, "%s: %s", name, answer);
	ck_assert(*want);
	free(ours);
	free(want);
}

START_TEST(equals_stackcollapse_perf)
{
	static const char *const names[] = {
		"perf-cycles-instructions-01",  "perf-dd-stacks-01", "perf-funcab-cmd-01",
		"perf-java-stacks-01",          "perf-js-stacks-01", "perf-numa-stacks-01",
		"simple-with-header.linux-perf"
	};
	static const struct {
		const char *ending;
		enum tree_by by;
		unsigned annotate;
	} options[] = {
		{ "pid", BY_PID, 0 },
		{ "tid", BY_TID, 0 },
		{ "kernel", BY_COMM, 1 << ANNOTATE_KERNEL },
		{ "jit", BY_COMM, 1 << ANNOTATE_JIT },
		{ "all", BY_COMM, ANNOTATE_KINDS },
		{ "default", BY_COMM, 0 },
	};
	char dir[32], answer[128], path[256];
	int compared = 0;
	temp_dir(dir);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct profile *p = read_golden(names[i]);
		for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
			size_t stem = strcspn(names[i], ".");
			snprintf(answer, sizeof answer, "%.*s-collapsed-%s.txt", (int)stem,
				 names[i], options[k].ending);
			snprintf(path, sizeof path, GOLDEN "expected/%s", answer);
			if (access(path, F_OK) != 0)
				continue;
			char *got = folded_of(p, options[k].by, options[k].annotate);
			check_golden(names[i], answer, got, dir);
			free(got);
			compared++;
		}
		profile_free(p);
	}
	ck_assert_int_eq(compared, 29);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Sums computed by awk: of periods if there are any, else of header lines. */
START_TEST(whole_files_have_known_sums)
{
	static const struct {
		const char *name, *host, *unit;
		size_t types, samples;
		int64_t sum;
	} files[] = {
		{ "one-sample.linux-perf", "", "nanoseconds", 1, 1, 1001001 },
		{ "simple.linux-perf", "", "nanoseconds", 1, 1, 1001001 },
		{ "simple-with-header.linux-perf", "e2b5bab9a538", "nanoseconds", 1, 136,
		  136136136 },
		{ "perf-cycles-instructions-01", "bgregg-lgud2", "samples", 2, 444, 333 },
		{ "perf-dd-stacks-01", "", "nanoseconds", 1, 11, 111111110 },
		{ "perf-funcab-cmd-01", "bgregg-test-i-xxxxxxxx", "count", 1, 169, 169 },
		{ "perf-java-stacks-01", "lgud-bgregg", "samples", 1, 46, 46 },
		{ "perf-js-stacks-01", "", "count", 1, 2, 2 },
		{ "perf-numa-stacks-01", "xxxxxclusters-r38xl-i-xxxxxxxx", "count", 1, 200, 200 },
	};
	char path[128];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct profile *p = profile_new();
		struct err err = { 0 };
		snprintf(path, sizeof path, GOLDEN "%s.txt", files[i].name);
		ck_assert_msg(format_read_file(path, NULL, profile_sink(p), &err) == 0, "%s",
			      err.text);
		ck_assert_uint_eq(p->series.types.n, files[i].types);
		ck_assert_uint_eq(p->samples.n, files[i].samples);
		ck_assert_int_eq(profile_total(p, 0), files[i].sum);
		ck_assert_str_eq(profile_str(p, p->series.types.v[0].unit), files[i].unit);
		ck_assert_str_eq(profile_str(p, p->meta.host), files[i].host);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
	}
}
END_TEST

START_TEST(the_unterminated_last_sample_counts)
{
	struct buf b = file_bytes(GOLDEN "simple.linux-perf.txt");
	struct profile *p = read_bytes(b.data, b.len);
	char *got = folded_of(p, BY_COMM, 0);
	ck_assert_str_eq(got, "simple-terminat;[unknown];__libc_start_main;main;_Z5deltav;_Z4betav "
			      "1001001\n");
	ck_assert_int_eq(p->samples.time_ns[0], 198792736893000);
	ck_assert_uint_eq(p->samples.tid[0], 10);
	ck_assert_uint_eq(p->samples.pid[0], SAMPLE_NO_ID);
	free(got);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(crlf_changes_nothing)
{
	struct buf lf = file_bytes(GOLDEN "perf-java-stacks-01.txt"), crlf = { 0 };
	for (size_t i = 0; i < lf.len; i++) {
		if (lf.data[i] == '\n')
			buf_addc(&crlf, '\r');
		buf_addc(&crlf, lf.data[i]);
	}
	struct profile *a = read_bytes(lf.data, lf.len), *b = read_bytes(crlf.data, crlf.len);
	assert_same_profile(a, b, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(a);
	profile_free(b);
	buf_done(&lf);
	buf_done(&crlf);
}
END_TEST

/* --- samples ---------------------------------------------------------------------------------- */

static void check_folded(const char *text, const char *want)
{
	struct profile *p = read_text(text);
	char *got = folded_of(p, BY_COMM, ANNOTATE_KINDS);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}

START_TEST(columns_that_were_not_printed_are_not_needed)
{
	/* -F ip,sym,dso with callchains, and without */
	check_folded("\n\t 12 leaf (/a)\n\t 34 main (/a)\n\n\n\t 12 leaf (/a)\n\n",
		     "?;leaf 1\n?;main;leaf 1\n");
	check_folded("           805807 f (/a)\n ffffffff81000000 g ([kernel.kallsyms])\n",
		     "?;f 1\n?;g_[k] 1\n");
	/* kernel addresses are recognized without a dso */
	check_folded("a 1 2.5: e:\n\tffffffff81000000 k\n\t55d0aa u\n", "a;u;k_[k] 1\n");
	check_folded("burn \n\t 12 f\n\nburn 12 \n\t 12 g\n\n", "burn;f 1\nburn;g 1\n");
	check_folded("cpu-clock: \n\t 12 h\n\n", "?;h 1\n");
	/* comms that look like addresses, indented if there are no callchains */
	check_folded(
		"             cc1 12 [000] 2.5:    7 cpu-clock:            805807 f+0x1 (/a)\n"
		"              dd 12 [000] 2.5:    8 cpu-clock:  ffffffff81000000 g ([kernel])\n",
		"cc1;f 7\ndd;g_[k] 8\n");
	/* -F addr and brstack beside a callchain; flags of a branch */
	check_folded("a 1 2.5: 3 e:                0\n\t 12 f (/a)\n\n", "a;f 3\n");
	check_folded("a 1 2.5: 3 branches:   tr strt                  805807 f (/a) =>   805900 g "
		     "(/a)\n",
		     "a;f 3\n");
	check_folded(
		"a 1 2.5: e:\n\t 12 f (/a)\n 0x12/0x34/P/-/-/0  0x5/0x6/M/-/-/1\n ABI:2 AX:0x1\n"
		" insn: 83 ea 01\n\n",
		"a;f 1\n");
	/* no callchain at all */
	check_folded(
		"a 1 2.5: sched:sched_switch: prev_comm=x ==> next_comm=y\n\nb 2 2.5: s:t: x\n",
		"a 1\n");
}
END_TEST

START_TEST(each_event_is_a_type)
{
	struct profile *p =
		read_text("# event : name = cycles, , id = { 5, 6 }, { sample_period, "
			  "sample_freq } = 100000, sample_type = IP\n"
			  "# event : name = cpu-clock:u, { sample_period, sample_freq } = "
			  "99, freq = 1, x = 2\n"
			  "a 1 2.5: cycles:\n\t 1 f (/a)\n\n"
			  "a 1 2.6: cpu-clock:u:\n\t 1 f (/a)\n\n"
			  "a 1 2.7:   400 task-clock:\n\t 1 f (/a)\n\n"
			  "a 1 2.8:   5 page-faults:\n\t 1 f (/a)\n\n"
			  "a 1 2.9: sched:sched_switch: prev_comm=a\n\t 1 f (/a)\n\n");
	static const char want[] =
		"\"cycles\"\"cycles\"\"samples\"\"cycles\"\"count\" 0 100000 [\"comm\"\"a\"\"\"]1 "
		"\"cpu\"\"samples\"\"count\"\"cpu\"\"nanoseconds\" 0 10101010 [\"comm\"\"a\"\"\"]1 "
		"\"cpu\"\"task-clock\"\"nanoseconds\"\"\"\"\" 0 0 [\"comm\"\"a\"\"\"]400 "
		"\"page-faults\"\"page-faults\"\"count\"\"\"\"\" 0 0 [\"comm\"\"a\"\"\"]5 "
		"\"sched:sched_switch\"\"sched:sched_switch\"\"samples\"\"sched:sched_switch\""
		"\"count\" 0 0 [\"comm\"\"a\"\"\"]1 ";
	struct buf got = { 0 };
	for (size_t i = 0; i < p->samples.n; i++) {
		spell_series(&got, p, p->samples.series[i]);
		buf_addf(&got, "%d ", (int)p->samples.value[i]);
	}
	ck_assert_str_eq(buf_cstr(&got), want);
	ck_assert_uint_eq(profile_pick_type(p, NULL), 0);
	ck_assert_int_eq(p->meta.start_mono_ns, 2500000000);
	ck_assert_int_eq(p->meta.duration_ns, 400000000);
	buf_done(&got);
	profile_free(p);
}
END_TEST

/* perf 7.2 -F +srcline: the word "inlined" is behind the line, and the frame has no dso. */
START_TEST(inlined_frames_of_perf_7_keep_their_binary)
{
	struct profile *p = read_golden("perf72-srcline-inlined");
	const struct frame *in = &p->frames.frames.v[stack_leaf(&p->stacks, p->samples.stack[0])];
	ck_assert_str_eq(profile_str(p, in->function), "in1");
	ck_assert_str_eq(profile_str(p, in->binary), "my prog");
	ck_assert_str_eq(profile_str(p, in->file), "i.c");
	ck_assert_uint_eq(in->line, 5);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
}
END_TEST

START_TEST(inlined_frames_are_in_the_binary_around_them)
{
	struct profile *p = read_text("a 1 2.5: e:\n"
				      "\t 12 inner+0x2 (inlined)\n  src/in.c:7\n"
				      "\t 12 outer+0x2 (/lib/libx.so)\n  src/out.go:70\n"
				      "\t 12 k (inlined)\n"
				      "\t 12 entry ([kernel.kallsyms])\n  ??:0\n\n");
	static const char want[] = "\n  kernel \"entry\"\"\"0\"[kernel]\""
				   "\n  kernel \"k\"\"\"0\"[kernel]\""
				   "\n  go \"outer\"\"src/out.go\"70\"libx.so\""
				   "\n  native \"inner\"\"src/in.c\"7\"libx.so\"";
	uint32_t frames[4];
	struct buf got = { 0 };
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), 4);
	stack_frames(&p->stacks, p->samples.stack[0], frames);
	for (int i = 0; i < 4; i++)
		spell_frame(&got, p, frames[i], 0);
	ck_assert_str_eq(buf_cstr(&got), want);
	buf_done(&got);
	profile_free(p);
}
END_TEST

START_TEST(records_do_not_count_as_samples_and_losses_count)
{
	struct profile *p =
		read_text("perf-exec     0     0.000000: PERF_RECORD_COMM: perf-exec:25522/25522\n"
			  "burn 25522 12958.005915: PERF_RECORD_MMAP2 25522/25522: "
			  "[0x7f00(0x21000) @ 0 00:00 0 0]: "
			  "rw-p [stack]\n"
			  "burn 25522 12958.005924: PERF_RECORD_FORK(25522:25522):(1:1)\n"
			  "burn 25522 [001] 12958.1: PERF_RECORD_LOST lost 7\n"
			  "burn 25522 [001] 12958.1: PERF_RECORD_LOST_SAMPLES lost 5\n"
			  "burn 25522 12958.2:   10 cpu-clock:\n\t 12 f (/a)\n"
			  "burn 25522 12958.3: PERF_RECORD_EXIT(25522:25522):(1:1)\n");
	ck_assert_uint_eq(p->samples.n, 1);
	ck_assert_int_eq(profile_total(p, 0), 10);
	ck_assert_uint_eq(p->meta.loss[LOSS_RING_FULL], 12);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
}
END_TEST

START_TEST(lines_outside_of_samples_are_counted)
{
	struct profile *p = read_text("Warning: something went wrong with this recording\n"
				      "\t 12 not_a_frame (/a)\n\n"
				      "a 1 2.5: e:\n\t 12 f (/a)\n\n"
				      "short\n\nshort\n"
				      "a 1 2.6: e:\n\t 12 f (/a)\n");
	char *got = folded_of(p, BY_COMM, 0);
	ck_assert_str_eq(got, "a;f 2\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 3);
	free(got);
	profile_free(p);
}
END_TEST

static void check_unreadable(const char *text)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, &err), 0);
	ck_assert_int_eq(perf_script_read(in, profile_sink(p), &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "starts a perf script sample"));
	input_close(in);
	profile_free(p);
}

START_TEST(nothing_but_junk_is_an_error)
{
	check_unreadable("");
	check_unreadable("# hostname : a\n");
	check_unreadable("main;work 12\n\nthis is a longer line of nothing\n");
	check_unreadable("a 1 2.5: PERF_RECORD_COMM: a:1/1\n");
}
END_TEST

/* Samples stay complete or are dropped; none is invented, except for a truncated name. */
START_TEST(a_file_may_be_cut_anywhere)
{
	struct buf b = file_bytes(GOLDEN "perf-dd-stacks-01.txt");
	size_t before = 1;
	for (size_t len = strlen("dd 29776 666709.771979:"); len <= b.len; len++) {
		struct profile *p = read_bytes(b.data, len);
		ck_assert_uint_ge(p->samples.n, before);
		before = p->samples.n;
		profile_free(p);
	}
	ck_assert_uint_eq(before, 11);
	buf_done(&b);
}
END_TEST

START_TEST(only_perf_script_is_taken_for_it)
{
	char *files = shell("ls -d tests/golden/folded/*.txt tests/golden/gpu/*.folded "
			    "tests/golden/kernel/*maps* tests/golden/perfmap/* tests/golden/help/* "
			    "tests/golden/table/* tests/golden/perf-script/*.txt "
			    "tests/golden/perf-script/expected/*.txt Makefile docs/*.md");
	size_t yes = 0;
	for (char *save, *path = strtok_r(files, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save)) {
		struct buf b = file_bytes(path);
		size_t len = b.len < INPUT_PEEK ? b.len : INPUT_PEEK;
		bool is_script = strstr(path, "perf-script/") && !strstr(path, "expected");
		ck_assert_msg(perf_script_detect(b.data, len) == is_script, "%s", path);
		yes += is_script;
		buf_done(&b);
	}
	ck_assert_uint_eq(yes, 10);
	ck_assert_ptr_eq(format_by_ending("x.perf.txt"), &format_perf_script);
	ck_assert_ptr_eq(format_by_name("perf-script"), &format_perf_script);
	free(files);
}
END_TEST

/* Lines of logs with a number in brackets; but a short comm, a CPU and an event are a sample. */
START_TEST(logs_are_not_taken_for_it)
{
	static const char *const logs[] = {
		"2026-11-29 03:52:29 UTC [123] LOG:  duration: 1.2 ms  statement: SELECT 1; 5\n"
		"2026-11-29 03:52:30 UTC [124] LOG:  checkpoint complete\n",
		"Sun Nov 29 03:52:29 2026 [77] ERROR: no route\n",
	};
	static const char sample[] =
		"nginx: worker [003] cpu-clock: \n\t    1 main (/bin/nginx)\n\n";
	for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
		ck_assert_msg(!perf_script_detect(logs[i], strlen(logs[i])), "%s", logs[i]);
	ck_assert(perf_script_detect(sample, strlen(sample)));
}
END_TEST

/* --- limits ----------------------------------------------------------------------------------- */

START_TEST(too_many_samples_lose_their_times_and_nothing_else)
{
	enum { N = PERF_SCRIPT_MAX_TIMED + 1000, THREADS = 3, STACKS = 2 };
	struct buf b = { 0 };
	for (int i = 0; i < N; i++)
		buf_addf(&b, "a 7/%d [00%d] %d.5: 2 e:\n\t1 f%d (/a)\n\n", i % THREADS, i % 4, i,
			 i % STACKS);
	struct profile *p = read_bytes(b.data, b.len);
	ck_assert_uint_eq(p->samples.n, THREADS * STACKS);
	ck_assert_int_eq(profile_total(p, 0), 2 * (int64_t)N);
	ck_assert_uint_eq(p->meta.loss[LOSS_TIMES_DROPPED], N);
	for (size_t i = 0; i < p->samples.n; i++) {
		ck_assert_int_eq(p->samples.time_ns[i], 0);
		ck_assert_uint_eq(p->samples.cpu[i], SAMPLE_NO_ID);
		ck_assert_uint_eq(p->samples.pid[i], 7);
		ck_assert_int_eq(p->samples.value[i] / 2, (N + 5 - p->samples.tid[i]) / 6);
	}
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(a_stack_of_a_million_frames_retains_its_leaf)
{
	struct buf b = { 0 };
	buf_adds(&b, "a 1 2.5: e:\n");
	for (int i = 0; i < 1000000; i++)
		buf_addf(&b, "\t1 f%d (/a)\n", i % 1000);
	struct profile *p = read_bytes(b.data, b.len);
	uint32_t stack = p->samples.stack[0], leaf = stack_leaf(&p->stacks, stack);
	ck_assert_uint_eq(stack_depth(&p->stacks, stack), STACK_MAX_DEPTH);
	ck_assert_str_eq(profile_str(p, p->frames.frames.v[leaf].function), "f0");
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(long_lines_and_strange_bytes_are_harmless)
{
	struct buf b = { 0 };
	buf_adds(&b, "a 1 2.5: e:\n\t1 ");
	for (int i = 0; i < 100000; i++)
		buf_adds(&b, "(x) ");
	buf_adds(&b, "(/a)\n\t1 \xff\xfe+0x1 (/\xff)\n\n");
	for (int i = 0; i < (1 << 20) + 10; i++)
		buf_adds(&b, "1 [0] 2.5: e: x ");
	buf_adds(&b, "\n");
	struct profile *p = read_bytes(b.data, b.len);
	ck_assert_uint_eq(p->samples.n, 1);
	ck_assert_uint_eq(stack_depth(&p->stacks, p->samples.stack[0]), 2);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("perf_script", equals_stackcollapse_perf, whole_files_have_known_sums,
	  the_unterminated_last_sample_counts, crlf_changes_nothing,
	  columns_that_were_not_printed_are_not_needed, each_event_is_a_type,
	  inlined_frames_of_perf_7_keep_their_binary, inlined_frames_are_in_the_binary_around_them,
	  records_do_not_count_as_samples_and_losses_count, lines_outside_of_samples_are_counted,
	  nothing_but_junk_is_an_error, a_file_may_be_cut_anywhere,
	  only_perf_script_is_taken_for_it, logs_are_not_taken_for_it,
	  too_many_samples_lose_their_times_and_nothing_else,
	  a_stack_of_a_million_frames_retains_its_leaf, long_lines_and_strange_bytes_are_harmless)
