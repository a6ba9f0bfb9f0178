// tier: test
/* The kernel's format of CPU lists. */
#include "collect/proc/cpus.h"
#include "unit.h"

#include <errno.h>
#include <unistd.h>

START_TEST(lists)
{
	struct cpu_list l = { 0 };

	ck_assert_int_eq(cpu_list_parse("0-3,7,10-11\n", &l), 0);
	static const uint32_t want[] = { 0, 1, 2, 3, 7, 10, 11 };
	ck_assert_uint_eq(l.ids.n, 7);
	ck_assert_mem_eq(l.ids.v, want, sizeof want);
	ck_assert(cpu_list_has(&l, 10));
	ck_assert(!cpu_list_has(&l, 4));
	ck_assert_int_eq(cpu_list_parse("0\n", &l), 0);
	ck_assert_uint_eq(l.ids.n, 1);
	cpu_list_done(&l);
}
END_TEST

START_TEST(malformed_leaves_list)
{
	static const char *const bad[] = {
		"a", "1-", "-1", "1,x", "1;2", "0-99999999999", "99999"
	};
	struct cpu_list l = { 0 };

	ck_assert_int_eq(cpu_list_parse("5", &l), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_int_eq(cpu_list_parse(bad[i], &l), -EINVAL);
	ck_assert_uint_eq(l.ids.n, 1);
	ck_assert_uint_eq(l.ids.v[0], 5);
	cpu_list_done(&l);
}
END_TEST

START_TEST(online_matches_sysconf)
{
	struct cpu_list l = { 0 };

	ck_assert_int_eq(cpu_list_online(NULL, &l), 0);
	ck_assert_int_eq((long)l.ids.n, sysconf(_SC_NPROCESSORS_ONLN));
	cpu_list_done(&l);
}
END_TEST

UNIT_MAIN("cpus", lists, malformed_leaves_list, online_matches_sysconf)
