// tier: test
/* A program that maps and unmaps without end: all CPU time that its records cause is charged to the budget of the side band, and beyond the budget they
 * wake nobody, and are dropped and counted. CPU time and turns of the loop are counted, not time. */
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/collect_state.h"
#include "profile/profile.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORDS = 20000, TURN_MS = 100 };
#define NEVER_NS  (UINT64_MAX / 2)
#define BUDGET_NS 60000000000ll /* more than any of it costs */
#define MARGIN_NS 20000000ll    /* of both clocks, over all turns */

/* Of a user without rights. */
static pid_t begin_storm(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setgid(65534) || setuid(65534))
		_exit(1);
	for (int i = 0; i < RECORDS; i++) {
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			_exit(1);
		munmap(at, 4096);
	}
	_exit(0);
}

static struct collector *begin(struct profile *p)
{
	const struct collect_opts opts = {
		.sampler = { .is_always = true, .freq_hz = 19, .events = COLLECT_CPU }
	};
	struct collector *c = NULL;
	struct err err = { 0 };

	ck_assert_msg(collect_open(&opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	return c;
}

static void end(struct collector *c)
{
	struct err err = { 0 };

	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_free(c);
}

/* Returns the number of turns until the program has ended. What is read at times, besides, is not charged. */
static uint64_t turns_beside(struct collector *c, pid_t pid, bool reads_at_times)
{
	struct err err = { 0 };
	uint64_t turns = 0;
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (!reads_at_times)
			c->next_read_ns = c->next_cpus_ns = NEVER_NS;
		ck_assert_msg(collect_run(c, TURN_MS, &err) == 0, "%s", err.text);
		turns++;
	}
	ck_assert_int_eq(status, 0);
	return turns;
}

START_TEST(all_of_it_is_charged)
{
	struct profile *p = profile_new();

	if (geteuid())
		T_SKIP("needs root");
	struct collector *c = begin(p);
	c->side_time = (struct allowance){ .share = UINT32_MAX,
					   .most_ns = BUDGET_NS,
					   .left_ns = BUDGET_NS,
					   .since_ns = clock_mono_ns() };
	pid_t pid = begin_storm();
	uint64_t begin_ns = clock_thread_ns();
	uint64_t turns = turns_beside(c, pid, false);
	int64_t used_ns = clock_thread_ns() - begin_ns,
		charged_ns = BUDGET_NS - c->side_time.left_ns;
	ck_assert_uint_gt(turns, 0);
	ck_assert_int_gt(charged_ns, 0);
	ck_assert_int_ge(charged_ns + charged_ns / 4 + MARGIN_NS, used_ns);
	end(c);
	profile_free(p);
}
END_TEST

START_TEST(beyond_the_budget_nobody_is_woken)
{
	struct profile *p = profile_new();
	struct err err = { 0 };

	if (geteuid())
		T_SKIP("needs root");
	struct collector *c = begin(p);
	c->side_time = (struct allowance){ .share = UINT32_MAX,
					   .most_ns = BUDGET_NS,
					   .left_ns = -BUDGET_NS,
					   .since_ns = clock_mono_ns() };
	c->next_read_ns = 0;
	ck_assert_msg(collect_run(c, 0, &err) == 0, "%s", err.text);
	uint64_t turns = turns_beside(c, begin_storm(), true);
	ck_assert_uint_le(turns, RECORDS / 20); /* the samples are read some times a second */
	c->next_read_ns = 0;
	ck_assert_msg(collect_run(c, 0, &err) == 0, "%s", err.text);
	end(c);
	ck_assert_uint_gt(p->meta.loss[LOSS_SIDE_BAND], 0);
	profile_free(p);
}
END_TEST

UNIT_MAIN("collect_storm", all_of_it_is_charged, beyond_the_budget_nobody_is_woken)
