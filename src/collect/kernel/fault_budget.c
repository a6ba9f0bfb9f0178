/* Saves up CPU time for page faults, and subtracts their cost. */
#include "collect/kernel/fault_budget.h"

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
