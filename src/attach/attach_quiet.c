/* Observes from outside whether the mmap_lock of a process is free. */
#include "attach/attach_quiet.h"

#include "attach/attach_thread.h"
#include "base/clock.h"
#include "base/fs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_NS 5000000
#define CALM_NS   30000000ull
#define RAN_NS    100000ull

/* FEW_PAGES: what faults of a calm program come to. THREADS: more are not watched. */
enum { WINDOWS = 8, READ_MS = 5, FEW_PAGES = 256, THREADS = 256 };

/* --- the lock, for reading -------------------------------------------------------------------- */

static void be_reader(const struct attach_quiet *q, int fd)
{
	uint64_t word;
	struct iovec to = { &word, sizeof word };
	struct iovec from = { (void *)(uintptr_t)q->addr, sizeof word };
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* If it cannot end, nothing of the caller's stays open. */
	if (fd > 3)
		syscall(SYS_close_range, 3, fd - 1, 0);
	syscall(SYS_close_range, fd + 1, ~0u, 0);
	while (read(fd, &c, 1) == 1) {
		process_vm_readv((pid_t)q->pid, &to, 1, &from, 1, 0);
		if (send(fd, &c, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	for (;;)
		syscall(SYS_exit_group, 0); /* ends only this process */
}

int attach_quiet_open(struct attach_quiet *q, uint32_t pid, uint64_t addr)
{
	int ends[2];

	*q = (struct attach_quiet){ .pid = pid, .addr = addr, .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	q->reader = fork();
	if (q->reader == 0) {
		close(ends[0]);
		be_reader(q, ends[1]);
	}
	int rc = q->reader < 0 ? -errno : 0;
	close(ends[1]);
	if (rc == 0)
		q->fd = ends[0];
	else
		close(ends[0]);
	return rc;
}

void attach_quiet_close(struct attach_quiet *q)
{
	if (q->fd < 0)
		return;
	close(q->fd);
	kill(q->reader, SIGKILL);
	waitpid(q->reader, NULL, q->is_asked ? WNOHANG : 0);
	q->fd = -1;
}

/* Returns whether the reader gets the lock within READ_MS. */
static bool can_read(struct attach_quiet *q)
{
	struct pollfd p = { q->fd, POLLIN, 0 };
	char c = 0;

	if (!q->is_asked && send(q->fd, &c, 1, MSG_NOSIGNAL) != 1)
		return false;
	q->is_asked = poll(&p, 1, READ_MS) != 1 || recv(q->fd, &c, 1, MSG_DONTWAIT) != 1;
	return !q->is_asked;
}

/* --- memory and threads ----------------------------------------------------------------------- */

static uint64_t resident_of(uint32_t pid)
{
	char path[32], text[128] = "";
	uint64_t pages = 0;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/statm", pid);
	fs_read_line(path, text, sizeof text);
	return sscanf(text, "%*u %" SCNu64, &pages) == 1 ? pages : 0;
}

static bool is_far(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > FEW_PAGES;
}

bool attach_quiet_still(const struct attach_quiet *q)
{
	return !is_far(resident_of(q->pid), q->resident_pages);
}

struct watched_thread {
	uint32_t tid;
	char state;
	uint64_t ran_ns;
};
struct look {
	struct watched_thread v[THREADS];
	size_t n;
};

static void read_of_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	text[0] = '\0';
	fs_read_line(path, text, size);
}

static char state_of(uint32_t pid, uint32_t tid)
{
	char text[512];

	read_of_thread(pid, tid, "stat", text, sizeof text);
	const char *end = strrchr(text, ')');
	return end && end[1] ? end[2] : '\0';
}

static void look_at(uint32_t pid, struct look *l)
{
	uint32_t tids[THREADS];
	char text[128];

	l->n = attach_threads(pid, tids, THREADS);
	for (size_t i = 0; i < l->n; i++) {
		struct watched_thread *t = &l->v[i];
		t->tid = tids[i];
		t->state = state_of(pid, tids[i]);
		read_of_thread(pid, tids[i], "schedstat", text, sizeof text);
		t->ran_ns = strtoull(text, NULL, 10);
	}
}

static bool changes_mappings(uint32_t pid, uint32_t tid)
{
	static const int calls[] = { SYS_mmap, SYS_munmap,  SYS_mremap, SYS_mprotect,
				     SYS_brk,  SYS_madvise, SYS_mlock,  SYS_execve };
	char text[64];

	read_of_thread(pid, tid, "syscall", text, sizeof text);
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strtol(text, NULL, 10) == calls[i] && *text >= '0' && *text <= '9')
			return true;
	return false;
}

/* It waits for the lock, or has it and waits for something else. */
static bool is_in_the_way(uint32_t pid, const struct watched_thread *t)
{
	char text[64];

	if (t->state != 'D')
		return false;
	read_of_thread(pid, t->tid, "wchan", text, sizeof text);
	return strncmp(text, "rwsem", 5) == 0 || changes_mappings(pid, t->tid);
}

/* Ready to run all the time, and has not. It may have been taken off its CPU with the lock. */
static bool is_unknown(const struct look *before, const struct watched_thread *t)
{
	const struct watched_thread *was = NULL;

	for (size_t i = 0; i < before->n; i++)
		if (before->v[i].tid == t->tid)
			was = &before->v[i];
	return t->state == 'R' && (!was || t->ran_ns - was->ran_ns < RAN_NS);
}

enum window { WINDOW_QUIET, WINDOW_UNKNOWN, WINDOW_BUSY };

static enum window judge(struct attach_quiet *q, const struct look *before, const struct look *now)
{
	uint64_t resident = resident_of(q->pid);
	bool is_busy = is_far(resident, q->resident_pages);
	enum window w = WINDOW_QUIET;

	q->resident_pages = resident;
	for (size_t i = 0; i < now->n && !is_busy; i++) {
		is_busy = is_in_the_way(q->pid, &now->v[i]);
		if (is_unknown(before, &now->v[i]))
			w = WINDOW_UNKNOWN;
	}
	return is_busy || !can_read(q) ? WINDOW_BUSY : w;
}

/* --- all -------------------------------------------------------------------------------------- */

static enum window watch(struct attach_quiet *q, const struct look *before)
{
	const struct timespec nap = { 0, WINDOW_NS };
	struct look now;

	nanosleep(&nap, NULL);
	look_at(q->pid, &now);
	return judge(q, before, &now);
}

/* Threads that never get a CPU do not change anything either, as far as the memory shows. */
bool attach_quiet_look(struct attach_quiet *q)
{
	enum window w = WINDOW_UNKNOWN;
	struct look before;

	q->resident_pages = resident_of(q->pid);
	look_at(q->pid, &before);
	for (int i = 0; i < WINDOWS && w == WINDOW_UNKNOWN; i++)
		w = watch(q, &before);
	uint64_t now_ns = clock_mono_ns();
	if (w == WINDOW_BUSY) {
		q->busy_ns = now_ns;
		q->busy++;
	}
	return w != WINDOW_BUSY && (!q->busy_ns || now_ns - q->busy_ns >= CALM_NS);
}
