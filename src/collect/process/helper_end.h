/* collect/process/helper_end.h: why a user stack ends that the kernel's own helper walked, which
 * does not report it. The helper follows frame pointers until one leads nowhere, or until it has
 * kernel.perf_event_max_stack frames. A stack counts as complete only if its last frame is known to
 * be code that programs or threads start in. If this is unknown, as for a C library without
 * symbols, the stack counts as truncated. */
#ifndef CRESSET_COLLECT_PROCESS_HELPER_END_H
#define CRESSET_COLLECT_PROCESS_HELPER_END_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct object_table;

/* Returns the maximum number of frames in a stack of the helper. */
uint32_t helper_max_frames(void);

/* Returns whether programs or threads start in the code at this offset of a file. The first call
 * reads the file. */
bool helper_begins_in(struct object_table *t, struct object *o, uint64_t offset);

/* Returns whether the code at this offset of a file is the function main. Code without unwind rows
 * that calls it is that of the C library (musl), so a stack that ends there is whole. */
bool helper_is_main(struct object_table *t, struct object *o, uint64_t offset);

#endif
