/* Maps ids of a sender's dictionary to the store's. */
#include "store/day/store_dict.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/strtab.h"

#include <string.h>

/* Grows *ids to `now` entries, new ones DICT_MAP_NONE; with some spare room, as growth is
 * gradual. */
static void grow_ids(uint32_t **ids, size_t *n, size_t now)
{
	if (*ids && now <= *n)
		return;
	size_t room = *ids ? now + now / 4 : now;
	*ids = xreallocarray(*ids, room + 1, sizeof **ids);
	memset(*ids + *n, 0xff, (room + 1 - *n) * sizeof **ids);
	*n = room;
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

	for (uint32_t first = m->frames_mapped; first < all; first += FRAME_BATCH) {
		uint32_t n = all - first < FRAME_BATCH ? all - first : FRAME_BATCH;
		for (uint32_t i = 0; i < n; i++)
			frames[i] = map_frame(m, first + i);
		frame_intern_all(&m->dict->frames, frames, n, m->frame + first);
	}
	m->frames_mapped = all;
}

void dict_map_init(struct dict_map *m, struct profile *dict, const struct profile *src)
{
	memset(m, 0, sizeof *m);
	m->dict = dict;
	dict_map_follow(m, src);
}

bool dict_map_follow(struct dict_map *m, const struct profile *src)
{
	if (src->frames.frames.n < m->frames_mapped || src->stacks.stacks.n < m->stacks_known)
		return false;
	m->src = src;
	m->stacks_known = src->stacks.stacks.n;
	grow_ids(&m->string, &m->strings, src->strings.all.n);
	grow_ids(&m->mapping, &m->mappings, src->frames.mappings.n);
	grow_ids(&m->frame, &m->frames_room, src->frames.frames.n);
	grow_ids(&m->stack, &m->stacks, src->stacks.stacks.n);
	map_frames(m);
	return true;
}

uint64_t dict_map_bytes(const struct dict_map *m)
{
	return (m->strings + m->mappings + m->frames_room + m->stacks) * sizeof(uint32_t) +
	       vec_size_bytes(&m->frames);
}

/* Finds the prefix that it shares with a stack already in the dictionary. */
static void find_known(const struct dict_map *m, uint32_t stack, struct stack_list *l)
{
	while (stack) {
		const struct stack *s = &m->src->stacks.stacks.v[stack];
		uint32_t there = m->stack[s->parent];

		stack = s->parent;
		if (there == DICT_MAP_NONE || there == 0) /* 0: pending, or empty */
			continue;
		l->known = s->shared;
		l->known_as = there;
		return;
	}
}

void dict_map_end(struct dict_map *m)
{
	uint32_t found[STACK_BATCH];
	size_t first = 0;

	for (uint32_t i = 0; i < m->n_lists; i++) { /* the array may have moved as it grew */
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
	m->stack[id] = 0; /* requested */
	m->ids[m->n_lists++] = id;

	size_t first = m->frames.n;
	vec_reserve(&m->frames, first + l->n);
	uint32_t *frames = m->frames.v + first;
	stack_frames_from(&m->src->stacks, id, l->known, frames);
	for (uint32_t i = l->known; i < l->n; i++)
		frames[i] = m->frame[frames[i]];
	m->frames.n += l->n;

	if (m->n_lists == STACK_BATCH)
		dict_map_end(m);
}
