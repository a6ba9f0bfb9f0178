#include "collect/python_turns.h"

#include "bpf/cpython.h"
#include "bpf/space.h"

uint64_t python_mark_at(const struct python_stack *s, uint32_t at)
{
	if (at >= s->n_words || s->words[at] & FRAME_ADDRESS || !(s->words[at] & CPYTHON_FRAME))
		return 0;
	return s->words[at] & CPYTHON_IS_MARK ? s->words[at] : 0;
}

/* What a call of the loop calls while its frame is not in the chain: _Py_CheckFunctionResult, PyErr_Occurred, _PyErr_Occurred at
 * the most. */
enum { MAX_WITHIN_ENDS = 3 };

/* Whether the innermost call may be at its first or last instructions: the first mark is right behind it. */
static bool may_lack_frame(const struct python_stack *s)
{
	uint32_t last = s->n_python + MAX_WITHIN_ENDS + 1;

	for (uint32_t at = s->n_python; at <= last; at++)
		if (python_mark_at(s, at))
			return true;
	return false;
}

/* All of them. False when the marks are not one row: there are several interpreters of which some tell by address. */
static bool count_turns(const struct python_stack *s, uint32_t *n)
{
	*n = 0;
	for (uint32_t at = s->n_python; at < s->n_words; at++) {
		uint64_t mark = python_mark_at(s, at);

		if (!mark)
			continue;
		if (!(mark & CPYTHON_BY_ORDER) ||
		    (CPYTHON_MARK_N(mark) && CPYTHON_MARK_FIRST(mark) != *n))
			return false;
		++*n;
	}
	return true;
}

/* Those before the code that began the stack on which the innermost ones are. What is in that code now is on the innermost side of all. */
static uint32_t turns_of_this_stack(const struct python_stack *s, uint32_t n)
{
	uint32_t before = 0;

	for (uint32_t at = s->n_python; s->is_switch && at < s->n_words; at++) {
		if (python_mark_at(s, at))
			before++;
		else if (before && !python_mark_at(s, at + 1) && s->is_switch(s->ctx, s->words[at]))
			return before;
	}
	return n;
}

struct python_turns python_turns_of(const struct python_stack *s)
{
	uint32_t n_frames = s->n_python / 2, n, own;

	if (s->is_cut || !count_turns(s, &n) || !n)
		return (struct python_turns){ PYTHON_AS_MARKED, 0, 0 };
	own = n > n_frames ? turns_of_this_stack(s, n) : n;
	if (own == n_frames || (own < n_frames && n <= n_frames && !s->is_whole))
		return (struct python_turns){ PYTHON_IN_TURN, 0, own };
	if (own == n_frames + 1 && may_lack_frame(s))
		return (struct python_turns){ PYTHON_IN_TURN, 1, own };
	return (struct python_turns){ PYTHON_UNFIT, 0, 0 };
}
