/* tests/unit/unit.h: included by every unit test: Check, the model, and the location of the golden files.
 *
 *     START_TEST(adds) { ck_assert_int_eq(1 + 1, 2); } END_TEST
 *     UNIT_MAIN("sums", adds)                       one suite, up to a few dozen tests, TAP on request
 *
 * Run from the root of the project. Each test runs in its own process with a time-out of UNIT_TIMEOUT_S, which may be defined before. */
#ifndef CRESSET_TESTS_UNIT_H
#define CRESSET_TESTS_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Check sends where a test is to its parent at each assertion, for the case that it dies next; that is most of the time of a loop with an assertion in
 * it. Here each place in the code does so the first times only. */
enum { UNIT_MARKS = 64 };
#define _mark_point(file, line) \
	({ \
		static unsigned marks_; \
		if (marks_ < UNIT_MARKS) { \
			marks_++; \
			(_mark_point)(file, line); \
		} \
	})

#ifndef UNIT_TIMEOUT_S
#define UNIT_TIMEOUT_S 600 /* ten times what any takes on a quiet machine */
#endif

/* Gives the reason why a test cannot run here, and ends it; tests/run counts it as skipped, with the reason. */
#define T_SKIP(reason) \
	do { \
		const char *file_ = getenv("CRESSET_SKIP_FILE"); \
		FILE *f_ = file_ ? fopen(file_, "a") : NULL; \
		if (f_) { \
			fprintf(f_, "%s\t%s\n", __func__, reason); \
			fclose(f_); \
		} \
		return; \
	} while (0)

/* A bound of a time that passes, for this machine: as many times longer as it is slower than a quiet one, which tests/run has measured. */
static inline unsigned long long t_slow_ns(unsigned long long ns)
{
	const char *slow = getenv("CRESSET_SLOW");
	double times = slow ? strtod(slow, NULL) : 1;

	return ns * (times > 1 ? times : 1);
}

static inline int unit_run(const char *name, const TTest *const *tests, size_t n)
{
	char agent[32];
	snprintf(agent, sizeof agent, "unit-%d", (int)getpid());
	setenv("CRESSET_AGENT", agent, 0); /* no other agent takes the GPU programs of tests */

	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	tcase_set_timeout(tcase, UNIT_TIMEOUT_S);
	unsigned part = 1, parts = 1; /* "2/3": the second of each three tests */
	if (getenv("CRESSET_PART") && sscanf(getenv("CRESSET_PART"), "%u/%u", &part, &parts) != 2)
		abort();
	for (size_t i = part - 1; i < n; i += parts)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite); /* writes TAP to $CK_TAP_LOG_FILE_NAME */
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

#define UNIT_MAIN(name, ...) \
	int main(void) \
	{ \
		const TTest *const tests[] = { __VA_ARGS__ }; \
		return unit_run(name, tests, sizeof tests / sizeof *tests); \
	}

#endif
