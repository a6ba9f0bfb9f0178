/* base/vec.h: growable arrays of any type.
 *
 *     VEC(struct span) spans = {0};
 *     vec_push(&spans, s);  for (size_t i = 0; i < spans.n; i++) use(&spans.v[i]);
 *                           vec_done(&spans);
 *
 * Capacity grows by half, to at least 16 elements. Pointers into v are invalid after a push. */
#ifndef CRESSET_BASE_VEC_H
#define CRESSET_BASE_VEC_H

#include "base/mem.h"

#include <stdlib.h>

#define VEC(type) \
	struct { \
		type *v; \
		size_t n, cap; \
	}

#define vec_reserve(a, want) \
	do { \
		size_t want_ = (want); \
		if (want_ > (a)->cap) { \
			size_t cap_ = (a)->cap + (a)->cap / 2; \
			cap_ = cap_ < want_ ? want_ : cap_; \
			(a)->cap = cap_ < 16 ? 16 : cap_; \
			(a)->v = xreallocarray((a)->v, (a)->cap, sizeof *(a)->v); \
		} \
	} while (0)

#define vec_push(a, ...) \
	do { \
		vec_reserve(a, (a)->n + 1); \
		(a)->v[(a)->n++] = (__VA_ARGS__); \
	} while (0)

/* Appends n elements copied from src (may be NULL when n is 0). */
#define vec_append(a, src, count) \
	do { \
		size_t count_ = (count); \
		vec_reserve(a, (a)->n + count_); \
		if (count_) \
			__builtin_memcpy((a)->v + (a)->n, (src), count_ * sizeof *(a)->v); \
		(a)->n += count_; \
	} while (0)

#define vec_size_bytes(a) ((a)->cap * sizeof *(a)->v)

#define vec_clear(a) ((void)((a)->n = 0))

#define vec_done(a) \
	do { \
		free((a)->v); \
		(a)->v = NULL; \
		(a)->n = (a)->cap = 0; \
	} while (0)

#endif
