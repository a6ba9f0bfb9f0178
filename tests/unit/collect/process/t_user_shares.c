// tier: test
/* Shares of a table: one user leaves space for others, however many entries it wants; root may take all. */
#include "collect/process/user_shares.h"

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX = 64, ROOT = 0, GREEDY = 1000, SECOND = 1001, THIRD = 1002 };

static uint32_t take(struct user_shares *s, uint32_t user, uint32_t *n, uint32_t wanted)
{
	uint32_t taken = 0;

	for (; taken < wanted && user_shares_fits(user, user_shares_used(s, user), *n, MAX);
	     taken++, ++*n)
		user_shares_change(s, user, 0, 1);
	return taken;
}

START_TEST(one_user_leaves_half)
{
	struct user_shares s = { 0 };
	uint32_t n = 0;

	ck_assert_uint_eq(take(&s, GREEDY, &n, 10 * MAX), MAX / 2);
	ck_assert_uint_eq(take(&s, SECOND, &n, 10 * MAX), MAX / 4);
	ck_assert_uint_eq(take(&s, THIRD, &n, 3), 3);
	ck_assert_uint_eq(take(&s, GREEDY, &n, 1), 0);
	ck_assert_uint_eq(take(&s, ROOT, &n, 10 * MAX), MAX / 4 - 3);
	ck_assert_uint_eq(take(&s, ROOT, &n, 1), 0);
	user_shares_done(&s);
}
END_TEST

START_TEST(entries_given_back_are_free_again)
{
	struct user_shares s = { 0 };
	uint32_t n = 0;

	take(&s, GREEDY, &n, MAX);
	for (uint32_t i = 0; i < MAX / 2; i++)
		user_shares_change(&s, GREEDY, 1, 0);
	ck_assert_uint_eq(user_shares_used(&s, GREEDY), 0);
	n = MAX / 2; /* others have them */
	ck_assert_uint_eq(take(&s, GREEDY, &n, MAX), MAX / 4);
	user_shares_done(&s);
}
END_TEST

START_TEST(root_is_not_counted)
{
	struct user_shares s = { 0 };
	uint32_t n = 0;

	ck_assert_uint_eq(take(&s, ROOT, &n, 10 * MAX), MAX);
	ck_assert_uint_eq(user_shares_used(&s, ROOT), 0);
	user_shares_done(&s);
}
END_TEST

/* A process is charged to the user whom the host sees. */
START_TEST(a_process_belongs_to_its_user)
{
	struct user_shares s = { 0 };
	uint32_t me = getuid();
	int ready[2];
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		if (me == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		_exit(write(ready[1], "", 1) != 1 || pause() == 0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_uint_eq(user_shares_owner(&s, child), me ? me : 65534);
	ck_assert_uint_eq(user_shares_owner(&s, getpid()), me);
	ck_assert_uint_eq(user_shares_owner(&s, 0), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	user_shares_done(&s);
}
END_TEST

UNIT_MAIN("user_shares", one_user_leaves_half, entries_given_back_are_free_again,
	  root_is_not_counted, a_process_belongs_to_its_user)
