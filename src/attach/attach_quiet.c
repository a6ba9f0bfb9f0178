/* Observes from outside whether the mmap_lock of a process is free. */
#include "attach/attach_quiet.h"

#include "attach/attach_thread.h"
#include "base/clock.h"
#include "base/fs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_NS   5000000
#define CALM_NS     30000000ull
#define CALM_MAX_NS 100000000ull
#define RAN_NS      100000ull

/* FEW_PAGES: what faults of a calm program come to. THREADS: more are not watched. */
enum { WINDOWS = 8, READ_MS = 5, FEW_PAGES = 256, THREADS = 256 };

/* --- the lock, for reading -------------------------------------------------------------------- */

/* The memory that the reader uses. It shares the caller's memory, as copying that costs more than
 * all looks together. So it calls nothing of the C library: that could change errno, or take a
 * lock, of the thread that started it. */
struct attach_reader {
	long pid;
	int fd;
	char c;
	uint64_t word;
	struct iovec to, from;
	uint8_t stack[8192] __attribute__((aligned(16)));
};

#ifdef __x86_64__

static long call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static int be_reader(void *ctx)
{
	struct attach_reader *r = ctx;

	call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* If it cannot end, nothing of the caller's stays open. */
	if (r->fd > 3)
		call(SYS_close_range, 3, r->fd - 1, 0, 0, 0);
	call(SYS_close_range, r->fd + 1, ~0u, 0, 0, 0);
	while (call(SYS_read, r->fd, (long)&r->c, 1, 0, 0) == 1) {
		call(SYS_process_vm_readv, r->pid, (long)&r->to, 1, (long)&r->from, 1);
		if (call(SYS_sendto, r->fd, (long)&r->c, 1, MSG_NOSIGNAL, 0) != 1)
			break;
	}
	for (;;)
		call(SYS_exit_group, 0, 0, 0, 0, 0); /* ends only this process */
	return 0;
}

/* Without signals: a handler would run for both processes. */
static int start_reader(struct attach_quiet *q, int fd)
{
	struct attach_reader *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;

	if (r == MAP_FAILED)
		return -errno;
	r->pid = q->pid;
	r->fd = fd;
	r->to = (struct iovec){ &r->word, sizeof r->word };
	r->from = (struct iovec){ (void *)(uintptr_t)q->addr, sizeof r->word };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	q->reader = clone(be_reader, r->stack + sizeof r->stack, CLONE_VM | SIGCHLD, r);
	int rc = q->reader < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	q->memory = r;
	if (rc)
		munmap(r, sizeof *r);
	return rc;
}

#else

static int start_reader(struct attach_quiet *q, int fd)
{
	(void)q, (void)fd;
	return -ENOSYS;
}

#endif

int attach_quiet_open(struct attach_quiet *q, uint32_t pid, uint64_t addr)
{
	int ends[2];

	*q = (struct attach_quiet){ .pid = pid, .addr = addr, .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	int rc = start_reader(q, ends[1]);
	close(ends[1]);
	if (rc == 0)
		q->fd = ends[0];
	else
		close(ends[0]);
	return rc;
}

/* The memory of a reader that has not ended stays: the kernel may still write to it. */
void attach_quiet_close(struct attach_quiet *q)
{
	if (q->fd < 0)
		return;
	close(q->fd);
	kill(q->reader, SIGKILL);
	if (waitpid(q->reader, NULL, q->is_asked ? WNOHANG : 0) == q->reader)
		munmap(q->memory, sizeof *q->memory);
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

static uint64_t ran_ns_of(uint32_t pid, uint32_t tid)
{
	char text[128];

	read_of_thread(pid, tid, "schedstat", text, sizeof text);
	return strtoull(text, NULL, 10);
}

/* Before the window: the time each thread has run. */
static void look_before(uint32_t pid, struct look *l)
{
	uint32_t tids[THREADS];

	l->n = attach_threads(pid, tids, THREADS);
	for (size_t i = 0; i < l->n; i++)
		l->v[i] = (struct watched_thread){ .tid = tids[i],
						   .ran_ns = ran_ns_of(pid, tids[i]) };
}

/* After it: the state, and the time of threads that are ready to run. */
static void look_after(uint32_t pid, struct look *l)
{
	uint32_t tids[THREADS];

	l->n = attach_threads(pid, tids, THREADS);
	for (size_t i = 0; i < l->n; i++) {
		struct watched_thread *t = &l->v[i];
		*t = (struct watched_thread){ .tid = tids[i], .state = state_of(pid, tids[i]) };
		if (t->state == 'R')
			t->ran_ns = ran_ns_of(pid, t->tid);
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

static enum window watch(struct attach_quiet *q, const struct look *before, struct look *now)
{
	const struct timespec nap = { 0, WINDOW_NS };

	nanosleep(&nap, NULL);
	look_after(q->pid, now);
	return judge(q, before, now);
}

static bool has_ready_thread(const struct look *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].state == 'R')
			return true;
	return false;
}

/* Whether hardly any page was made or freed for long enough: if memory is slow, a thread that holds
 * the lock makes few in one window. Starts again from time to time, as memory may also grow. */
static bool is_calm(struct attach_quiet *q, uint64_t now_ns)
{
	bool is_busy = q->calm_ns && is_far(q->resident_pages, q->calm_pages);

	if (is_busy) {
		q->busy_ns = now_ns;
		q->busy++;
	}
	if (is_busy || now_ns - q->calm_ns > CALM_MAX_NS) {
		q->calm_ns = now_ns;
		q->calm_pages = q->resident_pages;
	}
	return now_ns - q->calm_ns >= CALM_NS;
}

/* Threads that never get a CPU do not change anything either, as far as the memory shows. */
bool attach_quiet_look(struct attach_quiet *q)
{
	enum window w = WINDOW_UNKNOWN;
	struct look before, now = { .n = 0 };

	q->resident_pages = resident_of(q->pid);
	look_before(q->pid, &before);
	for (int i = 0; i < WINDOWS && w == WINDOW_UNKNOWN; i++)
		w = watch(q, &before, &now);
	uint64_t now_ns = clock_mono_ns();
	if (w == WINDOW_BUSY) {
		q->busy_ns = now_ns;
		q->busy++;
		q->calm_ns = 0;
		return false;
	}
	return (!q->busy_ns && !has_ready_thread(&now)) || is_calm(q, now_ns);
}
