/* format/sysprof/sysprof_live.h: allocations of a capture, by stack: made, and never freed. */
#ifndef CRESSET_FORMAT_SYSPROF_SYSPROF_LIVE_H
#define CRESSET_FORMAT_SYSPROF_SYSPROF_LIVE_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct give_row;
struct sink;

struct sysprof_site { /* a stack of a thread */
	uint32_t stack, pid, tid;
	int64_t objects, bytes, live_objects, live_bytes;
};
struct sysprof_block {
	int64_t size;
	uint32_t site;
};
struct sysprof_live { /* zeroed = empty */
	VEC(struct sysprof_site) sites;
	VEC(struct sysprof_block) blocks; /* ever allocated */
	struct id_index site_index;
	struct map by_address; /* of a process → blocks that live */
};

/* row: stack, pid, tid and the size as value. */
void sysprof_live_add(struct sysprof_live *l, const struct give_row *row, uint64_t address);
void sysprof_live_free(struct sysprof_live *l, uint32_t pid, uint64_t address);
/* Passes the sums to the sink; returns the number of stacks. Call after the last addition.
 * is_shown: all bytes are the default type. */
uint64_t sysprof_live_give(struct sysprof_live *l, struct sink *s, bool is_shown);
void sysprof_live_done(struct sysprof_live *l);

#endif
