#include "agent/attacher.h"

#include "agent/control.h"
#include "base/buf.h"
#include "base/fs.h"
#include "gpu/attach_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LIMIT_MS = 60000, /* well above the sum of its own limits */
	WAIT_NS = 2000000000,
};

struct request {
	uint32_t pid;
	uint64_t start;
};

/* --- one attach, in a child ------------------------------------------------------------------- */

static int attach(const struct attacher_opts *o, const struct request *r,
		  struct attacher_answer *out)
{
	struct gpu_attach_opts opts = {
		.view = o->view, .library = o->library, .forced = o->forced, .wait_ns = WAIT_NS
	};
	struct buf image = { 0 };
	int rc = fs_read_at(AT_FDCWD, o->path, GPU_ATTACH_MAX_BYTES, &image, &out->err);

	opts.image = image.data;
	opts.size = image.len;
	if (!rc && attach_start_of(r->pid) != r->start)
		rc = err_set(&out->err, ESRCH, "process %" PRIu32 " is not there", r->pid);
	if (!rc)
		rc = gpu_attach(r->pid, &opts, &out->report, &out->err);
	buf_done(&image);
	return rc;
}

static _Noreturn void be_child(const struct attacher_opts *o, const struct request *r, int fd)
{
	struct attacher_answer answer = { .pid = r->pid };

	prctl(PR_SET_NAME, "cresset-attach", 0, 0, 0);
	answer.rc = attach(o, r, &answer);
	if (answer.report.syscall)
		snprintf(answer.call, sizeof answer.call, "%s", answer.report.syscall);
	answer.report.syscall = NULL; /* a pointer of this process */
	_exit(write(fd, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

/* --- the process ------------------------------------------------------------------------------ */

static void answer_for(int fd, const struct request *r, int code, const char *what)
{
	struct attacher_answer answer = { .pid = r->pid };

	answer.rc = err_set(&answer.err, code, "process %" PRIu32 ": %s", r->pid, what);
	if (write(fd, &answer, sizeof answer) < 0)
		return; /* nobody asks any more */
}

/* Its status as of waitpid; -1: it took too long, and was killed. */
static int wait_for(pid_t child)
{
	int status = -1, pidfd = syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool is_late = pidfd >= 0 && poll(&p, 1, LIMIT_MS) == 0;

	if (is_late)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (pidfd >= 0)
		close(pidfd);
	return is_late ? -1 : status;
}

static void serve_one(const struct attacher_opts *o, const struct request *r, int fd)
{
	pid_t child = fork();

	if (child == 0)
		be_child(o, r, fd);
	if (child < 0) {
		answer_for(fd, r, EBUSY, "there is no process to attach with");
		return;
	}
	int status = wait_for(child);
	if (status < 0)
		answer_for(fd, r, ETIMEDOUT, "attaching took too long, and was ended");
	else if (status)
		answer_for(fd, r, EIO, "who was attaching has died of it");
}

/* No descriptor of ours but this one, as a stream is over when its last end is closed. */
static _Noreturn void serve(const struct attacher_opts *o, int fd)
{
	struct request r;

	prctl(PR_SET_NAME, "cresset-attach", 0, 0, 0);
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	fd = STDERR_FILENO + 1;
	closefrom(fd + 1);
	for (;;) {
		ssize_t n = recv(fd, &r, sizeof r, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof r)
			_exit(0);
		serve_one(o, &r, fd);
	}
}

int attacher_start(const struct attacher_opts *opts, struct attacher *out, struct err *err)
{
	int ends[2], rc = control_pair(ends);

	if (rc)
		return err_set(err, -rc, "cannot make a socket: %s", strerror(-rc));
	pid_t pid = fork();
	if (pid == 0)
		serve(opts, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(err, EAGAIN, "cannot start a process");
	}
	*out = (struct attacher){ ends[0], pid };
	return 0;
}

void attacher_stop(struct attacher *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	waitpid(a->pid, NULL, WNOHANG); /* if it has ended by now */
}

/* --- asking it -------------------------------------------------------------------------------- */

int attacher_send(const struct attacher *a, uint32_t pid, uint64_t start)
{
	const struct request r = { .pid = pid, .start = start };

	return send(a->fd, &r, sizeof r, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int attacher_receive(const struct attacher *a, struct attacher_answer *out)
{
	ssize_t n = recv(a->fd, out, sizeof *out, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == (ssize_t)sizeof *out ? 1 : -EPIPE;
}
