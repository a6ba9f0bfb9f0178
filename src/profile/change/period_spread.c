/* Adds up the variance of samples that stand for periods. */
#include "profile/change/estimate.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/tree/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Types with such periods. The periods of CPU time and of other programs' profiles differ: samples
 * come at equal distances. */
static const char *const sampled[] = { "alloc", "alloc-objects", "inuse", "inuse-objects",
				       "page-fault" };

bool has_own_period(const struct profile *p, uint32_t type)
{
	const struct type *t = &p->series.types.v[type];

	if (t->period_type != t->name || t->period_unit != t->unit)
		return false;
	for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
		if (strcmp(strtab_get(&p->strings, t->name), sampled[i]) == 0)
			return true;
	return false;
}

/* A function counts once on a path to the root. seen: by function, the last row that reached it. */
static void add_row(const struct tree *t, const struct tree_sample *row, uint32_t number,
		    double variance, uint32_t *seen, struct window_spread *of)
{
	const struct tree_node *nodes = t->nodes.v;

	of[nodes[row->node].func].self += variance;
	for (uint32_t node = row->node; node != TREE_NONE; node = nodes[node].parent) {
		uint32_t func = nodes[node].func;

		if (seen[func] == number)
			continue;
		seen[func] = number;
		of[func].total += variance;
	}
}

int64_t period_spread(const struct profile *p, const struct tree *t, uint32_t type,
		      const struct tree_samples *rows, struct window_spread *of)
{
	int64_t sum = 0;

	if (!has_own_period(p, type))
		return 0;
	uint32_t *seen = xcalloc(t->funcs.n + 1, sizeof *seen);
	for (size_t i = 0; i < rows->rows.n; i++) {
		const struct tree_sample *row = &rows->rows.v[i];
		int64_t period = p->series.series.v[p->samples.series[row->row]].period;

		if (period <= 0)
			continue;
		add_row(t, row, i + 1, fabs((double)row->value) * (double)period, seen, of);
		sum = sum_add(sum, row->value);
	}
	free(seen);
	return sum;
}
