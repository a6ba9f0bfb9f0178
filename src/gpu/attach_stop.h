/* gpu/attach_stop.h: one thread of another process, stopped by ptrace, made to do system calls and to run code, and given back.
 *
 * Everything by one thread of ours, which the kernel takes for the tracer: when that ends, however it ends, nothing stays traced or stopped. */
#ifndef CRESSET_GPU_ATTACH_STOP_H
#define CRESSET_GPU_ATTACH_STOP_H

#ifdef __x86_64__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct attach_stop {
	pid_t pid, tid;
	struct user_regs_struct regs; /* what it goes on with */
	uint64_t mask;                /* signals it had blocked */
	uint64_t site;                /* of the system call instruction it is at */
	int nr;                       /* of the call it was in */
	bool is_rewound; /* the call had failed since it was stopped, and is begun anew */
	bool is_traced, is_stopped;
	int sig;           /* that it was about to get when it stopped */
	uint64_t since_ns; /* of the stop */
	uint8_t sched[64]; /* struct sched_attr it had; the first word is 0 where it is not known */
	bool is_raised;
};

/* The thread that calls this, and threads while they are stopped, come before all that share the processors by turns: otherwise the stop would take as many turns as
 * there are steps. Without the permission nothing changes. */
void attach_hurry(bool on);

/* 0, stopped in a system call: regs, nr, site are there. -EAGAIN: it is in none now, and goes on; -ETIMEDOUT: it does not stop; -ESRCH; -EPERM. */
int attach_stop(struct attach_stop *s, pid_t pid, pid_t tid);

/* Watches its system calls instead until it enters one that `wanted` takes; it is stopped before that has begun. -EAGAIN: none until then. */
typedef bool attach_wanted_fn(void *ctx, const struct attach_stop *s);
int attach_stop_at_entry(struct attach_stop *s, pid_t pid, pid_t tid, uint64_t until_ns,
			 attach_wanted_fn *wanted, void *ctx);

/* No signal but those that faults make reaches it. */
int attach_block_signals(struct attach_stop *s, uint64_t mask);
/* A system call in the stopped thread. 0 and its result, or -errno of ours: it is gone. */
int attach_remote(struct attach_stop *s, long nr, const uint64_t args[6], int64_t *result);
/* Goes on elsewhere. */
int attach_run(struct attach_stop *s, uint64_t rip, uint64_t rsp, uint64_t r12, uint64_t r13,
	       uint64_t r14);
/* Whether it still runs there. False: it has stopped by itself: a fault, with its signal in *sig; or it is gone (0). */
bool attach_is_running(struct attach_stop *s, int *sig);
/* Stops it again, wherever it is; *at: where. */
int attach_interrupt(struct attach_stop *s, struct user_regs_struct *at);

/* Registers and signals as they were, and let go. Fine when it is gone. */
void attach_give_back(struct attach_stop *s);
/* Without touching its registers. */
void attach_let_go(struct attach_stop *s);

/* The registers with which the thread itself would begin the call anew. */
void attach_regs_restarted(const struct attach_stop *s, struct user_regs_struct *out);

#endif
#endif
