/* collect/resolve/python_order.h: merges frames of Python into native ones: converts the order in
 * which the kernel sends them (bpf/cpython_walk.h) to the order of calls, and decides which native
 * frames are left out. */
#ifndef CRESSET_COLLECT_RESOLVE_PYTHON_ORDER_H
#define CRESSET_COLLECT_RESOLVE_PYTHON_ORDER_H

#include "base/vec.h"
#include "bpf/runtime_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The user part of a stack with frames of Python. */
struct python_stack {
	const uint64_t *words;
	uint32_t n_words, n_python; /* n_python: words of Python frames, the first ones */
	bool is_whole;              /* walked to its end */
	bool is_cut;                /* there are more frames of Python, further out */
	/* Returns whether a native frame is code that switches stacks below the interpreter
	 * (greenlets). NULL: none is. */
	bool (*is_switch)(void *ctx, uint64_t word);
	/* Returns whether a native frame is Python's own code. NULL: none is. */
	bool (*is_interpreter)(void *ctx, uint64_t word);
	void *ctx;
};

enum python_fit { PYTHON_AS_MARKED, PYTHON_IN_TURN, PYTHON_UNFIT };
/* Of the calls that are marked by their order, innermost first, those from index without up to end
 * have one frame each, starting with the first frame. PYTHON_AS_MARKED: the marks are complete. */
struct python_turns {
	enum python_fit fit;
	uint32_t without, end;
};

/* PYTHON_LOOP: a call of the interpreter's loop; its frames of Python come right before it.
 * PYTHON_CUT: more of them are missing here. PYTHON_INLINE: a frame of another runtime, in its
 * place among the native ones. */
enum python_part_kind { PYTHON_NATIVE, PYTHON_LOOP, PYTHON_FRAME, PYTHON_CUT, PYTHON_INLINE };
struct python_part {
	enum python_part_kind kind;
	uint32_t at; /* index in words; a frame of a runtime has two */
};
struct python_order {
	struct python_stack in;
	struct python_turns turns;
	uint32_t turn;   /* calls seen so far that are marked by their order */
	uint32_t placed; /* words of Python frames that have a place */
	/* The frames of each runtime, as indices of all. */
	struct {
		uint32_t innermost, outermost;
	} of[RUNTIME_NUMBERS];
	VEC(struct python_part) all; /* leaf first */
};

/* Frames of Python without a place are left out of a stack that was walked to its end; in others
 * they come after its end. The words stay the caller's, and must stay valid. Free with
 * python_order_done. */
void python_order_init(struct python_order *o, const struct python_stack *in);
void python_order_done(struct python_order *o);

/* Returns whether some were left out. */
bool python_order_lacks(const struct python_order *o);

/* Returns whether the part is left out if the runtimes' own frames are folded: the calls of
 * Python's loop, and the own code of a runtime between its frames. runtime: the owner of the code;
 * < 0: none. Trampolines that Python generates to call its loop (-X perf) are left out in any
 * case. */
bool python_order_folds(const struct python_order *o, size_t i, int runtime);
bool python_order_is_trampoline(const struct python_order *o, size_t i);

#endif
