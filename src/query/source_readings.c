#include "query/source_readings.h"

#include "base/mem.h"
#include "profile/sum.h"
#include "store/metric_samples.h"

#include <stdlib.h>

void source_readings_init(struct source_readings *r, struct profile *p, int64_t shift_ns)
{
	uint32_t *series = xcalloc(p->readings.all.n + 1, sizeof *series);
	for (size_t i = 0; i < p->readings.all.n; i++)
		series[i] = metric_series_of_reading(p, &p->readings.all.v[i].key);
	*r = (struct source_readings){ .n = p->series.series.n };
	r->of = xcalloc(r->n + 1, sizeof *r->of);
	for (size_t i = 0; i < p->readings.all.n; i++) {
		const struct reading_series *from = &p->readings.all.v[i];
		struct metric_points *to = &r->of[series[i]];
		for (size_t k = 0; k < from->points.n; k++)
			vec_push(to, (struct metric_point){
					     sum_add(from->points.v[k].time_ns, shift_ns),
					     from->points.v[k].value });
		metric_points_order(to);
	}
	free(series);
}

void source_readings_done(struct source_readings *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		vec_done(&r->of[i]);
	free(r->of);
	*r = (struct source_readings){ 0 };
}

void source_readings_reach(const struct source_readings *r, int64_t *from_ns, int64_t *to_ns)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct metric_points *p = &r->of[i];
		if (!p->n)
			continue;
		*from_ns = p->v[0].time_ns < *from_ns ? p->v[0].time_ns : *from_ns;
		int64_t end_ns = sum_add(p->v[p->n - 1].time_ns, 1);
		*to_ns = end_ns > *to_ns ? end_ns : *to_ns;
	}
}

static size_t first_from(const struct metric_points *p, int64_t time_ns)
{
	size_t low = 0, high = p->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->v[middle].time_ns >= time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct metric_point *source_readings_in(const struct source_readings *r, uint32_t series,
					      int64_t from_ns, int64_t to_ns, size_t *n)
{
	const struct metric_points *p = &r->of[series];
	size_t first = first_from(p, from_ns), end = first_from(p, to_ns);
	*n = end > first ? end - first : 0;
	return p->v + first;
}
