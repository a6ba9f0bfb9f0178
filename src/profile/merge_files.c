/* Compares the names of two profiles at the same addresses. */
#include "profile/merge_files.h"

#include "base/hash.h"
#include "base/mem.h"
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

/* Makes the number-th file that has the build id of this one. */
static uint32_t other_file(const struct merge_files *f, uint32_t of, uint32_t number)
{
	struct mapping m = f->src->frames.mappings.v[of];
	const char *text = profile_str(f->src, m.build_id_text);
	uint64_t id =
		hash_mix(hash_bytes(m.build_id, m.build_id_len), hash_bytes(text, strlen(text)));
	m.name = f->string[m.name];
	m.identity = hash_mix(id, hash_mix(m.identity, number));
	m.build_id_text = 0;
	m.build_id_len = 0;
	memset(m.build_id, 0, sizeof m.build_id);
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
