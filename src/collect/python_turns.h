/* collect/python_turns.h: which frame of Python each call of the loop runs where only their order tells (CPython to 3.10).
 *
 * A call has its frame in the chain but for its first and last instructions: the innermost one may be without. So with one call more than
 * frames it is that one, if it has called next to nothing. A greenlet's chain ends where the greenlet began, and the calls beyond belong to
 * others. Where the numbers fit no such reading, as with an interpreter that another thread has made, none has a frame: none rather
 * than another's.
 */
#ifndef CRESSET_COLLECT_PYTHON_TURNS_H
#define CRESSET_COLLECT_PYTHON_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* A user part with frames of Python. */
struct python_stack {
	const uint64_t *words;
	uint32_t n_words, n_python; /* n_python of them are such frames */
	bool is_whole;              /* it was walked to its end */
	bool is_cut;                /* there are more frames of Python, further out */
	/* Whether a native frame is code that switches stacks below the interpreter (greenlets). NULL: none is. */
	bool (*is_switch)(void *ctx, uint64_t word);
	void *ctx;
};

/* The mark behind the native frame before it; 0: the word is none. */
uint64_t python_mark_at(const struct python_stack *s, uint32_t at);

enum python_fit { PYTHON_AS_MARKED, PYTHON_IN_TURN, PYTHON_UNFIT };
/* Of the calls that are marked by their order, innermost first, those from without up to end have a frame each: the first of them the first one.
 * PYTHON_AS_MARKED: the marks say it. */
struct python_turns {
	enum python_fit fit;
	uint32_t without, end;
};
struct python_turns python_turns_of(const struct python_stack *s);

#endif
