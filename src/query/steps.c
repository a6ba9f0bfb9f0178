/* The steps of a range. */
#include "query/time.h"

#include "profile/sum.h"
#include "profile/tree/time_range.h"

int64_t step_axis_end_ns(const struct step_axis *a)
{
	__int128 end = a->from_ns + (__int128)a->step_ns * a->n;
	return end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* time_ns has to be on the axis. */
static size_t step_at(const struct step_axis *a, int64_t time_ns)
{
	return ((uint64_t)time_ns - (uint64_t)a->from_ns) / (uint64_t)a->step_ns;
}

static int64_t step_start_ns(const struct step_axis *a, size_t step)
{
	return step_axis_end_ns(&(struct step_axis){ a->from_ns, a->step_ns, step });
}

void step_axis_add(const struct step_axis *a, int64_t time_ns, int64_t length_ns, int64_t value,
		   int64_t *sums)
{
	struct sample_part all = { time_ns, length_ns, value }, part = all;
	if (time_ns >= a->from_ns && length_ns >= 0) { /* the usual case: in one step */
		uint64_t at = (uint64_t)time_ns - (uint64_t)a->from_ns;
		uint64_t step = at / (uint64_t)a->step_ns, in = at - step * (uint64_t)a->step_ns;
		if (step < a->n && in + (uint64_t)length_ns <= (uint64_t)a->step_ns) {
			sums[step] = sum_add(sums[step], value);
			return;
		}
	}
	if (!sample_part_cut(&part, a->from_ns, step_axis_end_ns(a)))
		return;
	size_t first = step_at(a, part.time_ns);
	size_t last = step_at(a, sum_add(part.time_ns, part.length_ns ? part.length_ns - 1 : 0));
	if (first == last && first < a->n) { /* the part on the axis is in this step */
		sums[first] = sum_add(sums[first], part.value);
		return;
	}
	for (size_t i = first; i <= last && i < a->n; i++) {
		part = all;
		if (sample_part_cut(&part, step_start_ns(a, i), step_start_ns(a, i + 1)))
			sums[i] = sum_add(sums[i], part.value);
	}
}
