/* collect/walker/account.h: exact times of threads, and the samples of `wall`, held until those are
 * known.
 *
 * A `wall` profile adds up to the lifetime of every thread. Its on-CPU samples are statistical:
 * here they are scaled so that those of a thread add up to its exact time on the CPU. Waits are
 * scaled as well, if only some were sent. Time without a sample becomes a separate leaf:
 *
 *     [on-CPU, not sampled]   [off-CPU below 1ms] [sched-wait] [blocked: stopped] [waiting for GPU]
 *                             [waiting for GPU below 1ms] */
#ifndef CRESSET_COLLECT_WALKER_ACCOUNT_H
#define CRESSET_COLLECT_WALKER_ACCOUNT_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* The kind of time that a sample is a part of; ACCOUNT_NONE: it goes to the sink unchanged. */
enum account_part {
	ACCOUNT_NONE = 0,
	ACCOUNT_ON_CPU,
	ACCOUNT_OFF_CPU,
	ACCOUNT_SCHED_WAIT,
	ACCOUNT_STOPPED,
	ACCOUNT_GPU_SPIN,  /* on the CPU in a call that waits for a GPU */
	ACCOUNT_GPU_SLEEP, /* … blocked */
	ACCOUNT_PARTS
};

/* No more samples are held: they are then scaled by what is known. */
/* limit: wall samples waiting for their threads' times */
enum { ACCOUNT_MAX_HELD = 256 << 10 };

struct account_opts {
	struct sink *sink;
	bool wall; /* hold samples, add leaves for the rest */
	/* For the name of the leaf of waits below, or above (0: no limit shown). */
	uint64_t min_block_ns, max_block_ns;
	int64_t start_ns; /* of the recording; earlier threads start then */
};
/* Series for time of a thread without samples. */
struct account_series {
	uint32_t rest, spin, sleep; /* spin: of ACCOUNT_GPU_SPIN; sleep: of ACCOUNT_GPU_SLEEP */
};
struct account {
	uint32_t tid;
	struct account_series series;
	bool over;  /* the thread has ended, or has another id now */
	bool known; /* exact times are known */
	struct event_thread exact;
	int64_t until_ns;                   /* time passed on to the sink so far: */
	int64_t given_long[ACCOUNT_PARTS];  /* as samples, or in place of some */
	int64_t given_short[ACCOUNT_PARTS]; /* below the minimum */
};
struct held_sample {
	struct sample sample;
	uint32_t account;
	uint32_t part;
};
struct accounts {
	struct account_opts opts;
	struct map by_tid;
	VEC(struct account) all;
	VEC(struct held_sample) held;
	size_t alive;         /* threads alive at the last check */
	int64_t short_off_ns; /* of all threads: waits that did not pass the filter */
};

void accounts_init(struct accounts *a, const struct account_opts *opts);
void accounts_done(struct accounts *a);

/* Passes a sample on to the sink, or holds it. */
void account_sample(struct accounts *a, const struct sample *s, enum account_part part);
/* Takes the exact times of a thread until now; series: for `wall`. */
void account_thread(struct accounts *a, const struct event_thread *t,
		    const struct account_series *series);
/* Passes all held samples on to the sink, and leaves for the missing time. Call it when the times
 * of all threads have just come. */
void accounts_flush(struct accounts *a);

/* From here on samples go to another sink. Not with `wall`, whose samples and series are held
 * here. */
static inline void accounts_set_sink(struct accounts *a, struct sink *sink)
{
	a->opts.sink = sink;
}

/* Returns whether it is time to request thread times. */
static inline bool accounts_are_full(const struct accounts *a)
{
	return a->held.n >= ACCOUNT_MAX_HELD;
}

#endif
