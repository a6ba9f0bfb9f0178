#include "collect/worker/helper.h"

#include "base/mem.h"
#include "base/stream.h"
#include "collect/proc/mapped_file.h"
#include "collect/worker/code_worker.h"
#include "collect/worker/far_device.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- far files -------------------------------------------------------------------------------- */

/* The process that reads files on file systems that may not respond (collect/worker/helper.h). It
 * copies them to where reading never blocks: an unnamed file in /var/tmp, else in memory. For other
 * files, which it gets because their path may cross such a file system, it passes on the
 * descriptor. */

enum { PIECE = 256 << 10 };

static int new_file(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("cresset-far", MFD_CLOEXEC);
}

static void goes_on(struct stream *s, uint32_t serial)
{
	stream_put(s, FAR_GOES_ON, &serial, sizeof serial, -1);
	stream_flush(s);
}

static bool copy_piece(int from, int to, char *piece, uint64_t at, int64_t *n)
{
	*n = pread(from, piece, PIECE, at);
	return *n >= 0 && pwrite(to, piece, *n, at) == *n;
}

/* Returns -1 if the file cannot be read, is too large, or grows. */
static int copy_of(struct stream *s, uint32_t serial, int from, uint64_t size)
{
	char *piece = xmalloc(PIECE);
	int to = size <= FAR_MAX_BYTES ? new_file() : -1;
	uint64_t at = 0;
	int64_t n = 1;

	for (; to >= 0 && n > 0 && at < size; at += n) {
		if (!copy_piece(from, to, piece, at, &n)) {
			close(to);
			to = -1;
			break;
		}
		goes_on(s, serial);
	}
	free(piece);
	return to;
}

static void take_open(struct stream *s, const struct stream_message *m)
{
	struct far_open_head h;
	struct stat st;

	if (m->type != FAR_OPEN || m->len < sizeof h)
		return;
	memcpy(&h, m->payload, sizeof h);
	char *path = xstrndup((const char *)m->payload + sizeof h, m->len - sizeof h);
	const struct mapped_file f = {
		.pid = h.pid,
		.start = h.start,
		.end = h.end,
		.pgoff = h.pgoff,
		.path = path,
		.maj = h.maj,
		.min = h.min,
		.ino = h.ino,
		.build_id = h.build_id,
		.build_id_len = h.build_id_len <= BUILD_ID_MAX ? h.build_id_len : 0,
	};
	struct far_file_head head = { .serial = h.serial };
	int fd = mapped_file_open(&f, &st), copy = -1;
	if (fd >= 0) {
		goes_on(s, h.serial);
		head.is_copy = device_is_far(getpid(), major(st.st_dev), minor(st.st_dev));
		copy = head.is_copy ? copy_of(s, h.serial, fd, st.st_size) : dup(fd);
		head.dev = st.st_dev;
		head.ino = st.st_ino;
		head.size = st.st_size;
		head.mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	}
	stream_put(s, FAR_FILE, &head, sizeof head, copy);
	stream_flush(s);
	if (copy >= 0)
		close(copy);
	if (fd >= 0)
		close(fd); /* may block, too */
	free(path);
}

/* Serves until the peer is gone. */
static void far_worker_serve(int fd)
{
	struct stream s;
	struct stream_message m;
	int rc = 1;

	stream_open(&s, fd, sizeof(struct far_open_head) + FAR_MAX_PATH);
	while (rc > 0 || rc == -EAGAIN) {
		struct pollfd p = { .fd = fd,
				    .events = POLLIN | (stream_has_more(&s) ? POLLOUT : 0) };

		poll(&p, 1, -1);
		rc = stream_read(&s);
		while (stream_next(&s, &m) > 0)
			take_open(&s, &m);
		if (stream_flush(&s))
			break;
	}
	stream_close(&s);
}

/* --- helpers ---------------------------------------------------------------------------------- */

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

/* --- the nursery ------------------------------------------------------------------------------ */

/* Closes everything inherited, so that nobody waits for the end of a stream that we hold, and
 * leaves the parent's terminal, so that it does not end us. The descriptor is then 3. */
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

/* Ends only this process. */
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

/* --- the collector ---------------------------------------------------------------------------- */

enum { END_TRIES = 20, END_PAUSE_MS = 5 };

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
	/* It ends by itself, its workers with it. It may be stopped, too: then it is left. */
	for (int i = 0; i < END_TRIES && waitpid(h->nursery, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, END_PAUSE_MS);
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
