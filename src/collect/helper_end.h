/* collect/helper_end.h: why a user stack ends that the kernel's own helper walked, which does not say so. It follows frame pointers until one leads
 * nowhere, or until it has kernel.perf_event_max_stack frames: a stack is whole only where its last frame is known to be code that programs and
 * threads begin in. Where that cannot be told, as of a C library without symbols, the stack counts as cut off. */
#ifndef CRESSET_COLLECT_HELPER_END_H
#define CRESSET_COLLECT_HELPER_END_H

#include "collect/object.h"

#include <stdbool.h>
#include <stdint.h>

/* How many frames the helper gives at most. */
uint32_t helper_max_frames(void);

/* Whether programs or threads begin in the code at this offset of a file. The file is read the first time. */
bool helper_begins_in(struct object_table *t, struct object *o, uint64_t offset);

#endif
