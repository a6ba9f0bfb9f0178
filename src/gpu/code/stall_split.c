/* Splits samples among the launching stacks. */
#include "gpu/code/stall_split.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct part {
	double p, error; /* of p */
	uint64_t given;
	double rest; /* of the current row, in -1 … 1 */
	uint32_t i;
};
struct stall_split {
	uint32_t n;
	uint64_t samples;
	struct part *parts, **order;
};

struct stall_split *stall_split_new(const struct stall_stack *stacks, uint32_t n)
{
	struct stall_split *s = xcalloc(1, sizeof *s);
	double sum = 0;

	s->n = n;
	s->parts = xcalloc(n, sizeof *s->parts);
	s->order = xcalloc(n, sizeof *s->order);
	for (uint32_t i = 0; i < n; i++)
		sum += stacks[i].ns;
	for (uint32_t i = 0; i < n; i++) {
		s->parts[i].i = i;
		s->parts[i].p = sum > 0 ? stacks[i].ns / sum : 1.0 / n;
		s->parts[i].error = sum > 0 ? sqrt(stacks[i].variance) / sum : 0;
		s->order[i] = &s->parts[i];
	}
	return s;
}

void stall_split_free(struct stall_split *s)
{
	if (!s)
		return;
	free(s->parts);
	free(s->order);
	free(s);
}

/* The largest remainder first; of equal ones the first part. */
static int by_rest(const void *a, const void *b)
{
	const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;

	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return x->i < y->i ? -1 : 1;
}

void stall_split_row(struct stall_split *s, uint64_t samples, uint64_t *out)
{
	int64_t left = (int64_t)samples;

	s->samples += samples;
	for (uint32_t i = 0; i < s->n; i++) {
		struct part *part = &s->parts[i];
		double due = part->p * (double)s->samples - (double)part->given;

		out[i] = due > 0 ? (uint64_t)due : 0;
		part->rest = due - (double)out[i];
		left -= (int64_t)out[i];
	}
	if (left)
		qsort(s->order, s->n, sizeof *s->order, by_rest);
	for (uint32_t at = 0; left > 0; at = (at + 1) % s->n, left--)
		out[s->order[at]->i]++;
	for (uint32_t at = s->n; left<0; at = at> 1 ? at - 1 : s->n)
		if (out[s->order[at - 1]->i]) {
			out[s->order[at - 1]->i]--;
			left++;
		}
	for (uint32_t i = 0; i < s->n; i++)
		s->parts[i].given += out[i];
}

uint32_t stall_split_rests_on(const struct stall_split *s, uint32_t i, uint64_t samples)
{
	const struct part *part = &s->parts[i];
	double scatter = part->p * (1 - part->p), all = samples ? 1.0 / (double)samples : 1;

	if (scatter > 0)
		all += part->error * part->error / scatter;
	double n = 1 / all;

	return n < 1 ? 1 : n < UINT32_MAX ? (uint32_t)(n + 0.5) : UINT32_MAX;
}

struct stall_part stall_split_part(const struct stall_split *s, uint32_t i, double z)
{
	const struct part *part = &s->parts[i];
	double n = (double)s->samples, mean = n * part->p;
	double half = z * sqrt(mean * (1 - part->p) + n * part->error * n * part->error);

	return (struct stall_part){ .samples = part->given,
				    .low = mean > half ? mean - half : 0,
				    .high = mean + half < n ? mean + half : n };
}
