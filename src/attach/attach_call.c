/* Runs the steps in the stopped thread by ptrace: memory is mapped, code is copied, and a new
 * thread is cloned. The old thread then gets its registers back. */
#include "attach/attach_call.h"

#include "attach/attach_code.h"
#include "attach/attach_stop.h"
#include "base/err.h"

#ifdef __x86_64__

#include "base/clock.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* 6.3: for where sysctl vm.memfd_noexec would deny it */
#endif

enum { RED_ZONE = 128, NAME_ROOM = 256, NAP_NS = 20000, LOCK_NS = 300000, XSAVE_LEAF = 0xd };

#define BIT(sig)  (1ull << ((sig)-1))
/* A fault whose signal is blocked would reset its handler to the default for the whole process. */
#define FAULTS    (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP))
/* C libraries use these to apply setuid() to all threads: a thread that blocks them makes it wait
 * for ever. 32 is used only for glibc's cancellation. */
#define SETXID    (1ull << 32 | 1ull << 33)
#define OF_THREAD (~(FAULTS | SETXID))

int attach_words_read(int fd, struct attach_words *out)
{
	ssize_t n = pread(fd, out, sizeof *out, ATTACH_WORDS);

	if (n != (ssize_t)sizeof *out)
		return n < 0 ? -errno : -EIO;
	out->name[sizeof out->name - 1] = out->path[sizeof out->path - 1] =
		out->error[sizeof out->error - 1] = '\0';
	return 0;
}

/* --- our memory in the process ---------------------------------------------------------------- */

/* Writes the name below the red zone of its stack, where the kernel itself writes signal frames. */
static int put_name(struct attach_stop *s, const char *name, uint64_t *addr)
{
	size_t len = strlen(name) + 1;

	*addr = (s->regs.rsp - RED_ZONE - NAME_ROOM) & ~15ull;
	struct iovec from = { (void *)(uintptr_t)name, len },
		     to = { (void *)(uintptr_t)*addr, len };
	return process_vm_writev(s->pid, &from, 1, &to, 1, 0) == (ssize_t)len ? 0 : -EAGAIN;
}

/* Returns the descriptor there, or -errno. */
static int64_t open_there(struct attach_call *c, struct attach_stop *s)
{
	uint64_t name;
	int64_t fd;
	int rc = put_name(s, c->file ? c->file : "cresset-attach", &name);

	if (rc < 0)
		return rc;
	if (c->file) {
		rc = attach_remote(s, SYS_open,
				   (uint64_t[6]){ name, O_RDWR | O_CLOEXEC | O_NOFOLLOW }, &fd);
		return rc < 0 ? rc : fd;
	}
	c->flags = MFD_CLOEXEC | MFD_EXEC;
	rc = attach_remote(s, SYS_memfd_create, (uint64_t[6]){ name, c->flags }, &fd);
	if (rc == 0 && fd == -EINVAL) {
		c->flags = MFD_CLOEXEC;
		rc = attach_remote(s, SYS_memfd_create, (uint64_t[6]){ name, c->flags }, &fd);
	}
	if (rc == 0 && (fd == -EACCES || fd == -EPERM || fd == -ENOSYS))
		c->no_exec = true;
	return rc < 0 ? rc : fd;
}

static void fill_words(const struct attach_call *c, const struct attach_stop *s,
		       struct attach_words *w)
{
	struct user_regs_struct r;

	attach_regs_restarted(s, &r);
	*w = (struct attach_words){
		.pthread_create = c->symbols->pthread_create,
		.pthread_detach = c->symbols->pthread_detach,
		.dlopen = c->symbols->dlopen,
		.dlerror = c->symbols->dlerror,
		.munmap = c->symbols->munmap,
		.errno_location = c->symbols->errno_location,
		.loader_lock = c->is_patient ? 0 : c->symbols->loader_lock,
		.mask = s->mask,
		.thread_mask = OF_THREAD,
		.regs = { r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10,
			  r.r11, r.r12, r.r13, r.r14, r.r15, r.rip, r.eflags },
		.open_nr = c->file ? SYS_open : SYS_memfd_create,
		.open_flags = c->file ? O_RDONLY | O_CLOEXEC | O_NOFOLLOW : c->flags,
	};
	memcpy(w->sched, s->safety->kept->sched, sizeof w->sched);
	memcpy(w->name, c->library, strnlen(c->library, sizeof w->name - 1));
}

static int fill_memory(const struct attach_call *c, const struct attach_stop *s)
{
	struct attach_words w;

	fill_words(c, s, &w);
	if (ftruncate(c->fd, ATTACH_BYTES) < 0)
		return -errno;
	struct iovec parts[] = { { (void *)(uintptr_t)attach_code, ATTACH_WORDS },
				 { &w, sizeof w } };
	return pwritev(c->fd, parts, 2, 0) == (ssize_t)(ATTACH_WORDS + sizeof w) ? 0 : -EIO;
}

static int map_there(struct attach_call *c, struct attach_stop *s, int64_t fd)
{
	int64_t at;
	int rc = attach_remote(
		s, SYS_mmap,
		(uint64_t[6]){ 0, ATTACH_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0 }, &at);

	if (rc < 0)
		return rc;
	if (at < 0 && at > -4096) {
		c->no_exec = !c->file && (at == -EACCES || at == -EPERM);
		return (int)at;
	}
	c->base = at;
	return 0;
}

static int make_memory(struct attach_call *c, struct attach_stop *s, int64_t *fd)
{
	*fd = open_there(c, s);
	if (*fd < 0)
		return (int)*fd;
	c->fd = syscall(SYS_pidfd_getfd, c->pidfd, (int)*fd, 0);
	int rc = c->fd < 0 ? -errno : fill_memory(c, s);
	return rc < 0 ? rc : map_there(c, s, *fd);
}

/* --- the call --------------------------------------------------------------------------------- */

/* Returns 0: it has returned; -EFAULT: a fault; -ETIMEDOUT; -ESRCH. */
static int wait_done(struct attach_call *c, struct attach_stop *s, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + c->limit_ns;
	struct timespec nap = { 0, NAP_NS };
	struct attach_words w;
	int sig;

	while (attach_is_running(s, &sig)) {
		if (attach_words_read(c->fd, &w) == 0 && w.done) {
			c->create_rc = w.create_rc;
			return 0;
		}
		if (clock_mono_ns() > until_ns)
			return err_set(err, ETIMEDOUT,
				       "pthread_create did not return in time; thread %d "
				       "completes it, then continues as before",
				       (int)s->tid);
		nanosleep(&nap, NULL);
	}
	return sig ? err_set(err, EFAULT,
			     "pthread_create ended with signal %d: %s; the process may be damaged",
			     sig, strsignal(sig))
		   : err_set(err, ESRCH, "the thread has ended");
}

static struct attach_code_place place_of(const struct attach_call *c)
{
	return (struct attach_code_place){ c->base, c->base + (attach_code_park - attach_code),
					   c->base + (attach_code_thread - attach_code) };
}

/* Only a parked thread holds no lock, and may get other registers. */
static bool is_parked(const struct attach_call *c, uint64_t rip)
{
	struct attach_code_place at = place_of(c);

	return rip >= at.park && rip < at.park_end;
}

static void undo_memory(struct attach_call *c, struct attach_stop *s)
{
	int64_t ignored;

	if (c->base &&
	    attach_remote(s, SYS_munmap, (uint64_t[6]){ c->base, ATTACH_BYTES }, &ignored) == 0)
		c->base = 0;
}

/* The thread is somewhere in pthread_create, and holds locks. It completes that call, parks, and
 * restores itself. */
static int leave_alone(struct attach_call *c, struct attach_stop *s, int rc)
{
	c->stays_mapped = !c->has_thread;
	c->is_left = true;
	attach_release(s);
	return rc;
}

/* Runs the code, and stops the thread again. */
static int run_code(struct attach_call *c, struct attach_stop *s, int64_t fd, struct err *err)
{
	struct attach_code_place place = place_of(c);
	struct user_regs_struct at;
	int rc = attach_block_signals(s, FAULTS);

	if (rc == 0) {
		attach_raise(s);
		rc = attach_run(s, &place, c->base + ATTACH_BYTES, fd, c->base, ATTACH_BYTES);
	}
	if (rc == 0)
		rc = wait_done(c, s, err);
	c->has_thread = rc == 0 && c->create_rc == 0;
	int stopped = attach_interrupt(s, rc == 0, &at);
	if (stopped < 0)
		return leave_alone(c, s, c->has_thread ? 0 : rc < 0 ? rc : stopped);
	if (rc != -EFAULT && !is_parked(c, at.rip)) /* it was done, and continued on its own */
		return leave_alone(c, s, rc < 0 ? rc : c->has_thread ? 0 : -ENOMEM);
	if (rc < 0)
		c->stays_mapped = true;
	else if (!c->has_thread)
		undo_memory(c, s);
	return rc;
}

/* The thread would wait for the lock in pthread_create as long as its owner is not on a CPU. */
static bool loader_is_free(const struct attach_call *c, const struct attach_stop *s)
{
	uint64_t until_ns = clock_mono_ns() + LOCK_NS;
	uint32_t lock = 0;
	struct iovec to = { &lock, sizeof lock };
	struct iovec from = { (void *)(uintptr_t)c->symbols->loader_lock, sizeof lock };

	if (!c->symbols->loader_lock || c->is_patient)
		return true;
	do {
		if (process_vm_readv(s->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof lock || !lock)
			return true;
		sched_yield();
	} while (clock_mono_ns() < until_ns);
	return false;
}

static bool vectors_fit(void)
{
	unsigned a, size, c, d;

	return __get_cpuid_count(XSAVE_LEAF, 0, &a, &size, &c, &d) &&
	       size <= ATTACH_STACK - ATTACH_VECTORS;
}

int attach_call(struct attach_call *c, struct attach_stop *s, struct err *err)
{
	int64_t fd = -1, ignored;

	c->fd = -1;
	c->base = 0;
	c->has_thread = c->stays_mapped = c->no_exec = c->is_left = false;
	int rc = !vectors_fit() ? -ENOTSUP : s->is_taken ? 0 : attach_take(s);
	if (rc == 0)
		rc = make_memory(c, s, &fd);
	if (rc == 0 && !loader_is_free(c, s))
		rc = -EAGAIN;
	if (rc == 0) {
		rc = run_code(c, s, fd, err);
		if (rc == 0 && c->create_rc == -EAGAIN)
			rc = -EAGAIN;
	} else if (fd >= 0 && s->is_stopped) {
		undo_memory(c, s);
		attach_remote(s, SYS_close, (uint64_t[6]){ fd }, &ignored);
	}
	if (!c->is_left)
		attach_give_back(s);
	if (rc == 0 && !c->has_thread)
		return err_set(err, ENOMEM, "pthread_create failed: %s", strerror(c->create_rc));
	if (rc < 0 && rc != -EAGAIN && !(err && err->code))
		return err_set(err, -rc, "the thread could not be used: %s", strerror(-rc));
	return rc;
}

#endif
