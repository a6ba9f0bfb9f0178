// tier: test
/* A process with a low priority: each of its threads gets a high one. */
#include "agent/priority.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int said;

static void *say_and_wait(void *unused)
{
	pid_t tid = syscall(SYS_gettid);

	(void)unused;
	if (write(said, &tid, sizeof tid) == sizeof tid)
		for (;;)
			pause();
	return NULL;
}

static int nice_of(pid_t tid)
{
	errno = 0;
	int value = getpriority(PRIO_PROCESS, tid);
	ck_assert_int_eq(errno, 0);
	return value;
}

/* Returns the nice values of both threads afterwards, as 100 × main + other. */
static int raised(int nice_value)
{
	int ends[2];
	pid_t other;

	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		said = ends[1];
		if (setpriority(PRIO_PROCESS, 0, nice_value) ||
		    pthread_create(&thread, NULL, say_and_wait, NULL))
			_exit(1);
		pthread_join(thread, NULL);
		_exit(1);
	}
	ck_assert_int_eq(read(ends[0], &other, sizeof other), sizeof other);
	ck_assert_int_eq(nice_of(pid), nice_value);
	ck_assert_int_eq(nice_of(other), nice_value);
	priority_raise(pid);
	int values = 100 * nice_of(pid) + nice_of(other);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return values;
}

START_TEST(all_threads_get_a_high_priority)
{
	if (geteuid())
		T_SKIP("needs root");
	ck_assert_int_eq(raised(19), 101 * PRIORITY_NICE);
	ck_assert_int_eq(raised(1), 101 * PRIORITY_NICE);
}
END_TEST

START_TEST(a_higher_one_stays)
{
	if (geteuid())
		T_SKIP("needs root");
	ck_assert_int_eq(raised(0), 101 * PRIORITY_NICE);
	ck_assert_int_eq(raised(PRIORITY_NICE - 1), 101 * (PRIORITY_NICE - 1));
	priority_raise(0); /* no such process */
}
END_TEST

/* The nursery of the collector has children as well, which it waits for at its end. */
START_TEST(descendants_get_it_as_well)
{
	if (geteuid())
		T_SKIP("needs root");
	int ends[2];
	pid_t pids[3];

	ck_assert_int_eq(pipe(ends), 0);
	pid_t first = fork();
	ck_assert_int_ge(first, 0);
	if (first == 0) {
		setpriority(PRIO_PROCESS, 0, 19);
		for (int i = 0; i < 3; i++) {
			pid_t pid = fork();
			if (pid) {
				waitpid(pid, NULL, 0);
				_exit(0);
			}
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pid = getpid();
			if (write(ends[1], &pid, sizeof pid) != sizeof pid)
				_exit(1);
		}
		for (;;)
			pause();
	}
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(read(ends[0], &pids[i], sizeof *pids), sizeof *pids);
	ck_assert_int_eq(nice_of(pids[2]), 19);
	priority_raise(first);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(nice_of(pids[i]), PRIORITY_NICE);
	ck_assert_int_eq(nice_of(first), PRIORITY_NICE);
	kill(pids[2], SIGKILL); /* the others end with their children */
	waitpid(first, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

UNIT_MAIN("priority", all_threads_get_a_high_priority, a_higher_one_stays,
	  descendants_get_it_as_well)
