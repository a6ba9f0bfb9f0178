// tier: test
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/python/python.h"
#include "profile/state.h"
#include "profile/tree/top.h"

static const struct format *const text = &format_python_text;

/* Totals are those that the tools print, or the sums of their lines. */
START_TEST(known_files_add_up)
{
	static const struct {
		const char *file, *type, *unit;
		int64_t total;
	} cases[] = {
		{ "python315-binary.bin", "wall", "count", 2008 },
		{ "python315.jsonl", "wall", "count", 2010 },
		{ "python315-collapsed.txt", "samples", "count", 1998 },
		{ "austin-wall.txt", "wall", "nanoseconds", 52631000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/python/%s", cases[i].file);
		struct profile *p = read_golden(path);
		uint32_t type = profile_pick_type(p, NULL);
		ck_assert_str_eq(profile_type_name(p, type), cases[i].type);
		ck_assert_str_eq(profile_str(p, p->series.types.v[type].unit), cases[i].unit);
		ck_assert_int_eq(profile_total(p, type), cases[i].total);
		ck_assert_int_eq(state_of_type_in(p, type), STATE_UNSAID);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		profile_free(p);
	}
}
END_TEST

/* A function is one name, whichever of its lines ran; threads are no frames. */
START_TEST(lines_and_threads_are_split_off)
{
	struct profile *p = read_golden("tests/golden/python/python315-collapsed.txt");
	char *got = folded_type(p, NULL, NULL);
	ck_assert_str_eq(got, "_run_module_as_main;_run_code;<module>;main;heavy;spin 1488\n"
			      "_run_module_as_main;_run_code;<module>;main;light;spin 510\n");
	ck_assert_uint_eq(p->samples.tid[0], 26999);
	ck_assert_int_eq(frame_named(p, "spin")->kind, FRAME_PYTHON);
	ck_assert_str_eq(profile_str(p, frame_named(p, "spin")->file), "known.py");
	free(got);
	profile_free(p);
	p = read_golden("tests/golden/python/austin-wall.txt");
	ck_assert_uint_eq(p->samples.tid[0], 24529);
	ck_assert_uint_eq(p->samples.pid[0], 24529);
	profile_free(p);
}
END_TEST

/* With --native. */
START_TEST(native_code_is_native)
{
	struct profile *p = read_text(&format_python_text, "tid:7;a.py:f:1;<native> 3\n");
	ck_assert_int_eq(frame_named(p, "<native>")->kind, FRAME_NATIVE);
	ck_assert_int_eq(frame_named(p, "f")->kind, FRAME_PYTHON);
	profile_free(p);
	p = read_text(&format_python_jsonl,
		      "{\"strings\":[{\"str_id\":1,\"value\":\"<native>\"}]}\n"
		      "{\"frames\":[{\"frame_id\":7,\"func_str_id\":1}]}\n"
		      "{\"entries\":[{\"frame_id\":7,\"self\":4}]}\n");
	ck_assert_int_eq(frame_named(p, "<native>")->kind, FRAME_NATIVE);
	profile_free(p);
}
END_TEST

START_TEST(the_binary_file_has_the_same_stacks)
{
	struct profile *p = read_golden("tests/golden/python/python315-binary.bin");
	char *got = folded_type(p, NULL, NULL);
	static const char heavy[] = "_run_module_as_main;_run_code;<module>;main;_execute_script;"
				    "<module>;main;heavy;spin 1486\n";
	ck_assert_msg(strstr(got, heavy) != NULL, "%s", got);
	ck_assert_int_eq(p->series.series.v[0].period, 1000000);
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(austin_counts_time_and_memory)
{
	static const char full[] = "# austin: 3.7.0\n# mode: full\n\n"
				   "P1;T0:2;a.py:f:3 100,0,4096\nP1;T0:2;a.py:f:4 50,1,-1024\n";
	check_folded(text, full, "wall", "us", "f 150\n", 0);
	check_folded(text, full, "cpu", "us", "f 100\n", 0);
	check_folded(text, full, "alloc_space", "bytes", "f 4096\n", 0);
	check_folded(text, full, "free_space", "bytes", "f 1024\n", 0);
	/* Values of two processes are not added up. */
	struct err err = { 0 };
	static const char two[] = "P1;T2;a.py:f:3 9\nP2;T2;a.py:f:3 8\nP1;T2;a.py:f:3 7\n";
	struct profile *p = read_bytes(text, two, strlen(two), &err);
	ck_assert_uint_eq(p->samples.n, 2);
	ck_assert_uint_eq(p->samples.pid[0], 1);
	ck_assert_int_eq(p->samples.value[0], 16000);
	ck_assert_uint_eq(p->samples.pid[1], 2);
	profile_free(p);
	check_folded(text, "# austin: 3.7.0\n# mode: memory\nP1;T2;a.py:f:3 9\n", "alloc_space",
		     "bytes", "f 9\n", 0);
	check_folded(text, "# austin: 3.7.0\n# mode: cpu\nP1;T2;a.py:f:3 9\n", "cpu", "us", "f 9\n",
		     0);
	/* Before settings; odd frames; an empty stack. */
	check_folded(text, "P1;T2;C:\\a.py:f:3;:GC: 9\nP1;T2 1\n", "wall", "us",
		     "[empty] 1\nf;:GC: 9\n", 0);
}
END_TEST

START_TEST(bad_input_is_counted_or_refused)
{
	check_folded(text, "tid:1;a:b:1 2\nno value\ntid:1;a:b:1 x\n", NULL, NULL, "b 2\n", 2);
	check_refused(text, "# austin: 3.7.0\n", "no line");
	check_refused(&format_python_jsonl, "{\"type\":\"meta\"}\n", "no line of type");
	check_refused(&format_python_binary, "HCAT\1", "cut or damaged");
	check_folded(
		&format_python_jsonl,
		"{\"strings\":[{\"str_id\":-5,\"value\":\"f\"}]}\n"
		"{\"frames\":[{\"frame_id\":7,\"func_str_id\":-5,\"line\":3},{}]}\n"
		"{\"entries\":[{\"frame_id\":7,\"self\":4},{\"frame_id\":8,\"self\":4},3]}\n[\n",
		NULL, NULL, "f 4\n", 3);
}
END_TEST

START_TEST(files_may_be_cut_anywhere)
{
	check_cut_file(&format_python_binary, "tests/golden/python/python315-binary.bin");
	check_cut_file(text, "tests/golden/python/python315-collapsed.txt");
	check_cut_file(&format_python_jsonl, "tests/golden/python/python315.jsonl");
}
END_TEST

/* Uncompressed: every byte of the records, and every count, replaced by large ones. */
START_TEST(damaged_records_are_harmless)
{
	static const unsigned char records[] = {
		1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0x24, 2, 0, 1, /* whole */
		1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1,    0, 1, 0, /* repeat */
		1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0,    1, 1, 1, /* the leaf changes */
		1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0,    1, 1, 0, /* the root stays */
	};
	static const unsigned char tables[] = {
		1, 'f', 1, 'm', /* frames: */ 1, 0, 6, 0, 0, 0, 255, 1, 1, 4, 0, 0, 0, 255
	};
	unsigned char file[64 + sizeof records + sizeof tables + 48] = "HCAT\1";
	uint64_t strings = 64 + sizeof records, frames = strings + 4;
	file[20] = 100;
	memcpy(file + 40, &strings, 8);
	memcpy(file + 48, &frames, 8);
	memcpy(file + 64, records, sizeof records);
	memcpy(file + 64 + sizeof records, tables, sizeof tables);
	memcpy(file + sizeof file - 48, "TACHSTAT", 8);
	file[sizeof file - 48 + 20] = 2;
	struct err err = { 0 };
	struct profile *p = read_bytes(&format_python_binary, file, sizeof file, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	char *got = folded_type(p, NULL, NULL);
	ck_assert_str_eq(got, "m;f 4\nm;m 1\n");
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
	for (size_t i = 0; i < sizeof file; i++) {
		unsigned char before = file[i];
		file[i] = 255;
		profile_free(read_bytes(&format_python_binary, file, sizeof file, &err));
		file[i] = before;
	}
}
END_TEST

static void put_int(struct buf *b, uint64_t v, int size, bool big)
{
	for (int i = 0; i < size; i++) {
		const int at = big ? size - 1 - i : i;
		buf_addc(b, at < (int)sizeof v ? (char)(v >> 8 * at) : '\0');
	}
}

/* One thread's stack "m", `samples` times; without samples, the file of a program that ended early. */
static struct buf python_binary(bool big, uint64_t samples)
{
	static const unsigned char frame[] = { 0, 0, 6, 0, 0, 0, 255 };
	uint64_t strings = 64 + (samples ? 17 : 0), frames = strings + (samples ? 2 : 0);
	uint64_t head[][2] = { { 0x54414348, 4 }, { 1, 4 },       { 0x0302, 4 }, { 9, 8 },
			       { 2000, 8 },       { samples, 4 }, { 0, 4 },      { 1, 4 },
			       { strings, 8 },    { frames, 8 },  { 0, 8 } };
	struct buf b = { 0 };
	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		put_int(&b, head[i][0], (int)head[i][1], big);
	if (samples) {
		put_int(&b, 0x1f4, 8, big);
		put_int(&b, 0, 4, big);
		buf_add(&b, "\1\5\x24\1\0", 5);
		buf_add(&b, "\1m", 2);
		buf_add(&b, frame, sizeof frame);
	}
	buf_adds(&b, "TACHSTAT");
	for (int i = 0; i < 4; i++)
		put_int(&b, i > 1 && samples, 4, big);
	put_int(&b, b.len + 24, 8, big);
	put_int(&b, 0, 16, big);
	return b;
}

START_TEST(either_byte_order)
{
	for (int big = 0; big < 2; big++) {
		struct buf b = python_binary(big, 1);
		struct err err = { 0 };
		ck_assert(format_python_binary.detect(b.data, b.len));
		struct profile *p = read_bytes(&format_python_binary, b.data, b.len, &err);
		ck_assert_msg(p != NULL, "%s", err.text);
		char *got = folded_type(p, NULL, NULL);
		ck_assert_str_eq(got, "m 1\n");
		ck_assert_uint_eq(p->samples.tid[0], 0x1f4);
		ck_assert_int_eq(p->series.series.v[0].period, 2000000);
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		check_cut_anywhere(&format_python_binary, b.data, b.len);
		free(got);
		profile_free(p);
		buf_done(&b);
	}
}
END_TEST

START_TEST(a_file_without_a_sample_is_whole)
{
	struct buf b = python_binary(false, 0);
	struct err err = { 0 };
	struct profile *p = read_bytes(&format_python_binary, b.data, b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(content_tells_the_format)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "# austin: 3.7.0\n", true },
		{ "P1;T2;a.py:f:3 9\n", true },
		{ "tid:12;a.py:f:3 9\n", true },
		{ "P1;main 9\n", false },
		{ "T2;main 9\n", false },
		{ "tid:x;a 1\n", false },
		{ "Process;Thread;f 1\n", false },
		{ "", false },
		{ "P1;", false },
		{ "tid:1;", true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(text->detect(cases[i].text, strlen(cases[i].text)) == cases[i].is,
			      "%s", cases[i].text);
}
END_TEST

static void check_leaf(struct profile *p, const char *want)
{
	uint32_t stack = p->samples.stack[0], frames[STACK_MAX_DEPTH];
	ck_assert_uint_eq(stack_depth(&p->stacks, stack), STACK_MAX_DEPTH);
	stack_frames(&p->stacks, stack, frames);
	const struct frame *leaf = &p->frames.frames.v[frames[STACK_MAX_DEPTH - 1]];
	ck_assert_str_eq(profile_str(p, leaf->function), want);
	ck_assert_int_eq(p->frames.frames.v[frames[0]].kind, FRAME_MARKER);
	profile_free(p);
}

/* A stack deeper than a profile has loses frames at its root, not its leaf. */
START_TEST(deep_stacks_have_their_leaf)
{
	enum { DEPTH = STACK_MAX_DEPTH + 1000 };
	struct err err = { 0 };
	struct buf b = { 0 };
	buf_adds(&b, "# austin: 3.7.0\n# mode: wall\nP1;T0:2");
	for (int i = 0; i < DEPTH; i++)
		buf_adds(&b, ";a.py:f:1");
	buf_adds(&b, ";a.py:leaf:2 5\n");
	struct profile *p = read_bytes(&format_python_text, b.data, b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	check_leaf(p, "leaf");
	buf_clear(&b);
	buf_adds(&b, "MOJ\3");
	buf_add(&b,
		"\2\1\0"
		"2\0",
		5);
	buf_add(&b, "\13\1leaf\0\13\2f\0", 11);
	buf_add(&b, "\3\1\0\1\1\1\1\1\3\2\0\2\1\1\1\1", 16);
	for (int i = 0; i < DEPTH; i++)
		buf_adds(&b, "\5\2");
	buf_adds(&b, "\5\1\11\7");
	p = read_bytes(&format_austin_binary, b.data, b.len, &err);
	ck_assert_msg(p != NULL, "%s", err.text);
	check_leaf(p, "leaf");
	buf_done(&b);
}
END_TEST

UNIT_MAIN("python_files", known_files_add_up, lines_and_threads_are_split_off,
	  native_code_is_native, the_binary_file_has_the_same_stacks, austin_counts_time_and_memory,
	  bad_input_is_counted_or_refused, files_may_be_cut_anywhere, damaged_records_are_harmless,
	  content_tells_the_format, deep_stacks_have_their_leaf, either_byte_order,
	  a_file_without_a_sample_is_whole)
