// tier: test
/* The listening socket that the init system passes: descriptor 3, for the process that LISTEN_PID names. */
#include "base/init_system.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int tcp(bool listens)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (listens && listen(fd, 1))
		_exit(100);
	return fd;
}

static int udp(bool listens)
{
	(void)listens;
	return socket(AF_INET, SOCK_DGRAM, 0);
}

struct passed {
	int (*make)(bool listens);
	bool listens;
	const char *n; /* LISTEN_FDS; NULL: not set */
	int pid_apart; /* LISTEN_PID minus the process's id */
};

static _Noreturn void be_service(const struct passed *p)
{
	char pid[32];
	struct err err = { 0 };

	if (dup2(p->make(p->listens), 3) < 0)
		_exit(101);
	snprintf(pid, sizeof pid, "%d", (int)getpid() + p->pid_apart);
	setenv("LISTEN_PID", pid, 1);
	if (p->n)
		setenv("LISTEN_FDS", p->n, 1);
	int rc = init_socket_take(&err);
	if ((rc < 0) != (*err.text != 0) || getenv("LISTEN_PID") || getenv("LISTEN_FDS") ||
	    init_socket_take(&err) != 0)
		_exit(102);
	if (rc > 0 && (!(fcntl(rc, F_GETFD) & FD_CLOEXEC) || !(fcntl(rc, F_GETFL) & O_NONBLOCK)))
		_exit(103);
	_exit(rc < 0 ? -rc : rc == 3 ? 200 : rc);
}

/* The result: 200 for descriptor 3, 0 for none, else an errno. */
static int taken(const struct passed *p)
{
	int status = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		be_service(p);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(a_listening_socket_is_taken)
{
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, "1", 0 }), 200);
}
END_TEST

START_TEST(variables_for_others_are_ignored)
{
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, "1", 1 }), 0);
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, NULL, 0 }), 0);
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, "0", 0 }), 0);
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, "x", 0 }), 0);
}
END_TEST

START_TEST(other_sockets_are_refused)
{
	ck_assert_int_eq(taken(&(struct passed){ tcp, true, "2", 0 }), EINVAL);
	ck_assert_int_eq(taken(&(struct passed){ tcp, false, "1", 0 }), EINVAL);
	ck_assert_int_eq(taken(&(struct passed){ udp, false, "1", 0 }), EINVAL);
}
END_TEST

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Which of the descriptors 3, 4 and 5 are open in a service that does not listen, if two of them are passed: a bit each. */
static int kept(int pid_apart)
{
	int status = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		char text[32];
		int fd = tcp(true);

		for (int i = 3; i <= 5; i++)
			if (fd != i && dup2(fd, i) < 0)
				_exit(101);
		snprintf(text, sizeof text, "%d", (int)getpid() + pid_apart);
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "2", 1);
		init_socket_close();
		if (getenv("LISTEN_PID") || getenv("LISTEN_FDS"))
			_exit(102);
		_exit(is_open(3) | is_open(4) << 1 | is_open(5) << 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(sockets_are_closed_by_a_service_that_does_not_listen)
{
	ck_assert_int_eq(kept(0), 1 << 2);
	ck_assert_int_eq(kept(1), 7);
}
END_TEST

UNIT_MAIN("init_socket", a_listening_socket_is_taken, variables_for_others_are_ignored,
	  other_sockets_are_refused, sockets_are_closed_by_a_service_that_does_not_listen)
