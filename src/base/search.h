/* base/search.h: binary search in sorted data.
 *
 *     const struct map *m = &maps.v[vec_upper(&maps, start, addr) - 1];   the last that starts at
 *                                                                         or before addr, if any
 *
 * Each yields a size_t from the lower to the upper end; it is the upper end if no element
 * qualifies. */
#ifndef CRESSET_BASE_SEARCH_H
#define CRESSET_BASE_SEARCH_H

#include <stddef.h>

/* The first i in [from, to) for which `reached`, an expression in i, is true; `to` if there is
 * none. Once true, it must stay true for all later i. */
#define search_first(i, from, to, reached) \
	({ \
		size_t search_low = (from), search_high = (to); \
		while (search_low < search_high) { \
			size_t i = search_low + (search_high - search_low) / 2; \
			if (reached) \
				search_high = i; \
			else \
				search_low = i + 1; \
		} \
		search_low; \
	})

/* The index of the first element of a VEC (base/vec.h), sorted by field, whose field is greater
 * than key. key is evaluated at each step. */
#define vec_upper(a, field, key) search_first(search_at, 0, (a)->n, (a)->v[search_at].field > (key))

/* The same for the first element whose field is not less than key. */
#define vec_lower(a, field, key) \
	search_first(search_at, 0, (a)->n, (a)->v[search_at].field >= (key))

#endif
