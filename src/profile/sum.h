/* profile/sum.h: sums of sample values. Values may come from hostile files, so sums saturate at the
 * limits of int64_t instead of overflowing. */
#ifndef CRESSET_PROFILE_SUM_H
#define CRESSET_PROFILE_SUM_H

#include <stdint.h>

static inline int64_t sum_add(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline int64_t sum_sub(int64_t a, int64_t b)
{
	int64_t difference;
	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

static inline int64_t sum_mul(int64_t value, int64_t factor)
{
	int64_t product;
	if (__builtin_mul_overflow(value, factor, &product))
		return (value < 0) != (factor < 0) ? INT64_MIN : INT64_MAX;
	return product;
}

#endif
