/* collect/kernel/fault_pace.h: limits how many page faults are recorded. One fault in 2^bits is,
 * chosen by chance, and stands for 2^bits faults, so sums stay unbiased when bits change. */
#ifndef CRESSET_COLLECT_KERNEL_FAULT_PACE_H
#define CRESSET_COLLECT_KERNEL_FAULT_PACE_H

#include <stdint.h>

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
