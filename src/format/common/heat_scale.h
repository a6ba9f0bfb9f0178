/* format/common/heat_scale.h: the colour steps of a heatmap: equal parts of the range from 0 to the
 * maximum. The first step starts above 0. If the maximum is less than the number of steps, each
 * whole number is a step. */
#ifndef CRESSET_FORMAT_COMMON_HEAT_SCALE_H
#define CRESSET_FORMAT_COMMON_HEAT_SCALE_H

#include "profile/tree/heatmap.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { HEAT_STEPS = 8 };

struct heat_scale {
	int64_t max;
	int steps;
};
static inline struct heat_scale heat_scale_of(const struct heatmap *h, int steps)
{
	return (struct heat_scale){ h->max, h->max < steps ? (int)h->max : steps };
}
/* Returns 0 for an empty cell, else 1 … steps. */
static inline int heat_step(const struct heat_scale *s, int64_t value)
{
	return value <= 0 ? 0 : (int)(((__int128)value * s->steps + s->max - 1) / s->max);
}
/* Returns the colour of a step, 1 … HEAT_STEPS. Fewer steps are spaced further apart. */
static inline int heat_shade(const struct heat_scale *s, int step)
{
	return step ? step * HEAT_STEPS / s->steps : 0;
}
/* Returns the greatest value of a step. */
static inline int64_t heat_bound(const struct heat_scale *s, int step)
{
	return (int64_t)((__int128)s->max * step / s->steps);
}

/* Whether the cells hold time rather than a number of samples. */
bool heat_is_time(const struct heatmap *h);

/* Appends an explanation of a cell: "a column is 1 s, a cell 20 ms of it with the time of all
 * threads". */
void heat_explain(const struct heatmap *h, struct buf *b);

#endif
