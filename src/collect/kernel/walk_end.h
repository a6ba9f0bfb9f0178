/* collect/kernel/walk_end.h: describes why the walk of a user stack ended. docs/truncated.tsv lists
 * all reasons, also those of files and of languages. */
#ifndef CRESSET_COLLECT_KERNEL_WALK_END_H
#define CRESSET_COLLECT_KERNEL_WALK_END_H

#include <stdbool.h>
#include <stdint.h>

/* Returns "stack unreadable" etc.; NULL when the stack is complete, or end is no enum walk_end. */
const char *walk_end_reason(uint32_t end);
/* Returns the frame at the root of such a stack: "[truncated: stack unreadable]"; "[exec]" and
 * "[exit]" where the program's memory is gone. */
const char *walk_end_marker(uint32_t end);
/* Returns whether frames are missing that there were. */
bool walk_end_is_loss(uint32_t end);

#endif
