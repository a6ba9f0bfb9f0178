#include "collect/python_order.h"

#include "bpf/cpython.h"
#include "bpf/space.h"

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
	to = to < o->in.n_python ? to : o->in.n_python;
	for (uint32_t at = from; at + 1 < to; at += 2)
		add(o, PYTHON_FRAME, at);
	if (o->in.is_cut && to > from && to == o->in.n_python)
		add(o, PYTHON_CUT, to);
	o->placed = to > o->placed ? to : o->placed;
}

/* Those that a call of the loop runs, by the mark behind it. */
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
	*o = (struct python_order){ .in = *in, .innermost = UINT32_MAX };
	o->in.n_python &= ~1u;
	o->turns = python_turns_of(in);
	for (uint32_t at = in->n_python; at < in->n_words; at++)
		if (!python_mark_at(in, at))
			add_native(o, at);
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

bool python_order_is_trampoline(const struct python_order *o, size_t i)
{
	const struct python_part *p = &o->all.v[i];

	return i && p[-1].kind == PYTHON_LOOP && p->kind == PYTHON_NATIVE &&
	       o->in.words[p->at] & FRAME_ADDRESS;
}

bool python_order_folds(const struct python_order *o, size_t i, bool is_interpreter)
{
	const struct python_part *p = &o->all.v[i];
	bool is_between = i > o->innermost && i < o->outermost;

	return p->kind == PYTHON_LOOP || (p->kind == PYTHON_NATIVE && is_interpreter && is_between);
}
