// tier: test
#include "format/formats.h"
#include "rand.h"
#include "spelled_profile.h"
#include "written.h"

#include "base/utf8.h"
#include "profile/tree/tree.h"

#include <errno.h>

static struct profile *read_file(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

static char *folded_of(struct profile *p)
{
	struct format_write_opts opts = { 0 };
	return written(&format_folded, p, &opts);
}

/* The text again, after reading and writing. */
static void check_rewritten(const char *text, const char *want)
{
	struct profile *p = folded_profile(text);
	char *got = folded_of(p);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}

/* --- known files ------------------------------------------------------------------------------ */

START_TEST(known_files_have_known_sums)
{
	static const struct {
		const char *path;
		size_t stacks;
		int64_t sum;
		uint64_t skipped;
	} files[] = {
		{ "tests/golden/folded/simple.txt", 3, 14, 0 },
		{ "tests/golden/folded/simple-crlf.txt", 3, 14, 0 },
		{ "tests/golden/folded/simple-with-invalids.txt", 3, 14, 2 },
		{ "tests/golden/folded/recursion.txt", 7, 10, 0 },
		{ "tests/golden/folded/tall.txt", 1, 1, 0 },
		{ "tests/golden/folded/async-profiler-sample1.collapsed", 17, 185, 0 },
		{ "tests/golden/gpu/xpu-perf-gpu_trace.folded", 5, 419, 0 },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct profile *p = read_file(files[i].path);
		ck_assert_uint_eq(p->samples.n, files[i].stacks);
		ck_assert_int_eq(profile_total(p, 0), files[i].sum);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], files[i].skipped);
		profile_free(p);
	}
}
END_TEST

START_TEST(crlf_changes_nothing)
{
	struct profile *lf = read_file("tests/golden/folded/simple.txt");
	struct profile *crlf = read_file("tests/golden/folded/simple-crlf.txt");
	char *text = folded_of(lf);
	ck_assert_str_eq(text, "a;b 5\na;b;c 5\na;b;d 4\n");
	assert_same_profile(lf, crlf, SPELL_TIMES | SPELL_MAPPINGS);
	free(text);
	profile_free(lf);
	profile_free(crlf);
}
END_TEST

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
		struct profile *p = read_file(files[i]);
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

/* --- reading ---------------------------------------------------------------------------------- */

START_TEST(values_are_whole_or_rounded)
{
	check_rewritten("a 1\nb 2.4\nc 2.5\nd 7.\ne\t3\nf 4  \n", "a 1\nb 2\nc 3\nd 7\ne 3\nf 4\n");
	check_rewritten("a;b c 5\na;b c 5\n", "a;b c 10\n");
	check_rewritten("a 9223372036854775807\na 1\n", "a 9223372036854775807\n");
}
END_TEST

static void check_values(const char *text, const char *unit, const char *want, uint64_t rounded,
			 uint64_t scaled)
{
	struct profile *p = folded_profile(text);
	char *got = written(&format_folded, p, &(struct format_write_opts){ .unit = unit });
	ck_assert_str_eq(got, want);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_ROUNDED], rounded);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SCALED], scaled);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}

START_TEST(decimals_are_added_up_before_they_are_rounded)
{
	check_values("a 0.4\nb .6\na 0.4\nb 0.6\na .4\nb 6e-1\na 4E-1\nb 0.6\na 0.4\nb 0.6\n", NULL,
		     "a 2\nb 3\n", 0, 0);
	check_values("a 1.25e2\nb 5\na 1.0\n", NULL, "a 126\nb 5\n", 0, 0);
	/* Doubles passed on. */
	check_values("a 0.59999999999999998\na 0.59999999999999998\na 0.59999999999999998\n"
		     "a 0.59999999999999998\na 0.59999999999999998\nb 0.1\nb 0.90000000000000002\n",
		     NULL, "a 3\nb 1\n", 0, 0);
	check_values("a 7.5\nb 1.25\nb 1.25\n", NULL, "a 8\nb 3\n", 2, 0);
	/* A stack would vanish. */
	check_values("a 0.25\nb 0.75\nc 2\nb 1\n", NULL, "a 250000\nb 1750000\nc 2000000\n", 0, 2);
	check_values("a_[c] 0.25\nb_[o] 1000.5\n", "ns", "a_[c] 250\nb_[o] 1000500\n", 0, 0);
	check_values("a 9223372036854775806.75\na 9223372036854775806.75\nb 1\n", NULL,
		     "a 9223372036854775807\nb 1\n", 1, 0);
}
END_TEST

/* Carries of 10 000 fractions. */
START_TEST(many_decimals_are_exact)
{
	struct buf b = { 0 };
	for (int i = 0; i < 10000; i++)
		buf_addf(&b, "main;x%d 0.%03d\nmain;y 1e-4\n", i % 10, i % 1000);
	check_values(buf_cstr(&b), NULL,
		     "main;x0 495\nmain;x1 496\nmain;x2 497\nmain;x3 498\nmain;x4 499\n"
		     "main;x5 500\nmain;x6 501\nmain;x7 502\nmain;x8 503\nmain;x9 504\n"
		     "main;y 1\n",
		     0, 0);
	buf_done(&b);
}
END_TEST

START_TEST(junk_is_skipped_and_counted)
{
	static const char text[] = "# comment 5\n\nmain 1\n12\n 12\nmain\nmain -5\nmain 1e\n"
				   "main 0x10\nmain 9223372036854775808\nmain .\nmain 1.2.3\n";
	struct profile *p = folded_profile(text);
	char *got = folded_of(p);
	ck_assert_str_eq(got, "main 1\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 9);
	free(got);
	profile_free(p);
}
END_TEST

static void check_unreadable(const char *text, const char *words)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, &err), 0);
	ck_assert_int_eq(format_folded.read(in, profile_sink(p), &err), -EBADMSG);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	input_close(in);
	profile_free(p);
}

START_TEST(nothing_but_junk_is_an_error)
{
	check_unreadable("", "none of 0 lines");
	check_unreadable("# only 5\n", "none of 0 lines");
	check_unreadable("one\ntwo\n", "none of 2 lines");
}
END_TEST

static enum frame_kind kind_of(const struct profile *p, const char *name)
{
	uint32_t id = strtab_find(&p->strings, name);
	for (size_t i = 0; i < p->frames.frames.n; i++)
		if (p->frames.frames.v[i].function == id)
			return p->frames.frames.v[i].kind;
	ck_abort_msg("no frame %s", name);
}

START_TEST(suffixes_give_the_kind)
{
	static const char text[] = "root;k_[k];j_[j];i_[i];G_[G];g_[g];c_[c];o_[o];x_[x];_[k] 1\n"
				   "-;[truncated: depth];[GPU_Kernel]sgemm;libc.so.6+0x10;[k] 2\n";
	struct profile *p = folded_profile(text);
	ck_assert_int_eq(kind_of(p, "root"), FRAME_NATIVE);
	ck_assert_int_eq(kind_of(p, "k"), FRAME_KERNEL);
	ck_assert_int_eq(kind_of(p, "j"), FRAME_JIT);
	ck_assert_int_eq(kind_of(p, "i"), FRAME_INTERPRETED);
	ck_assert_int_eq(kind_of(p, "G"), FRAME_GPU_SOURCE);
	ck_assert_int_eq(kind_of(p, "g"), FRAME_GPU_INSTRUCTION);
	/* No kinds: the suffixes stay in the name. */
	ck_assert_int_eq(kind_of(p, "c_[c]"), FRAME_NATIVE);
	ck_assert_int_eq(kind_of(p, "o_[o]"), FRAME_NATIVE);
	ck_assert_int_eq(kind_of(p, "x_[x]"), FRAME_NATIVE);
	ck_assert_int_eq(kind_of(p, "_[k]"), FRAME_NATIVE);
	ck_assert_int_eq(kind_of(p, "-"), FRAME_MARKER);
	ck_assert_int_eq(kind_of(p, "[truncated: depth]"), FRAME_MARKER);
	ck_assert_int_eq(kind_of(p, "[GPU_Kernel]sgemm"), FRAME_GPU_KERNEL);
	ck_assert_int_eq(kind_of(p, "libc.so.6+0x10"), FRAME_NATIVE);
	profile_free(p);
}
END_TEST

/* The meaning of _[i] depends on the writer of the file. */
START_TEST(async_profiler_is_detected_by_its_spelling)
{
	static const char *const texts[] = { "Main.run_[0];java/util/List.add_[1];in_[i] 1\n",
					     "read_[k];x_[1];in_[i] 1\n",
					     "a/B.run_[j];in_[i] 1\n" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct profile *p = folded_profile(texts[i]);
		ck_assert_int_eq(kind_of(p, "in"), FRAME_JIT);
		profile_free(p);
	}
	struct profile *p = folded_profile(texts[0]);
	ck_assert_int_eq(kind_of(p, "Main.run"), FRAME_INTERPRETED);
	ck_assert_int_eq(kind_of(p, "java/util/List.add"), FRAME_JIT);
	profile_free(p);
}
END_TEST

START_TEST(marks_of_leaves_give_the_type)
{
	static const struct {
		const char *text, *type, *unit;
	} cases[] = {
		{ "main;work_[c] 70\nmain;read_[o] 30\n", "wall", "microseconds" },
		{ "main;work_[c] 70\nmain;read_[o] 30\n[Missed] 1\n", "wall", "microseconds" },
		{ "main;work_[c] 70\nmain;[sched-wait] 30\n", "wall", "microseconds" },
		{ "main;read;[blocked: disk I/O] 1\nmain;x_[o] 5\n", "off-cpu", "microseconds" },
		{ "main;[blocked: disk I/O];[woken by: a (1)] 1\n", "off-cpu", "microseconds" },
		{ "main;[sched-wait] 1\n", "sched-wait", "microseconds" },
		{ "main;read_[o] 1\nmain;work 2\nmain 3\n", "samples", "count" },
		{ "main;work_[c] 2\nmain_[c] 1\n", "cpu", "count" },
		{ "main_[o];work 2\n", "samples", "count" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = folded_profile(cases[i].text);
		const struct type *type = &p->series.types.v[0];
		bool is_cpu = strcmp(cases[i].type, "cpu") == 0;
		ck_assert_str_eq(profile_str(p, type->name), cases[i].type);
		ck_assert_str_eq(profile_str(p, type->sample_type),
				 is_cpu ? "samples" : cases[i].type);
		ck_assert_str_eq(profile_str(p, type->unit), cases[i].unit);
		profile_free(p);
	}
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
START_TEST(other_types_are_marked_on_request)
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

START_TEST(annotate_writes_the_requested_suffixes)
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

START_TEST(frames_without_a_name_and_stacks_without_frames)
{
	check_rewritten(";a;;b; 3\n", "[unknown];a;[unknown];b;[unknown] 3\n");
	struct profile *p = folded_profile("a 1\n");
	struct sink *s = profile_sink(p);
	struct sample sample = { .value = 7, .stack = 0, .series = 0 };
	s->ops->sample(s, &sample);
	char *got = folded_of(p);
	ck_assert_str_eq(got, "[empty] 7\na 1\n");
	free(got);
	profile_free(p);
}
END_TEST

/* 70000 frames in one line: the root is replaced by a marker, the leaf stays. */
START_TEST(too_deep_stacks_retain_their_leaf)
{
	struct buf b = { 0 };
	for (int i = 0; i < 70000; i++)
		buf_addf(&b, "%sf%d", i ? ";" : "", i);
	buf_adds(&b, " 3\n");
	struct profile *p = folded_profile(buf_cstr(&b));
	uint32_t stack = p->samples.stack[0];
	ck_assert_uint_eq(stack_depth(&p->stacks, stack), STACK_MAX_DEPTH);
	uint32_t leaf = stack_leaf(&p->stacks, stack);
	ck_assert_str_eq(profile_str(p, p->frames.frames.v[leaf].function), "f69999");
	char *got = folded_of(p);
	ck_assert_int_eq(strncmp(got, "[truncated: ", 12), 0);
	ck_assert_str_eq(got + strlen(got) - 10, ";f69999 3\n");
	free(got);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* Lines that share frames with the previous one in every possible way give the same as each alone. */
START_TEST(shared_prefixes_change_nothing)
{
	enum { LINES = 3000 };
	static const char *const names[] = { "a", "ab", "abc", "b", "a b", "" };
	struct rng r = { 7 };
	struct buf all = { 0 };
	struct profile *merged = profile_new();
	for (int i = 0; i < LINES; i++) {
		struct buf line = { 0 };
		uint32_t depth = 1 + rng_below(&r, 5);
		for (uint32_t k = 0; k < depth; k++)
			buf_addf(&line, "%s%s", k ? ";" : "", names[rng_below(&r, k ? 6 : 5)]);
		buf_addf(&line, " %d\n", i);
		struct profile *one = folded_profile(buf_cstr(&line));
		profile_merge(merged, one);
		profile_free(one);
		buf_add(&all, line.data, line.len);
		buf_done(&line);
	}
	struct profile *p = folded_profile(buf_cstr(&all));
	assert_same_profile(p, merged, SPELL_TIMES | SPELL_MAPPINGS);
	profile_free(p);
	profile_free(merged);
	buf_done(&all);
}
END_TEST

/* As written on Windows; compared with iconv. Long enough that characters are split between pieces. */
START_TEST(utf16_and_byte_order_marks_change_nothing)
{
	static const char *const commands[] = {
		"(printf '\\357\\273\\277'; cat %s/plain) >%s/coded",
		"(printf '\\377\\376'; iconv -f UTF-8 -t UTF-16LE %s/plain) >%s/coded",
		"(printf '\\376\\377'; iconv -f UTF-8 -t UTF-16BE %s/plain) | gzip >%s/coded",
	};
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("for i in $(seq 30000); do echo \"main;größe_$i;日本;😀$((i %% 97)) $i\"; done "
		 ">%s/plain",
		 dir);
	snprintf(path, sizeof path, "%s/plain", dir);
	struct profile *plain = read_file(path);
	ck_assert_uint_eq(plain->samples.n, 30000);
	snprintf(path, sizeof path, "%s/coded", dir);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		shell_do(commands[i], dir, dir);
		struct profile *p = read_file(path);
		assert_same_profile(plain, p, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(p);
	}
	profile_free(plain);
	shell_do("rm -r %s", dir);
}
END_TEST

/* Memory depends on the distinct stacks: 64 MB of repeated lines. */
START_TEST(repeated_lines_cost_nothing)
{
	enum { LINES = 4 << 20 };
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("yes 'main;work 1' | head -n %d | gzip -1 >%s/many.gz", LINES, dir);
	snprintf(path, sizeof path, "%s/many.gz", dir);
	struct profile *p = read_file(path);
	ck_assert_uint_eq(p->samples.n, 1);
	ck_assert_int_eq(profile_total(p, 0), LINES);
	profile_free(p);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(a_name_of_a_megabyte_is_harmless)
{
	enum { LONG = 1 << 20 };
	struct buf b = { 0 };
	buf_adds(&b, "main;");
	for (int i = 0; i < LONG; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, ";leaf 2\n");
	struct profile *p = folded_profile(buf_cstr(&b));
	char *got = folded_of(p);
	ck_assert_uint_eq(strlen(got), strlen("main;") + STRTAB_MAX_LEN + strlen(";leaf 2\n"));
	free(got);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* --- which files are folded stacks ------------------------------------------------------------ */

START_TEST(detected_by_content)
{
	static const struct {
		const char *text;
		bool is_folded, may_be;
	} cases[] = {
		{ "main;a 1\n", true, true },
		{ "main;a 1", true, true },
		{ "main;a 1.5e-3\nmain;b .5", true, true },
		{ "# comment\r\nmain;a 1\r\n", true, true },
		{ "junk\nmain;a 1\n", true, true },
		{ "idle 5\nmain;a 1\n", true, true },
		{ "main 1\n", false, true },
		{ "idle 5\nswapper 7\nmain;a 1\n", false, true },
		{ "junk\nmain 1\n", false, true },
		{ "junk\njunk\nmain;a 1\n", false, false },
		{ "GET /index.html 200 512\nGET /a;b=1 404 12\nGET /c 200 7\n", false, true },
		{ "2026-11-29T01:00:00 worker 7 took 12\n", false, true },
		{ "", false, false },
		{ "# comment 1\n", false, false },
		{ "hello world\n", false, false },
		{ "hello; world\n", false, false },
		{ "{\"a\": 1}\n", false, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = cases[i].text;
		ck_assert_msg(folded_detect(text, strlen(text)) == cases[i].is_folded, "%s", text);
		ck_assert_msg(folded_detect_maybe(text, strlen(text)) == cases[i].may_be, "%s",
			      text);
	}
	ck_assert(!folded_detect("a;main\0 1\n", 10));
	ck_assert(!folded_detect_maybe("main\0 1\n", 8));
	char *head = malloc(INPUT_PEEK);
	memset(head, 'x', INPUT_PEEK);
	ck_assert(!folded_detect(head, INPUT_PEEK));
	head[10] = ';';
	ck_assert(folded_detect(head, INPUT_PEEK));
	free(head);
}
END_TEST

/* --- writing ---------------------------------------------------------------------------------- */

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

START_TEST(values_are_in_the_requested_unit)
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

START_TEST(formats_are_found_by_name_and_ending)
{
	static const struct {
		const char *path, *format;
	} paths[] = {
		{ "a.folded", "folded" },   { "a.collapsed", "folded" }, { "a.txt", "folded" },
		{ "x.y/a.pb.gz", "pprof" }, { "a.pprof", "pprof" },      { "a.svg", "svg" },
		{ "r.cresset", "cresset" }, { "folded", NULL },          { "a.gz", NULL },
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const struct format *f = format_by_ending(paths[i].path);
		ck_assert_pstr_eq(f ? f->name : NULL, paths[i].format);
		if (f)
			ck_assert_ptr_eq(format_by_name(f->name), f);
	}
	ck_assert_ptr_null(format_by_name("nonsense"));
}
END_TEST

START_TEST(unsupported_units_are_reported)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	ck_assert_int_eq(format_read_file("Makefile", NULL, profile_sink(p), &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "Makefile"));
	ck_assert_ptr_nonnull(strstr(err.hint, "pprof"));
	ck_assert_int_eq(format_read_file("/dev/null", NULL, profile_sink(p), &err), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(err.text, "empty"));
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

UNIT_MAIN("folded", each_stack_is_written_once, known_files_have_known_sums, crlf_changes_nothing,
	  files_are_written_as_they_were, values_are_whole_or_rounded,
	  decimals_are_added_up_before_they_are_rounded, many_decimals_are_exact,
	  junk_is_skipped_and_counted, nothing_but_junk_is_an_error, suffixes_give_the_kind,
	  async_profiler_is_detected_by_its_spelling, marks_of_leaves_give_the_type,
	  wall_profiles_come_back, other_types_are_marked_on_request,
	  annotate_writes_the_requested_suffixes, frames_without_a_name_and_stacks_without_frames,
	  too_deep_stacks_retain_their_leaf, shared_prefixes_change_nothing,
	  utf16_and_byte_order_marks_change_nothing, repeated_lines_cost_nothing,
	  a_name_of_a_megabyte_is_harmless, detected_by_content, hostile_names_are_replaced,
	  random_names_survive, values_are_in_the_requested_unit, a_type_that_is_not_there_is_named,
	  formats_are_found_by_name_and_ending, unsupported_units_are_reported)
