/* base/cpu_budget.h: a share of a CPU for work that can wait, in CPU time (base/clock.h:
 * clock_thread_ns), so a busy host does not make it wait longer. Unused time is retained up to a
 * limit: new work starts immediately, and steady work costs the share. */
#ifndef CRESSET_BASE_CPU_BUDGET_H
#define CRESSET_BASE_CPU_BUDGET_H

#include <stdint.h>

struct cpu_budget {
	uint64_t per_s_ns; /* CPU time per second; set by the caller, at most 1e9 */
	uint64_t most_ns;  /* the most it saves, and its initial value; set by the caller */
	uint64_t at_ns;    /* now_ns when left_ns was computed; 0: never */
	int64_t left_ns;   /* below 0: overspent */
};

/* Returns the CPU time that may be spent now. now_ns: any monotonic clock that starts above 0. */
int64_t cpu_budget_left(struct cpu_budget *b, uint64_t now_ns);
void cpu_budget_spend(struct cpu_budget *b, uint64_t now_ns, uint64_t cpu_ns);

/* CPU time that something may still use: 1/share of the elapsed time, saved up to a limit. */
struct allowance { /* set all but left_ns and since_ns; it starts full */
	uint32_t share;
	int64_t most_ns;
	int64_t left_ns; /* below 0: overspent */
	uint64_t since_ns;
};

/* Returns the CPU time left at now_ns. */
static inline int64_t allowance_left(struct allowance *a, uint64_t now_ns)
{
	a->left_ns = a->since_ns ? a->left_ns + (int64_t)((now_ns - a->since_ns) / a->share)
				 : a->most_ns;
	a->since_ns = now_ns;
	if (a->left_ns > a->most_ns)
		a->left_ns = a->most_ns;
	return a->left_ns;
}

static inline void allowance_spend(struct allowance *a, uint64_t ns)
{
	a->left_ns -= (int64_t)ns;
}

#endif
