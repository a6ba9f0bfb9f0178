#include "random_profile.h"
#include "spelled_profile.h"
#include "written.h"

#include "format/perf_script.h"
#include "format/perf_script_line.h"

#include <errno.h>

#define GOLDEN "tests/golden/perf-script/"

static struct profile *read_bytes(const char *text, size_t len)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, len, &in, &err), 0);
	int rc = perf_script_read(in, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	input_close(in);
	return p;
}

static struct profile *read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static struct buf file_bytes(const char *path)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1u << 30, &b, NULL), 0);
	return b;
}

static char *folded_of(struct profile *p, enum tree_by by, unsigned annotate)
{
	struct format_write_opts opts = { .annotate = annotate };
	opts.tree.by[0] = by;
	opts.tree.n_by = 1;
	return written(&format_folded, p, &opts);
}

static void check_folded(const char *text, const char *want)
{
	struct profile *p = read_text(text);
	char *got = folded_of(p, BY_COMM, ANNOTATE_KINDS);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}

/* --- golden files ----------------------------------------------------------------------------- */

/* stackcollapse-perf.pl loses a last sample that no empty line ends. We do not; the files that
 * end like that are cut in front of it for the comparison. */
static struct profile *read_golden(const char *name)
{
	char path[128];
	snprintf(path, sizeof path, GOLDEN "%s.txt", name);
	struct buf b = file_bytes(path);
	while (b.len >= 2 && memcmp(b.data + b.len - 2, "\n\n", 2) != 0)
		b.len--;
	struct profile *p = read_bytes(b.data, b.len);
	buf_done(&b);
	return p;
}

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

START_TEST(stackcollapse_perf_says_the_same)
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

/* Sums by awk: of the periods where there are any, else of header lines. */
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

START_TEST(the_sample_that_nothing_ends_is_kept)
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

/* --- lines ------------------------------------------------------------------------------------ */

#define NO_ID SAMPLE_NO_ID

/* perf 3.x to 6.x, and comms that look like something else. Without time or period: -1. */
START_TEST(header_lines_of_every_shape)
{
	static const struct {
		const char *line, *comm;
		uint32_t pid, tid, cpu;
		int64_t time_ns, period;
		const char *event;
		int trust;
	} cases[] = {
		{ "java 25607 4794564.109216: cycles: ", "java", NO_ID, 25607, NO_ID,
		  4794564109216000, -1, "cycles", PERF_SURE_HEADER },
		{ "java 12688 [002] 6544038.708352: cpu-clock:", "java", NO_ID, 12688, 2,
		  6544038708352000, -1, "cpu-clock", PERF_SURE_HEADER },
		{ "V8 WorkerThread 24636/25607 [000] 94564.109216: 10101010 cycles:u: ",
		  "V8 WorkerThread", 24636, 25607, 0, 94564109216000, 10101010, "cycles:u",
		  PERF_SURE_HEADER },
		{ "swapper     0/0     [115] 1.000000001:     250000 cpu/mem-loads,ldlat=30/P: ",
		  "swapper", 0, 0, 115, 1000000001, 250000, "cpu/mem-loads,ldlat=30/P",
		  PERF_SURE_HEADER },
		{ "kworker/0:1-eve 12 [000] 2.5: 1 a:b: x=1 y: 2", "kworker/0:1-eve", NO_ID, 12, 0,
		  2500000000, 1, "a:b", PERF_SURE_HEADER },
		{ "a 1 b: 2 77/78 [001] 2.5: e:", "a 1 b: 2", 77, 78, 1, 2500000000, -1, "e",
		  PERF_SURE_HEADER },
		{ "1234 5678 [000] 2.5: e:", "1234", NO_ID, 5678, 0, 2500000000, -1, "e",
		  PERF_SURE_HEADER },
		{ ":-1    -1 [000] 2.5: e:", ":-1", NO_ID, NO_ID, 0, 2500000000, -1, "e",
		  PERF_SURE_HEADER },
		{ ":4242 4242/4243 2.5: e:", ":4242", 4242, 4243, NO_ID, 2500000000, -1, "e",
		  PERF_SURE_HEADER },
		{ "bash 9 U     12958.042986:   10101010 cpu-clock:u:                         ",
		  "bash", NO_ID, 9, NO_ID, 12958042986000, 10101010, "cpu-clock:u",
		  PERF_SURE_HEADER },
		{ "25522 12958.042986:   10101010 cpu-clock:u: ", "", NO_ID, 25522, NO_ID,
		  12958042986000, 10101010, "cpu-clock:u", PERF_SURE_HEADER },
		{ "12958.042986:   10101010 cpu-clock:u: ", "", NO_ID, NO_ID, NO_ID, 12958042986000,
		  10101010, "cpu-clock:u", PERF_SURE_HEADER },
		{ "burn 25522 12958.042986:   10101010 ", "burn", NO_ID, 25522, NO_ID,
		  12958042986000, 10101010, "", PERF_SURE_HEADER },
		{ "bash 2.5: e: ", "bash", NO_ID, NO_ID, NO_ID, 2500000000, -1, "e",
		  PERF_SURE_HEADER },
		{ "cc1 25451 [000] cpu-clock: ", "cc1", NO_ID, 25451, 0, -1, -1, "cpu-clock",
		  PERF_SURE_HEADER },
		{ "cc1 [001] ", "cc1", NO_ID, NO_ID, 1, -1, -1, "", PERF_SURE_HEADER },
		{ "bash 9 2.5: raw 0x1a8: ", "bash", NO_ID, 9, NO_ID, 2500000000, -1, "raw 0x1a8",
		  PERF_SURE_HEADER },
		{ "bash 9 2.5: 1234567890123456789 off-cpu: ", "bash", NO_ID, 9, NO_ID, 2500000000,
		  1234567890123456789, "off-cpu", PERF_SURE_HEADER },
		{ "bash 9 cpu-clock:       55e0832258b5 f (/a)", "bash", NO_ID, 9, NO_ID, -1, -1,
		  "cpu-clock", PERF_SURE_HEADER },
		{ "bash 8/9            805807 f (/a)", "bash", 8, 9, NO_ID, -1, -1, "",
		  PERF_SURE_HEADER },
		{ "node-v011 31912 cpu-clock: ", "node-v011", NO_ID, 31912, NO_ID, -1, -1,
		  "cpu-clock", PERF_FAIR_HEADER },
		{ "burn 25522 ", "burn", NO_ID, 25522, NO_ID, -1, -1, "", PERF_LOOSE_HEADER },
		{ "cpu-clock:u: ", "", NO_ID, NO_ID, NO_ID, -1, -1, "cpu-clock:u",
		  PERF_LOOSE_HEADER },
		{ "burn ", "burn", NO_ID, NO_ID, NO_ID, -1, -1, "", PERF_LOOSE_HEADER },
		{ "this is a line of text that is no header", "", 0, 0, 0, 0, 0, "",
		  PERF_NO_HEADER },
		{ "main;work;and_a_lot_more 12", "main;work;and_a_lot_more", NO_ID, 12, NO_ID, -1,
		  -1, "", PERF_LOOSE_HEADER },
		{ "{ \"version\": 1 , \"x\": 2 }", "", 0, 0, 0, 0, 0, "", PERF_NO_HEADER },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct perf_header h;
		const char *line = cases[i].line;
		ck_assert_msg((int)perf_header_parse(line, strlen(line), &h) == cases[i].trust,
			      "%s", line);
		if (cases[i].trust == PERF_NO_HEADER)
			continue;
		ck_assert_msg(h.comm.len == strlen(cases[i].comm) &&
				      memcmp(h.comm.s, cases[i].comm, h.comm.len) == 0,
			      "%s", line);
		ck_assert_msg(h.event.len == strlen(cases[i].event) &&
				      memcmp(h.event.s, cases[i].event, h.event.len) == 0,
			      "%s: %.*s", line, (int)h.event.len, h.event.s);
		ck_assert_msg(h.pid == cases[i].pid && h.tid == cases[i].tid &&
				      h.cpu == cases[i].cpu,
			      "%s: %u/%u [%u]", line, h.pid, h.tid, h.cpu);
		ck_assert_msg((h.has_time ? h.time_ns : -1) == cases[i].time_ns, "%s", line);
		ck_assert_msg((h.has_period ? h.period : -1) == cases[i].period, "%s", line);
	}
}
END_TEST

START_TEST(frames_are_named_and_placed)
{
	static const struct {
		const char *text, *name, *binary;
		enum frame_kind kind;
	} cases[] = {
		{ "main+0x1f (/usr/bin/a)", "main", "a", FRAME_NATIVE },
		{ "operator()(int) const (/opt/x y/lib(1).so)", "operator()(int) const",
		  "lib(1).so", FRAME_NATIVE },
		{ "(anonymous namespace)::f(void (*)(int))+0x0 (/a (deleted))",
		  "(anonymous namespace)::f(void (*)(int))", "a", FRAME_NATIVE },
		{ "std::map<a, b (c)>::~map()", "std::map<a, b (c)>::~map()", "", FRAME_NATIVE },
		{ "f(int) (.isra.0)", "f(int) (.isra.0)", "", FRAME_NATIVE },
		{ "f(int) (.isra.0)+0x4 (/b/a.so+0x12)", "f(int) (.isra.0)", "a.so", FRAME_NATIVE },
		{ "a+0x12 b (/x)", "a+0x12 b", "x", FRAME_NATIVE },
		{ "libc.so.6+0x1234+0x0 (/x)", "libc.so.6+0x1234", "x", FRAME_NATIVE },
		{ "[unknown] ([unknown])", "[unknown]", "", FRAME_NATIVE },
		{ "[unknown] (/bin/dd)", "[unknown]", "dd", FRAME_NATIVE },
		{ "", "[unknown]", "", FRAME_NATIVE },
		{ "(/bin/dd)", "[unknown]", "dd", FRAME_NATIVE },
		{ "f ([kernel.kallsyms])", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([kernel.kallsyms].init.text)", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([kernel])", "f", "[kernel]", FRAME_KERNEL },
		{ "f (/lib/modules/4.1.0/build/vmlinux)", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([guest.kernel.kallsyms.12])", "f", "[guest.kernel.kallsyms.12]",
		  FRAME_KERNEL },
		{ "f ([nf_conntrack])", "f", "[nf_conntrack]", FRAME_KERNEL },
		{ "f (/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz)", "f", "ext4.ko.xz",
		  FRAME_KERNEL },
		{ "f (bpf_prog_6deef7357e7b4530_x)", "f", "bpf_prog_6deef7357e7b4530_x",
		  FRAME_KERNEL },
		{ "clock_gettime ([vdso])", "clock_gettime", "[vdso]", FRAME_NATIVE },
		{ "Lfoo/Bar;::baz (/tmp/perf-123.map)", "Lfoo/Bar;::baz", "", FRAME_JIT },
		{ "RegExp:[&<>\\\"\\'] (/tmp/perf-7539.map)", "RegExp:[&<>\\\"\\']", "",
		  FRAME_JIT },
		{ "[unknown] (//anon)", "[unknown]", "", FRAME_JIT },
		{ "f (/tmp/perf-x.map)", "f", "perf-x.map", FRAME_NATIVE },
		{ "f (//python)", "f", "", FRAME_PYTHON },
		{ "[GPU_Kernel]sgemm ([unknown])", "[GPU_Kernel]sgemm", "", FRAME_GPU_KERNEL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		snprintf(text, sizeof text, "a 1 [0] 2.5: e:\n\t 4005b1 %s\n", cases[i].text);
		struct profile *p = read_text(text);
		ck_assert_uint_eq(p->frames.frames.n, 1);
		const struct frame *f = &p->frames.frames.v[0];
		ck_assert_str_eq(profile_str(p, f->function), cases[i].name);
		ck_assert_str_eq(profile_str(p, f->binary), cases[i].binary);
		ck_assert_msg(f->kind == cases[i].kind, "%s", cases[i].text);
		ck_assert_uint_eq(f->mapping, MAPPING_NONE);
		profile_free(p);
	}
}
END_TEST

/* --- samples ---------------------------------------------------------------------------------- */

START_TEST(columns_that_were_not_printed_are_not_needed)
{
	/* -F ip,sym,dso with callchains, and without */
	check_folded("\n\t 12 leaf (/a)\n\t 34 main (/a)\n\n\n\t 12 leaf (/a)\n\n",
		     "?;leaf 1\n?;main;leaf 1\n");
	check_folded("           805807 f (/a)\n ffffffff81000000 g ([kernel.kallsyms])\n",
		     "?;f 1\n?;g_[k] 1\n");
	/* kernel addresses tell without a dso */
	check_folded("a 1 2.5: e:\n\tffffffff81000000 k\n\t55d0aa u\n", "a;u;k_[k] 1\n");
	check_folded("burn \n\t 12 f\n\nburn 12 \n\t 12 g\n\n", "burn;f 1\nburn;g 1\n");
	check_folded("cpu-clock: \n\t 12 h\n\n", "?;h 1\n");
	/* comms that look like addresses, indented when there are no callchains */
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

START_TEST(records_are_no_samples_and_losses_count)
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
	ck_assert_ptr_nonnull(strstr(err.text, "begins a sample"));
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

/* Samples stay whole or go away; none is made up but for a name that was cut. */
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
	ck_assert_uint_eq(yes, 9);
	ck_assert_ptr_eq(format_by_ending("x.perf.txt"), &format_perf_script);
	ck_assert_ptr_eq(format_by_name("perf-script"), &format_perf_script);
	free(files);
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

START_TEST(a_stack_of_a_million_frames_keeps_its_leaf)
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

/* Up to 128 places of such a line look like ids with an end behind them: each must cost the same
 * wherever the line ends. */
START_TEST(blanks_cost_their_length_only)
{
	struct buf b = { 0 };
	for (int i = 0; i < 120; i++)
		buf_adds(&b, "1 ");
	for (int i = 0; i < 15 << 20; i++)
		buf_addc(&b, ' ');
	struct perf_header h;
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(perf_header_parse(b.data, b.len, &h), PERF_LOOSE_HEADER);
	buf_done(&b);
}
END_TEST

/* --- writing ---------------------------------------------------------------------------------- */

START_TEST(the_text_is_as_perf_prints_it)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count"),
			     .period_type = sink_string(s, "cpu"),
			     .period_unit = sink_string(s, "nanoseconds") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "web server") };
	struct series series = { .type = s->ops->type(s, &type),
				 .period = 10000000,
				 .labels = s->ops->labels(s, &comm, 1) };
	struct frame f = { .mapping = MAPPING_NONE,
			   .function = sink_string(s, "app.main"),
			   .kind = FRAME_PYTHON,
			   .binary = sink_string(s, "app") };
	uint32_t frames[2] = { s->ops->frame(s, &f) };
	struct mapping m = { .name = sink_string(s, "[kernel]") };
	struct frame k = { .kind = FRAME_KERNEL,
			   .mapping = s->ops->mapping(s, &m),
			   .offset = 0xffffffff81000010 };
	frames[1] = s->ops->frame(s, &k);
	struct sample sample = { .time_ns = 5000000007,
				 .value = 3,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, frames, 2),
				 .pid = 12,
				 .tid = 13,
				 .cpu = 4 };
	s->ops->sample(s, &sample);
	s->ops->meta(s)->host = sink_string(s, "db7");
	char *got = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
	ck_assert_str_eq(
		got,
		"# ========\n# hostname : db7\n"
		"# cresset type : cpu-clock\tcpu\tsamples\tcount\tcpu\tnanoseconds\t10000000\t1\n"
		"# ========\n#\n"
		"web server      12/13      [004]     5.000000007:   30000000 cpu-clock: \n"
		"\tffffffff81000010 [kernel]+0xffffffff81000010+0x0 ([kernel.kallsyms])\n"
		"\t               0 app.main+0x0 (//python)\n\n");
	free(got);
	profile_free(p);
}
END_TEST

/* Name and kind of every frame, and all columns, of one type; values in the unit of the period. */
static char *spelled_rows(struct profile *p, uint32_t type)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	struct buf b = { 0 };
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct sample_columns *c = &p->samples;
		const struct series *s = &p->series.series.v[c->series[i]];
		if (s->type != type || c->value[i] <= 0)
			continue;
		const struct label *comm =
			label_find(&p->series, s->labels, strtab_find(&p->strings, "comm"));
		uint32_t depth = stack_depth(&p->stacks, c->stack[i]);
		uint32_t *frames = malloc((depth + 1) * sizeof *frames);
		stack_frames(&p->stacks, c->stack[i], frames);
		buf_addf(&b, "%012lld %s %u %u %u %lld", (long long)c->time_ns[i],
			 comm ? profile_str(p, comm->str) : "?", c->pid[i], c->tid[i], c->cpu[i],
			 (long long)(c->value[i] * (s->period ? s->period : 1)));
		for (uint32_t k = 0; k < depth; k++) {
			const struct frame *f = &p->frames.frames.v[frames[k]];
			uint32_t n = profile_frame_lines(p, frames[k], lines, NAMES_MAX_INLINE);
			while (n-- > 0)
				buf_addf(&b, ";%s:%s", frame_kinds[f->kind].name,
					 profile_str(p, lines[n].name));
		}
		buf_addc(&b, '\n');
		free(frames);
	}
	return buf_steal(&b);
}

static int line_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted_lines(char *text)
{
	VEC(char *) lines = { 0 };
	struct buf b = { 0 };
	for (char *save, *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		vec_push(&lines, l);
	if (lines.n)
		qsort(lines.v, lines.n, sizeof *lines.v, line_cmp);
	for (size_t i = 0; i < lines.n; i++)
		buf_addf(&b, "%s\n", lines.v[i]);
	free(text);
	vec_done(&lines);
	return buf_steal(&b);
}

START_TEST(what_was_written_is_read_again)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random_shape shape = { 30, 200, seed % 2, false };
		struct profile *p = random_profile(seed, shape).p;
		for (uint32_t type = 0; type < p->series.types.n; type++) {
			struct format_write_opts opts = {
				.type = profile_str(p, p->series.types.v[type].sample_type)
			};
			char *text = written(&format_perf_script, p, &opts);
			ck_assert(perf_script_detect(text, strlen(text)));
			struct profile *again = read_text(text);
			char *want = sorted_lines(spelled_rows(p, type));
			char *got = sorted_lines(spelled_rows(again, 0));
			ck_assert_str_eq(got, want);
			ck_assert_uint_eq(again->meta.loss[LOSS_INPUT_SKIPPED], 0);
			char *twice = written(&format_perf_script, again,
					      &(struct format_write_opts){ 0 });
			free(twice);
			free(want);
			free(got);
			free(text);
			profile_free(again);
		}
		profile_free(p);
	}
}
END_TEST

START_TEST(a_comm_never_becomes_another_column)
{
	static const struct {
		const char *comm, *again;
	} cases[] = { { "a 1 [2] 3.4: e:", "a____________e_" },
		      { "1234", "1234" },
		      { "2.5:", "____" },
		      { "#x y", "?x y" },
		      { " kworker/0:1 ", "_kworker_____" },
		      { "V8 Worker:1", "V8 Worker:1" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = folded_profile("f 3\n");
		struct sink *s = profile_sink(p);
		struct label comm = { .key = sink_string(s, "comm"),
				      .str = sink_string(s, cases[i].comm) };
		p->series.series.v[0].labels = s->ops->labels(s, &comm, 1);
		char *text = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
		struct profile *again = read_text(text);
		ck_assert_uint_eq(again->samples.n, 1);
		ck_assert_int_eq(profile_total(again, 0), 3);
		const struct label *l = label_find(&again->series, again->series.series.v[0].labels,
						   strtab_find(&again->strings, "comm"));
		ck_assert_str_eq(profile_str(again, l->str), cases[i].again);
		free(text);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

/* What we read is what we read again, to the letter: but for the addresses, which are dropped. */
START_TEST(golden_files_survive)
{
	static const char *const names[] = { "perf-dd-stacks-01", "perf-funcab-cmd-01",
					     "perf-java-stacks-01", "perf-js-stacks-01",
					     "perf-numa-stacks-01" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct profile *p = read_golden(names[i]);
		char *text = written(&format_perf_script, p, &(struct format_write_opts){ 0 });
		struct profile *again = read_text(text);
		if (p->samples.time_ns[0])
			assert_same_profile(p, again, SPELL_TIMES);
		else
			ck_assert_int_eq(profile_total(again, 0), profile_total(p, 0));
		free(text);
		profile_free(p);
		profile_free(again);
	}
}
END_TEST

UNIT_MAIN("perf_script", stackcollapse_perf_says_the_same, whole_files_have_known_sums,
	  the_sample_that_nothing_ends_is_kept, crlf_changes_nothing, header_lines_of_every_shape,
	  frames_are_named_and_placed, columns_that_were_not_printed_are_not_needed,
	  each_event_is_a_type, inlined_frames_are_in_the_binary_around_them,
	  records_are_no_samples_and_losses_count, lines_outside_of_samples_are_counted,
	  nothing_but_junk_is_an_error, a_file_may_be_cut_anywhere,
	  only_perf_script_is_taken_for_it, too_many_samples_lose_their_times_and_nothing_else,
	  a_stack_of_a_million_frames_keeps_its_leaf, long_lines_and_strange_bytes_are_harmless,
	  blanks_cost_their_length_only, the_text_is_as_perf_prints_it,
	  a_comm_never_becomes_another_column, what_was_written_is_read_again, golden_files_survive)
