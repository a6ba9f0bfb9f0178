#include "agent/name_memory.h"

#include "agent/naming.h"
#include "profile/copy.h"

void name_memory_done(struct name_memory *m)
{
	profile_free(m->known);
	map_done(&m->frames);
	m->known = NULL;
}

static bool has_address(const struct frame *f)
{
	return f->kind == FRAME_NATIVE && f->mapping != MAPPING_NONE;
}

static uint64_t key_of(const struct profile *dict, uint32_t frame)
{
	const struct frame *f = &dict->frames.frames.v[frame];

	return hash_mix(naming_key(dict, f->mapping), f->offset);
}

static void add(struct name_memory *m, const struct profile *dict)
{
	const struct line *lines;
	struct profile_copy copy;

	profile_copy_init(&copy, dict, m->known);
	for (uint32_t i = 0; i < dict->frames.frames.n; i++) {
		bool is_new;

		if (!has_address(&dict->frames.frames.v[i]) || !names_get(&dict->names, i, &lines))
			continue;
		uint32_t to = profile_copy_frame(&copy, i, &is_new);
		profile_copy_names(&copy, i, to);
		map_put(&m->frames, key_of(dict, i), to);
	}
	profile_copy_done(&copy);
}

bool name_memory_add(struct name_memory *m, const struct profile *dict)
{
	struct sink *sink = m->known ? profile_sink(m->known) : NULL;
	bool forgets = sink && sink->ops->kept_bytes(sink) > NAME_MEMORY_BYTES;

	if (forgets)
		name_memory_done(m);
	if (!m->known)
		m->known = profile_new();
	add(m, dict);
	return forgets;
}

void name_memory_give(struct name_memory *m, struct profile *dict, uint32_t first)
{
	const struct line *lines;
	struct profile_copy copy;

	if (!m->known || first >= dict->frames.frames.n)
		return;
	profile_copy_init(&copy, m->known, dict);
	for (uint32_t i = first; i < dict->frames.frames.n; i++) {
		if (!has_address(&dict->frames.frames.v[i]) || names_get(&dict->names, i, &lines))
			continue;
		const uint32_t *known = map_get(&m->frames, key_of(dict, i));
		if (known)
			profile_copy_names(&copy, *known, i);
	}
	profile_copy_done(&copy);
}
