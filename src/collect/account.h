/* collect/account.h: exact times of threads, and the samples of `wall`, held until those are known.
 *
 * A `wall` profile adds up to the life of every thread. Its samples on the CPU are a statistic: here they are scaled so that those of a
 * thread add up to its exact time on the CPU; so are waits where only some were sent. What has no sample becomes a leaf of its own:
 *
 *     [on-CPU, not sampled]   [off-CPU below 1ms]   [sched-wait]   [blocked: stopped]   [waiting for GPU]   [waiting for GPU below 1ms]
 */
#ifndef CRESSET_COLLECT_ACCOUNT_H
#define CRESSET_COLLECT_ACCOUNT_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

/* What a sample is a part of; ACCOUNT_NONE: it goes to the sink as it is. */
enum account_part {
	ACCOUNT_NONE = 0,
	ACCOUNT_ON_CPU,
	ACCOUNT_OFF_CPU,
	ACCOUNT_SCHED_WAIT,
	ACCOUNT_STOPPED,
	ACCOUNT_GPU_SPIN,  /* inside a call that waits for a GPU, on the CPU */
	ACCOUNT_GPU_SLEEP, /* … blocked */
	ACCOUNT_PARTS
};

/* More samples are not held: they are scaled by what is known then. */
enum { ACCOUNT_MAX_HELD = 256 << 10 };

struct account_opts {
	struct sink *sink;
	bool wall; /* samples are held, leftovers made */
	/* For the name of what is below, or above (0: nothing is meant to be). */
	uint64_t min_block_ns, max_block_ns;
	int64_t start_ns; /* of the recording: threads that were there before begin then */
};
/* Of what a thread has no samples of. */
struct account_series {
	uint32_t rest, spin, sleep; /* the latter two: of ACCOUNT_GPU_SPIN and ACCOUNT_GPU_SLEEP */
};
struct account {
	uint32_t tid;
	struct account_series series;
	bool over;  /* the thread has ended, or goes by another id now */
	bool known; /* exact times have come */
	struct event_thread exact;
	int64_t until_ns;                   /* of what went to the sink so far: */
	int64_t given_long[ACCOUNT_PARTS];  /* as samples, or instead of some */
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
	size_t alive;         /* threads that had not ended when that was last looked at */
	int64_t short_off_ns; /* of all threads: waits that did not pass the filter */
};

void accounts_init(struct accounts *a, const struct account_opts *opts);
void accounts_done(struct accounts *a);

/* One sample: to the sink, or held. */
void account_sample(struct accounts *a, const struct sample *s, enum account_part part);
/* The exact times of a thread until now; series: for `wall`. */
void account_thread(struct accounts *a, const struct event_thread *t,
		    const struct account_series *series);
/* All that is held goes to the sink, with what is missing. Call it when the times of all threads have just come. */
void accounts_flush(struct accounts *a);

/* From here on samples go to another sink. Not with `wall`, whose samples and series are held here. */
static inline void accounts_set_sink(struct accounts *a, struct sink *sink)
{
	a->opts.sink = sink;
}

/* True when it is time to ask for them. */
static inline bool accounts_are_full(const struct accounts *a)
{
	return a->held.n >= ACCOUNT_MAX_HELD;
}

#endif
