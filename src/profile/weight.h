/* profile/weight.h: the unit of sums over series of a type, and the weight of one sample. */
#ifndef CRESSET_PROFILE_WEIGHT_H
#define CRESSET_PROFILE_WEIGHT_H

#include "profile/series.h"

#include <stdbool.h>
#include <stdint.h>

struct profile;

/* The unit of sums over several series. Strings are the profile's. */
struct value_scale {
	const char *unit;
	/* The factor from a value to scaled_unit; 0 and NULL if no period is known. */
	double scale;
	const char *scaled_unit;
	/* Periods differ: each series' values are multiplied by its period, and unit is the
	 * period's. */
	bool by_period;
};

/* wanted: by series; NULL: all series of the type. */
struct value_scale value_scale_of(const struct profile *p, uint32_t type, const bool *wanted);

static inline int64_t value_factor(const struct value_scale *s, const struct series *series)
{
	return s->by_period ? series->period : 1;
}

/* The weight of one sample of a series, in its type's unit: see struct tree_spread. */
struct sample_weight {
	double each;  /* 0: each row is one sample; NaN: unknown */
	bool is_time; /* values are nanoseconds */
};

/* has_times: rows of the series have times. */
struct sample_weight series_weight(const struct profile *p, uint32_t series, bool has_times);

/* Returns the weight of the samples of a row. value: its absolute value. A row that is one sample
 * weighs its value, or less if its stack shows that it is the sum of many. */
double row_weight(const struct profile *p, struct sample_weight w, uint32_t stack, double value);

#endif
