/* base/allowance.h: how much CPU time something may still take: 1/share of the time that passes, saved up to a limit. */
#ifndef CRESSET_BASE_ALLOWANCE_H
#define CRESSET_BASE_ALLOWANCE_H

#include <stdint.h>

struct allowance { /* set all but left_ns and since_ns: it begins full */
	uint32_t share;
	int64_t most_ns;
	int64_t left_ns; /* below 0: more was taken */
	uint64_t since_ns;
};

/* What is left at now_ns. */
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
