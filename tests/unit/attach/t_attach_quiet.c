// tier: test
/* Whether a process's mappings are found busy or quiet: processes of a user without rights, if the test is root's, else of the same user. */
#include "attach/attach_quiet.h"
#include "base/clock.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t word;

static void *churns(void *arg)
{
	const size_t size = 64 << 20;

	for (;;) {
		void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (p != MAP_FAILED)
			munmap(p, size);
	}
	return arg;
}

/* As MAP_POPULATE in a virtual machine that gets its memory from the host only then: all the time, but 30 pages in a millisecond. */
static void *makes_pages_slowly(void *arg)
{
	const size_t size = 64 << 20;

	for (;;) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		for (size_t at = 0; p != MAP_FAILED && at < size; at += 4096) {
			uint64_t until_ns = clock_mono_ns() + 33000;
			p[at] = 1;
			while (clock_mono_ns() < until_ns)
				;
		}
		if (p != MAP_FAILED)
			munmap(p, size);
	}
	return arg;
}

static void *computes(void *arg)
{
	for (volatile unsigned n = 0;; n++)
		;
	return arg;
}

/* A process whose first thread waits, and another one does this. */
static pid_t begin(void *(*does)(void *))
{
	int ready[2];
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t t;
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1);
		if (does)
			pthread_create(&t, NULL, does, NULL);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Returns how often of 20 times it is quiet. */
static int count_quiet(void *(*does)(void *))
{
	pid_t pid = begin(does);
	struct attach_quiet q;
	int n = 0;

	ck_assert_int_eq(attach_quiet_open(&q, (uint32_t)pid, (uint64_t)(uintptr_t)&word), 0);
	for (int i = 0; i < 20; i++)
		n += attach_quiet_look(&q);
	attach_quiet_close(&q);
	end(pid);
	return n;
}

START_TEST(quiet)
{
	ck_assert_int_gt(count_quiet(NULL), 0);
	ck_assert_int_gt(count_quiet(computes), 0);
}
END_TEST

/* A busy machine may not run the thread for a while: each other time it has. */
START_TEST(busy)
{
	ck_assert_int_lt(count_quiet(churns), 10);
	ck_assert_int_lt(count_quiet(makes_pages_slowly), 10);
}
END_TEST

/* Activity counts for some time; and what happens after the look is seen, too. */
START_TEST(afterwards)
{
	pid_t pid = begin(NULL);
	struct attach_quiet q;

	ck_assert_int_eq(attach_quiet_open(&q, (uint32_t)pid, (uint64_t)(uintptr_t)&word), 0);
	for (int i = 0; i < 100 && !attach_quiet_look(&q); i++)
		;
	ck_assert(attach_quiet_still(&q));
	q.resident_pages += 10000;
	ck_assert(!attach_quiet_still(&q));
	attach_quiet_close(&q);
	attach_quiet_close(&q);
	end(pid);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no reader is left */
}
END_TEST

UNIT_MAIN("attach_quiet", quiet, busy, afterwards)
