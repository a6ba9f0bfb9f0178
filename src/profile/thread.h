/* profile/thread.h: where the time of each thread went, exactly: measured at every switch of the scheduler, not by samples.
 *
 *     first_ns ── on-CPU │ off-CPU │ waiting for a CPU │ … ── last_ns
 *
 * A row is one thread of one recording: from its start, or that of the recording, to its end, or that of the recording. The four sums
 * add up to its life, but for what was lost. */
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
