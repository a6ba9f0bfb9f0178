// tier: test
/* Users with access, looked for by another process: it may take its time, or never respond. */
#include "cmd/daemon/users.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

enum { MANY = 20000 }; /* more than a pipe takes at one time */

static void find_many(struct users *u)
{
	*u = (struct users){ 0 };
	for (unsigned i = 0; i < MANY; i++)
		vec_push(&u->all, (struct server_user){ i, SERVER_READS });
}

static void find_none(struct users *u)
{
	*u = (struct users){ 0 };
}

static void never_find(struct users *u)
{
	(void)u;
	for (;;)
		pause();
}

static void die(struct users *u)
{
	(void)u;
	raise(SIGKILL);
}

static int result(struct users_query *q, struct users *out)
{
	int rc = 0;

	while (rc == 0) {
		struct pollfd p = { .fd = users_query_fd(q), .events = POLLIN };

		ck_assert_int_ge(p.fd, 0);
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
		rc = users_query_take(q, out);
	}
	ck_assert_int_eq(users_query_fd(q), -1);
	return rc;
}

START_TEST(users_come_from_the_other_process)
{
	struct users_query q = { 0 };
	struct users want, got;

	ck_assert_int_eq(users_query_fd(&q), -1);
	find_many(&want);
	want.given.starter = getuid();
	ck_assert_int_eq(users_query_begin(&q, find_many), 0);
	ck_assert_int_eq(result(&q, &got), 1);
	ck_assert(users_are_same(&want, &got));
	ck_assert_ptr_eq(got.given.others, got.all.v);
	users_done(&got);
	ck_assert_int_eq(users_query_begin(&q, find_none), 0);
	ck_assert_int_eq(result(&q, &got), 1);
	ck_assert_uint_eq(got.all.n, 0);
	users_done(&got);
	users_done(&want);
	/* The same users as here. */
	users_find(&want);
	ck_assert_int_eq(users_query_begin(&q, users_find), 0);
	ck_assert_int_eq(result(&q, &got), 1);
	ck_assert(users_are_same(&want, &got));
	users_done(&got);
	users_done(&want);
}
END_TEST

START_TEST(a_query_without_a_response_delays_no_caller)
{
	struct users_query q = { 0 };
	struct users got;

	ck_assert_int_eq(users_query_begin(&q, never_find), 0);
	pid_t pid = q.pid;
	ck_assert_int_eq(users_query_take(&q, &got), 0);
	/* Another query replaces it. */
	ck_assert_int_eq(users_query_begin(&q, find_none), 0);
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_int_eq(result(&q, &got), 1);
	users_done(&got);
	ck_assert_int_eq(users_query_begin(&q, never_find), 0);
	pid = q.pid;
	users_query_end(&q);
	ck_assert_int_eq(users_query_fd(&q), -1);
	ck_assert_int_eq(kill(pid, 0), -1);
	users_query_end(&q);
}
END_TEST

START_TEST(a_query_that_dies_has_no_result)
{
	struct users_query q = { 0 };
	struct users got;

	ck_assert_int_eq(users_query_begin(&q, die), 0);
	ck_assert_int_eq(result(&q, &got), -ETIME);
}
END_TEST

UNIT_MAIN("users", users_come_from_the_other_process, a_query_without_a_response_delays_no_caller,
	  a_query_that_dies_has_no_result)
