/* gpu/ring/join.h: assigns GPU time to stacks: joins the work of a device with the stack of the
 * call that launched it.
 *
 * Three streams arrive, in no order between them:
 *
 *     gpu_join_stack   from the probe cresset:launch (correlation, cbid, weight), with the stack
 *                      taken there
 *     gpu_join_call    RING_CALL: each launch, with its thread
 *     gpu_join_work    RING_KERNEL, RING_COPY, …: what ran, and how long
 *
 * Work whose launch has a stack is assigned to it, exactly, as soon as both have arrived. Work
 * whose launch has none after hold_ns is added to a sum per (process, thread, work). gpu_join_flush
 * shares out each sum in proportion to the sampled launches of the same thread and work, or of the
 * process if the thread has none, or else to stack 0. So totals are exact, and estimates are marked
 * and have an interval.
 *
 * A sampled launch with weight w stands for w launches, its time x for w·x: a stack's share is p =
 * Σ_stack w·x / Σ w·x. Its interval is Wilson's (profile/change/interval.h) at 1 /
 * (Σ(w·x)²/(Σ w·x)² + 1/n) samples, where n is the number of launches that are shared out:
 * this covers the uncertainty of the share and the scatter of those launches about it.
 *
 * Memory is bounded: only the last max_launches launches are known. */
#ifndef CRESSET_GPU_RING_JOIN_H
#define CRESSET_GPU_RING_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_join;

struct gpu_join_opts {
	uint32_t max_launches; /* 0: 131072 */
	uint64_t hold_ns;      /* how long a stack may arrive after the work; 0: 2 s */
	double z;              /* of the intervals; 0: 1.96, for 95 % */
	/* Called for each piece of work that is added to a sum, before the sum is shared out; may
	 * be NULL. ctx is that of gpu_share_fn. */
	void (*held)(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns);
};

/* A piece of GPU time, or a share of a sum. stack 0: unknown. work: the caller's number for it. */
struct gpu_share {
	uint32_t pid, stack, work;
	uint64_t ns;
	uint64_t low_ns, high_ns; /* of an estimate; ns when exact */
	/* the number of samples that an estimate rests on, as an effective size; 0: exact, or
	 * unknown */
	uint32_t samples;
	uint64_t start_ns;  /* of the piece of work, when exact */
	uint64_t launch_ns; /* of its launch, when exact */
	bool is_exact;
};
typedef void gpu_share_fn(void *ctx, const struct gpu_share *share);

struct gpu_join *gpu_join_new(const struct gpu_join_opts *opts, gpu_share_fn *fn, void *ctx);
void gpu_join_free(struct gpu_join *j); /* NULL is fine; unflushed data is lost */

/* stack: not 0. weight: at least 1. time_ns is passed back with exact shares. */
void gpu_join_stack(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t stack,
		    uint32_t weight, uint64_t time_ns);
void gpu_join_call(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t tid);
/* start_ns is passed back with the share when it is exact. */
void gpu_join_work(struct gpu_join *j, uint32_t pid, uint32_t correlation, uint32_t work,
		   uint64_t start_ns, uint64_t ns, uint64_t now_ns);

/* The process now runs another program, whose correlations start again: forgets all its
 * launches. */
void gpu_join_forget(struct gpu_join *j, uint32_t pid);

/* Gives up on stacks for work that has waited long enough. */
void gpu_join_finish(struct gpu_join *j, uint64_t now_ns);
/* Stops waiting and shares out all sums. For the end of each profile. */
void gpu_join_flush(struct gpu_join *j);

/* Shares out all sums and retains waiting. */
void gpu_join_share(struct gpu_join *j);
bool gpu_join_waits(const struct gpu_join *j); /* for the stack of some work */
/* The caller renumbers its stacks: calls to(ctx, stack) for each stack that is remembered, at least
 * once; 0: the stack is forgotten. Only right after gpu_join_share or gpu_join_flush. */
void gpu_join_rename(struct gpu_join *j, uint32_t (*to)(void *ctx, uint32_t stack), void *ctx);

/* Since gpu_join_new. */
struct gpu_join_counts {
	uint64_t exact_ns, estimated_ns, unknown_ns; /* unknown: to stack 0 */
	uint64_t forgotten;                          /* launches dropped to make space for others */
};
struct gpu_join_counts gpu_join_counts(const struct gpu_join *j);

#endif
