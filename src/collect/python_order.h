/* collect/python_order.h: frames of Python among native ones: from the order in which the kernel sends them (bpf/cpython_walk.h) to that
 * of the calls, and which native ones are left out. */
#ifndef CRESSET_COLLECT_PYTHON_ORDER_H
#define CRESSET_COLLECT_PYTHON_ORDER_H

#include "base/vec.h"
#include "collect/python_turns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PYTHON_LOOP: a call of the interpreter's loop, whose frames of Python come right before it. PYTHON_CUT: here more of them are missing. */
enum python_part_kind { PYTHON_NATIVE, PYTHON_LOOP, PYTHON_FRAME, PYTHON_CUT };
struct python_part {
	enum python_part_kind kind;
	uint32_t at; /* of the words; a frame of Python has two */
};
struct python_order {
	struct python_stack in;
	struct python_turns turns;
	uint32_t turn;                 /* how many calls were seen that are marked by their order */
	uint32_t placed;               /* so many of the latter have a place */
	uint32_t innermost, outermost; /* of all: frames of Python */
	VEC(struct python_part) all;   /* leaf first */
};

/* What of the frames of Python has no place on a stack that was walked to its end is left out; on others it has its place behind that end.
 * The words stay the caller's, and stay. python_order_done frees. */
void python_order_init(struct python_order *o, const struct python_stack *in);
void python_order_done(struct python_order *o);

/* Whether some were left out. */
bool python_order_lacks(const struct python_order *o);

/* Whether the part is left out where the interpreter's own frames are folded: the calls of its loop, and what is_interpreter says lies in
 * its files, between frames of Python. Code that it makes to call its loop by (-X perf) is left out anyhow. */
bool python_order_folds(const struct python_order *o, size_t i, bool is_interpreter);
bool python_order_is_trampoline(const struct python_order *o, size_t i);

#endif
