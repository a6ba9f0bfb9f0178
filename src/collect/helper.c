#include "collect/helper.h"

#include "base/mem.h"
#include "base/stream.h"
#include "collect/code_worker.h"
#include "collect/far_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct helper {
	pid_t nursery;
	struct stream stream;
};

static const struct {
	const char *comm;
	void (*serve)(int fd);
} works[HELPER_WORKS] = {
	[HELPER_CODE] = { "cresset-code", code_worker_serve },
	[HELPER_FAR] = { "cresset-far", far_worker_serve },
};

/* --- the nursery -------------------------------------------------------------------------------------------------------- */

/* Nobody shall wait for the end of a stream that we have, nor end us with the parent's terminal. The descriptor is 3 then. */
static void go_apart(int fd)
{
	sigset_t all;
	int null = open("/dev/null", O_RDWR);

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	if (fd != 3)
		dup2(fd, 3);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	syscall(SYS_close_range, 4, ~0u, 0);
}

/* A process of our own: nobody else's is ended. */
_Noreturn static void end_self(void)
{
	for (;;)
		syscall(SYS_exit_group, 0);
}

static pid_t start_worker(enum helper_work work, int fd)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	go_apart(fd);
	prctl(PR_SET_NAME, works[work].comm, 0, 0, 0);
	works[work].serve(3);
	end_self();
}

static void reap(pid_t pids[HELPER_WORKS])
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < HELPER_WORKS; i++)
			if (pids[i] == pid)
				pids[i] = 0;
}

static void kill_worker(pid_t *pid)
{
	if (*pid > 0)
		kill(*pid, SIGKILL);
	*pid = 0;
}

static void take_wishes(struct stream *s, pid_t pids[HELPER_WORKS])
{
	struct stream_message m;

	while (stream_next(s, &m) > 0) {
		int fd = m.with_fd ? stream_take_fd(s) : -1;

		reap(pids);
		if (fd >= 0 && m.type < HELPER_WORKS) {
			kill_worker(&pids[m.type]);
			pids[m.type] = start_worker(m.type, fd);
		}
		if (fd >= 0)
			close(fd);
	}
}

_Noreturn static void run_nursery(int fd)
{
	pid_t pids[HELPER_WORKS] = { 0 };
	struct stream s;

	go_apart(fd);
	prctl(PR_SET_NAME, "cresset-nursery", 0, 0, 0);
	stream_open(&s, 3, 0);
	for (;;) {
		struct pollfd p = { .fd = 3, .events = POLLIN };

		poll(&p, 1, -1);
		int rc = stream_read(&s);
		take_wishes(&s, pids);
		if (rc <= 0 && rc != -EAGAIN)
			break;
	}
	for (int i = 0; i < HELPER_WORKS; i++)
		kill_worker(&pids[i]);
	end_self();
}

/* --- the collector ------------------------------------------------------------------------------------------------------ */

int helper_new(struct helper **out)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run_nursery(fds[1]);
	int rc = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (rc) {
		close(fds[0]);
		return rc;
	}
	struct helper *h = xcalloc(1, sizeof *h);
	h->nursery = pid;
	stream_open(&h->stream, fds[0], 0);
	*out = h;
	return 0;
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	stream_close(&h->stream);
	while (waitpid(h->nursery, NULL, 0) < 0 && errno == EINTR) /* it waits for nothing */
		;
	free(h);
}

int helper_start(struct helper *h, enum helper_work work)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	int rc = stream_put(&h->stream, work, NULL, 0, fds[1]);
	if (!rc)
		rc = stream_flush(&h->stream);
	close(fds[1]);
	if (!rc)
		return fds[0];
	close(fds[0]);
	return rc;
}
