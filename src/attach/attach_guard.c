/* Locks files of the process with flock. Forks a guard before the process is touched. If the
 * attacher dies, the guard restores the stopped thread. */
#include "attach/attach_guard.h"

#include "attach/attach_stop.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the lock --------------------------------------------------------------------------------- */

/* Returns the descriptor, or -errno; -EWOULDBLOCK: another process has the lock. */
static int lock_file(uint32_t pid, const char *name)
{
	char path[48];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

void attach_unlock(struct attach_lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->early >= 0)
		close(l->early);
}

int attach_lock(uint32_t pid, struct attach_lock *l)
{
	*l = (struct attach_lock){ lock_file(pid, "personality"), -EWOULDBLOCK };
	if (l->early != -EWOULDBLOCK)
		l->fd = lock_file(pid, "maps");
	if (l->fd == -EWOULDBLOCK)
		attach_unlock(l);
	return l->fd == -EWOULDBLOCK ? -EWOULDBLOCK : 0;
}

/* --- the guard -------------------------------------------------------------------------------- */

#ifdef __x86_64__

enum { PAGE = 4096, NAP_NS = 1000000, TRIES = 8, TRIES_HELD = 15 }; /* 0.3 s, 33 s */
_Static_assert(sizeof(struct attach_kept) <= PAGE, "one page");

/* Closes everything inherited, so that nobody waits for the end of a stream that we hold, and
 * leaves the parent's terminal, so that it does not end us. */
static void go_apart(int keep, int parent)
{
	int first = keep < parent ? keep : parent, second = keep < parent ? parent : keep;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "cresset-guard", 0, 0, 0);
	if (first > 0)
		syscall(SYS_close_range, 0, first - 1, 0);
	if (second > first + 1)
		syscall(SYS_close_range, first + 1, second - 1, 0);
	syscall(SYS_close_range, second + 1, ~0u, 0);
}

static void guard(struct attach_kept *kept, int keep, int parent)
{
	const struct attach_safety safety = { .kept = kept };
	struct pollfd p = { .fd = parent, .events = POLLIN };

	go_apart(keep, parent);
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	/* While the thread is held, a signal handler above it ends at some time. */
	bool is_held = __atomic_load_n(&kept->stage, __ATOMIC_SEQ_CST) == ATTACH_HELD;
	int tries = is_held && !kept->park ? TRIES_HELD : TRIES;
	for (int i = 0; i < tries && !attach_rescue(&safety); i++) {
		uint64_t ns = (uint64_t)NAP_NS << i;
		nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
	}
}

int attach_guard_start(struct attach_guard *g, int keep, struct err *err)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int self = syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid = page == MAP_FAILED || self < 0 ? -1 : fork();

	if (pid == 0) {
		guard(page, keep, self);
		syscall(SYS_exit_group, 0); /* ends only this process */
	}
	int code = errno;
	if (self >= 0)
		close(self);
	if (pid < 0) {
		if (page != MAP_FAILED)
			munmap(page, PAGE);
		return err_set(err, code, "cannot start a guardian: %s", strerror(code));
	}
	*g = (struct attach_guard){ page, pid };
	return 0;
}

bool attach_guard_is_there(const struct attach_guard *g)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, g->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void attach_guard_stop(struct attach_guard *g)
{
	kill(g->pid, SIGKILL);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(g->kept, PAGE);
	*g = (struct attach_guard){ 0 };
}

#endif
