// tier: test
#include "folded_text.h"
#include "rand.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/tree/tree.h"

#include <errno.h>

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
		struct profile *p = read_golden(files[i].path);
		ck_assert_uint_eq(p->samples.n, files[i].stacks);
		ck_assert_int_eq(profile_total(p, 0), files[i].sum);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], files[i].skipped);
		profile_free(p);
	}
}
END_TEST

START_TEST(crlf_changes_nothing)
{
	struct profile *lf = read_golden("tests/golden/folded/simple.txt");
	struct profile *crlf = read_golden("tests/golden/folded/simple-crlf.txt");
	char *text = folded_of(lf);
	ck_assert_str_eq(text, "a;b 5\na;b;c 5\na;b;d 4\n");
	assert_same_profile(lf, crlf, SPELL_TIMES | SPELL_MAPPINGS);
	free(text);
	profile_free(lf);
	profile_free(crlf);
}
END_TEST

/* --- reading ---------------------------------------------------------------------------------- */

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

/* heaptrack_print -F */
START_TEST(an_empty_leaf_is_no_frame)
{
	check_rewritten("a;b; 3\na; 1\na;b 2\n; 4\n", "[unknown] 4\na 1\na;b 5\n");
	struct profile *p = read_golden("tests/golden/folded/heaptrack-print.folded");
	char *got = folded_of(p);
	ck_assert_str_eq(got, "_dl_start_user;_dl_init;call_init::call_init;call_init;"
			      "0x7fa6f42b9b03 1\nmain;big 300\nmain;small_ 300\nmain;tmp 500\n");
	ck_assert_str_eq(profile_str(p, frame_named(p, "tmp")->file), "alloc.c");
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(frames_without_a_name_and_stacks_without_frames)
{
	check_rewritten(";a;;b 3\n", "[unknown];a;[unknown];b 3\n");
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
	struct profile *plain = read_golden(path);
	ck_assert_uint_eq(plain->samples.n, 30000);
	snprintf(path, sizeof path, "%s/coded", dir);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		shell_do(commands[i], dir, dir);
		struct profile *p = read_golden(path);
		assert_same_profile(plain, p, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(p);
	}
	profile_free(plain);
	shell_do("rm -r %s", dir);
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
		{ "gc 1: 2+0 ms clock; heap 4\ngc 2: 2+0 ms clock; heap 5\n", false, true },
		{ "main;operator new; 5\n", true, true },
		{ "LOG: SELECT 1; 5\nLOG: SELECT 2; 6\n", false, true },
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

/* As uftrace dump --flame-graph writes it: microseconds without a sign of it. */
START_TEST(a_file_of_uftrace_has_wall_time)
{
	struct profile *p = read_text(&format_uftrace, "main 2\nmain;spin 5\nmain;spin 3\n");
	ck_assert_str_eq(profile_type_name(p, profile_pick_type(p, NULL)), "wall");
	char *got = folded_type(p, NULL, "ns");
	ck_assert_str_eq(got, "main 2000\nmain;spin 8000\n");
	free(got);
	profile_free(p);
	ck_assert_ptr_eq(format_by_name("uftrace"), &format_uftrace);
}
END_TEST

UNIT_MAIN("folded", known_files_have_known_sums, crlf_changes_nothing, suffixes_give_the_kind,
	  async_profiler_is_detected_by_its_spelling, marks_of_leaves_give_the_type,
	  an_empty_leaf_is_no_frame, frames_without_a_name_and_stacks_without_frames,
	  too_deep_stacks_retain_their_leaf, shared_prefixes_change_nothing,
	  utf16_and_byte_order_marks_change_nothing, a_name_of_a_megabyte_is_harmless,
	  detected_by_content, formats_are_found_by_name_and_ending, unsupported_units_are_reported,
	  a_file_of_uftrace_has_wall_time)
