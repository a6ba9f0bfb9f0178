/* profile/thread.h: exact times of each thread by state, measured at every context switch, not by
 * sampling.
 *
 *     first_ns ── on-CPU │ off-CPU │ waiting for a CPU │ … ── last_ns
 *
 * A row is one thread of one recording, from its own or the recording's start to its own or the
 * recording's end. The four sums add up to this time, except for losses. */
#ifndef CRESSET_PROFILE_THREAD_H
#define CRESSET_PROFILE_THREAD_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct thread_times {
	uint32_t pid, tid;
	uint32_t name;             /* string */
	int64_t first_ns, last_ns; /* on the samples' clock */
	int64_t on_ns;
	int64_t off_ns;     /* blocked */
	int64_t wait_ns;    /* runnable, without a CPU */
	int64_t stopped_ns; /* by a signal or a tracer */
};
struct thread_table { /* zeroed = empty */
	VEC(struct thread_times) all;
	struct map index;
};

/* A later row of the same thread (pid, tid, first_ns) replaces the earlier one. */
void thread_table_put(struct thread_table *t, const struct thread_times *row);
void thread_table_done(struct thread_table *t);

#endif
