#include "profile/shown_funcs.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void shown_funcs_free(struct shown_funcs *s)
{
	if (!s)
		return;
	vec_done(&s->all);
	vec_done(&s->lists);
	vec_done(&s->frames);
	map_done(&s->index);
	map_done(&s->binaries);
	stack_kids_done(&s->kids);
	free(s->lead);
	free(s->stack_room);
	free(s->frame_room);
	free(s);
}

uint64_t shown_funcs_bytes(const struct shown_funcs *s)
{
	if (!s)
		return 0;
	return vec_size_bytes(&s->all) + vec_size_bytes(&s->lists) + vec_size_bytes(&s->frames) +
	       map_size_bytes(&s->index) + map_size_bytes(&s->binaries) +
	       3 * s->kids.n * sizeof *s->kids.kid + s->kids.n * sizeof *s->kids.shared +
	       s->n_stack_room * sizeof *s->stack_room + s->n_frame_room * sizeof *s->frame_room;
}

static uint32_t frame_changes(const struct names *names, size_t frame)
{
	return frame < names->changes.n ? names->changes.v[frame] : 0;
}

/* Frames whose names have changed are to be resolved again. */
static void forget_changed(struct shown_funcs *s, const struct names *names)
{
	for (size_t i = 0; i < s->frames.n; i++)
		if (s->frames.v[i].changes != frame_changes(names, i))
			s->frames.v[i].is_resolved = false;
	if (s->lead)
		memset(s->lead, 0, s->n_lead * sizeof *s->lead);
	s->changes = names->all_changes;
}

struct shown_funcs *shown_funcs_of(struct profile *p)
{
	if (!p->shown)
		p->shown = xcalloc(1, sizeof *p->shown);
	struct shown_funcs *s = p->shown;
	size_t n = p->frames.frames.n;
	vec_reserve(&s->frames, n);
	if (s->frames.n < n)
		memset(s->frames.v + s->frames.n, 0, (n - s->frames.n) * sizeof *s->frames.v);
	s->frames.n = n;
	if (s->changes != p->names.all_changes)
		forget_changed(s, &p->names);
	return s;
}

struct shown_key {
	const struct shown_funcs *s;
	const struct tree_func *f;
};

static bool is_same(const void *ctx, uint32_t id)
{
	const struct shown_key *key = ctx;
	return tree_func_eq(&key->s->all.v[id], key->f);
}

static uint32_t intern(struct shown_funcs *s, const struct tree_func *f)
{
	struct shown_key key = { s, f };
	uint32_t fresh = s->all.n;
	uint32_t id = map_intern(&s->index, tree_func_hash(f), fresh, is_same, &key);
	if (id == fresh)
		vec_push(&s->all, *f);
	return id;
}

/* Few mappings have many frames. */
static uint32_t frame_binary(struct shown_funcs *s, struct profile *p, uint32_t frame)
{
	const struct frame *f = &p->frames.frames.v[frame];
	uint64_t key = f->mapping == MAPPING_NONE ? UINT64_C(1) << 32 | f->binary : f->mapping;
	const uint32_t *known = map_get(&s->binaries, key);
	if (known)
		return *known;
	uint32_t binary = profile_frame_binary(p, frame);
	map_put(&s->binaries, key, binary);
	return binary;
}

void shown_funcs_resolve(struct shown_funcs *s, struct profile *p, uint32_t frame)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(p, frame, lines, NAMES_MAX_INLINE);
	struct tree_func f = { .kind = p->frames.frames.v[frame].kind,
			       .binary = frame_binary(s, p, frame) };
	s->frames.v[frame] =
		(struct shown_run){ s->lists.n, n, true, frame_changes(&p->names, frame) };
	for (uint32_t i = n; i-- > 0;) {
		f.name = lines[i].name;
		f.file = lines[i].file;
		f.inlined = i + 1 < n;
		vec_push(&s->lists, intern(s, &f));
	}
}

/* --- kids --- */

void shown_funcs_kids(struct shown_funcs *s, const struct profile *p)
{
	stack_kids_update(&s->kids, &p->stacks);
	if (s->n_lead == s->kids.n)
		return;
	free(s->lead);
	s->n_lead = s->kids.n;
	s->lead = xcalloc(s->n_lead, sizeof *s->lead);
}

/* Kept + 1: TREE_NONE is not kept. */
uint32_t shown_funcs_find_lead(struct shown_funcs *s, struct profile *p, uint32_t at)
{
	const struct stack *kid = &p->stacks.stacks.v[s->kids.kid[at]];
	if (kid->depth == kid->shared)
		return TREE_NONE;
	const struct shown_run *run = shown_funcs_get(s, p, p->stacks.own.v[kid->own]);
	uint32_t func = s->lists.v[run->first];
	s->lead[at] = func + 1;
	return func;
}

/* --- room --- */

static uint32_t *take(uint32_t **room, size_t *n_room, size_t n)
{
	uint32_t *taken = *room;
	if (!taken || *n_room < n) {
		free(taken);
		taken = xcalloc(n, sizeof *taken);
		*n_room = n;
	}
	*room = NULL;
	return taken;
}

uint32_t *shown_funcs_take_stacks(struct shown_funcs *s, const struct profile *p)
{
	return take(&s->stack_room, &s->n_stack_room, p->stacks.stacks.n);
}

uint32_t *shown_funcs_take_frames(struct shown_funcs *s, const struct profile *p)
{
	return take(&s->frame_room, &s->n_frame_room, p->frames.frames.n);
}

void shown_funcs_give(struct shown_funcs *s, uint32_t *by_stack, uint32_t *by_frame)
{
	free(s->stack_room);
	free(s->frame_room);
	s->stack_room = by_stack;
	s->frame_room = by_frame;
}
