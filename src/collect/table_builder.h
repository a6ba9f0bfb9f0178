/* collect/table_builder.h: a thread that builds unwind tables, so that no ring waits for one (that of libLLVM takes 0.1 s).
 *
 * Jobs are done in order, those that are in a hurry first. Only the thread's own state is shared: the caller polls, or waits on its descriptor. */
#ifndef CRESSET_COLLECT_TABLE_BUILDER_H
#define CRESSET_COLLECT_TABLE_BUILDER_H

#include "unwind/table.h"

#include <stdbool.h>
#include <stdint.h>

struct table_builder;

struct table_built {
	uint32_t index;            /* of the job */
	int rc;                    /* of unwind_table_build */
	struct unwind_table table; /* the receiver's, when rc is 0 */
};

/* NULL when there can be no thread. */
struct table_builder *table_builder_new(void);
void table_builder_free(struct table_builder *b); /* after the job at hand; NULL is fine */

/* fd becomes the builder's. */
void table_builder_add(struct table_builder *b, uint32_t index, int fd);
/* Does this one before all others, unless it was begun already. */
void table_builder_hurry(struct table_builder *b, uint32_t index);
/* The next one that is done; false when there is none. */
bool table_builder_take(struct table_builder *b, struct table_built *out);
/* How many were added and not taken yet. */
uint32_t table_builder_pending(const struct table_builder *b);
/* Readable when there is something to take. */
int table_builder_fd(const struct table_builder *b);

#endif
