/* The cycles in which Go measures waits: the CPU's counter, which Linux has in step on all CPUs. */
#include "base/clock.h"
#include "mem/go/go_heap.h"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

static uint64_t cycles_now(void)
{
#ifdef __x86_64__
	return __rdtsc();
#else
	return 0;
#endif
}

bool go_clock_is_known(void)
{
	return cycles_now() != 0;
}

/* A suspended machine may count on, or from 0 again: one interval is measured at a time. */
double go_clock_cycle_ns(struct go_clock *c)
{
	const uint64_t enough_ns = 10000000;
	uint64_t ns = clock_mono_ns(), cycles = cycles_now();

	if (c->ns && cycles > c->cycles && ns < c->ns + enough_ns)
		return c->cycle_ns;
	if (c->ns && cycles > c->cycles)
		c->cycle_ns = (double)(ns - c->ns) / (double)(cycles - c->cycles);
	c->ns = ns;
	c->cycles = cycles;
	return c->cycle_ns;
}
