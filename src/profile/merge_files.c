/* Compares the names of two profiles at the same addresses. */
#include "profile/merge_files.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { MERGE_MAX_FILES = 64 }; /* limit: files with one build id; others get the last's names */

static bool same_function(const struct merge_files *f, const struct line *ours,
			  const struct line *theirs)
{
	const struct function *x = &f->dst->names.functions.v[ours->function];
	const struct function *y = &f->src->names.functions.v[theirs->function];
	return x->name == f->string[y->name] || (x->linkage && x->linkage == f->string[y->linkage]);
}

enum verdict { UNKNOWN, SAME, DIFFERENT };

/* If only one side has inlined functions, the functions around them are compared. */
static enum verdict compare_names(const struct merge_files *f, uint32_t ours, uint32_t theirs)
{
	const struct line *x, *y;
	uint32_t n = names_get(&f->dst->names, ours, &x);
	uint32_t m = names_get(&f->src->names, theirs, &y);
	if (!n || !m)
		return UNKNOWN;
	for (uint32_t i = 1; i <= (n == m ? n : 1); i++)
		if (!same_function(f, &x[n - i], &y[m - i]))
			return DIFFERENT;
	return SAME;
}

/* Compares the function of a frame of src with the one that dst has at its address. */
static enum verdict compare_frame(const struct merge_files *f, uint32_t frame, uint32_t mapping)
{
	struct frame copy = f->src->frames.frames.v[frame];
	uint32_t ours;
	copy.mapping = mapping;
	return frame_find(&f->dst->frames, &copy, &ours) ? compare_names(f, ours, frame) : UNKNOWN;
}

static bool has_only_dynsym(const struct profile *p, uint32_t mapping)
{
	bool has = false;
	for (size_t i = 0; i < p->origins.all.n; i++) {
		const struct origin *o = &p->origins.all.v[i];
		if (o->mapping != mapping || !o->name)
			continue;
		if (strcmp(profile_str(p, o->name), ".dynsym") != 0)
			return false;
		has = true;
	}
	return has;
}

static bool is_taken(const struct merge_files *f, uint32_t mapping)
{
	for (uint32_t i = 0; i < f->src->frames.mappings.n; i++)
		if (f->file[i].other == mapping || f->mapping[i] == mapping)
			return true;
	return false;
}

/* Returns the number-th file that has the build id of this one. */
static struct mapping other_mapping(const struct profile *p, struct mapping m, uint32_t number)
{
	const char *text = profile_str(p, m.build_id_text);
	uint64_t id =
		hash_mix(hash_bytes(m.build_id, m.build_id_len), hash_bytes(text, strlen(text)));
	m.identity = hash_mix(id, hash_mix(m.identity, number));
	m.build_id_text = 0;
	m.build_id_len = 0;
	memset(m.build_id, 0, sizeof m.build_id);
	return m;
}

/* Makes it in dst. */
static uint32_t other_file(const struct merge_files *f, uint32_t of, uint32_t number)
{
	struct mapping m = other_mapping(f->src, f->src->frames.mappings.v[of], number);
	m.name = f->string[m.name];
	return mapping_intern(&f->dst->frames, &m);
}

static bool file_differs(const struct merge_files *f, uint32_t of, uint32_t mapping)
{
	const struct frame_table *t = &f->src->frames;
	for (uint32_t i = 0; i < t->frames.n; i++)
		if (t->frames.v[i].mapping == of && compare_frame(f, i, mapping) == DIFFERENT)
			return true;
	return false;
}

/* Not a kernel: after another boot its functions are at other addresses. */
static void count_file(struct merge_files *f, uint32_t of)
{
	const struct mapping *m = &f->src->frames.mappings.v[of];
	if ((!m->build_id_len && !m->build_id_text) || f->file[of].partly || f->file[of].is_kernel)
		return;
	f->dst->meta.loss[LOSS_BUILD_ID_SHARED]++;
	f->dst->frames.mappings.v[f->mapping[of]].flags |= MAPPING_ID_IS_SHARED;
}

/* Finds a file that is not one of src already, and has no other names. */
static void add_file(struct merge_files *f, uint32_t of)
{
	struct merge_file *file = &f->file[of];
	uint32_t number = 0, fresh, other;
	do {
		fresh = f->dst->frames.mappings.n;
		other = other_file(f, of, ++number);
	} while (other < fresh && number < MERGE_MAX_FILES &&
		 (is_taken(f, other) || file_differs(f, of, other)));
	file->other = other;
	file->partly = 2 * file->differ < file->compared || has_only_dynsym(f->src, of) ||
		       has_only_dynsym(f->dst, f->mapping[of]);
	if (other >= fresh)
		count_file(f, of);
}

/* Whether it may be any of the files of dst that have its build id. */
static bool is_any_file(const struct merge_files *f, uint32_t of)
{
	const struct mapping *first = &f->dst->frames.mappings.v[f->mapping[of]];
	return first->flags & MAPPING_ID_IS_SHARED && !f->file[of].compared &&
	       !f->file[of].is_kernel &&
	       first->name != f->string[f->src->frames.mappings.v[of].name];
}

/* Finds the file at its path, or makes it. */
static void add_nameless(struct merge_files *f, uint32_t of)
{
	uint32_t fresh = f->dst->frames.mappings.n;
	f->file[of].other = other_file(f, of, 1);
	if (f->file[of].other >= fresh)
		count_file(f, of);
}

void merge_files_find(struct merge_files *f)
{
	const struct frame_table *t = &f->src->frames;
	f->file = xreallocarray(NULL, t->mappings.n, sizeof *f->file);
	for (uint32_t i = 0; i < t->mappings.n; i++)
		f->file[i] = (struct merge_file){ .other = MAPPING_NONE };
	for (uint32_t i = 0; i < t->frames.n; i++) {
		uint32_t of = t->frames.v[i].mapping;
		if (of == MAPPING_NONE)
			continue;
		enum verdict is = compare_frame(f, i, f->mapping[of]);
		f->file[of].compared += is != UNKNOWN;
		f->file[of].differ += is == DIFFERENT;
		f->file[of].is_kernel |= t->frames.v[i].kind == FRAME_KERNEL;
	}
	for (uint32_t i = 0; i < t->mappings.n; i++)
		if (f->file[i].differ)
			add_file(f, i);
		else if (is_any_file(f, i))
			add_nameless(f, i);
}

void merge_files_done(struct merge_files *f)
{
	free(f->file);
}

uint32_t merge_files_whole(const struct merge_files *f, uint32_t mapping)
{
	const struct merge_file *file = f->file ? &f->file[mapping] : NULL;
	bool same = !file || file->other == MAPPING_NONE || file->partly;
	return same ? f->mapping[mapping] : file->other;
}

uint32_t merge_files_mapping(const struct merge_files *f, uint32_t frame)
{
	uint32_t of = f->src->frames.frames.v[frame].mapping;
	if (f->file && f->file[of].partly && compare_frame(f, frame, f->mapping[of]) == DIFFERENT)
		return f->file[of].other;
	return merge_files_whole(f, of);
}

/* --- files without names ---------------------------------------------------------------------- */

static bool same_build_id(const struct mapping *a, const struct mapping *b)
{
	return a->build_id_len == b->build_id_len && a->build_id_text == b->build_id_text &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

void profile_part_nameless(struct profile *p)
{
	struct frame_table *t = &p->frames;
	bool *is_named = xcalloc(t->mappings.n + 1, sizeof *is_named);
	const struct line *lines;
	bool has_changed = false;
	for (uint32_t i = 0; i < t->frames.n; i++) {
		const struct frame *f = &t->frames.v[i];
		if (f->mapping != MAPPING_NONE && !is_named[f->mapping])
			is_named[f->mapping] =
				f->kind == FRAME_KERNEL || names_get(&p->names, i, &lines);
	}
	for (uint32_t i = 0; i < t->mappings.n; i++) {
		struct mapping *m = &t->mappings.v[i];
		if (is_named[i] ||
		    (!m->build_id_text && !build_id_is_valid(m->build_id, m->build_id_len)))
			continue;
		m->flags |= MAPPING_IS_NAMELESS;
		has_changed = true;
	}
	if (has_changed)
		mapping_index_again(t);
	free(is_named);
}

/* Returns the named file with the same build id; NULL: none. */
static const struct mapping *named_file(const struct frame_table *t, const struct mapping *m)
{
	for (uint32_t i = 0; i < t->mappings.n; i++) {
		const struct mapping *named = &t->mappings.v[i];
		if (!(named->flags & MAPPING_IS_NAMELESS) && same_build_id(named, m))
			return named;
	}
	return NULL;
}

static bool has_mapping(const struct frame_table *t, const struct mapping *m)
{
	for (uint32_t i = 0; i < t->mappings.n; i++) {
		const struct mapping *known = &t->mappings.v[i];
		if (!known->build_id_len && !known->build_id_text && known->name == m->name &&
		    known->identity == m->identity)
			return true;
	}
	return false;
}

/* Decides which file it is: as in merge_files_find. */
static struct mapping settled(struct profile *p, struct mapping m)
{
	const struct mapping *named = named_file(&p->frames, &m);
	m.flags &= ~MAPPING_IS_NAMELESS;
	if (!named || !(named->flags & MAPPING_ID_IS_SHARED) || named->name == m.name)
		return m;
	m = other_mapping(p, m, 1);
	p->meta.loss[LOSS_BUILD_ID_SHARED] += !has_mapping(&p->frames, &m);
	return m;
}

struct profile *profile_join_nameless(struct profile *p)
{
	VEC(struct mapping) all = { 0 };
	bool has_nameless = false;
	for (uint32_t i = 0; i < p->frames.mappings.n; i++) {
		const struct mapping *m = &p->frames.mappings.v[i];
		bool is_nameless = m->flags & MAPPING_IS_NAMELESS;
		has_nameless |= is_nameless;
		vec_push(&all, is_nameless ? settled(p, *m) : *m);
	}
	struct profile *out = has_nameless ? profile_new() : p;
	if (has_nameless) {
		memcpy(p->frames.mappings.v, all.v, all.n * sizeof *all.v);
		profile_merge(out, p);
		/* Ids of strings and types are the same in both. */
		struct profile_meta meta = out->meta;
		out->meta = p->meta;
		p->meta = meta;
		profile_free(p);
	}
	vec_done(&all);
	return out;
}
