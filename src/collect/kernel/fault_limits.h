/* collect/kernel/fault_limits.h: what watching page faults may cost, and how many are recorded.
 *
 * No clocks and no kernel: tests script both. */
#ifndef CRESSET_COLLECT_KERNEL_FAULT_LIMITS_H
#define CRESSET_COLLECT_KERNEL_FAULT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* Limits the cost of watching page faults to a share of the time of all CPUs. Unused time is saved
 * up for some seconds. When it is used up, faults are not watched until there is some again: under
 * a storm of faults they are watched in windows that together cost the share. */

enum {
	/* Cost of a fault that is not sent: tracepoint, program and hash (docs/internals/
	 * page_faults.md). The time of the others is measured. */
	FAULT_SEEN_NS = 110,
	FAULT_BUDGET_SAVED_S = 10, /* of the share, at most … */
	FAULT_BUDGET_RESUME_S = 2, /* … and at least, when watching starts again */
};

struct fault_budget { /* zeroed except share = before the first look */
	double share; /* of the time of all CPUs; 0: no limit */
	double saved_ns;
	uint64_t looked_ns, spent_ns; /* at the last look */
	bool is_off;
};

/* spent_ns: CPU time used for faults so far. Returns whether to watch faults from now on. */
bool fault_budget_look(struct fault_budget *b, uint32_t cpus, uint64_t spent_ns, uint64_t now_ns);

/* Limits how many page faults are recorded. One fault in 2^bits is, chosen by chance, and stands
 * for 2^bits faults, so sums stay unbiased when bits change. */

enum {
	FAULT_PACE_LEAST_BITS = 4,
	/* limit FAULT_PACE_MOST: recorded page faults per second; above it fewer are chosen */
	FAULT_PACE_MOST = 2000,
	FAULT_PACE_ALWAYS_BITS = 6,
	/* limit FAULT_PACE_ALWAYS_MOST: the same, of up and agent */
	FAULT_PACE_ALWAYS_MOST = 100,
};

struct fault_pace { /* other members 0 = before the first look */
	uint32_t least_bits, most;
	uint32_t bits;
	uint64_t looked_ns, seen;
};

/* Returns the bits to use from now on. seen: faults recorded so far. */
uint32_t fault_pace_look(struct fault_pace *p, uint64_t seen, uint64_t now_ns);

#endif
