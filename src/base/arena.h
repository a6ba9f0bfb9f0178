/* base/arena.h: many small allocations with one free: per recording, per parsed file, per request.
 * Blocks grow from 4 KiB to 1 MiB; memory is aligned to 8 and not zeroed unless stated. */
#ifndef CRESSET_BASE_ARENA_H
#define CRESSET_BASE_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *head;
	size_t used, cap; /* bytes of head */
	size_t total;     /* bytes in all blocks */
};

void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);

/* Adds a NUL after the copy; data may be NULL when len is 0. */
void *arena_dup(struct arena *a, const void *data, size_t len);

/* Frees everything. A zeroed arena is empty and valid, before and afterwards. */
void arena_done(struct arena *a);

#endif
