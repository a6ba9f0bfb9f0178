/* Grants CPU time at a fixed rate, up to a limit of saved time. */
#include "base/cpu_budget.h"

#define SECOND_NS     1000000000ull
/* Avoids overflow in the products below: what a day earns exceeds the limit anyway. */
#define LONGEST_S     86400ull
#define LONGEST_SPENT (LONGEST_S * SECOND_NS)

int64_t cpu_budget_left(struct cpu_budget *b, uint64_t now_ns)
{
	int64_t most_ns = (int64_t)b->most_ns;

	if (!b->at_ns) {
		b->at_ns = now_ns;
		b->left_ns = most_ns;
		return b->left_ns;
	}
	if (now_ns <= b->at_ns)
		return b->left_ns;
	uint64_t passed_ns = now_ns - b->at_ns;
	uint64_t whole_s = passed_ns / SECOND_NS, rest_ns = passed_ns % SECOND_NS;
	uint64_t earned_ns = (whole_s < LONGEST_S ? whole_s : LONGEST_S) * b->per_s_ns +
			     rest_ns * b->per_s_ns / SECOND_NS;

	if (!earned_ns)
		return b->left_ns; /* short times add up */
	b->left_ns += (int64_t)earned_ns;
	if (b->left_ns > most_ns)
		b->left_ns = most_ns;
	b->at_ns = now_ns;
	return b->left_ns;
}

void cpu_budget_spend(struct cpu_budget *b, uint64_t now_ns, uint64_t cpu_ns)
{
	cpu_budget_left(b, now_ns);
	b->left_ns -= (int64_t)(cpu_ns < LONGEST_SPENT ? cpu_ns : LONGEST_SPENT);
}
