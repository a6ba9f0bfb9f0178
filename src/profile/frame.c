/* Identities of frames, and their hashes. */
#include "profile/frame.h"

#include <assert.h>
#include <string.h>

const struct frame_kind_info frame_kinds[FRAME_KINDS] = {
	[FRAME_NATIVE] = { "native", "" },
	[FRAME_KERNEL] = { "kernel", "_[k]" },
	[FRAME_JIT] = { "jit", "_[j]" },
	[FRAME_PYTHON] = { "python", "" },
	[FRAME_JAVA] = { "java", "" },
	[FRAME_GO] = { "go", "" },
	[FRAME_JS] = { "js", "" },
	[FRAME_RUBY] = { "ruby", "" },
	[FRAME_PHP] = { "php", "" },
	[FRAME_LUA] = { "lua", "" },
	[FRAME_PERL] = { "perl", "" },
	[FRAME_ERLANG] = { "erlang", "" },
	[FRAME_GPU_SOURCE] = { "gpu-source", "_[G]" },
	[FRAME_GPU_KERNEL] = { "gpu-kernel", "" },
	[FRAME_GPU_FUNCTION] = { "gpu-function", "_[G]" },
	[FRAME_GPU_INSTRUCTION] = { "gpu-instruction", "_[g]" },
	[FRAME_GPU_STALL] = { "gpu-stall", "_[g]" },
	[FRAME_INTERPRETED] = { "interpreted", "_[i]" },
	[FRAME_MARKER] = { "marker", "" },
	[FRAME_REST] = { "rest", "" },
};

void frame_table_done(struct frame_table *t)
{
	vec_done(&t->mappings);
	vec_done(&t->frames);
	map_done(&t->mapping_index);
	id_index_done(&t->frame_index);
}

static bool mapping_has_build_id(const struct mapping *m)
{
	return m->build_id_text || build_id_is_valid(m->build_id, m->build_id_len);
}

static bool mapping_is_nameless(const struct mapping *m)
{
	return m->flags & MAPPING_IS_NAMELESS;
}

static uint64_t mapping_hash(const struct mapping *m)
{
	if (mapping_has_build_id(m))
		return hash_mix(hash_bytes(m->build_id, m->build_id_len),
				mapping_is_nameless(m) ? m->name : m->build_id_text);
	return hash_mix(hash_mix(m->name, m->identity), hash_mix(m->start, m->offset));
}

struct mapping_key {
	const struct frame_table *t;
	const struct mapping *m;
};

static bool mapping_same(const void *ctx, uint32_t id)
{
	const struct mapping_key *key = ctx;
	const struct mapping *a = &key->t->mappings.v[id], *b = key->m;
	if (a->build_id_len != b->build_id_len || a->build_id_text != b->build_id_text ||
	    memcmp(a->build_id, b->build_id, a->build_id_len) != 0 ||
	    mapping_is_nameless(a) != mapping_is_nameless(b) ||
	    (mapping_is_nameless(a) && a->name != b->name))
		return false;
	if (mapping_has_build_id(a))
		return !a->identity || !b->identity || a->identity == b->identity;
	return a->name == b->name && a->identity == b->identity && a->start == b->start &&
	       a->offset == b->offset;
}

uint32_t mapping_intern(struct frame_table *t, const struct mapping *m)
{
	assert(m->build_id_len <= BUILD_ID_MAX);
	struct mapping_key key = { t, m };
	uint32_t fresh = t->mappings.n;
	uint32_t id = map_intern(&t->mapping_index, mapping_hash(m), fresh, mapping_same, &key);
	if (id == fresh)
		vec_push(&t->mappings, *m);
	return id;
}

void mapping_index_again(struct frame_table *t)
{
	map_clear(&t->mapping_index);
	for (uint32_t i = 0; i < t->mappings.n; i++) {
		const struct mapping *m = &t->mappings.v[i];
		struct mapping_key key = { t, m };
		map_intern(&t->mapping_index, mapping_hash(m), i, mapping_same, &key);
	}
}

/* Retains only the fields that identify the frame: function and file share their bytes with offset,
 * and only frames by name have a line and a binary. */
static struct frame frame_normal(const struct frame *f)
{
	bool by_name = f->mapping == MAPPING_NONE;
	return (struct frame){ .kind = f->kind,
			       .mapping = f->mapping,
			       .offset = f->offset,
			       .line = by_name ? f->line : 0,
			       .binary = by_name ? f->binary : 0 };
}

struct frame_key {
	const struct frame_table *t;
	struct frame f;
};

static bool frame_same(const void *ctx, uint32_t id)
{
	const struct frame_key *key = ctx;
	const struct frame *a = &key->t->frames.v[id], *b = &key->f;
	return a->kind == b->kind && a->mapping == b->mapping && a->offset == b->offset &&
	       a->line == b->line && a->binary == b->binary;
}

static uint64_t frame_hash(const struct frame *f)
{
	return hash_mix(
		hash_mix((uint64_t)f->mapping << 32 | f->line, (uint64_t)f->binary << 32 | f->kind),
		f->offset);
}

static uint32_t frame_put(struct frame_table *t, const struct frame *normal, uint64_t hash)
{
	struct frame_key key = { t, *normal };
	uint32_t fresh = t->frames.n;
	uint32_t id = id_intern(&t->frame_index, hash, fresh, frame_same, &key);
	if (id == fresh)
		vec_push(&t->frames, key.f);
	return id;
}

uint32_t frame_intern(struct frame_table *t, const struct frame *f)
{
	assert(f->kind < FRAME_KINDS && (f->mapping == MAPPING_NONE || f->mapping < t->mappings.n));
	struct frame normal = frame_normal(f);
	return frame_put(t, &normal, frame_hash(&normal));
}

bool frame_find(const struct frame_table *t, const struct frame *f, uint32_t *id)
{
	struct frame_key key = { t, frame_normal(f) };
	return id_lookup(&t->frame_index, frame_hash(&key.f), frame_same, &key, id);
}

/* Each lookup has two cache misses: its slot and the frame in it. Prefetching overlaps them. */
void frame_intern_all(struct frame_table *t, const struct frame *frames, uint32_t n, uint32_t *ids)
{
	struct frame normal[FRAME_BATCH];
	uint64_t hashes[FRAME_BATCH];

	assert(n <= FRAME_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		assert(frames[i].kind < FRAME_KINDS &&
		       (frames[i].mapping == MAPPING_NONE || frames[i].mapping < t->mappings.n));
		normal[i] = frame_normal(&frames[i]);
		hashes[i] = frame_hash(&normal[i]);
		id_prefetch(&t->frame_index, hashes[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id;
		if (id_likely(&t->frame_index, hashes[i], &id))
			__builtin_prefetch(&t->frames.v[id]);
	}
	for (uint32_t i = 0; i < n; i++)
		ids[i] = frame_put(t, &normal[i], hashes[i]);
}
