/* collect/kernel/wait_pace.h: limits how many waits all CPUs together record, based on what each
 * has seen. CPUs write only their own numbers (bpf/task_times.h), and the reader adds them up each
 * time it reads, at least four times a second.
 *
 * Time is cut into quanta. A wait that contains a random moment of a quantum is taken and weighs
 * the quantum: sums stay unbiased, exact times are not affected. With more than 4,096 pending
 * waits `up` and `agent` report them in turns, each thread every 2nd to 16th interval, because
 * rows for all at every cut are more than a store takes. A report covers the time since the
 * previous one, and an ended wait is reported immediately: sums are exact, but late. */
#ifndef CRESSET_COLLECT_KERNEL_WAIT_PACE_H
#define CRESSET_COLLECT_KERNEL_WAIT_PACE_H

#include <stddef.h>
#include <stdint.h>

struct wait_rate;

struct wait_pace {
	uint64_t per_window; /* stacks to take in RATE_WINDOW_NS, ≥ 1 */
	uint64_t looked_ns;  /* last look; 0: none yet */
	uint64_t seen, seen_ns;
	uint64_t *cpu_ns; /* [n_cpus]: seen_ns of each. The caller's, zeroed first */
	size_t n_cpus;
};
struct wait_limits {
	uint64_t quantum_ns; /* shorter waits are sampled; 0: none are */
	/* waits that one CPU may take on its own in a window until the next look, ≥ 1 */
	uint64_t cpu_waits;
};

/* Limits before anything was seen. */
struct wait_limits wait_pace_begin(const struct wait_pace *p);
/* Computes new limits from the current numbers of all CPUs; call it no sooner than RATE_WINDOW_NS /
 * 2 after the last call. */
struct wait_limits wait_pace_look(struct wait_pace *p, const struct wait_rate *cpus,
				  uint64_t now_ns);

/* Very many pending waits are reported in turns. Returns the number of turns: each report has one
 * of that many threads; 1: all threads. pending: number of pending waits at the last report. All
 * turns together, a period each, take at most max_ns. */
#define WAIT_REPORTED_WITHIN_NS 200000000000ull /* each pending wait is reported again within it */
/* limit WAIT_PACE_AT_ONCE: pending waits in a report of up, agent; more arrive in turns */
/* limit WAIT_PACE_TURNS_MOST: turns until each is reported */
enum { WAIT_PACE_AT_ONCE = 4096, WAIT_PACE_TURNS_MOST = 16 };
uint32_t wait_pace_turns(uint64_t pending, uint64_t period_ns, uint64_t max_ns);

#endif
