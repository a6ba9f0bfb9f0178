#include "collect/python_order.h"

#include "bpf/cpython.h"
#include "bpf/space.h"

static bool is_mark(const struct python_order *o, uint32_t at)
{
	return at < o->n_words && !(o->words[at] & FRAME_ADDRESS) && o->words[at] & CPYTHON_FRAME &&
	       o->words[at] & CPYTHON_IS_MARK;
}

static void add(struct python_order *o, enum python_part_kind kind, uint32_t at)
{
	if (kind == PYTHON_FRAME) {
		o->innermost = o->innermost < o->all.n ? o->innermost : o->all.n;
		o->outermost = o->all.n;
	}
	vec_push(&o->all, (struct python_part){ kind, at });
}

static void add_frames(struct python_order *o, uint32_t from, uint32_t to)
{
	to = to < o->n_python ? to : o->n_python;
	for (uint32_t at = from; at + 1 < to; at += 2)
		add(o, PYTHON_FRAME, at);
	if (o->is_cut && to > from && to == o->n_python)
		add(o, PYTHON_CUT, to);
	o->placed = to > o->placed ? to : o->placed;
}

/* The mark behind a native frame says which frames of Python it runs. */
static void add_native(struct python_order *o, uint32_t at)
{
	uint64_t mark = is_mark(o, at + 1) ? o->words[at + 1] : 0;
	uint32_t first = CPYTHON_MARK_FIRST(mark);

	if (mark)
		add_frames(o, 2 * first, 2 * (first + CPYTHON_MARK_N(mark)));
	add(o, mark ? PYTHON_LOOP : PYTHON_NATIVE, at);
}

void python_order_init(struct python_order *o, const uint64_t *words, uint32_t n_words,
		       uint32_t n_python, bool is_whole, bool is_cut)
{
	*o = (struct python_order){
		.words = words,
		.n_words = n_words,
		.n_python = n_python & ~1u,
		.is_cut = is_cut,
		.innermost = UINT32_MAX,
	};
	for (uint32_t at = n_python; at < n_words; at++)
		if (!is_mark(o, at))
			add_native(o, at);
	if (!is_whole)
		add_frames(o, o->placed, o->n_python);
}

void python_order_done(struct python_order *o)
{
	vec_done(&o->all);
}

bool python_order_lacks(const struct python_order *o)
{
	return o->placed < o->n_python;
}

bool python_order_is_trampoline(const struct python_order *o, size_t i)
{
	const struct python_part *p = &o->all.v[i];

	return i && p[-1].kind == PYTHON_LOOP && p->kind == PYTHON_NATIVE &&
	       o->words[p->at] & FRAME_ADDRESS;
}

bool python_order_folds(const struct python_order *o, size_t i, bool is_interpreter)
{
	const struct python_part *p = &o->all.v[i];
	bool is_between = i > o->innermost && i < o->outermost;

	return p->kind == PYTHON_LOOP || (p->kind == PYTHON_NATIVE && is_interpreter && is_between);
}
