/* base/stretches.h: parts of a line of numbers (times), as a sorted list of stretches that neither touch nor overlap. An empty one is none. */
#ifndef CRESSET_BASE_STRETCHES_H
#define CRESSET_BASE_STRETCHES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct stretch {
	int64_t from, to; /* to is behind the last */
};
struct stretches { /* zeroed = nothing */
	VEC(struct stretch) all;
};
void stretches_done(struct stretches *r);

/* Any order and any overlap; then stretches_settle before anything else is asked. */
void stretches_add(struct stretches *r, int64_t from, int64_t to);
void stretches_settle(struct stretches *r);

/* Appends to an empty out what is in both; what is in a and not in b. */
void stretches_both(const struct stretches *a, const struct stretches *b, struct stretches *out);
void stretches_without(const struct stretches *a, const struct stretches *b, struct stretches *out);

int64_t stretches_sum(const struct stretches *r);
/* The first that ends behind x; all.n: none does. */
size_t stretches_find(const struct stretches *r, int64_t x);

#endif
