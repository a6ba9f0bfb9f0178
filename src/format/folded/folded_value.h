/* format/folded/folded_value.h: the values at the end of a line of folded stacks. Used only by the
 * reader. */
#ifndef CRESSET_FORMAT_FOLDED_FOLDED_VALUE_H
#define CRESSET_FORMAT_FOLDED_FOLDED_VALUE_H

#include "base/decimal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* whole + part * 10^-18, 0 <= part < 10^18 */
struct folded_value {
	int64_t whole;
	int64_t part;
};

/* Splits "stack value": an integer or a decimal, with a sign, an exponent, or commas between
 * groups of three digits. Returns false if the line does not have that form. */
bool folded_split(const char *line, size_t len, size_t *stack_len, struct folded_value *value);

/* Splits "stack older newer". */
bool folded_split_diff(const char *line, size_t len, size_t *stack_len, struct folded_value *older,
		       struct folded_value *newer);

/* The unit of counts with fractions. */
struct folded_scale {
	int64_t factor;
	const char *unit;
};
/* Counts are rounded; but if the smallest one would vanish, all are in millionths, or in smaller
 * fractions as long as the sum of all fits. */
const struct folded_scale *folded_scale_of(struct decimal smallest, struct decimal all);

#endif
