/* runtime/layout_set.h: the layouts of a runtime's structures that the walker has in one of its
 * maps: each once, as they are the same in all processes of one build. */
#ifndef CRESSET_RUNTIME_LAYOUT_SET_H
#define CRESSET_RUNTIME_LAYOUT_SET_H

#include "runtime/runtime.h"

struct layout_set {
	const char *map;  /* its name in bpf/ */
	size_t row_bytes; /* of a layout, without padding */
	uint32_t max;     /* layouts */
	uint32_t n;
	uint8_t *rows;
};

void layout_set_init(struct layout_set *s, const char *map, size_t row_bytes, uint32_t max);
void layout_set_done(struct layout_set *s);

/* Returns the layout's index in the map, after adding it if it is new; or -errno: -ENOSPC if there
 * are too many. */
int layout_set_add(struct layout_set *s, const struct runtime_maps *maps, const void *layout);

#endif
