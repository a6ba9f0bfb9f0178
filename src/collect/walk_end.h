/* collect/walk_end.h: why the walk of a user stack ended, in words. */
#ifndef CRESSET_COLLECT_WALK_END_H
#define CRESSET_COLLECT_WALK_END_H

#include "bpf/event.h"

#include <stdint.h>

/* "stack unreadable"; NULL when the stack is whole, and for what is no enum walk_end. */
const char *walk_end_reason(uint32_t end);
/* The frame at the root of such a stack: "[truncated: stack unreadable]". */
const char *walk_end_marker(uint32_t end);

#endif
