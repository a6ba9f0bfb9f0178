/* What is said where the kernel opens no performance event. */
#include "unit.h"

#include "collect/perf_refused.h"

#include <stdio.h>
#include <string.h>

START_TEST(what_is_wanted_goes_by_the_setting)
{
	for (int i = -1; i <= 2; i++)
		ck_assert_ptr_nonnull(strstr(perf_refused_remedy(i), "needs CAP_PERFMON"));
	for (int i = 3; i <= 4; i++) {
		ck_assert_ptr_nonnull(strstr(perf_refused_remedy(i), "CAP_SYS_ADMIN"));
		ck_assert_ptr_nonnull(
			strstr(perf_refused_remedy(i), "sysctl kernel.perf_event_paranoid=2"));
	}
}
END_TEST

START_TEST(the_setting_is_read)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int want = 2;

	if (f) {
		ck_assert_int_eq(fscanf(f, "%d", &want), 1);
		fclose(f);
	}
	ck_assert_int_eq(perf_paranoid(), want);
}
END_TEST

UNIT_MAIN("perf_refused", what_is_wanted_goes_by_the_setting, the_setting_is_read)
