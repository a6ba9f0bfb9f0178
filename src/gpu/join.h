/* gpu/join.h: whose GPU time it is: work of the device meets the stack of the call that launched it.
 *
 * Three streams arrive, in no order among each other:
 *
 *     gpu_join_stack   of the probe cresset:launch (correlation, cbid, weight), with the stack taken there
 *     gpu_join_call    RING_CALL: each launch, by which thread
 *     gpu_join_work    RING_KERNEL, RING_COPY, …: what ran, how long
 *
 * Work whose launch has a stack goes to it, exactly, as soon as both are there. Work whose launch has none after
 * hold_ns is kept in a sum for (process, thread, work) until gpu_join_flush, which shares it out as the sampled
 * launches of the same thread and work went, of the process where the thread has none, else to stack 0. So totals are
 * exact, and what of them is an estimate is marked, with an interval.
 *
 * A sampled launch with weight w stands for w of them, its time x for w·x: a stack's share is p = Σ_stack w·x / Σ
 * w·x. Its interval is Wilson's (profile/interval.h) at 1 / (Σ(w·x)²/(Σ w·x)² + 1/n) samples, n the launches that are
 * shared out: what is known of the share, and how far those launches scatter about it themselves.
 *
 * Memory is bounded: of launches the last max_launches are known. */
#ifndef CRESSET_GPU_JOIN_H
#define CRESSET_GPU_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_join;

struct gpu_join_opts {
	uint32_t max_launches; /* 0: 131072 */
	uint64_t hold_ns;      /* how long a stack may come after the work; 0: 2 s */
	double z;              /* of the intervals; 0: 1.96, 95 in 100 */
	/* Told of each piece of work that goes into a sum, before that is shared out; may be NULL. ctx is the shares'. */
	void (*held)(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns);
};

/* A piece of GPU time, or a share of a sum. stack 0: not known. work: what the caller called it. */
struct gpu_share {
	uint32_t pid, stack, work;
	uint64_t ns;
	uint64_t low_ns, high_ns; /* of an estimate; ns when exact */
	uint32_t
		samples; /* that an estimate rests on, as many as scatter like it; 0: exact, or not known */
	uint64_t start_ns;  /* of the one piece of work, when exact */
	uint64_t launch_ns; /* of its launch, likewise */
	bool is_exact;
};
typedef void gpu_share_fn(void *ctx, const struct gpu_share *share);

struct gpu_join *gpu_join_new(const struct gpu_join_opts *opts, gpu_share_fn *fn, void *ctx);
void gpu_join_free(struct gpu_join *j); /* NULL is fine; what has not been flushed is gone */

/* stack: not 0. weight: at least 1. time_ns is handed back with shares that are exact. */
void gpu_join_stack(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t stack,
		    uint32_t weight, uint64_t time_ns);
void gpu_join_call(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t tid);
/* start_ns is handed back with the share when it is exact. */
void gpu_join_work(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t work,
		   uint64_t start_ns, uint64_t ns, uint64_t now_ns);

/* The process runs another program from here on, whose correlations begin anew: none of its launches is remembered. */
void gpu_join_forget(struct gpu_join *j, uint32_t pid);

/* Gives up waiting for stacks of what has waited long enough. */
void gpu_join_settle(struct gpu_join *j, uint64_t now_ns);
/* Waits for nothing any more and shares out all sums. At the end of each profile. */
void gpu_join_flush(struct gpu_join *j);

/* Shares out all sums, and goes on waiting. */
void gpu_join_share(struct gpu_join *j);
bool gpu_join_waits(const struct gpu_join *j); /* for the stack of something that ran */
/* Stacks are called otherwise from now on: to(ctx, stack) of each that is remembered, once or more; 0: it is forgotten. Right after
 * gpu_join_share or gpu_join_flush. */
void gpu_join_rename(struct gpu_join *j, uint32_t (*to)(void *ctx, uint32_t stack), void *ctx);

/* Since it was made. */
struct gpu_join_counts {
	uint64_t exact_ns, estimated_ns, unknown_ns; /* unknown: to stack 0 */
	uint64_t forgotten;                          /* launches that made room for others */
};
struct gpu_join_counts gpu_join_counts(const struct gpu_join *j);

#endif
