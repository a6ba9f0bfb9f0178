// tier: test
#include "written.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/common/columns.h"
#include "format/common/outline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "profile/sink.h"
#include "profile/tree/top.h"

#include <math.h>
#include <stdint.h>

/* --- a recording of known content --- */

static uint32_t make_mapping(struct profile *p, const char *path, uint64_t identity)
{
	struct mapping m = { .name = strtab_put(&p->strings, path), .identity = identity };
	return p->sink.ops->mapping(&p->sink, &m);
}

static uint32_t make_frame(struct profile *p, uint32_t mapping, uint64_t offset,
			   enum frame_kind kind, const char *name)
{
	struct frame f = { .kind = kind, .mapping = mapping, .offset = offset };
	struct function fn = { .name = strtab_put(&p->strings, name) };
	if (mapping == MAPPING_NONE)
		f = (struct frame){ .kind = kind, .mapping = mapping, .function = fn.name };
	uint32_t id = p->sink.ops->frame(&p->sink, &f);
	struct line line = { .function = p->sink.ops->function(&p->sink, &fn) };
	if (mapping != MAPPING_NONE && *name)
		p->sink.ops->names(&p->sink, id, &line, 1);
	return id;
}

static void make_sample(struct profile *p, uint32_t series, int64_t value, uint32_t n,
			const uint32_t *frames)
{
	struct sample s = { .value = value,
			    .series = series,
			    .pid = SAMPLE_NO_ID,
			    .tid = SAMPLE_NO_ID,
			    .cpu = SAMPLE_NO_ID };
	s.stack = p->sink.ops->stack(&p->sink, frames, n);
	p->sink.ops->sample(&p->sink, &s);
}

static uint32_t make_series(struct profile *p, const char *comm)
{
	struct type type = { .name = strtab_put(&p->strings, "cpu"),
			     .sample_type = strtab_put(&p->strings, "samples"),
			     .unit = strtab_put(&p->strings, "count"),
			     .period_type = strtab_put(&p->strings, "cpu"),
			     .period_unit = strtab_put(&p->strings, "nanoseconds") };
	struct label label = { .key = strtab_put(&p->strings, "comm"),
			       .str = strtab_put(&p->strings, comm) };
	struct series s = { .type = p->sink.ops->type(&p->sink, &type),
			    .period = 10101010,
			    .labels = p->sink.ops->labels(&p->sink, &label, 1) };
	return p->sink.ops->series(&p->sink, &s);
}

/* 99 Hz over 30 s; main → parse → {read → kernel}, main → work (recursive), a truncated stack, a frame without a name. */
static struct profile *recording(void)
{
	struct profile *p = profile_new();
	uint32_t app = make_mapping(p, "/usr/bin/app", 1),
		 libc = make_mapping(p, "/lib/libc.so.6", 2);
	uint32_t kernel = make_mapping(p, "[kernel]", 3), series = make_series(p, "app");
	uint32_t start = make_frame(p, libc, 0x10, FRAME_NATIVE, "_start");
	uint32_t main_ = make_frame(p, app, 0x100, FRAME_NATIVE, "main");
	uint32_t parse = make_frame(
		p, app, 0x200, FRAME_NATIVE,
		"json::parser::parse_value<std::char_traits<char>, std::allocator<char>>");
	uint32_t work = make_frame(p, app, 0x300, FRAME_NATIVE, "work");
	uint32_t nameless = make_frame(p, app, 0x4f0, FRAME_NATIVE, "");
	uint32_t rd = make_frame(p, libc, 0x20, FRAME_NATIVE, "read");
	uint32_t vfs = make_frame(p, kernel, 0xffffffff81000010, FRAME_KERNEL, "vfs_read");
	uint32_t step = make_frame(p, MAPPING_NONE, 0, FRAME_PYTHON, "step");
	uint32_t cut = make_frame(p, MAPPING_NONE, 0, FRAME_MARKER, "[truncated: no rule]");
	make_sample(p, series, 1200, 5, (uint32_t[]){ start, main_, parse, rd, vfs });
	make_sample(p, series, 300, 3, (uint32_t[]){ start, main_, parse });
	make_sample(p, series, 900, 4, (uint32_t[]){ start, main_, work, work });
	make_sample(p, series, 450, 3, (uint32_t[]){ start, main_, nameless });
	make_sample(p, series, 120, 2, (uint32_t[]){ cut, work });
	make_sample(p, series, 27, 3, (uint32_t[]){ start, main_, step });
	for (int i = 0; i < 3; i++) {
		char name[16];
		snprintf(name, sizeof name, "tiny%d", i);
		uint32_t tiny = make_frame(p, app, 0x500 + i, FRAME_NATIVE, name);
		make_sample(p, series, 1, 3, (uint32_t[]){ start, main_, tiny });
	}
	p->meta.start_wall_ns = 1735787045000000000; /* 2025-01-02 03:04:05 UTC */
	p->meta.duration_ns = 30300000000;
	p->meta.host = strtab_put(&p->strings, "db7");
	p->meta.kernel = strtab_put(&p->strings, "6.1.0-13-amd64");
	p->meta.command = strtab_put(&p->strings, "cresset record -a -F 99");
	p->meta.clock = strtab_put(&p->strings, "cpu-clock");
	p->meta.cpus = 2;
	p->meta.loss[LOSS_RING_FULL] = 1;
	return p;
}

/* --- golden files --- */

static void check_golden(const char *name, struct buf *got)
{
	char dir[32], path[64];
	struct err err = { 0 };
	struct out out;
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	ck_assert_int_eq(out_open(&out, path, &err), 0);
	ck_assert_int_eq(out_write(&out, got->data, got->len, &err), 0);
	ck_assert_int_eq(out_commit(&out, &err), 0);
	char *diff = shell("diff -uN tests/golden/table/%s %s || true", name, path);
	ck_assert_msg(*diff == '\0', "\n%s\nis in %s", diff, path);
	free(diff);
	shell_do("rm -r %s", dir);
	buf_done(got);
}

static const struct table_opts wide = { .top_n = 30, .utf8 = true };

static void top_golden(const char *name, const struct tree_opts *tree_opts,
		       const struct table_opts *opts,
		       void (*put)(const struct table *, const struct table_opts *, struct buf *))
{
	struct profile *p = recording();
	struct tree *t = built_tree(p, tree_opts);
	struct top_table top = { 0 };
	struct buf b = { 0 };
	top_build(t, &top);
	put(&(struct table){ .profile = p, .tree = t, .top = &top }, opts, &b);
	check_golden(name, &b);
	top_done(&top);
	tree_free(t);
	profile_free(p);
}

static void tree_golden(const char *name, const struct table_opts *opts,
			void (*put)(const struct table *, const struct table_opts *, struct buf *))
{
	struct profile *p = recording();
	struct tree *t = built_tree(p, NULL);
	struct buf b = { 0 };
	put(&(struct table){ .profile = p, .tree = t, .with_tree = true }, opts, &b);
	check_golden(name, &b);
	tree_free(t);
	profile_free(p);
}

static void callers_golden(const char *name, void (*put)(const struct table *,
							 const struct table_opts *, struct buf *))
{
	struct profile *p = recording();
	struct tree *t = built_tree(p, NULL);
	struct table table = { .profile = p, .tree = t, .function = "work" };
	struct tree *callers, *callees;
	struct buf b = { 0 };
	ck_assert_int_eq(top_callers(t, "work", &callers, &callees, NULL), 0);
	table.callers = callers;
	table.callees = callees;
	put(&table, &wide, &b);
	check_golden(name, &b);
	tree_free(callers);
	tree_free(callees);
	tree_free(t);
	profile_free(p);
}

START_TEST(top_text)
{
	top_golden("top.txt", NULL, &wide, table_text);
	top_golden("top-80.txt", NULL,
		   &(struct table_opts){ .top_n = 4, .width = 80, .utf8 = true }, table_text);
	top_golden("top-ascii.txt", NULL, &(struct table_opts){ .width = 80 }, table_text);
}
END_TEST

START_TEST(top_text_of_a_part)
{
	top_golden("filtered.txt", &(struct tree_opts){ .focus = "parse" }, &wide, table_text);
}
END_TEST

START_TEST(tree_text)
{
	tree_golden("tree.txt", &wide, table_text);
	tree_golden("tree-60.txt", &(struct table_opts){ .width = 60 }, table_text);
}
END_TEST

START_TEST(callers_text)
{
	callers_golden("callers.txt", table_text);
}
END_TEST

START_TEST(machine_readable)
{
	top_golden("top.json", NULL, &wide, table_json);
	top_golden("top.csv", NULL, &wide, table_csv);
	tree_golden("tree.json", &wide, table_json);
	tree_golden("tree.csv", &wide, table_csv);
	callers_golden("callers.json", table_json);
	callers_golden("callers.csv", table_csv);
}
END_TEST

static struct tree *difference(struct profile *now, struct profile *before)
{
	struct tree *t = built_tree(now, NULL), *old = built_tree(before, NULL);
	tree_diff(t, old, false);
	tree_free(old);
	return t;
}

START_TEST(differences)
{
	struct profile *now = folded_profile("m;more 60\nm;less 10\nm;same 20\nm;fresh 10\n");
	struct profile *before = folded_profile("m;more 20\nm;less 60\nm;same 20\nm;gone 100\n");
	struct tree *t = difference(now, before);
	struct top_table top = { 0 };
	struct buf b = { 0 };
	top_build(t, &top);
	struct table table = { .profile = now, .tree = t, .top = &top };
	table_text(&table, &wide, &b);
	check_golden("diff.txt", &b);
	table_csv(&table, &wide, &b);
	check_golden("diff.csv", &b);
	table_json(&table, &wide, &b);
	check_golden("diff.json", &b);
	top_done(&top);
	tree_free(t);
	profile_free(now);
	profile_free(before);
}
END_TEST

/* --- properties --- */

START_TEST(lines_obey_the_width)
{
	struct profile *p = recording();
	struct tree *t = built_tree(p, NULL);
	struct top_table top = { 0 };
	top_build(t, &top);
	struct table table = { .profile = p, .tree = t, .top = &top, .with_tree = true };
	for (uint32_t width = 60; width < 140; width += 7) {
		struct buf b = { 0 };
		size_t n;
		table_text(&table, &(struct table_opts){ .width = width, .utf8 = true }, &b);
		char **lines = str_split(strstr(buf_cstr(&b), "\n\n") + 2, '\n', &n);
		for (size_t i = 0; i < n; i++)
			ck_assert_msg(utf8_width(lines[i]) <= width, "%u: %s", width, lines[i]);
		ck_assert_uint_gt(n, 20);
		free(lines);
		buf_done(&b);
	}
	top_done(&top);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(ascii_is_ascii)
{
	struct profile *p =
		folded_profile("m;\xe5\x90\x8d\xe5\x89\x8d 3\nm;\xc2\xb5 2\nm;a;b 200\n");
	struct tree *t = built_tree(p, NULL);
	struct buf b = { 0 };
	table_text(&(struct table){ .profile = p, .tree = t, .with_tree = true },
		   &(struct table_opts){ 0 }, &b);
	for (size_t i = 0; i < b.len; i++)
		ck_assert_msg((uint8_t)b.data[i] < 0x80, "%s", buf_cstr(&b));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), " ????\n")); /* two wide characters */
	buf_done(&b);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(hostile_names_are_harmless)
{
	static const char names[] =
		"=cmd|' /C calc'!A0;\x1b[31mred,\"q\"\x07;\xff\xfe 5\n@x;<script> 3\n";
	struct profile *p = folded_profile(names);
	char *text = written(&format_text, p, &(struct format_write_opts){ 0 });
	char *json = written(&format_json, p, &(struct format_write_opts){ 0 });
	char *csv = written(&format_csv, p, &(struct format_write_opts){ 0 });
	ck_assert_ptr_null(strchr(text, '\x1b'));
	ck_assert_ptr_null(strchr(text, '\x07'));
	ck_assert_ptr_null(strchr(json, '\x1b'));
	ck_assert_ptr_null(strchr(csv, '\x1b'));
	ck_assert_ptr_nonnull(strstr(csv, ",'=cmd|' /C calc'!A0,"));
	ck_assert_ptr_nonnull(strstr(csv, ",'@x,"));
	ck_assert_ptr_nonnull(strstr(csv, ",\"\xef\xbf\xbd[31mred,\"\"q\"\"\xef\xbf\xbd\","));
	int fd = file_of(json, strlen(json));
	char *parsed = shell("python3 -c 'import json,sys\n"
			     "d = json.load(open(\"/proc/%d/fd/%d\", encoding=\"utf-8\"))\n"
			     "print(d[\"total\"], len(d[\"top\"]), d[\"tree\"][0][\"total\"])\n"
			     "print(*sorted(r[\"function\"] for r in d[\"top\"]), sep=chr(10))'",
			     getpid(), fd);
	ck_assert_ptr_nonnull(strstr(parsed, "8 5 8\n"));
	ck_assert_ptr_nonnull(strstr(parsed, "\n<script>\n"));
	ck_assert_ptr_nonnull(strstr(parsed, "\x1b[31mred,\"q\"\x07"));
	close(fd);
	free(parsed);
	free(text);
	free(json);
	free(csv);
	profile_free(p);
}
END_TEST

START_TEST(machine_formats_are_whole)
{
	struct buf folded = { 0 };
	for (int i = 0; i < 3000; i++)
		buf_addf(&folded, "m%d;f%d;g 1\n", i % 13, i);
	struct profile *p = folded_profile(buf_cstr(&folded));
	char *json = written(&format_json, p, &(struct format_write_opts){ 0 });
	char *csv = written(&format_csv, p, &(struct format_write_opts){ 0 });
	int j = file_of(json, strlen(json)), c = file_of(csv, strlen(csv));
	char *sums = shell(
		"python3 -c 'import json,csv\n"
		"d = json.load(open(\"/proc/%d/fd/%d\"))\n"
		"r = list(csv.DictReader(open(\"/proc/%d/fd/%d\")))\n"
		"print(len(d[\"top\"]), sum(x[\"self\"] for x in d[\"top\"]), len(d[\"tree\"]),\n"
		"  sum(x[\"self\"] for x in d[\"tree\"]), len(r), sum(int(x[\"self\"]) for x in "
		"r))'",
		getpid(), j, getpid(), c);
	ck_assert_str_eq(sums, "3014 3000 6014 3000 3014 3000\n");
	close(j);
	close(c);
	free(sums);
	free(json);
	free(csv);
	buf_done(&folded);
	profile_free(p);
}
END_TEST

/* A stack of the maximum depth: output grows with its depth, not with its square. */
START_TEST(deep_trees_stay_small)
{
	struct tree *t = tree_new();
	struct profile *p = profile_new();
	uint32_t at = TREE_ROOT;
	for (int i = 0; i < 50000; i++) {
		struct tree_func f = { .name = strtab_put(&t->strings, i % 2 ? "a" : "b") };
		at = tree_child(t, at, tree_func_intern(t, &f));
		struct tree_func side = { .name = strtab_put(&t->strings, "side") };
		uint32_t leaf = tree_child(t, at, tree_func_intern(t, &side));
		t->nodes.v[leaf].self = 1;
	}
	t->nodes.v[at].self = 1000000000;
	tree_total(t);
	struct buf b = { 0 };
	struct table table = { .profile = p, .tree = t, .with_tree = true };
	table_text(&table, &wide, &b);
	ck_assert_uint_gt(b.len, 50000 * 20);
	ck_assert_uint_lt(b.len, 50000 * 700);
	buf_done(&b);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(outlines_preserve_sums)
{
	struct profile *p = folded_profile("m;a 50\nm;b 3\nm;c;d;x 2\nm;c 2\ne 1\nm;f 50\n");
	struct tree *t = built_tree(p, NULL);
	struct outline o = { 0 };
	outline_build(t, ORDER_TOTAL, 10, &o);
	static const struct {
		const char *name;
		uint32_t depth, below;
		int64_t total;
		bool last, only;
	} want[] = { { "all", 0, 0, 108, true, true }, { "m", 1, 0, 107, false, false },
		     { "a", 2, 0, 50, false, false },  { "f", 2, 0, 50, false, false },
		     { "m", 2, 4, 7, true, false },    { "all", 1, 1, 1, true, false } };
	ck_assert_uint_eq(o.rows.n, sizeof want / sizeof *want);
	ck_assert_uint_eq(o.depth, 3);
	for (size_t i = 0; i < o.rows.n; i++) {
		const struct outline_row *r = &o.rows.v[i];
		uint32_t func = t->nodes.v[r->node].func;
		ck_assert_str_eq(strtab_get(&t->strings, t->funcs.v[func].name), want[i].name);
		ck_assert_uint_eq(r->depth, want[i].depth);
		ck_assert_uint_eq(r->below, want[i].below);
		ck_assert_int_eq(r->total, want[i].total);
		ck_assert_int_eq(r->last, want[i].last);
		ck_assert_int_eq(r->only, want[i].only);
	}
	outline_done(&o);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(columns_are_exact)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} cases[] = {
		{ "", 0, "" },
		{ "abc", 3, "abc" },
		{ "abcd", 3, "ab\xe2\x80\xa6" },
		{ "abcd", 1, "\xe2\x80\xa6" },
		{ "abcd", 0, "" },
		{ "\xe5\x90\x8d\xe5\x89\x8d", 4, "\xe5\x90\x8d\xe5\x89\x8d" },
		{ "\xe5\x90\x8d\xe5\x89\x8d", 3, "\xe5\x90\x8d\xe2\x80\xa6" },
		{ "\xe5\x90\x8d\xe5\x89\x8d", 2, "\xe2\x80\xa6" },
		{ "e\xcc\x81x", 2, "e\xcc\x81x" }, /* a combining accent */
		{ "a\x1b[0mb", 9, "a\xef\xbf\xbd[0mb" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf b = { 0 }, left = { 0 }, right = { 0 };
		size_t used = columns_fit(&b, cases[i].in, cases[i].max);
		ck_assert_str_eq(buf_cstr(&b), cases[i].out);
		ck_assert_uint_eq(used, utf8_width(cases[i].out));
		columns_left(&left, cases[i].in, cases[i].max);
		columns_right(&right, cases[i].in, cases[i].max);
		ck_assert_uint_eq(utf8_width(buf_cstr(&left)), cases[i].max);
		ck_assert_uint_eq(utf8_width(buf_cstr(&right)), cases[i].max);
		buf_done(&b);
		buf_done(&left);
		buf_done(&right);
	}
}
END_TEST

START_TEST(values_in_words)
{
	static const struct {
		int64_t value;
		const char *unit, *words, *bare;
	} cases[] = {
		{ 1234, "samples", "1,234 samples", "1,234" },
		{ 1500000000, "nanoseconds", "1.50 s", "1.50 s" },
		{ 1500, "microseconds", "1.50 ms", "1.50 ms" },
		{ -2048, "bytes", "-2.05 kB", "-2.05 kB" },
		{ 5, "", "5", "5" },
		{ INT64_MAX, "seconds", NULL, NULL }, /* does not overflow */
		{ INT64_MIN, "count", "-9,223,372,036,854,775,808 count",
		  "-9,223,372,036,854,775,808" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf words = { 0 }, bare = { 0 };
		value_fmt(&words, cases[i].value, cases[i].unit);
		value_fmt_bare(&bare, cases[i].value, cases[i].unit);
		if (cases[i].words) {
			ck_assert_str_eq(buf_cstr(&words), cases[i].words);
			ck_assert_str_eq(buf_cstr(&bare), cases[i].bare);
		}
		buf_done(&words);
		buf_done(&bare);
	}
	ck_assert_int_eq(value_clamp(1e30), INT64_MAX);
	ck_assert_int_eq(value_clamp(-1e30), INT64_MIN);
	ck_assert_int_eq(value_clamp(-2.9), -2);
}
END_TEST

UNIT_MAIN("table", top_text, top_text_of_a_part, tree_text, callers_text, machine_readable,
	  differences, lines_obey_the_width, ascii_is_ascii, hostile_names_are_harmless,
	  machine_formats_are_whole, deep_trees_stay_small, outlines_preserve_sums,
	  columns_are_exact, values_in_words)
