/* format/heat_scale.h: the steps of colour of a heatmap: equal parts of the range from 0 to the greatest cell, the first of them above 0.
 * Whole numbers that are few have a step each. */
#ifndef CRESSET_FORMAT_HEAT_SCALE_H
#define CRESSET_FORMAT_HEAT_SCALE_H

#include "profile/heatmap.h"

enum { HEAT_STEPS = 8 };

struct heat_scale {
	int64_t max;
	int steps;
};
static inline struct heat_scale heat_scale_of(const struct heatmap *h, int steps)
{
	return (struct heat_scale){ h->max, h->max < steps ? (int)h->max : steps };
}
/* 0: nothing; else 1 … steps. */
static inline int heat_step(const struct heat_scale *s, int64_t value)
{
	return value <= 0 ? 0 : (int)(((__int128)value * s->steps + s->max - 1) / s->max);
}
/* Its colour, 1 … HEAT_STEPS: few steps are further apart. */
static inline int heat_shade(const struct heat_scale *s, int step)
{
	return step ? step * HEAT_STEPS / s->steps : 0;
}
/* The greatest value of a step. */
static inline int64_t heat_bound(const struct heat_scale *s, int step)
{
	return (int64_t)((__int128)s->max * step / s->steps);
}

/* Whether time is what is spread over the cells, not a number of samples. */
bool heat_is_time(const struct heatmap *h);

/* Appends what one cell is: "a column is 1 s, a cell 20 ms of it with the time of all threads". */
void heat_explain(const struct heatmap *h, struct buf *b);

#endif
