#include "agent/naming.h"

#include "base/clock.h"
#include "collect/symbolize.h"

void naming_init(struct naming *n, const struct name_files_opts *files)
{
	*n = (struct naming){ 0 };
	name_files_open(&n->files, files);
}

void naming_begin(struct naming *n)
{
	for (size_t i = 0; i < n->wants.n; i++) {
		map_done(&n->wants.v[i].frames);
		n->wants.v[i].mapping = MAPPING_NONE;
	}
	if (n->wants.n >= NAMING_MAX_FILES) {
		vec_clear(&n->wants);
		map_clear(&n->by_key);
	}
	map_done(&n->by_mapping);
	n->seen_frames = 0;
}

void naming_done(struct naming *n)
{
	naming_begin(n);
	vec_done(&n->wants);
	map_done(&n->by_key);
	map_done(&n->done);
	name_files_close(&n->files);
}

/* The same in every dictionary. */
static uint64_t mapping_key(const struct profile *dict, uint32_t mapping)
{
	const struct mapping *m = &dict->frames.mappings.v[mapping];
	uint64_t name = hash_bytes(profile_str(dict, m->name), strtab_len(&dict->strings, m->name));

	return hash_mix(hash_mix(name, hash_bytes(m->build_id, m->build_id_len)), m->identity);
}

static struct naming_want *want_of(struct naming *n, const struct profile *dict, uint32_t mapping)
{
	const uint32_t *known = map_get(&n->by_mapping, mapping);

	if (known)
		return &n->wants.v[*known];
	uint64_t key = mapping_key(dict, mapping);
	uint32_t i = map_intern(&n->by_key, key, n->wants.n, NULL, NULL);
	if (i == n->wants.n)
		vec_push(&n->wants, (struct naming_want){ .key = key });
	n->wants.v[i].mapping = mapping;
	map_put(&n->by_mapping, mapping, i);
	return &n->wants.v[i];
}

void naming_look(struct naming *n, const struct profile *dict)
{
	for (; n->seen_frames < dict->frames.frames.n; n->seen_frames++) {
		const struct frame *f = &dict->frames.frames.v[n->seen_frames];

		if (f->kind != FRAME_NATIVE || f->mapping == MAPPING_NONE)
			continue;
		struct naming_want *w = want_of(n, dict, f->mapping);
		if (!map_get(&n->done, hash_mix(w->key, f->offset)))
			map_put(&w->frames, f->offset, n->seen_frames);
	}
}

uint32_t naming_next(const struct naming *n, uint64_t now_ns)
{
	for (size_t i = 0; i < n->wants.n; i++)
		if (n->wants.v[i].frames.n && now_ns >= n->wants.v[i].due_ns)
			return n->wants.v[i].mapping;
	return MAPPING_NONE;
}

static void remember(struct naming *n, const struct naming_want *w)
{
	if (n->done.n >= NAMING_MAX_DONE)
		map_clear(&n->done);
	map_each (&w->frames, slot)
		map_put(&n->done, hash_mix(w->key, slot->key), 1);
}

static uint64_t due_after(uint64_t now_ns, uint64_t cost_ns)
{
	uint64_t wait_ns = cost_ns * NAMING_WAIT_PER_COST;

	if (wait_ns < NAMING_MIN_WAIT_NS)
		wait_ns = NAMING_MIN_WAIT_NS;
	return now_ns + (wait_ns < NAMING_MAX_WAIT_NS ? wait_ns : NAMING_MAX_WAIT_NS);
}

bool naming_file(struct naming *n, struct profile *dict, uint32_t mapping, int fd)
{
	const uint32_t *known = map_get(&n->by_mapping, mapping);
	struct map nothing = { 0 };
	struct symbolize s = { .sink = profile_sink(dict), .leaf_samples = &nothing };
	uint64_t begin_ns = clock_mono_ns();
	struct elf_names names;

	if (!known)
		return false;
	struct naming_want *w = &n->wants.v[*known];
	const char *path = profile_str(dict, dict->frames.mappings.v[mapping].name);
	if (fd >= 0 && w->frames.n && elf_names_open(&names, &n->files, fd, path, 0) == 0) {
		symbolize_frames(&s, names.source, mapping, &w->frames);
		elf_names_close(&names);
	}
	if (fd >= 0)
		remember(n, w);
	uint64_t end_ns = clock_mono_ns();
	w->due_ns = due_after(end_ns, end_ns - begin_ns);
	map_done(&w->frames);
	return s.named > 0;
}
