/* collect/stack_copy.h: the part of a user stack that came along with a sample, as memory for the walker's twin.
 *
 * It begins at the stack pointer. What a rule looks for right below is, in a function's last instructions, the frame pointer that they
 * have popped: its register has it. */
#ifndef CRESSET_COLLECT_STACK_COPY_H
#define CRESSET_COLLECT_STACK_COPY_H

#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_copy {
	uint64_t sp; /* where it begins */
	uint64_t fp; /* the register, at the leaf */
	const uint8_t *data;
	size_t size_bytes;
	bool is_whole; /* there was no more that could be read */
	bool is_short; /* set when more was asked for, though there may be some */
};

/* False when it is not in the copy. */
bool stack_copy_read(struct stack_copy *s, void *to, size_t size, uint64_t address);

/* Why a walk over the copy ended: what could not be read may just not have been sent. */
enum walk_end stack_copy_end(const struct stack_copy *s, enum walk_end end);

#endif
