/* Forks the nursery and workers, passes messages and descriptors, and replaces workers that end. */
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
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
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

/* CPU time of helpers. Shared with the nursery, which writes it. */
struct helper_cpu {
	_Atomic uint64_t ended_ns;        /* of workers that have ended */
	_Atomic pid_t pids[HELPER_WORKS]; /* of the present ones; 0: none */
};

struct helper {
	pid_t nursery;
	struct stream stream;
	struct helper_cpu *cpu;
	uint64_t ended_cpu_ns; /* of nurseries that have ended, and their workers */
	/* Sockets of abandoned workers, which are closed at their end; -1: unused. */
	int stuck[HELPER_WORKS][HELPER_MAX_STUCK];
	struct helper_stats stats;
};

const char *const helper_work_names[HELPER_WORKS] = {
	[HELPER_CODE] = "cresset-code",
	[HELPER_FAR] = "cresset-far",
	[HELPER_READ] = "cresset-read",
	[HELPER_PROBE] = "cresset-probe",
};
static void (*const serve[HELPER_WORKS])(int fd) = {
	[HELPER_CODE] = code_worker_serve,
	[HELPER_FAR] = far_worker_serve,
	[HELPER_READ] = proc_reader_worker_serve,
	[HELPER_PROBE] = probe_worker_serve,
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
	prctl(PR_SET_NAME, helper_work_names[work], 0, 0, 0);
	serve[work](3);
	end_self();
}

static uint64_t rusage_cpu_ns(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000ull +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000ull;
}

static void reap(struct helper_cpu *cpu)
{
	struct rusage u;
	pid_t pid;

	while ((pid = wait4(-1, NULL, WNOHANG, &u)) > 0) {
		for (int i = 0; i < HELPER_WORKS; i++)
			if (cpu->pids[i] == pid)
				cpu->pids[i] = 0;
		cpu->ended_ns += rusage_cpu_ns(&u);
	}
}

static void kill_worker(struct helper_cpu *cpu, enum helper_work work)
{
	if (cpu->pids[work] > 0)
		kill(cpu->pids[work], SIGKILL);
	cpu->pids[work] = 0;
}

/* A wish with a socket: a new worker; without: the end of the present one. */
static void take_wishes(struct stream *s, struct helper_cpu *cpu)
{
	struct stream_message m;

	while (stream_next(s, &m) > 0) {
		int fd = m.with_fd ? stream_take_fd(s) : -1;

		if (m.type < HELPER_WORKS)
			kill_worker(cpu, m.type);
		if (m.type < HELPER_WORKS && fd >= 0)
			cpu->pids[m.type] = start_worker(m.type, fd);
		if (fd >= 0)
			close(fd);
	}
}

/* Returns a descriptor that is readable when a child has ended; -1: none, then it is found at the
 * next wish. go_apart has blocked the signal. */
static int ends_of_children(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	return signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
}

_Noreturn static void run_nursery(int fd, struct helper_cpu *cpu)
{
	struct signalfd_siginfo end;
	struct stream s;

	go_apart(fd);
	prctl(PR_SET_NAME, "cresset-nursery", 0, 0, 0);
	stream_open(&s, 3, 0);
	struct pollfd p[2] = { { .fd = 3, .events = POLLIN },
			       { .fd = ends_of_children(), .events = POLLIN } };
	for (;;) {
		poll(p, 2, -1);
		while (read(p[1].fd, &end, sizeof end) > 0)
			;
		reap(cpu);
		int rc = stream_read(&s);
		take_wishes(&s, cpu);
		if (rc <= 0 && rc != -EAGAIN)
			break;
	}
	for (int i = 0; i < HELPER_WORKS; i++)
		kill_worker(cpu, i);
	end_self();
}

/* --- the collector ---------------------------------------------------------------------------- */

enum { END_TRIES = 20, END_PAUSE_MS = 5 };

static int fork_nursery(struct helper *h)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run_nursery(fds[1], h->cpu);
	int rc = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (rc) {
		close(fds[0]);
		return rc;
	}
	h->nursery = pid;
	stream_open(&h->stream, fds[0], 0);
	return 0;
}

int helper_new(struct helper **out)
{
	struct helper *h = xcalloc(1, sizeof *h);

	h->cpu = mmap(NULL, sizeof *h->cpu, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (h->cpu == MAP_FAILED) {
		free(h);
		return -ENOMEM;
	}
	h->stream.fd = -1;
	for (int work = 0; work < HELPER_WORKS; work++)
		for (int i = 0; i < HELPER_MAX_STUCK; i++)
			h->stuck[work][i] = -1;
	int rc = fork_nursery(h);
	if (!rc) {
		*out = h;
		return 0;
	}
	munmap(h->cpu, sizeof *h->cpu);
	free(h);
	return rc;
}

/* It ends on its own, its workers with it. One that is stopped as well, is left. */
static void wait_for_nursery(struct helper *h)
{
	struct rusage u = { 0 };
	pid_t pid = 0;

	for (int i = 0; i < END_TRIES && !pid; i++) {
		pid = wait4(h->nursery, NULL, WNOHANG, &u);
		if (!pid)
			poll(NULL, 0, END_PAUSE_MS);
	}
	if (pid > 0)
		h->ended_cpu_ns += rusage_cpu_ns(&u); /* with the workers it has waited for */
	h->nursery = 0;
	h->cpu->ended_ns = 0;
	for (int work = 0; work < HELPER_WORKS; work++)
		h->cpu->pids[work] = 0;
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	stream_close(&h->stream);
	wait_for_nursery(h);
	for (int work = 0; work < HELPER_WORKS; work++)
		for (int i = 0; i < HELPER_MAX_STUCK; i++)
			if (h->stuck[work][i] >= 0)
				close(h->stuck[work][i]);
	munmap(h->cpu, sizeof *h->cpu);
	free(h);
}

bool helper_check(struct helper *h)
{
	struct pollfd p = { .fd = h->stream.fd, .events = POLLIN };

	if (!stream_is_open(&h->stream))
		return false;
	if (poll(&p, 1, 0) <= 0) /* it sends nothing */
		return true;
	h->stats.nursery_ends++;
	stream_close(&h->stream);
	wait_for_nursery(h);
	return false;
}

int helper_renew(struct helper *h)
{
	return helper_check(h) ? 0 : fork_nursery(h);
}

/* --- workers ---------------------------------------------------------------------------------- */

/* A worker that has ended closes its socket. One that continues after all, although it has been
 * sent SIGKILL, is no longer stuck either. */
static void forget_ended(struct helper *h, enum helper_work work)
{
	for (int i = 0; i < HELPER_MAX_STUCK; i++) {
		int *fd = &h->stuck[work][i];
		struct pollfd p = { .fd = *fd, .events = POLLIN };

		if (*fd < 0 || poll(&p, 1, 0) <= 0)
			continue;
		close(*fd);
		*fd = -1;
		h->stats.stuck[work]--;
	}
}

static void keep_stuck(struct helper *h, enum helper_work work, int fd)
{
	for (int i = 0; i < HELPER_MAX_STUCK; i++)
		if (h->stuck[work][i] < 0) {
			h->stuck[work][i] = fd;
			h->stats.stuck[work]++;
			return;
		}
	close(fd);
}

static int send_wish(struct helper *h, enum helper_work work, int fd)
{
	if (!helper_check(h))
		return -EPIPE;
	int rc = stream_put(&h->stream, work, NULL, 0, fd);
	return rc ? rc : stream_flush(&h->stream);
}

int helper_start(struct helper *h, enum helper_work work)
{
	int fds[2];

	forget_ended(h, work);
	if (h->stats.stuck[work] == HELPER_MAX_STUCK)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	int rc = send_wish(h, work, fds[1]);
	close(fds[1]);
	if (!rc)
		return fds[0];
	close(fds[0]);
	return rc;
}

void helper_end(struct helper *h, enum helper_work work, enum helper_end how, struct stream *worker)
{
	int fd = how == HELPER_STUCK ? fcntl(worker->fd, F_DUPFD_CLOEXEC, 0) : -1;

	h->stats.ends[work][how]++;
	stream_close(worker);
	send_wish(h, work, -1);
	if (fd >= 0)
		keep_stuck(h, work, fd);
}

void helper_get_stats(struct helper *h, struct helper_stats *out)
{
	for (int work = 0; work < HELPER_WORKS; work++)
		forget_ended(h, work);
	*out = h->stats;
}

/* 0 if it has ended. */
static uint64_t process_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint64_t helper_cpu_ns(const struct helper *h)
{
	uint64_t ns = h->ended_cpu_ns + h->cpu->ended_ns + process_cpu_ns(h->nursery);

	for (int work = 0; work < HELPER_WORKS; work++)
		ns += process_cpu_ns(h->cpu->pids[work]);
	return ns;
}
