/* base/cpu_budget.h: a share of a CPU for work that can wait, in CPU time (base/clock.h: clock_thread_ns), so that a busy host does not make
 * it wait longer. What was not used is kept, up to a limit: new work begins at once, and on and on it costs the share. */
#ifndef CRESSET_BASE_CPU_BUDGET_H
#define CRESSET_BASE_CPU_BUDGET_H

#include <stdint.h>

struct cpu_budget {
	uint64_t per_s_ns; /* CPU time in each second; to be set, at most 1e9 */
	uint64_t most_ns;  /* that is kept, and there at the beginning; to be set */
	uint64_t at_ns;    /* of now_ns, when left_ns was counted; 0: never */
	int64_t left_ns;   /* below 0: more was spent than there was */
};

/* CPU time that may be spent now. now_ns: CLOCK_MONOTONIC, or any clock that goes on from 1. */
int64_t cpu_budget_left(struct cpu_budget *b, uint64_t now_ns);
void cpu_budget_spend(struct cpu_budget *b, uint64_t now_ns, uint64_t cpu_ns);

#endif
