/* Computes functions per frame once, and stores them with the profile. */
#include "profile/tree/shown_funcs.h"

#include "base/mem.h"
#include "profile/tree/tree.h"

#include <stdlib.h>
#include <string.h>

/* --- kids of stacks --------------------------------------------------------------------------- */

static void stack_children_done(struct stack_children *k)
{
	free(k->first);
	free(k->kid);
	free(k->shared);
	*k = (struct stack_children){ 0 };
}

static int by_shared(const void *a, const void *b, void *ctx)
{
	const struct stack *stacks = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (stacks[x].shared != stacks[y].shared)
		return stacks[x].shared < stacks[y].shared ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The children are already in order of their ids. */
static void sort_kids(uint32_t *kid, uint32_t n, const struct stack *stacks)
{
	for (uint32_t i = 1; i < n; i++)
		if (stacks[kid[i - 1]].shared > stacks[kid[i]].shared) {
			qsort_r(kid, n, sizeof *kid, by_shared, (void *)stacks);
			return;
		}
}

/* A counting sort. The empty stack is no stack's child. */
static void stack_children_update(struct stack_children *k, const struct stack_table *t)
{
	const struct stack *stacks = t->stacks.v;
	uint32_t n = t->stacks.n;
	if (k->n == n)
		return;
	stack_children_done(k);
	uint32_t *next = xcalloc(n + 2, sizeof *next);
	k->n = n;
	k->kid = xreallocarray(NULL, n, sizeof *k->kid);
	for (uint32_t id = 1; id < n; id++)
		next[stacks[id].parent + 2]++;
	for (uint32_t id = 2; id < n + 2; id++)
		next[id] += next[id - 1];
	for (uint32_t id = 1; id < n; id++)
		k->kid[next[stacks[id].parent + 1]++] = id;
	k->first = next; /* each has advanced to the start of the next one */
	for (uint32_t id = 0; id < n; id++)
		sort_kids(&k->kid[k->first[id]], k->first[id + 1] - k->first[id], stacks);
	k->shared = xreallocarray(NULL, n, sizeof *k->shared);
	for (uint32_t i = 0; i + 1 < n; i++)
		k->shared[i] = stacks[k->kid[i]].shared;
}

/* --- the cache -------------------------------------------------------------------------------- */

static void free_cache(struct profile_cache *c)
{
	struct shown_funcs *s = (struct shown_funcs *)c;

	vec_done(&s->all);
	vec_done(&s->lists);
	vec_done(&s->frames);
	map_done(&s->index);
	map_done(&s->binaries);
	stack_children_done(&s->kids);
	free(s->lead);
	free(s->stack_scratch);
	free(s->frame_scratch);
	free(s);
}

static uint64_t cache_bytes(const struct profile_cache *c)
{
	const struct shown_funcs *s = (const struct shown_funcs *)c;

	return vec_size_bytes(&s->all) + vec_size_bytes(&s->lists) + vec_size_bytes(&s->frames) +
	       map_size_bytes(&s->index) + map_size_bytes(&s->binaries) +
	       3 * s->kids.n * sizeof *s->kids.kid + s->kids.n * sizeof *s->kids.shared +
	       s->n_stack_scratch * sizeof *s->stack_scratch +
	       s->n_frame_scratch * sizeof *s->frame_scratch;
}

static uint32_t frame_changes(const struct names *names, size_t frame)
{
	return frame < names->changes.n ? names->changes.v[frame] : 0;
}

/* Marks frames whose names have changed to be resolved again. */
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
	struct shown_funcs *s = (struct shown_funcs *)p->shown;
	if (!s) {
		s = xcalloc(1, sizeof *s);
		s->cache = (struct profile_cache){ free_cache, cache_bytes };
		p->shown = &s->cache;
	}
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

/* Caches the result: few mappings have many frames. */
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

void shown_funcs_children(struct shown_funcs *s, const struct profile *p)
{
	stack_children_update(&s->kids, &p->stacks);
	if (s->n_lead == s->kids.n)
		return;
	free(s->lead);
	s->n_lead = s->kids.n;
	s->lead = xcalloc(s->n_lead, sizeof *s->lead);
}

/* Caches the function + 1; TREE_NONE is not cached. */
uint32_t shown_funcs_find_first(struct shown_funcs *s, struct profile *p, uint32_t at)
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

uint32_t *shown_funcs_borrow_stacks(struct shown_funcs *s, const struct profile *p)
{
	return take(&s->stack_scratch, &s->n_stack_scratch, p->stacks.stacks.n);
}

uint32_t *shown_funcs_borrow_frames(struct shown_funcs *s, const struct profile *p)
{
	return take(&s->frame_scratch, &s->n_frame_scratch, p->frames.frames.n);
}

void shown_funcs_return(struct shown_funcs *s, uint32_t *by_stack, uint32_t *by_frame)
{
	free(s->stack_scratch);
	free(s->frame_scratch);
	s->stack_scratch = by_stack;
	s->frame_scratch = by_frame;
}
