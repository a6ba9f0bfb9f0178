#include "store/dict_map.h"

#include "base/mem.h"

#include <string.h>

static uint32_t *new_ids(size_t n)
{
	uint32_t *ids = xreallocarray(NULL, n + 1, sizeof *ids);

	memset(ids, 0xff, (n + 1) * sizeof *ids);
	return ids;
}

void dict_map_done(struct dict_map *m)
{
	free(m->string);
	free(m->mapping);
	free(m->frame);
	free(m->stack);
	vec_done(&m->frames);
}

static uint32_t map_string(struct dict_map *m, uint32_t id)
{
	if (m->string[id] == DICT_MAP_NONE)
		m->string[id] = strtab_putn(&m->dict->strings, strtab_get(&m->src->strings, id),
					    strtab_len(&m->src->strings, id));
	return m->string[id];
}

static uint32_t map_mapping(struct dict_map *m, uint32_t id)
{
	if (m->mapping[id] == DICT_MAP_NONE) {
		struct mapping copy = m->src->frames.mappings.v[id];
		copy.name = map_string(m, copy.name);
		copy.build_id_text = map_string(m, copy.build_id_text);
		m->mapping[id] = mapping_intern(&m->dict->frames, &copy);
	}
	return m->mapping[id];
}

static struct frame map_frame(struct dict_map *m, uint32_t id)
{
	struct frame copy = m->src->frames.frames.v[id];

	if (copy.mapping != MAPPING_NONE) {
		copy.mapping = map_mapping(m, copy.mapping);
	} else {
		copy.function = map_string(m, copy.function);
		copy.file = map_string(m, copy.file);
		copy.binary = map_string(m, copy.binary);
	}
	return copy;
}

static void map_frames(struct dict_map *m)
{
	struct frame frames[FRAME_BATCH];
	uint32_t all = m->src->frames.frames.n;

	for (uint32_t first = 0; first < all; first += FRAME_BATCH) {
		uint32_t n = all - first < FRAME_BATCH ? all - first : FRAME_BATCH;
		for (uint32_t i = 0; i < n; i++)
			frames[i] = map_frame(m, first + i);
		frame_intern_all(&m->dict->frames, frames, n, m->frame + first);
	}
}

void dict_map_init(struct dict_map *m, struct profile *dict, const struct profile *src)
{
	memset(m, 0, sizeof *m);
	m->dict = dict;
	m->src = src;
	m->string = new_ids(src->strings.all.n);
	m->mapping = new_ids(src->frames.mappings.n);
	m->frame = new_ids(src->frames.frames.n);
	m->stack = new_ids(src->stacks.stacks.n);
	map_frames(m);
}

/* The beginning that it has in common with a stack that is in the dictionary already. */
static void find_known(const struct dict_map *m, uint32_t stack, struct stack_list *l)
{
	while (stack) {
		const struct stack *s = &m->src->stacks.stacks.v[stack];
		uint32_t there = m->stack[s->parent];

		stack = s->parent;
		if (there == DICT_MAP_NONE || there == 0) /* 0: on its way, or empty */
			continue;
		l->known = s->shared;
		l->known_as = there;
		return;
	}
}

static void add_frames(struct dict_map *m, uint32_t stack, const struct stack_list *l)
{
	size_t first = m->frames.n;

	vec_reserve(&m->frames, first + l->n);
	uint32_t *frames = m->frames.v + first;
	stack_frames_from(&m->src->stacks, stack, l->known, frames);
	for (uint32_t i = l->known; i < l->n; i++)
		frames[i] = m->frame[frames[i]];
	m->frames.n += l->n;
}

void dict_map_end(struct dict_map *m)
{
	uint32_t found[STACK_BATCH];
	size_t first = 0;

	for (uint32_t i = 0; i < m->n_lists; i++) { /* frames have moved while they came */
		m->lists[i].frames = m->frames.v + first;
		first += m->lists[i].n;
	}
	stack_intern_all(&m->dict->stacks, m->lists, m->n_lists, found);
	for (uint32_t i = 0; i < m->n_lists; i++)
		m->stack[m->ids[i]] = found[i];
	m->n_lists = 0;
	vec_clear(&m->frames);
}

void dict_map_stack(struct dict_map *m, uint32_t id)
{
	struct stack_list *l = &m->lists[m->n_lists];

	if (m->stack[id] != DICT_MAP_NONE)
		return;
	*l = (struct stack_list){ .n = stack_depth(&m->src->stacks, id) };
	find_known(m, id, l);
	m->stack[id] = 0; /* no second time */
	m->ids[m->n_lists++] = id;
	add_frames(m, id, l);
	if (m->n_lists == STACK_BATCH)
		dict_map_end(m);
}
