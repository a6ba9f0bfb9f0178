/* collect/python_order.h: frames of Python among native ones: from the order in which the kernel sends them (bpf/cpython_walk.h) to that
 * of the calls, and which native ones are left out. */
#ifndef CRESSET_COLLECT_PYTHON_ORDER_H
#define CRESSET_COLLECT_PYTHON_ORDER_H

#include "base/vec.h"

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
	const uint64_t *words; /* of the user part */
	uint32_t n_words, n_python;
	bool is_cut;                   /* there are more frames of Python than that */
	uint32_t placed;               /* so many of the latter have a place */
	uint32_t innermost, outermost; /* of all: frames of Python */
	VEC(struct python_part) all;   /* leaf first */
};

/* n_python of the n_words are frames of Python. What of them has no place on a stack that was walked to its end (is_whole) is left out;
 * on others it has its place behind that end. is_cut: there are more of them, further out. python_order_done frees. */
void python_order_init(struct python_order *o, const uint64_t *words, uint32_t n_words,
		       uint32_t n_python, bool is_whole, bool is_cut);
void python_order_done(struct python_order *o);

/* Whether some were left out. */
bool python_order_lacks(const struct python_order *o);

/* Whether the part is left out where the interpreter's own frames are folded: the calls of its loop, and what is_interpreter says lies in
 * its files, between frames of Python. Code that it makes to call its loop by (-X perf) is left out anyhow. */
bool python_order_folds(const struct python_order *o, size_t i, bool is_interpreter);
bool python_order_is_trampoline(const struct python_order *o, size_t i);

#endif
