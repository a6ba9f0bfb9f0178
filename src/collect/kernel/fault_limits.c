/* Saves up CPU time for page faults and subtracts their cost, and adapts the share of faults that
 * are recorded to their rate. */
#include "collect/kernel/fault_limits.h"

#include "bpf/fault_event.h"

enum { LOOK_NS = 100000000 };

bool fault_budget_look(struct fault_budget *b, uint32_t cpus, uint64_t spent_ns, uint64_t now_ns)
{
	const double per_second_ns = b->share * cpus * 1e9;
	const double most_ns = per_second_ns * FAULT_BUDGET_SAVED_S;

	if (!(b->share > 0))
		return true;
	if (!b->looked_ns)
		b->saved_ns = most_ns;
	else
		b->saved_ns += per_second_ns * (double)(now_ns - b->looked_ns) / 1e9 -
			       (double)(spent_ns - b->spent_ns);
	if (b->saved_ns > most_ns)
		b->saved_ns = most_ns;
	b->looked_ns = now_ns;
	b->spent_ns = spent_ns;
	if (b->saved_ns < 0)
		b->is_off = true;
	else if (b->saved_ns >= per_second_ns * FAULT_BUDGET_RESUME_S)
		b->is_off = false;
	return !b->is_off;
}

uint32_t fault_pace_look(struct fault_pace *p, uint64_t seen, uint64_t now_ns)
{
	double rate = (double)(seen - p->seen) * 1e9 / (double)(now_ns - p->looked_ns);

	if (p->looked_ns && now_ns < p->looked_ns + LOOK_NS)
		return p->bits;
	if (!p->looked_ns)
		p->bits = p->least_bits;
	else if (rate < p->most / 4. && p->bits > p->least_bits)
		p->bits--;
	for (; p->looked_ns && rate > p->most && p->bits < FAULT_MAX_BITS; rate /= 2)
		p->bits++;
	p->looked_ns = now_ns;
	p->seen = seen;
	return p->bits;
}
