/* Reads how many waits each CPU saw, and sets the sampling rate of each. */
#include "collect/kernel/wait_pace.h"

#include "bpf/thread_time.h"

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* Twice an even share, so that a CPU with more waits is not limited before the first look; at least
 * an eighth of all if there are many CPUs. */
struct wait_limits wait_pace_begin(const struct wait_pace *p)
{
	uint64_t even = 2 * p->per_window / at_least_one(p->n_cpus), least = p->per_window / 8;
	uint64_t n = even > least ? even : least;

	return (struct wait_limits){ 0, at_least_one(n < p->per_window ? n : p->per_window) };
}

/* A CPU within its limit sends as much as the common quantum lets through, as long as it sees no
 * more than twice its share. */
struct wait_limits wait_pace_look(struct wait_pace *p, const struct wait_rate *cpus,
				  uint64_t now_ns)
{
	struct wait_limits limits = wait_pace_begin(p);
	uint64_t seen = 0, seen_ns = 0, most_ns = 0;

	for (size_t i = 0; i < p->n_cpus; i++) {
		uint64_t ns = cpus[i].all_seen_ns - p->cpu_ns[i];

		most_ns = ns > most_ns ? ns : most_ns;
		p->cpu_ns[i] = cpus[i].all_seen_ns;
		seen += cpus[i].all_seen;
		seen_ns += cpus[i].all_seen_ns;
	}
	double windows = (double)(now_ns - p->looked_ns) / RATE_WINDOW_NS;
	double n = (double)(seen - p->seen), ns = (double)(seen_ns - p->seen_ns);
	if (p->looked_ns && windows > 0 && ns > 0) {
		double room = windows * (double)p->per_window;
		uint64_t share = (uint64_t)(2 * (double)p->per_window * (double)most_ns / ns);

		limits.quantum_ns = n > room ? (uint64_t)(ns / room) : 0;
		if (share > limits.cpu_waits)
			limits.cpu_waits = share < p->per_window ? share : p->per_window;
	}
	p->looked_ns = now_ns;
	p->seen = seen;
	p->seen_ns = seen_ns;
	return limits;
}

uint32_t wait_pace_turns(uint64_t pending, uint64_t period_ns, uint64_t max_ns)
{
	uint64_t turns = pending / WAIT_PACE_AT_ONCE + (pending % WAIT_PACE_AT_ONCE != 0);
	uint64_t most = period_ns ? max_ns / period_ns : 1;

	if (most > WAIT_PACE_TURNS_MOST)
		most = WAIT_PACE_TURNS_MOST;
	if (turns > most)
		turns = most;
	return turns ? turns : 1;
}
