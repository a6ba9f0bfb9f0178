// tier: test
#include "shell.h"
#include "unit.h"

#include "base/err.h"
#include "base/input.h"
#include "format/formats.h"
#include "format/refused/refused.h"
#include "profile/profile.h"

#include <errno.h>

START_TEST(known_files_are_refused_by_name)
{
	static const struct {
		const char *head, *name;
	} cases[] = {
		{ "{\n\t\"linux-perf-json-version\": 1,\n", "perf data convert" },
		{ "v8-version,11,3,244,8,-node.23,0\nshared-library,", "V8" },
		{ "goroutine 1 [running]:\nmain.main()\n", "debug=2" },
		{ "2026-11-28 12:00:01 INFO a;b took 12\n2026-11-28 12:00:02 INFO a;c took 3\n",
		  "a log" },
		{ "Nov  8 12:00:01 host a;b 12\n", "a log" },
		{ "[INFO] a;b 12\nERROR: a;b 12\n", "a log" },
		{ "level=info msg=\"a;b\" n=3 12\nts=1 msg=a 7\n", "a log" },
		{ "{\"level\":\"info\",\"msg\":\"a;b\"} 12\n{\"msg\":\"c\"} 3\n", "a log" },
		{ "1764424800.123 a;b 12\n1764424801.5 a;c 3\n", "a log" },
		{ "1764424800123 a;b 12\n", "a log" },
		{ "[   12.100345] usb a;b 12\n[info] a;b 12\n[Error] c 1\n", "a log" },
		{ "[12.345678] text 77\n[1234567.345678] text;a 77\n[ 1.123] a 1\n", "a log" },
		{ "Nov 12 host prog[12]: text 34\nNov  2 host kernel: a;b 3\n", "a log" },
		{ "10.0.0.1 - - [28/Nov/2026:12:00:01 +0000] \"GET /;a\" 200 12\n", "a log" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct refused *r = refused_find(cases[i].head, strlen(cases[i].head));
		ck_assert_msg(r && strstr(r->name, cases[i].name), "%s", cases[i].head);
	}
}
END_TEST

/* Written now by Python. */
START_TEST(statistics_of_python_are_refused)
{
	char *name = shell("f=$(mktemp) && python3 -c 'import cProfile,sys;"
			   "cProfile.run(\"sum(range(9))\",sys.argv[1])' $f && echo $f");
	struct err err = { 0 };
	struct profile *p = profile_new();
	strtok(name, "\n");
	ck_assert_int_lt(format_read_file(name, NULL, profile_sink(p), &err), 0);
	ck_assert_int_eq(err.code, EBADMSG);
	ck_assert_msg(strstr(err.text, "pstats") != NULL, "%s", err.text);
	shell_do("rm %s", name);
	profile_free(p);
	free(name);
}
END_TEST

START_TEST(others_are_not)
{
	static const char *const heads[] = {
		"",
		"main;work 12\n",
		"{\"nodes\":[]}",
		"12:30;a 1\n",
		"INFO 3\nmain;a 3\n",
		"a=b;c 3\nx=1 3\n",
		"error::a;b 3\ninfo: 3\n",
		"1764424800;a 3\n",
		"{)",
		"[12.345678];a 77\n[12] text 7\n[.345] a 7\n[1.12] a 7\n[12.1234567890] a 7\n",
		"Nov 12;host prog[12]: text 34\nNov 12 host;prog: a 3\nNov 12 host 3\n",
		"Nov 12 host prog 3\nMai 12 host prog: a 3\nNov 123 a b: 3\nNov 12 a b:\n",
		"java 12 [001] 2.5: cycles:\n",
		"goroutine profile: total 3\n",
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		ck_assert_msg(!refused_find(heads[i], strlen(heads[i])), "%s", heads[i]);
}
END_TEST

/* No file that is read. */
START_TEST(no_golden_file_is_refused)
{
	char *files = shell("find tests/golden/folded tests/golden/perf-script tests/golden/chrome "
			    "tests/golden/callgrind tests/golden/speedscope tests/golden/python "
			    "tests/golden/bpftrace tests/golden/valgrind tests/golden/gperftools "
			    "-maxdepth 1 -type f");
	for (char *save, *path = strtok_r(files, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save)) {
		struct input *in;
		const char *head;
		size_t len;
		ck_assert_int_eq(input_open(path, &in, NULL), 0);
		ck_assert_int_eq(input_peek(in, &head, &len, NULL), 0);
		ck_assert_msg(!refused_find(head, len), "%s", path);
		input_close(in);
	}
	free(files);
}
END_TEST

START_TEST(a_directory_of_uftrace_is_refused_by_name)
{
	char dir[32];
	struct err err = { 0 };
	struct profile *p = profile_new();
	temp_dir(dir);
	ck_assert(!refused_is_uftrace(dir));
	shell_do("printf 'Ftrace!\\0\\4' >%s/info", dir);
	ck_assert_int_lt(format_read_file(dir, NULL, profile_sink(p), &err), 0);
	ck_assert_msg(strstr(err.text, "directory of uftrace") != NULL, "%s", err.text);
	profile_free(p);
	shell_do("rm -rf %s", dir);
}
END_TEST

UNIT_MAIN("refused", known_files_are_refused_by_name, statistics_of_python_are_refused,
	  others_are_not, no_golden_file_is_refused, a_directory_of_uftrace_is_refused_by_name)
