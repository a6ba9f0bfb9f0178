/* collect/python_groups.h: frames of Python of a sample that came with a copy of its stack: the kernel says in which groups they are
 * (bpf/cpython.h), and while the copy is walked each gets its place, as in the kernel (bpf/cpython_walk.h). */
#ifndef CRESSET_COLLECT_PYTHON_GROUPS_H
#define CRESSET_COLLECT_PYTHON_GROUPS_H

#include "bpf/event.h"

#include <stdint.h>

struct python_groups { /* zeroed = none */
	const uint64_t *words, *end;
	uint64_t mark; /* what is left of a group whose frames have a call each */
};

/* Those of a stack; they stay its own. */
struct python_groups python_groups_of(const struct event_stack *st);

/* The mark to put behind the native frame whose code is at pc and whose stack is from sp to cfa; 0: it runs none of Python's. */
uint64_t python_groups_mark(struct python_groups *g, uint64_t pc, uint64_t sp, uint64_t cfa);

#endif
