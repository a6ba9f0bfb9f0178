// tier: test
#include "read_peak.h"

#include "base/buf.h"
#include "base/input.h"
#include "format/bpftrace/bpftrace.h"
#include "format/table/table.h"

static const struct format *const f = &format_bpftrace;

static void check_golden(const char *path, const char *want)
{
	struct profile *p = read_golden(path);
	char *got = folded_type(p, NULL, NULL);
	ck_assert_str_eq(got, want);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, NULL)), atoi(strrchr(got, ' ')));
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	free(got);
	profile_free(p);
}

#define ROOT "0x2f3d445750003600;0x7ffd43145f63;__libc_start_call_main;main;spin "

/* Keys that differ in an offset only are one stack. */
START_TEST(known_files_add_up)
{
	check_golden("tests/golden/bpftrace/bpftrace-map.txt", ROOT "131\n");
	check_golden("tests/golden/bpftrace/bpftrace-map.json", ROOT "137\n");
	/* 104 ticks, 102 of them not in the kernel; a histogram below. */
	struct profile *p = read_golden("tests/golden/bpftrace/kernel17.txt");
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, NULL)), 104);
	ck_assert_int_eq(frame_named(p, "asm_sysvec_apic_timer_interrupt")->kind, FRAME_KERNEL);
	profile_free(p);
}
END_TEST

START_TEST(keys_of_every_form)
{
	check_folded(f,
		     "Attaching 1 probe...\n\n@us[cat, 12,\n    a+1\n    b(int, char)+22\n]: 7\n",
		     "us", NULL, "b(int, char);a 7\n", 0);
	/* The kernel's stack is the leaf's side, in either order. */
	check_folded(f,
		     "@[\n    k1+1\n    entry_SYSCALL_64_after_hwframe+1\n, \n    u1+1\n    "
		     "main+2\n]: 2\n"
		     "@[\n    u1+1\n    main+2\n, \n    k1+1\n    "
		     "entry_SYSCALL_64_after_hwframe+1\n]: 3\n",
		     NULL, NULL, "main;u1;entry_SYSCALL_64_after_hwframe;k1 5\n", 0);
	/* Both cut, as kstack(2) and ustack(2) do; then only the kernel's. */
	check_folded(f, "@[\n    k1+1\n    k2+1\n,\n    u1+1\n    u2+2\n, x]: 2\n", NULL, NULL,
		     "u2;u1;k2;k1 2\n", 0);
	check_folded(f, "@[\n    u1+1\n    main+2\n,\n    k1+1\n    k2+1\n]: 2\n", NULL, NULL,
		     "main;u1;k2;k1 2\n", 0);
	check_folded(f, "@[\n\t7f12 f+0x10 (/lib/libc.so.6)\n, x]: 2\n@[, y]: 3\n@n: 5\n", NULL,
		     NULL, "[empty] 3\nf 2\n", 0);
	check_folded(
		f,
		"{\"type\": \"map\", \"data\": {\"@a\": {\"c,\\n    f+1\\n    g+2\\n,3\": 4}}}\n",
		"a", NULL, "g;f 4\n", 0);
}
END_TEST

START_TEST(other_values_are_counted)
{
	check_folded(
		f,
		"@[\n    f+1\n]: 2\n@x[\n    f+1\n]: count 1, average 2, total 2\n@y[\n    g\n]: \n"
		"[1]   5 |@@|\n",
		"samples", NULL, "f 2\n", 2);
	check_folded(f,
		     "{\"type\": \"map\", \"data\": {\"@\": {\"\\nf\\n\": 1, \"\\ng\\n\": "
		     "{\"count\": 2}}}}\n{\n",
		     NULL, NULL, "f 1\n", 2);
	check_refused(f, "@n: 5\n@[a]: 3\n", "no map of bpftrace");
	check_refused(f, "{\"type\": \"map\", \"data\": {\"@n\": 5}}\n", "no map of bpftrace");
}
END_TEST

START_TEST(files_may_be_cut_anywhere)
{
	check_cut_file(f, "tests/golden/bpftrace/bpftrace-map.txt");
	check_cut_file(f, "tests/golden/bpftrace/bpftrace-map.json");
}
END_TEST

START_TEST(content_tells_the_format)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "hello\n@[\n    f+1\n]: 1\n", true },
		{ "@a[cat, \n    f+1\n]: 1\n", true },
		{ "@[cat]: 1\n", false },
		{ "@[\nf\n", false },
		{ "{\"type\": \"attached_probes\", \"data\": {}}\n", true },
		{ "{\"type\": \"other\", \"data\": {}}\n", false },
		{ "", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(f->detect(cases[i].text, strlen(cases[i].text)) == cases[i].is, "%s",
			      cases[i].text);
}
END_TEST

static const char *label_of(struct profile *p, const char *key)
{
	const struct series_table *t = &p->series;
	const struct label_set *set = &t->sets.v[t->series.v[p->samples.series[0]].labels];
	for (uint32_t i = 0; i < set->n; i++)
		if (strcmp(profile_str(p, t->labels.v[set->first + i].key), key) == 0)
			return profile_str(p, t->labels.v[set->first + i].str);
	return NULL;
}

START_TEST(parts_of_a_key_are_labels)
{
	struct profile *p = read_text(f, "@[12, cat,\n    f+1\n, dog, -3]: 7\n");
	ck_assert_str_eq(label_of(p, "comm"), "cat");
	ck_assert_str_eq(label_of(p, "key"), "12, dog, -3");
	profile_free(p);
}
END_TEST

/* A map named like a unit counts all the same. */
START_TEST(maps_named_like_units_are_counted)
{
	struct profile *p = read_text(f, "@s[\n    f+1\n]: 7\n");
	char *got = written(&format_text, p, &(struct format_write_opts){ .type = "s" });
	ck_assert_msg(strstr(got, "7 @s") != NULL, "%s", got);
	free(got);
	profile_free(p);
}
END_TEST

START_TEST(keys_with_many_parts_take_bounded_memory)
{
	enum { KEYS = 30000, PARTS = 40 };
	struct buf b = { 0 };
	for (int i = 0; i < KEYS; i++) {
		buf_addf(&b, "@[\n    f+1\n, %d", i);
		for (int k = 0; k < PARTS; k++)
			buf_addf(&b, ",%d", k % 10);
		buf_adds(&b, "]: 1\n");
	}
	struct profile *p = check_peak(f, &b);
	ck_assert_int_eq(profile_total(p, 0), KEYS);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* More stacks than a key has, and a key longer than any. */
START_TEST(keys_that_are_cut_are_counted)
{
	struct buf b = { 0 };
	check_folded(f, "@[\n f\n]: 1\n@[\n a\n,\n b\n,\n c\n,\n d\n,\n e\n]: 2\n", NULL, NULL,
		     "f 1\n", 1);
	buf_adds(&b, "@[\n f\n]: 1\n@[\n");
	while (b.len < BPFTRACE_MAX_KEY + 1000)
		buf_addf(&b, "    %0999d\n", 7);
	buf_adds(&b, "]: 2\n@[\n g\n]: 3\n");
	check_folded(f, buf_cstr(&b), NULL, NULL, "f 1\ng 3\n", 1);
	buf_done(&b);
}
END_TEST

/* -f json prints a map as one line. */
START_TEST(a_map_in_json_may_be_long)
{
	struct buf b = { 0 };
	buf_adds(&b, "Attaching 1 probe...\n{\"type\": \"map\", \"data\": {\"@\": {");
	for (int i = 0; b.len < INPUT_MAX_LINE + 1000; i++)
		buf_addf(&b, "\"\\nf%d\\n%0999d\\n\": 1, ", i, 7);
	buf_adds(&b,
		 "\"\\ng\\n\": 3}}}\n{\"type\": \"map\", \"data\": {\"@x\": {\"\\nh\\n\": 5}}}\n");
	struct profile *p = read_text(f, buf_cstr(&b));
	ck_assert_int_gt(profile_total(p, profile_pick_type(p, "samples")), INPUT_MAX_LINE / 1100);
	ck_assert_int_eq(profile_total(p, profile_pick_type(p, "@x")), 5);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&b);
}
END_TEST

/* Neither the key without a line that is too long nor the lines that follow are counted. */
START_TEST(keys_with_a_cut_line_are_skipped)
{
	static const char *const keys[] = { "@[\n f\n ", "@[" };
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct buf b = { 0 };
		buf_adds(&b, keys[i]);
		while (b.len < INPUT_MAX_LINE + 1000)
			buf_addf(&b, "%0999d", 7);
		buf_adds(&b, "\n h\n]: 2\n@[\n g\n]: 3\n");
		check_folded(f, buf_cstr(&b), NULL, NULL, "g 3\n", 1);
		buf_done(&b);
	}
}
END_TEST

UNIT_MAIN("bpftrace", known_files_add_up, keys_of_every_form, other_values_are_counted,
	  files_may_be_cut_anywhere, content_tells_the_format, parts_of_a_key_are_labels,
	  maps_named_like_units_are_counted, keys_with_many_parts_take_bounded_memory,
	  keys_that_are_cut_are_counted, keys_with_a_cut_line_are_skipped,
	  a_map_in_json_may_be_long)
