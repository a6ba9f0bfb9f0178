// tier: test
/* Targets: the glob program that the kernel runs on thread names, and cgroup paths. */
#include "base/err.h"
#include "bpf/event.h"
#include "collect/kernel/target.h"
#include "unit.h"

#include <errno.h>
#include <fnmatch.h>
#include <unistd.h>

static void expect_same_as_fnmatch(const char *pattern, const char *name)
{
	struct glob_program g;
	struct err err = { 0 };

	ck_assert_msg(target_compile_glob(pattern, &g, &err) == 0, "%s: %s", pattern, err.text);
	int want = fnmatch(pattern, name, 0) == 0;
	ck_assert_msg(target_glob_matches(&g, name) == want,
		      "pattern '%s' name '%s': fnmatch says %d", pattern, name, want);
}

START_TEST(glob_known)
{
	static const char *const patterns[] = {
		"redis-server", "redis*",  "*server", "*",      "**",        "?", "a*b*c",
		"[a-c]x",       "[!a-c]x", "\\*x",    "*[0-9]", "kworker/*", "",  "a**?"
	};
	static const char *const names[] = {
		"redis-server", "redis",   "server", "x",           "ax", "dx", "*x", "abc",
		"aXbYc",        "thread9", "thread", "kworker/0:1", "",   "a",  "ab"
	};

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			expect_same_as_fnmatch(patterns[i], names[k]);
}
END_TEST

/* Random patterns over a tiny alphabet reach the corners of the position set. */
START_TEST(glob_random)
{
	static const char tokens[][6] = { "a", "b", "?", "*", "[ab]", "[!a]", "\\a" };
	unsigned seed = 7;

	for (int round = 0; round < 20000; round++) {
		char pattern[64] = "", name[16] = "";
		int n = rand_r(&seed) % 7, len = rand_r(&seed) % 15;

		for (int i = 0; i < n; i++)
			strncat(pattern, tokens[rand_r(&seed) % 7],
				sizeof pattern - strlen(pattern) - 1);
		for (int i = 0; i < len; i++)
			name[i] = "abc"[rand_r(&seed) % 3];
		expect_same_as_fnmatch(pattern, name);
	}
}
END_TEST

START_TEST(glob_bad)
{
	struct glob_program g;
	struct err err = { 0 };
	char longer[GLOB_MAX_POSITIONS + 2];

	ck_assert_int_eq(target_compile_glob("[abc", &g, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "without"));
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	ck_assert_int_eq(target_compile_glob(longer, &g, &err), -EINVAL);
	longer[GLOB_MAX_POSITIONS] = 0;
	ck_assert_int_eq(target_compile_glob(longer, &g, &err), 0);
}
END_TEST

START_TEST(cgroup_refusals)
{
	struct err err = { 0 };

	ck_assert_int_eq(target_open_cgroup("/no/such/group", &err), -ENOENT);
	ck_assert_int_eq(target_open_cgroup("/tmp", &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "not a cgroup"));
	if (access("/sys/fs/cgroup/memory/cgroup.procs", F_OK))
		T_SKIP("no cgroup v1 hierarchy here");
	ck_assert_int_eq(target_open_cgroup("/sys/fs/cgroup/memory", &err), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(err.text, "v1"));
}
END_TEST

UNIT_MAIN("target", glob_known, glob_random, glob_bad, cgroup_refusals)
