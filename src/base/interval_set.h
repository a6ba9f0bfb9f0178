/* base/interval_set.h: sets of numbers (times), as sorted lists of intervals that neither touch nor
 * overlap. Empty intervals are dropped. */
#ifndef CRESSET_BASE_INTERVAL_SET_H
#define CRESSET_BASE_INTERVAL_SET_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct int_range {
	int64_t from, to; /* to is exclusive */
};
struct interval_set { /* zeroed = empty */
	VEC(struct int_range) all;
};
void interval_set_done(struct interval_set *r);

/* Adds intervals in any order and with any overlap. Call interval_set_normalize before any other
 * function. */
void interval_set_add(struct interval_set *r, int64_t from, int64_t to);
void interval_set_normalize(struct interval_set *r);

/* Write the intersection of a and b, or a without b, to out, which must be empty. */
void interval_set_intersect(const struct interval_set *a, const struct interval_set *b,
			    struct interval_set *out);
void interval_set_subtract(const struct interval_set *a, const struct interval_set *b,
			   struct interval_set *out);

int64_t interval_set_sum(const struct interval_set *r);
/* Returns the index of the first interval that ends after x; all.n if none does. */
size_t interval_set_find(const struct interval_set *r, int64_t x);

#endif
