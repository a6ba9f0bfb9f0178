/* Sets names for the stacks that a view is about to return. */
#include "store/day/view_state.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/stack.h"

void store_set_namer(struct store *s, const struct store_namer *namer)
{
	s->namer = *namer;
}

/* Collects frames without a name, of code in files. */
struct nameless {
	const struct profile *dict;
	uint64_t *seen; /* a bit for each stack */
	VEC(uint32_t) frames;
};

static void look_at(struct nameless *w, uint32_t frame)
{
	const struct frame *f = &w->dict->frames.frames.v[frame];
	const struct line *lines;

	if (f->kind == FRAME_NATIVE && f->mapping != MAPPING_NONE &&
	    !names_get(&w->dict->names, frame, &lines))
		vec_push(&w->frames, frame);
}

/* Visits the frames of a stack and of its ancestors; each stack once. */
static void look_at_stack(struct nameless *w, uint32_t stack)
{
	const struct stack_table *t = &w->dict->stacks;

	while (stack && !(w->seen[stack / 64] >> stack % 64 & 1)) {
		const struct stack *st = &t->stacks.v[stack];

		w->seen[stack / 64] |= 1ull << stack % 64;
		for (int i = 0; i < st->depth - st->shared; i++)
			look_at(w, t->own.v[st->own + i]);
		stack = st->parent;
	}
}

static void find_nameless(struct nameless *w, const uint32_t *stacks, size_t n)
{
	if (!stacks) {
		for (uint32_t i = 0; i < w->dict->frames.frames.n; i++)
			look_at(w, i);
		return;
	}
	w->seen = xcalloc(w->dict->stacks.stacks.n / 64 + 1, sizeof *w->seen);
	for (size_t i = 0; i < n; i++)
		look_at_stack(w, stacks[i]);
	free(w->seen);
}

/* Returns true if there may be more names now. */
static bool ask_namer(struct store_view *v, const struct profile *dict, const uint32_t *stacks,
		      size_t n)
{
	const struct store_namer *namer = &v->s->namer;
	struct nameless w = { .dict = dict };

	if (v->asked_namer || !namer->name || !namer->frames_wait(namer->ctx))
		return false;
	find_nameless(&w, stacks, n);
	v->asked_namer = w.frames.n > 0 && namer->name(namer->ctx, dict, w.frames.v, w.frames.n);
	vec_done(&w.frames);
	return v->asked_namer;
}

static int apply(struct store_view *v, struct part_reader *r, const uint32_t *stacks, size_t n,
		 struct err *err)
{
	struct profile *dict = part_dict(r->part);

	return stacks ? names_db_apply_stacks(v->names, dict, &r->names, stacks, n, err)
		      : names_db_apply(v->names, dict, &r->names, NULL, 0, err);
}

int view_name_stacks(struct store_view *v, struct part_reader *r, const uint32_t *stacks, size_t n,
		     struct err *err)
{
	int rc = v->names ? apply(v, r, stacks, n, err) : 0;

	if (rc == 0 && v->names && ask_namer(v, part_dict(r->part), stacks, n))
		rc = apply(v, r, stacks, n, err);
	return rc;
}
