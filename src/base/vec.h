/* base/vec.h: growable arrays of any type.
 *
 *     VEC(struct span) spans = {0};
 *     vec_push(&spans, s);  for (size_t i = 0; i < spans.n; i++) use(&spans.v[i]);
 *                           vec_done(&spans);
 *
 * Capacity grows by half, to at least 16 elements. Pointers into v are invalid after a push. */
#ifndef CRESSET_BASE_VEC_H
#define CRESSET_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define VEC(type) \
	struct { \
		type *v; \
		size_t n, cap; \
	}

/* Returns the next capacity, at least `want`. */
static inline size_t vec_next_cap(size_t cap, size_t want)
{
	size_t next = cap + cap / 2;

	next = next < want ? want : next;
	return next < 16 ? 16 : next;
}
/* Returns the memory with space for cap elements; aborts if memory is exhausted. */
void *vec_resize(void *v, size_t cap, size_t size);

#define vec_reserve(a, want) \
	do { \
		size_t want_ = (want); \
		if (want_ > (a)->cap) { \
			(a)->cap = vec_next_cap((a)->cap, want_); \
			(a)->v = vec_resize((a)->v, (a)->cap, sizeof *(a)->v); \
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
