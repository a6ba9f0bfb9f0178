/* Layouts in a map of the walker. */
#include "runtime/layout_set.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void layout_set_init(struct layout_set *s, const char *map, size_t row_bytes, uint32_t max)
{
	*s = (struct layout_set){ .map = map, .row_bytes = row_bytes, .max = max };
}

void layout_set_done(struct layout_set *s)
{
	free(s->rows);
	*s = (struct layout_set){ .n = 0 };
}

int layout_set_add(struct layout_set *s, const struct runtime_maps *maps, const void *layout)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (memcmp(s->rows + i * s->row_bytes, layout, s->row_bytes) == 0)
			return i;
	if (s->n == s->max)
		return -ENOSPC;
	int rc = maps->put(maps->ctx, s->map, s->n, layout, s->row_bytes);
	if (rc < 0)
		return rc;
	s->rows = xreallocarray(s->rows, s->n + 1, s->row_bytes);
	memcpy(s->rows + s->n * s->row_bytes, layout, s->row_bytes);
	return s->n++;
}
