/* The ptrace calls that stop a thread, run system calls and code in it, and release it again. */
#include "attach/attach_stop.h"

#ifdef __x86_64__

#include "attach/attach_status.h"
#include "attach/attach_thread.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum {
	STOP_NS = 1000000000, /* a thread in an interruptible call stops immediately */
	SPINS = 50,           /* yields, before sleeping */
	NAP_NS = 20000,
	NAPS = 5000, /* short ones */
	LONG_NAP_NS = 5000000,
	RED_ZONE = 128,
	BELOW = 512, /* distance to the shelter: attach_call.c puts a name in between */
	LOOP_BYTES = 2,
	SYSCALL_STOP = SIGTRAP | 0x80,
	SYSCALL_BYTES = 2,
	RESET_ON_FORK = 1, /* SCHED_FLAG_RESET_ON_FORK */
	/* include/linux/errno.h of the kernel: results of interrupted calls that only a tracer
	 * sees. */
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

static long trace(int request, pid_t tid, void *addr, void *data)
{
	long rc = syscall(SYS_ptrace, request, tid, addr, data);
	return rc < 0 ? -errno : rc;
}

/* --- precedence ------------------------------------------------------------------------------- */

/* struct sched_attr of the kernel, whose header conflicts with the C library's. */
struct priority {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};
_Static_assert(sizeof(struct priority) <= sizeof((struct attach_kept *)0)->sched, "priority fits");

/* New threads of a raised one have ordinary priority. */
static int raise_thread(pid_t tid)
{
	struct priority first = {
		.size = sizeof first, .policy = SCHED_FIFO, .priority = 1, .flags = RESET_ON_FORK
	};

	return syscall(SYS_sched_setattr, tid, &first, 0);
}

void attach_hurry(bool on)
{
	struct priority usual = { .size = sizeof usual, .policy = SCHED_OTHER };

	if (on)
		raise_thread(0);
	else
		syscall(SYS_sched_setattr, 0, &usual, 0);
}

void attach_raise(struct attach_stop *s)
{
	struct attach_kept *k = s->safety->kept;
	struct priority had;

	memcpy(&had, k->sched, sizeof had);
	if (!had.size ||
	    (had.policy != SCHED_OTHER && had.policy != SCHED_BATCH && had.policy != SCHED_IDLE))
		return;
	__atomic_store_n(&k->is_raised, 1, __ATOMIC_SEQ_CST);
	if (raise_thread(s->tid) < 0)
		__atomic_store_n(&k->is_raised, 0, __ATOMIC_SEQ_CST);
}

static void lower(struct attach_kept *k)
{
	if (__atomic_load_n(&k->is_raised, __ATOMIC_SEQ_CST))
		syscall(SYS_sched_setattr, k->tid, k->sched, 0);
	__atomic_store_n(&k->is_raised, 0, __ATOMIC_SEQ_CST);
}

/* --- stops ------------------------------------------------------------------------------------ */

static void nap(unsigned turn)
{
	struct timespec ts = { 0, turn < NAPS ? NAP_NS : LONG_NAP_NS };

	if (turn < SPINS)
		sched_yield();
	else
		nanosleep(&ts, NULL);
}

/* Waits for the next stop. Returns 0; -ETIMEDOUT; -ESRCH: the thread has ended. */
static int wait_stop(struct attach_stop *s, uint64_t until_ns, int *status)
{
	for (unsigned turn = 0;; turn++) {
		pid_t got = waitpid(s->tid, status, __WALL | WNOHANG);
		if (got == s->tid && WIFSTOPPED(*status)) {
			s->is_stopped = true;
			s->sig = *status >> 16 == 0 && WSTOPSIG(*status) != SYSCALL_STOP
					 ? WSTOPSIG(*status)
					 : 0;
			return 0;
		}
		if (got < 0 || got == s->tid) {
			s->is_traced = s->is_stopped = false;
			s->safety->kept->is_raised = 0; /* its id may be reused */
			return -ESRCH;
		}
		if (clock_mono_ns() > until_ns)
			return -ETIMEDOUT;
		nap(turn);
	}
}

/* Waits for the next stop, without a timeout: with our registers the thread must not be left
 * alone. */
static int wait_surely(struct attach_stop *s, int *status)
{
	int rc = wait_stop(s, clock_mono_ns() + STOP_NS, status);

	if (rc != -ETIMEDOUT)
		return rc;
	if (s->safety->slow)
		s->safety->slow(s->safety->ctx, s->tid);
	return wait_stop(s, UINT64_MAX, status);
}

static int go_on(struct attach_stop *s, int request, int sig)
{
	s->is_stopped = false;
	return trace(request, s->tid, NULL, (void *)(intptr_t)sig);
}

/* Reads what the thread was doing: a system call, whose instruction is just before its rip. */
static int take_place(struct attach_stop *s)
{
	uint8_t code[SYSCALL_BYTES];
	struct iovec to = { code, sizeof code };
	struct iovec from = { NULL, sizeof code };

	if (trace(PTRACE_GETREGS, s->tid, NULL, &s->regs) < 0 ||
	    trace(PTRACE_GETSIGMASK, s->tid, (void *)sizeof s->mask, &s->mask) < 0)
		return -ESRCH;
	from.iov_base = (void *)(uintptr_t)(s->regs.rip - SYSCALL_BYTES);
	if ((int64_t)s->regs.orig_rax < 0 ||
	    process_vm_readv(s->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof code ||
	    code[0] != 0x0f || code[1] != 0x05)
		return -EAGAIN;
	s->nr = s->regs.orig_rax;
	s->site = s->regs.rip - SYSCALL_BYTES;
	return 0;
}

/* epoll_wait and some other calls just fail when interrupted. No signal was sent, so the program
 * must not see that: the call is restarted. Calls that take a signal mask find out themselves
 * whether a signal has come. */
static void rewind_interrupted(struct attach_stop *s)
{
	struct attach_status status;
	bool takes_mask = s->nr == SYS_epoll_pwait || s->nr == SYS_epoll_pwait2 ||
			  s->nr == SYS_pselect6 || s->nr == SYS_ppoll;

	if ((int64_t)s->regs.rax != -EINTR)
		return;
	if (!takes_mask &&
	    (attach_status_read(s->pid, s->tid, &status) < 0 || status.pending & ~s->mask))
		return;
	s->regs.rip = s->site;
	s->regs.rax = s->nr;
	s->regs.orig_rax = -1;
	s->is_rewound = true;
}

/* A thread that continues on its own must not see that it was stopped. */
static void hide_interrupt(struct attach_stop *s, int status)
{
	if (status >> 8 != (SIGTRAP | PTRACE_EVENT_STOP << 8) || take_place(s) < 0)
		return;
	rewind_interrupted(s);
	if (s->is_rewound)
		trace(PTRACE_SETREGS, s->tid, NULL, &s->regs);
}

static void detach(struct attach_stop *s)
{
	if (s->is_traced && s->is_stopped)
		trace(PTRACE_DETACH, s->tid, NULL, (void *)(intptr_t)s->sig);
	s->is_stopped = false;
}

int attach_release(struct attach_stop *s)
{
	int status, rc = 0;

	if (s->is_traced && !s->is_stopped && trace(PTRACE_INTERRUPT, s->tid, NULL, NULL) == 0) {
		rc = wait_stop(s, clock_mono_ns() + STOP_NS, &status);
		if (rc == 0)
			hide_interrupt(s, status);
	}
	lower(s->safety->kept);
	detach(s);
	__atomic_store_n(&s->safety->kept->stage, ATTACH_ITS_OWN, __ATOMIC_SEQ_CST);
	s->is_traced = rc == -ETIMEDOUT;
	return rc == -ETIMEDOUT ? rc : 0;
}

static int seize(struct attach_stop *s, const struct attach_safety *safety, pid_t pid, pid_t tid)
{
	*s = (struct attach_stop){ .safety = safety, .pid = pid, .tid = tid };
	int rc = trace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
	s->is_traced = rc == 0;
	return rc;
}

/* Stops it wherever it is, with its registers. */
static int stop_now(struct attach_stop *s)
{
	int status, rc = trace(PTRACE_INTERRUPT, s->tid, NULL, NULL);

	if (rc == 0)
		rc = wait_stop(s, s->since_ns + STOP_NS, &status);
	if (rc == 0 && status >> 8 != (SIGTRAP | PTRACE_EVENT_STOP << 8))
		rc = -EAGAIN; /* a signal or SIGSTOP came first: the thread gets it when released */
	return rc;
}

/* After a failed stop. */
static int let_go(struct attach_stop *s, int rc)
{
	int let = attach_release(s);

	return rc != -ETIMEDOUT ? rc : let < 0 ? let : -EAGAIN;
}

/* It is in a call that is not wanted: the call continues. */
static int let_continue(struct attach_stop *s)
{
	attach_give_back(s);
	return -EAGAIN;
}

int attach_stop(struct attach_stop *s, const struct attach_safety *safety, pid_t pid, pid_t tid)
{
	int rc = seize(s, safety, pid, tid);

	if (rc < 0)
		return rc;
	s->since_ns = clock_mono_ns();
	rc = stop_now(s);
	if (rc == 0)
		rc = take_place(s);
	if (rc < 0)
		return let_go(s, rc);
	rewind_interrupted(s);
	return attach_parking_call(s->nr) ? 0 : let_continue(s);
}

int attach_stop_running(struct attach_stop *s, const struct attach_safety *safety, pid_t pid,
			pid_t tid)
{
	int rc = seize(s, safety, pid, tid);

	if (rc < 0)
		return rc;
	s->since_ns = clock_mono_ns();
	rc = stop_now(s);
	if (rc < 0)
		return let_go(s, rc);
	rc = take_place(s);
	if (rc == 0) {
		rewind_interrupted(s);
		return let_continue(s);
	}
	if (rc == -EAGAIN && (int64_t)s->regs.orig_rax == -1) {
		s->nr = -1;
		s->site = 0;
		return 0;
	}
	return let_go(s, rc);
}

/* --- with our registers ----------------------------------------------------------------------- */

/* As for a restarted call: the kernel's state for restarting a call in the middle may belong to
 * another call by then. */
void attach_regs_restarted(const struct attach_stop *s, struct user_regs_struct *out)
{
	int64_t rc = s->regs.orig_rax == UINT64_MAX ? 0 : -(int64_t)s->regs.rax;

	*out = s->regs;
	out->orig_rax = -1;
	if (rc == ERESTARTSYS || rc == ERESTARTNOINTR || rc == ERESTARTNOHAND ||
	    rc == ERESTART_RESTARTBLOCK) {
		out->rip = s->site;
		out->rax = s->nr;
	}
}

int attach_block_signals(struct attach_stop *s, uint64_t open)
{
	uint64_t mask = ~open;

	return trace(PTRACE_SETSIGMASK, s->tid, (void *)sizeof mask, &mask) < 0 ? -ESRCH : 0;
}

/* Sets the registers first: with its own registers the thread never has another mask than its
 * own. */
int attach_take(struct attach_stop *s)
{
	struct attach_kept *k = s->safety->kept;
	uint64_t stack = (s->regs.rsp - RED_ZONE - BELOW) & ~15ull;
	uint64_t words[] = { s->safety->shelter.loop, stack };
	struct iovec from = { words, sizeof words };
	struct iovec to = { (void *)(uintptr_t)stack, sizeof words };
	struct user_regs_struct r = s->regs;

	if (process_vm_writev(s->pid, &from, 1, &to, 1, 0) != (ssize_t)sizeof words)
		return -EAGAIN;
	*k = (struct attach_kept){
		.pid = s->pid,
		.tid = s->tid,
		.mask = s->mask,
		.shelter = s->safety->shelter,
		.stack = stack,
	};
	attach_regs_restarted(s, &k->regs);
	syscall(SYS_sched_getattr, s->tid, k->sched, sizeof(struct priority), 0);
	__atomic_store_n(&k->stage, ATTACH_TAKING, __ATOMIC_SEQ_CST);
	s->is_taken = true;
	r.orig_rax = -1;
	r.rip = s->safety->shelter.loop;
	r.rsp = stack + sizeof(uint64_t);
	if (trace(PTRACE_SETREGS, s->tid, NULL, &r) < 0)
		return -ESRCH;
	__atomic_store_n(&k->stage, ATTACH_HELD, __ATOMIC_SEQ_CST);
	return attach_block_signals(s, 0);
}

/* Continues to the next entry or exit of a system call. SIGSTOP, which cannot be blocked, takes
 * effect: it stops the other threads at the same time, and this thread when it is released. */
static int until_syscall_stop(struct attach_stop *s)
{
	int status, rc;

	do {
		int sig = s->sig == SIGSTOP ? SIGSTOP : 0;
		if (go_on(s, PTRACE_SYSCALL, sig) < 0)
			return -ESRCH;
		rc = wait_surely(s, &status);
	} while (rc == 0 && WSTOPSIG(status) != SYSCALL_STOP);
	return rc;
}

/* --- watching system calls -------------------------------------------------------------------- */

static bool is_entry(const struct attach_stop *s)
{
	struct ptrace_syscall_info info = { 0 };

	return trace(PTRACE_GET_SYSCALL_INFO, s->tid, (void *)sizeof info, &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Prevents the call for now: it is restarted when the thread is given back. */
static int put_off(struct attach_stop *s)
{
	s->regs.rip = s->site;
	s->regs.rax = s->nr;
	s->regs.orig_rax = -1;
	int rc = attach_take(s);
	return rc < 0 ? rc : until_syscall_stop(s); /* exits without having been done */
}

/* Handles one stop of a thread whose calls are watched. Returns 1: found; 0: continue; or
 * -errno. */
static int at_stop(struct attach_stop *s, int status, attach_wanted_fn *wanted, void *ctx)
{
	int sig = WSTOPSIG(status);

	if (sig == SYSCALL_STOP && is_entry(s) && take_place(s) == 0 && wanted(ctx, s)) {
		s->since_ns = clock_mono_ns();
		int rc = put_off(s);
		return rc < 0 ? rc : 1;
	}
	if (status >> 16 == PTRACE_EVENT_STOP && sig != SIGTRAP)
		return go_on(s, PTRACE_LISTEN,
			     0); /* the whole process is being stopped: let it stay stopped */
	hide_interrupt(s, status);
	return go_on(s, PTRACE_SYSCALL, s->sig);
}

int attach_stop_at_entry(struct attach_stop *s, const struct attach_safety *safety, pid_t pid,
			 pid_t tid, uint64_t until_ns, attach_wanted_fn *wanted, void *ctx)
{
	int status, rc = seize(s, safety, pid, tid);

	if (rc == 0)
		rc = trace(PTRACE_INTERRUPT, tid, NULL, NULL);
	while (rc == 0) {
		rc = wait_stop(s, until_ns, &status);
		if (rc == 0)
			rc = at_stop(s, status, wanted, ctx);
	}
	if (rc == 1)
		return 0;
	if (attach_release(s) < 0)
		return -ETIMEDOUT;
	return rc == -ETIMEDOUT ? -EAGAIN : rc;
}

/* --- in the stopped thread -------------------------------------------------------------------- */

int attach_remote(struct attach_stop *s, long nr, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct r = s->regs;

	r.rip = s->safety->shelter.system_call;
	r.rsp = s->safety->kept->stack;
	r.rax = nr;
	r.orig_rax = -1;
	r.rdi = args[0];
	r.rsi = args[1];
	r.rdx = args[2];
	r.r10 = args[3];
	r.r8 = args[4];
	r.r9 = args[5];
	if (trace(PTRACE_SETREGS, s->tid, NULL, &r) < 0)
		return -ESRCH;
	int rc = until_syscall_stop(s); /* at its entry */
	if (rc == 0)
		rc = until_syscall_stop(s);
	if (rc == 0 && trace(PTRACE_GETREGS, s->tid, NULL, &r) < 0)
		rc = -ESRCH;
	if (rc == 0)
		*result = r.rax;
	return rc;
}

int attach_run(struct attach_stop *s, const struct attach_code_place *at, uint64_t rsp,
	       uint64_t r12, uint64_t r13, uint64_t r14)
{
	struct user_regs_struct r = s->regs;

	r.orig_rax = -1;
	r.rip = at->code;
	r.rsp = rsp;
	r.r12 = r12;
	r.r13 = r13;
	r.r14 = r14;
	r.r15 = 0;
	s->safety->kept->park_end = at->park_end;
	__atomic_store_n(&s->safety->kept->park, at->park, __ATOMIC_SEQ_CST);
	if (trace(PTRACE_SETREGS, s->tid, NULL, &r) < 0)
		return -ESRCH;
	return go_on(s, PTRACE_CONT, 0) < 0 ? -ESRCH : 0;
}

/* Returns whether the signal is a fault, not one that was sent. */
static bool is_fault(const struct attach_stop *s)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	siginfo_t info = { 0 };

	if (trace(PTRACE_GETSIGINFO, s->tid, NULL, &info) < 0 || info.si_code <= 0)
		return false;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (s->sig == faults[i])
			return true;
	return false;
}

bool attach_is_running(struct attach_stop *s, int *sig)
{
	int status;
	int rc = wait_stop(s, 0, &status);

	*sig = 0;
	if (rc == -ETIMEDOUT)
		return true;
	if (rc < 0)
		return false;
	if (status >> 16 == PTRACE_EVENT_STOP) /* the process is being stopped: only after us */
		return go_on(s, PTRACE_CONT, 0) == 0;
	if (!is_fault(s)) /* deliver the sent signal; SIGSTOP stops the other threads */
		return go_on(s, PTRACE_CONT, s->sig) == 0;
	*sig = s->sig;
	s->sig = 0;
	return false;
}

int attach_interrupt(struct attach_stop *s, bool is_sure, struct user_regs_struct *at)
{
	int status, rc = 0;

	if (!s->is_stopped) {
		rc = trace(PTRACE_INTERRUPT, s->tid, NULL, NULL);
		if (rc == 0)
			rc = is_sure ? wait_surely(s, &status)
				     : wait_stop(s, clock_mono_ns() + STOP_NS, &status);
	}
	if (rc == 0 && trace(PTRACE_GETREGS, s->tid, NULL, at) < 0)
		rc = -ESRCH;
	return rc;
}

void attach_give_back(struct attach_stop *s)
{
	if (s->is_traced && s->is_stopped) {
		trace(PTRACE_SETSIGMASK, s->tid, (void *)sizeof s->mask, &s->mask);
		__atomic_store_n(&s->safety->kept->stage, ATTACH_LEAVING, __ATOMIC_SEQ_CST);
		trace(PTRACE_SETREGS, s->tid, NULL, &s->regs);
	}
	attach_release(s);
}

/* --- a thread whose tracer is dead ------------------------------------------------------------ */

static bool is_in_our_hands(const struct attach_kept *k, const struct user_regs_struct *at)
{
	const struct attach_shelter *to = &k->shelter;
	bool on_stack = at->rsp == k->stack || at->rsp == k->stack + sizeof(uint64_t);

	return (on_stack && at->rip >= to->system_call &&
		at->rip <= to->system_call + SYSCALL_BYTES) ||
	       (on_stack && at->rip >= to->loop && at->rip < to->loop + LOOP_BYTES) ||
	       (k->park && at->rip >= k->park && at->rip < k->park_end);
}

/* Returns false: not now, because a signal handler or pthread_create may be running. */
static bool put_right(struct attach_stop *s, const struct user_regs_struct *at, int status)
{
	const struct attach_kept *k = s->safety->kept;
	bool is_ours = is_in_our_hands(k, at);

	if (is_ours) {
		s->regs = k->regs;
		s->mask = k->mask;
		attach_give_back(s);
	} else {
		hide_interrupt(s, status);
		detach(s);
	}
	return is_ours;
}

bool attach_rescue(const struct attach_safety *safety)
{
	struct attach_kept *k = safety->kept;
	struct user_regs_struct at;
	struct attach_stop s;
	int status;

	lower(k);
	if (__atomic_load_n(&k->stage, __ATOMIC_SEQ_CST) == ATTACH_ITS_OWN)
		return true;
	int rc = seize(&s, safety, k->pid, k->tid);
	if (rc == -EPERM)
		return false;
	if (rc == 0)
		rc = trace(PTRACE_INTERRUPT, s.tid, NULL, NULL);
	if (rc == 0)
		rc = wait_surely(&s, &status);
	return rc < 0 || trace(PTRACE_GETREGS, s.tid, NULL, &at) < 0 || put_right(&s, &at, status);
}

#endif
