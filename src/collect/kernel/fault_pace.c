/* Adapts the share of page faults that are recorded to their rate. */
#include "collect/kernel/fault_pace.h"

#include "bpf/fault_event.h"

enum { LOOK_NS = 100000000 };

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
