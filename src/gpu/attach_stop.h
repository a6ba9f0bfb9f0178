/* gpu/attach_stop.h: one thread of another process, stopped by ptrace, made to do system calls and to run code, and given back.
 *
 * Everything by one thread of ours, which the kernel takes for the tracer: when that ends, however it ends, nothing stays traced or stopped.
 *
 * A thread whose tracer is killed goes on with the registers it has just then. So those of ours never lead back into the program: a system call is done by a
 * "syscall; ret" of its C library, and returns to where it waits for ever:
 *
 *     stack      address of "pop %rsp; ret"      the call returns to it
 *     stack + 8  stack                           which takes this for its stack, and so returns to itself
 *
 * From there it is taken by a guardian (gpu/attach_guard.h), with what attach_kept says. */
#ifndef CRESSET_GPU_ATTACH_STOP_H
#define CRESSET_GPU_ATTACH_STOP_H

#ifdef __x86_64__

#include "gpu/attach_shelter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Whose registers it has. */
enum attach_holder {
	ATTACH_ITS_OWN,
	ATTACH_TAKING,
	ATTACH_HELD,
	ATTACH_LEAVING,
};

/* All that is needed to put a thread right. */
struct attach_kept {
	uint32_t stage;     /* enum attach_holder */
	uint32_t is_raised; /* it comes before others */
	pid_t pid, tid;
	struct user_regs_struct regs; /* with which it restarts the call */
	uint64_t mask;                /* signals it had blocked */
	struct attach_shelter shelter;
	uint64_t stack; /* in the shelter */
	uint64_t park,
		park_end;  /* code of ours in which it waits to be taken back; 0: it runs none */
	uint8_t sched[64]; /* struct sched_attr it had; the first word is 0 where it is not known */
};

struct attach_safety {
	struct attach_shelter shelter;
	struct attach_kept *kept; /* filled before anything changes */
	/* A call of ours takes longer than a second. NULL: nobody wants to know. */
	void (*slow)(void *ctx, pid_t tid);
	void *ctx;
};

struct attach_stop {
	const struct attach_safety *safety;
	pid_t pid, tid;
	struct user_regs_struct regs; /* what it goes on with */
	uint64_t mask;                /* signals it had blocked */
	uint64_t site;                /* of the system call instruction it is at */
	int nr;                       /* of the call it was in */
	bool is_rewound; /* the call had failed since it was stopped, and is restarted */
	bool is_traced, is_stopped, is_taken;
	int sig;           /* that it was about to get when it stopped */
	uint64_t since_ns; /* of the stop */
};

/* The thread that calls this comes before all that share the processors by turns: otherwise the stop would take as many turns as
 * there are steps. Without the permission nothing changes. */
void attach_hurry(bool on);

/* 0, stopped in a system call: regs, nr, site are there. -EAGAIN: it is in none now, and goes on; -ETIMEDOUT: it can neither be stopped nor let go: it goes on when
 * this thread of ours ends; -ESRCH; -EPERM. */
int attach_stop(struct attach_stop *s, const struct attach_safety *safety, pid_t pid, pid_t tid);

/* Watches its system calls instead until it enters one that `wanted` takes; it is stopped before that has begun. -EAGAIN: none until then. */
typedef bool attach_wanted_fn(void *ctx, const struct attach_stop *s);
int attach_stop_at_entry(struct attach_stop *s, const struct attach_safety *safety, pid_t pid,
			 pid_t tid, uint64_t until_ns, attach_wanted_fn *wanted, void *ctx);

/* Before anything of the thread is changed: what it has is kept, its shelter is made, and signals wait. 0; -EAGAIN: there is no room below its stack; -ESRCH. */
int attach_take(struct attach_stop *s);
/* No signal but those of `open` reaches it. */
int attach_block_signals(struct attach_stop *s, uint64_t open);
/* A system call in the stopped thread, however long it takes: with registers of ours it is not let go. 0 and its result; -ESRCH: it is gone. */
int attach_remote(struct attach_stop *s, long nr, const uint64_t args[6], int64_t *result);
/* It comes before others, as the tracer does; threads that it makes do not. */
void attach_raise(struct attach_stop *s);
/* Goes on at `code`, where it waits between park and park_end when it is done. */
struct attach_code_place {
	uint64_t code, park, park_end;
};
int attach_run(struct attach_stop *s, const struct attach_code_place *at, uint64_t rsp,
	       uint64_t r12, uint64_t r13, uint64_t r14);
/* Whether it still runs there. False: it has stopped by itself: a fault, with its signal in *sig; or it is gone (0). */
bool attach_is_running(struct attach_stop *s, int *sig);
/* Stops it again, wherever it is; *at: where. is_sure: however long that takes. */
int attach_interrupt(struct attach_stop *s, bool is_sure, struct user_regs_struct *at);

/* Registers and signals as they were, and let go. Fine when it is gone. */
void attach_give_back(struct attach_stop *s);
/* Without touching its registers. 0; -ETIMEDOUT: as of attach_stop. */
int attach_let_go(struct attach_stop *s);

/* The registers with which the thread itself would restart the call. */
void attach_regs_restarted(const struct attach_stop *s, struct user_regs_struct *out);

/* Of a thread whose tracer is dead: puts it right. False: not now: somebody else traces it, or it is in the middle of what we had it call, or by itself already. */
bool attach_rescue(const struct attach_safety *safety);

#endif
#endif
