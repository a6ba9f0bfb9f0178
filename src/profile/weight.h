/* profile/weight.h: what values of a type are counted in when series of it are added up, and what one sample weighs. */
#ifndef CRESSET_PROFILE_WEIGHT_H
#define CRESSET_PROFILE_WEIGHT_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* The unit of sums over several series. Texts are the profile's. */
struct value_scale {
	const char *unit;
	/* What a value is multiplied by to be in scaled_unit; 0 and NULL where no period is known. */
	double scale;
	const char *scaled_unit;
	/* Periods differ: each series' values are multiplied by its period, and are in its unit. */
	bool by_period;
};

/* wanted: by series; NULL: all series of the type count. */
struct value_scale value_scale_of(const struct profile *p, uint32_t type, const bool *wanted);

static inline int64_t value_factor(const struct value_scale *s, const struct series *series)
{
	return s->by_period ? series->period : 1;
}

/* What one sample of a series weighs, in its type's unit: see struct tree_spread. */
struct sample_weight {
	double each;  /* 0: each row is one sample; NaN: not known */
	bool is_time; /* values are nanoseconds */
};

/* has_times: rows of the series have. */
struct sample_weight series_weight(const struct profile *p, uint32_t series, bool has_times);

/* Of the samples of a row whose value's size is this. A row that is one sample weighs its value, or less where its stack says that it
 * is the sum of many. */
double row_weight(const struct profile *p, struct sample_weight w, uint32_t stack, double value);

#endif
