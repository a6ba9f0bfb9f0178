/* Stacks with frames of Python, from those of the kernel to those of the sink. */
#include "collect/python_order.h"
#include "collect/resolver.h"
#include "collect/walk_end.h"

#include <string.h>

static bool is_interpreter(struct resolver *r, uint64_t word)
{
	const struct object *o = word & FRAME_ADDRESS ? NULL : space_object(r->space, word);

	return o && interpreted_is_runtime(o);
}

/* Greenlets: their C code begins each of them on a stack that is another's further out. */
static bool is_switch(void *ctx, uint64_t word)
{
	struct resolver *r = ctx;
	const struct object *o = word & FRAME_ADDRESS ? NULL : space_object(r->space, word);
	const char *slash = o && o->name ? strrchr(o->name, '/') : NULL;

	return slash &&
	       (strncmp(slash, "/_greenlet.", 11) == 0 || strncmp(slash, "/greenlet.", 10) == 0);
}

static bool is_left_out(struct resolver *r, const struct python_order *o, size_t i)
{
	if (o->all.v[i].kind == PYTHON_FRAME || o->all.v[i].kind == PYTHON_CUT)
		return false;
	if (python_order_is_trampoline(o, i))
		return true;
	return !r->opts.show_python_native &&
	       python_order_folds(o, i, is_interpreter(r, o->in.words[o->all.v[i].at]));
}

static void push_python(struct resolver *r, uint32_t pid, const uint64_t words[2])
{
	struct interpreted_frame in;

	interpreted_frame(r->interpreted, pid, words, &in);
	if (in.named == RUNTIME_LEFT_OUT)
		return;
	struct frame f = {
		.kind = in.kind,
		.mapping = MAPPING_NONE,
		.function = sink_string(r->sink, in.named == RUNTIME_NAMED ? in.name : "[unknown]"),
		.file = sink_string(r->sink, in.file),
		.line = in.line,
	};
	vec_push(&r->stack, r->sink->ops->frame(r->sink, &f));
}

static void push_cut(struct resolver *r)
{
	struct frame f = {
		.kind = FRAME_MARKER,
		.mapping = MAPPING_NONE,
		.function = sink_string(r->sink, "[truncated: frames of Python]"),
	};

	vec_push(&r->stack, r->sink->ops->frame(r->sink, &f));
}

/* Frames that have no place among the others, nor a marker there. */
static bool lacks_marker(const struct python_order *o)
{
	bool is_none_left = python_order_lacks(o) || !o->in.n_python;

	return o->turns.fit == PYTHON_UNFIT || (o->in.is_cut && is_none_left);
}

void resolver_push_python(struct resolver *r, const struct process *p, const struct event_stack *st,
			  uint32_t n_user, enum walk_end end, bool *has_jit)
{
	const uint64_t *words = (const uint64_t *)st->addr + st->n_kernel;
	struct python_stack in = {
		.words = words,
		.n_words = n_user,
		.n_python = st->n_python,
		.is_whole = !walk_end_marker(end),
		.is_cut = st->flags & STACK_PYTHON_CUT,
		.is_switch = is_switch,
		.ctx = r,
	};
	struct python_order o;

	python_order_init(&o, &in);
	r->python_unplaced += python_order_lacks(&o);
	if (lacks_marker(&o))
		push_cut(r);
	for (size_t i = o.all.n; i-- > 0;) {
		uint32_t at = o.all.v[i].at;

		if (is_left_out(r, &o, i))
			continue;
		if (o.all.v[i].kind == PYTHON_CUT)
			push_cut(r);
		else if (o.all.v[i].kind == PYTHON_FRAME)
			push_python(r, st->tgid, words + at);
		else
			*has_jit |= resolver_push_user(r, p, st, at);
	}
	python_order_done(&o);
}
