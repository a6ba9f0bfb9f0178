/* profile/rows.h: some of a profile's samples, as columns of their own that lie in the same memory. */
#ifndef CRESSET_PROFILE_ROWS_H
#define CRESSET_PROFILE_ROWS_H

#include "profile/profile.h"

/* n rows of all, from first on; all stays the owner. */
static inline struct sample_columns sample_rows(const struct sample_columns *all, size_t first,
						size_t n)
{
	return (struct sample_columns){
		.time_ns = all->time_ns + first,
		.value = all->value + first,
		.length_ns = all->length_ns ? all->length_ns + first : NULL,
		.series = all->series + first,
		.stack = all->stack + first,
		.pid = all->pid + first,
		.tid = all->tid + first,
		.cpu = all->cpu + first,
		.link = all->link ? all->link + first : NULL,
		.n = n,
		.cap = n,
	};
}

#endif
