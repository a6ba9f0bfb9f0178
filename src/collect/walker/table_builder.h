/* collect/walker/table_builder.h: a thread that builds unwind tables, or loads them from
 * disk, so that no ring waits for one (building that of libLLVM takes 0.1 s).
 *
 * The job that most samples wait for is done first; else they are done in order. (Moving each
 * missing table to the front would let rare files push back what nearly every stack needs.) Nothing
 * but the thread's own state is shared: the caller polls, or waits on its descriptor. */
#ifndef CRESSET_COLLECT_WALKER_TABLE_BUILDER_H
#define CRESSET_COLLECT_WALKER_TABLE_BUILDER_H

#include "unwind/table_cache.h"

#include <stdbool.h>
#include <stdint.h>

struct table_builder;

struct table_built {
	uint32_t index; /* of the job */
	int rc;         /* of table_cache_build */
	bool was_on_disk;
	struct unwind_table table; /* the receiver's, if rc is 0 */
};

/* cache_root: where tables are saved between runs (unwind/table_cache.h); NULL: nowhere. Returns
 * NULL when the thread cannot be started. */
struct table_builder *table_builder_new(const char *cache_root);
void table_builder_free(struct table_builder *b); /* waits for the current job; NULL is fine */

/* Takes over fd. */
void table_builder_add(struct table_builder *b, uint32_t index, int fd);
/* One more sample waits for this job. */
void table_builder_want(struct table_builder *b, uint32_t index);
/* Takes the next finished job; returns false when there is none. */
bool table_builder_take(struct table_builder *b, struct table_built *out);
/* Returns how many jobs were added and not taken yet. */
uint32_t table_builder_pending(const struct table_builder *b);
/* As of the last finished job. */
struct table_cache_stats table_builder_cached(struct table_builder *b);
/* Readable when there is something to take. */
int table_builder_fd(const struct table_builder *b);

#endif
