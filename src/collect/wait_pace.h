/* collect/wait_pace.h: what all CPUs together may take of waits, from what each has seen: CPUs write their own numbers only (bpf/task_times.h), and
 * the reader adds them up each time that it reads, at least four times a second. */
#ifndef CRESSET_COLLECT_WAIT_PACE_H
#define CRESSET_COLLECT_WAIT_PACE_H

#include "bpf/thread_time.h"

#include <stddef.h>
#include <stdint.h>

struct wait_pace {
	uint64_t per_window; /* stacks that are asked for in RATE_WINDOW_NS, ≥ 1 */
	uint64_t looked_ns;  /* 0: not yet */
	uint64_t seen, seen_ns;
	uint64_t *cpu_ns; /* [n_cpus]: seen_ns of each. The caller's, zeroed at first */
	size_t n_cpus;
};
struct wait_limits {
	uint64_t quantum_ns; /* waits shorter than this are sampled; 0: none is */
	uint64_t
		cpu_waits; /* what one CPU may take in a window by itself, until the next look, ≥ 1 */
};

/* Before anything was seen. */
struct wait_limits wait_pace_begin(const struct wait_pace *p);
/* From the numbers of all CPUs now; call it no sooner than RATE_WINDOW_NS / 2 after the last time. */
struct wait_limits wait_pace_look(struct wait_pace *p, const struct wait_rate *cpus,
				  uint64_t now_ns);

#endif
