/* Matches Python frames with calls of the interpreter loop on the native stack. */
#include "collect/resolve/python_order.h"

#include "bpf/cpython.h"
#include "bpf/space.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns the index of the frame or mark after the one at that index. */
static uint32_t next_of(const struct python_stack *s, uint32_t at)
{
	return at + 1 + is_runtime_frame(s->words[at]);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Finds which frame of Python each call of the loop runs, where only their order is known (CPython
 * to 3.10).
 *
 * A call has its frame in the chain except during its first and last instructions: the innermost
 * call may have none. So if there is one call more than frames, it is that one, if it has called
 * next to nothing. A greenlet's chain ends where the greenlet started, and the calls beyond belong
 * to others. If the numbers fit neither case, as with an interpreter that another thread has
 * created, no call gets a frame: better none than another's. */

/* Returns the mark after the native frame before it; 0: the word is no mark. */
static uint64_t python_mark_at(const struct python_stack *s, uint32_t at)
{
	if (at >= s->n_words || s->words[at] & FRAME_ADDRESS || !(s->words[at] & CPYTHON_FRAME))
		return 0;
	return s->words[at] & CPYTHON_IS_MARK ? s->words[at] : 0;
}

/* Most calls below the loop while its frame is not in the chain: _Py_CheckFunctionResult,
 * PyErr_Occurred, _PyErr_Occurred. */
enum { MAX_WITHIN_ENDS = 3 };

/* Returns whether the innermost call may be at its first or last instructions: the first mark comes
 * right after it. */
static bool may_lack_frame(const struct python_stack *s)
{
	uint32_t last = s->n_python + MAX_WITHIN_ENDS + 1;

	for (uint32_t at = s->n_python; at <= last; at++)
		if (python_mark_at(s, at))
			return true;
	return false;
}

/* Counts all marks. Returns false when they are not one sequence: there are several interpreters,
 * some of which tell by address. */
static bool count_turns(const struct python_stack *s, uint32_t *n)
{
	*n = 0;
	for (uint32_t at = s->n_python; at < s->n_words; at = next_of(s, at)) {
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

/* Counts the marks before the code that started the stack of the innermost ones. A stack switch
 * that is running now is further in than all marks. */
static uint32_t turns_of_this_stack(const struct python_stack *s, uint32_t n)
{
	uint32_t before = 0;

	for (uint32_t at = s->n_python; s->is_switch && at < s->n_words; at = next_of(s, at)) {
		if (python_mark_at(s, at))
			before++;
		else if (before && !python_mark_at(s, at + 1) && s->is_switch(s->ctx, s->words[at]))
			return before;
	}
	return n;
}

static struct python_turns python_turns_of(const struct python_stack *s)
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

/* --- order ------------------------------------------------------------------------------------ */

static void add(struct python_order *o, enum python_part_kind kind, uint32_t at)
{
	uint32_t runtime = kind == PYTHON_FRAME    ? RUNTIME_CPYTHON
			   : kind == PYTHON_INLINE ? RUNTIME_NUMBER_OF(o->in.words[at])
						   : RUNTIME_NUMBERS;

	if (runtime < RUNTIME_NUMBERS) {
		if (o->of[runtime].innermost > o->all.n)
			o->of[runtime].innermost = o->all.n;
		o->of[runtime].outermost = o->all.n;
	}
	vec_push(&o->all, (struct python_part){ kind, at });
}

static void add_frames(struct python_order *o, uint32_t from, uint32_t to)
{
	to = to < o->in.n_python ? to : o->in.n_python;
	for (uint32_t at = from; at + 1 < to; at += 2)
		add(o, PYTHON_FRAME, at);
	if (o->in.is_cut && to > from && to == o->in.n_python)
		add(o, PYTHON_CUT, to);
	o->placed = to > o->placed ? to : o->placed;
}

/* Adds the frames that a call of the loop runs, from the mark after it. */
static void add_marked(struct python_order *o, uint64_t mark)
{
	uint32_t first = CPYTHON_MARK_FIRST(mark), n = CPYTHON_MARK_N(mark);

	if (mark & CPYTHON_BY_ORDER && o->turns.fit != PYTHON_AS_MARKED) {
		uint32_t turn = o->turn++;

		n = turn >= o->turns.without && turn < o->turns.end;
		first = n ? turn - o->turns.without : 0;
	}
	add_frames(o, 2 * first, 2 * (first + n));
}

static void add_native(struct python_order *o, uint32_t at)
{
	uint64_t mark = python_mark_at(&o->in, at + 1);

	if (mark)
		add_marked(o, mark);
	add(o, mark ? PYTHON_LOOP : PYTHON_NATIVE, at);
}

void python_order_init(struct python_order *o, const struct python_stack *in)
{
	*o = (struct python_order){ .in = *in };
	for (int i = 0; i < RUNTIME_NUMBERS; i++)
		o->of[i].innermost = UINT32_MAX;
	o->in.n_python &= ~1u;
	o->turns = python_turns_of(in);
	for (uint32_t at = in->n_python; at < in->n_words; at = next_of(in, at)) {
		if (is_runtime_frame(in->words[at]) && at + 1 < in->n_words)
			add(o, PYTHON_INLINE, at);
		else if (!python_mark_at(in, at))
			add_native(o, at);
	}
	if (!in->is_whole && o->turns.fit != PYTHON_UNFIT)
		add_frames(o, o->placed, o->in.n_python);
}

void python_order_done(struct python_order *o)
{
	vec_done(&o->all);
}

bool python_order_lacks(const struct python_order *o)
{
	return o->placed < o->in.n_python;
}

/* Returns whether the part is native code of the interpreter, outside of its loop as marked. */
static bool is_own(const struct python_order *o, size_t i)
{
	const struct python_part *p = &o->all.v[i];

	return p->kind == PYTHON_NATIVE && o->in.is_interpreter &&
	       o->in.is_interpreter(o->in.ctx, o->in.words[p->at]);
}

/* Returns whether the part may be called by the interpreter to call its loop, which is at its first
 * or last instructions, or not entered: its frame is not in the chain. Code that the loop itself
 * runs is called by the loop. */
static bool may_enter_loop(const struct python_order *o, size_t i)
{
	if (i > MAX_WITHIN_ENDS + 1 || i + 1 >= o->all.n)
		return false;
	for (size_t k = 0; k < i; k++)
		if (!is_own(o, k))
			return false;
	return is_own(o, i + 1);
}

bool python_order_is_trampoline(const struct python_order *o, size_t i)
{
	const struct python_part *p = &o->all.v[i];

	if (p->kind != PYTHON_NATIVE || !(o->in.words[p->at] & FRAME_ADDRESS))
		return false;
	return (i && p[-1].kind == PYTHON_LOOP) || may_enter_loop(o, i);
}

bool python_order_folds(const struct python_order *o, size_t i, int runtime)
{
	const struct python_part *p = &o->all.v[i];

	if (p->kind != PYTHON_NATIVE || runtime < 0)
		return p->kind == PYTHON_LOOP;
	return i > o->of[runtime].innermost && i < o->of[runtime].outermost;
}
