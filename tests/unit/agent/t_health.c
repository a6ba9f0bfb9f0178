// tier: test
/* A collector that notes nothing for two intervals is silent, and what it waits for is known. */
#include "agent/health.h"

#include "base/buf.h"
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define S 1000000000ull

START_TEST(two_intervals_are_silence)
{
	struct health *h;

	ck_assert_int_eq(health_new(10 * S, 100 * S, &h, NULL), 0);
	ck_assert_uint_eq(health_due_ns(h), 120 * S);
	ck_assert_uint_eq(health_silent_since_ns(h, 120 * S - 1), 0);
	ck_assert_uint_eq(health_silent_since_ns(h, 120 * S), 100 * S);
	health_note(h, 121 * S);
	ck_assert_uint_eq(health_silent_since_ns(h, 122 * S), 0);
	ck_assert_uint_eq(health_silent_since_ns(h, 500 * S), 121 * S);
	health_free(h);
}
END_TEST

/* A short interval is none within which a busy machine runs every process. */
START_TEST(a_short_interval_is_none)
{
	struct health *h;

	ck_assert_int_eq(health_new(S / 10, 100 * S, &h, NULL), 0);
	ck_assert_uint_eq(health_silent_since_ns(h, 101 * S), 0);
	ck_assert_uint_eq(health_silent_since_ns(h, 100 * S + HEALTH_SHORTEST_NS), 100 * S);
	health_set_interval(h, 60 * S);
	ck_assert_uint_eq(health_silent_since_ns(h, 219 * S), 0);
	health_free(h);
}
END_TEST

/* What a child notes, its parent sees. */
START_TEST(a_child_notes_for_its_parent)
{
	struct health *h;
	int status;

	ck_assert_int_eq(health_new(10 * S, S, &h, NULL), 0);
	pid_t pid = fork();
	if (pid == 0) {
		health_note(h, 77 * S);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_uint_eq(health_due_ns(h), 97 * S);
	health_free(h);
}
END_TEST

START_TEST(without_memory_nothing_is_silent)
{
	health_note(NULL, 1);
	health_set_interval(NULL, 1);
	ck_assert_uint_eq(health_silent_since_ns(NULL, UINT64_MAX), 0);
	ck_assert_uint_eq(health_due_ns(NULL), UINT64_MAX);
	health_free(NULL);
}
END_TEST

START_TEST(a_stopped_process_is_stopped)
{
	struct buf b = { 0 };
	int status;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	health_why(pid, &b);
	ck_assert_ptr_eq(strstr(buf_cstr(&b), "stopped"), buf_cstr(&b));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	buf_clear(&b);
	health_why(pid, &b);
	ck_assert_uint_eq(b.len, 0);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("health", two_intervals_are_silence, a_short_interval_is_none,
	  a_child_notes_for_its_parent, without_memory_nothing_is_silent,
	  a_stopped_process_is_stopped)
