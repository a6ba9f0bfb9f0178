/* attach/attach_stop.h: stops one thread of another process by ptrace, makes it do system calls and
 * run code, and gives it back.
 *
 * Everything is done by one thread of ours, which the kernel regards as the tracer: when that ends,
 * however it ends, nothing stays traced or stopped.
 *
 * A thread whose tracer is killed continues with its current registers. So our registers never lead
 * back into the program: a system call is done by a "syscall; ret" of its C library, and returns to
 * an endless loop:
 *
 *     stack      address of "pop %rsp; ret"      the call returns to it
 *     stack + 8  stack                           popped into %rsp, so the loop returns to itself
 *
 * A guardian takes it from there (attach/attach_guard.h), with what attach_kept has. */
#ifndef CRESSET_ATTACH_ATTACH_STOP_H
#define CRESSET_ATTACH_ATTACH_STOP_H

#ifdef __x86_64__

#include "attach/attach_symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Whose registers the thread has. */
enum attach_holder {
	ATTACH_ITS_OWN,
	ATTACH_TAKING,
	ATTACH_HELD,
	ATTACH_LEAVING,
};

/* Everything needed to restore a thread. */
struct attach_kept {
	uint32_t stage;     /* enum attach_holder */
	uint32_t is_raised; /* its priority was raised */
	pid_t pid, tid;
	struct user_regs_struct regs; /* registers that restart the call */
	uint64_t mask;                /* signals it blocked */
	struct attach_shelter shelter;
	uint64_t stack;          /* address in the shelter */
	uint64_t park, park_end; /* our code in which it waits to be taken back; 0: it runs none */
	uint8_t sched[64];       /* original struct sched_attr; first word 0: unknown */
};

struct attach_safety {
	struct attach_shelter shelter;
	struct attach_kept *kept; /* filled before anything changes */
	/* Called when a call of ours takes longer than a second. May be NULL. */
	void (*slow)(void *ctx, pid_t tid);
	void *ctx;
};

struct attach_stop {
	const struct attach_safety *safety;
	pid_t pid, tid;
	struct user_regs_struct regs; /* registers that it continues with */
	uint64_t mask;                /* signals it blocked */
	uint64_t site;                /* of its current system call instruction; 0: none */
	int nr;                       /* of the call it was in; -1: none */
	bool is_rewound;              /* the call failed because of the stop, and is restarted */
	bool is_traced, is_stopped, is_taken;
	int sig;           /* signal it was about to get at the stop */
	uint64_t since_ns; /* time of the stop */
};

/* Gives the calling thread precedence over all that share CPUs by time slices: otherwise the stop
 * would take as many time slices as it has steps. Without permission it changes nothing. */
void attach_hurry(bool on);

/* Returns 0: stopped in a system call in which threads park; regs, nr, site are set. -EAGAIN: it is
 * in none now, and continues; -ETIMEDOUT: it can neither be stopped nor released: it continues when
 * this thread of ours ends; -ESRCH; -EPERM. */
int attach_stop(struct attach_stop *s, const struct attach_safety *safety, pid_t pid, pid_t tid);

/* The same for a thread in no system call: nr is -1. -EAGAIN: it is in one. */
int attach_stop_running(struct attach_stop *s, const struct attach_safety *safety, pid_t pid,
			pid_t tid);

/* Like attach_stop, but watches its system calls until it enters one that `wanted` accepts; it is
 * stopped before the call has started. -EAGAIN: none until until_ns. */
typedef bool attach_wanted_fn(void *ctx, const struct attach_stop *s);
int attach_stop_at_entry(struct attach_stop *s, const struct attach_safety *safety, pid_t pid,
			 pid_t tid, uint64_t until_ns, attach_wanted_fn *wanted, void *ctx);

/* Call it before anything of the thread is changed: saves its state, prepares its shelter, and
 * blocks signals. Returns 0; -EAGAIN: no space below its stack; -ESRCH. */
int attach_take(struct attach_stop *s);
/* Blocks all signals but those of `open`. */
int attach_block_signals(struct attach_stop *s, uint64_t open);
/* Does a system call in the stopped thread, however long it takes: with our registers it is not
 * released. Returns 0 and its result; -ESRCH: the thread is gone. */
int attach_remote(struct attach_stop *s, long nr, const uint64_t args[6], int64_t *result);
/* Gives the thread the same precedence as the tracer; threads that it creates do not inherit it. */
void attach_raise(struct attach_stop *s);
/* Runs `code`; when that is done, the thread waits between park and park_end. */
struct attach_code_place {
	uint64_t code, park, park_end;
};
int attach_run(struct attach_stop *s, const struct attach_code_place *at, uint64_t rsp,
	       uint64_t r12, uint64_t r13, uint64_t r14);
/* Returns whether it still runs there. False: it stopped on its own, with a fault whose signal is
 * in *sig; or it is gone (0). */
bool attach_is_running(struct attach_stop *s, int *sig);
/* Stops it again, wherever it is. *at: its registers. is_sure: waits however long that takes. */
int attach_interrupt(struct attach_stop *s, bool is_sure, struct user_regs_struct *at);

/* Restores registers and signals, and releases the thread. It may be gone. */
void attach_give_back(struct attach_stop *s);
/* Releases it without touching its registers. Returns 0; -ETIMEDOUT: as attach_stop. */
int attach_release(struct attach_stop *s);

/* Returns the registers with which the thread itself would restart the call. */
void attach_regs_restarted(const struct attach_stop *s, struct user_regs_struct *out);

/* Restores a thread whose tracer is dead. Returns false: not now, because another process traces
 * it, or it is in the middle of what we had it call, or it already continues on its own. */
bool attach_rescue(const struct attach_safety *safety);

#endif
#endif
