// tier: test
/* The programs that run now: this one is among them, with its file. */
#include "unit.h"

#include "collect/proc/proc_stat.h"

#include <limits.h>
#include <unistd.h>

struct seen {
	uint32_t n;
	char own[PATH_MAX];
};

static void see(void *ctx, uint32_t pid, const char *path)
{
	struct seen *s = ctx;

	s->n++;
	if (pid == (uint32_t)getpid())
		snprintf(s->own, sizeof s->own, "%s", path);
}

START_TEST(programs_have_their_files)
{
	struct seen s = { 0 };
	char own[PATH_MAX] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", own, sizeof own - 1), 0);
	proc_programs(see, &s);
	ck_assert_str_eq(s.own, own);
	ck_assert_uint_gt(s.n, 1);
}
END_TEST

UNIT_MAIN("proc_programs", programs_have_their_files)
