/* collect/walker/stack_copy.h: the copy of a user stack that came with a sample, as memory for the
 * walk in user space.
 *
 * It starts at the stack pointer. In a function's last instructions a rule may refer to the word
 * right below: the frame pointer that they have popped, which is in its register. */
#ifndef CRESSET_COLLECT_WALKER_STACK_COPY_H
#define CRESSET_COLLECT_WALKER_STACK_COPY_H

#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_copy {
	uint64_t sp; /* start of the copy */
	uint64_t fp; /* frame pointer register at the leaf */
	const uint8_t *data;
	size_t size_bytes;
	bool is_whole; /* nothing beyond it could be read */
	bool is_short; /* set when a read went beyond it and there may be more */
};

/* Returns false for an address outside the copy. */
bool stack_copy_read(struct stack_copy *s, void *to, size_t size, uint64_t address);

/* Returns why a walk over the copy ended: an unreadable part may just not have been sent. */
enum walk_end stack_copy_end(const struct stack_copy *s, enum walk_end end);

#endif
