// tier: test
#include "read_text.h"

#include "format/bpftrace/bpftrace.h"

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

UNIT_MAIN("bpftrace", known_files_add_up, keys_of_every_form, other_values_are_counted,
	  files_may_be_cut_anywhere, content_tells_the_format)
