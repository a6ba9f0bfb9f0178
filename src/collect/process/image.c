/* A sorted array with a reference count; a change copies it if it is shared. */
#include "collect/process/image.h"

#include "base/mem.h"
#include "base/search.h"
#include "collect/process/object.h"

#include <stdlib.h>
#include <string.h>

struct image *image_new(uint64_t id)
{
	struct image *image = xcalloc(1, sizeof *image);

	image->id = id;
	image->refs = 1;
	return image;
}

struct image *image_copy(const struct image *from, uint64_t id, struct object_table *objects)
{
	struct image *image = image_new(id);

	vec_append(&image->maps, from->maps.v, from->maps.n);
	for (size_t i = 0; i < image->maps.n; i++)
		object_ref(objects, image->maps.v[i].object);
	return image;
}

void image_unref(struct image *image, struct object_table *objects)
{
	if (!image || --image->refs)
		return;
	for (size_t i = 0; i < image->maps.n; i++)
		object_unref(objects, image->maps.v[i].object);
	vec_done(&image->maps);
	free(image);
}

/* Returns the index of the first mapping that ends after addr. */
static size_t first_ending_after(const struct image *image, uint64_t addr)
{
	return vec_upper(&image->maps, end, addr);
}

const struct image_map *image_find(const struct image *image, uint64_t addr)
{
	size_t i = first_ending_after(image, addr);

	return i < image->maps.n && image->maps.v[i].start <= addr ? &image->maps.v[i] : NULL;
}

static bool same_map(const struct image_map *a, const struct image_map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
	       a->object == b->object;
}

bool image_has(const struct image *image, const struct image_map *m)
{
	const struct image_map *there = image_find(image, m->start);

	if (there && there->object == OBJECT_ANON && m->object == OBJECT_ANON)
		return there->end >= m->end;
	return there && same_map(there, m);
}

/* Replaces maps[at … at + n_old) by the n_new of fresh. */
static void splice(struct image *image, size_t at, size_t n_old, const struct image_map *fresh,
		   size_t n_new)
{
	size_t behind = image->maps.n - at - n_old;

	vec_reserve(&image->maps, image->maps.n + n_new);
	memmove(image->maps.v + at + n_new, image->maps.v + at + n_old,
		behind * sizeof *image->maps.v);
	memcpy(image->maps.v + at, fresh, n_new * sizeof *fresh);
	image->maps.n = at + n_new + behind;
}

static uint64_t pgoff_at(const struct image_map *m, uint64_t addr)
{
	return m->object == OBJECT_ANON ? 0 : m->pgoff + (addr - m->start);
}

/* Joins adjacent pieces: compilers protect and unprotect their code page by page. */
static struct image_map join_anonymous(const struct image *image, struct image_map m)
{
	const struct image_map *left = m.start ? image_find(image, m.start - 1) : NULL;
	const struct image_map *right = image_find(image, m.end);

	m.pgoff = 0;
	if (left && left->object == OBJECT_ANON)
		m.start = left->start;
	if (right && right->object == OBJECT_ANON)
		m.end = right->end;
	return m;
}

void image_replace(struct image *image, const struct image_map *new, struct object_table *objects)
{
	struct image_map fresh[3], added = *new, *m = &added;
	size_t n = 0;

	if (m->object == OBJECT_ANON)
		added = join_anonymous(image, added);
	size_t first = first_ending_after(image, m->start), last = first;
	while (last < image->maps.n && image->maps.v[last].start < m->end)
		last++;
	if (first < last && image->maps.v[first].start < m->start) {
		fresh[n] = image->maps.v[first];
		fresh[n++].end = m->start;
	}
	fresh[n++] = *m;
	if (first < last && image->maps.v[last - 1].end > m->end) {
		fresh[n] = image->maps.v[last - 1];
		fresh[n].pgoff = pgoff_at(&fresh[n], m->end);
		fresh[n++].start = m->end;
	}
	for (size_t i = 0; i < n; i++)
		object_ref(objects, fresh[i].object);
	for (size_t i = first; i < last; i++)
		object_unref(objects, image->maps.v[i].object);
	splice(image, first, last - first, fresh, n);
}

bool image_equal(const struct image *a, const struct image *b)
{
	if (a->maps.n != b->maps.n)
		return false;
	for (size_t i = 0; i < a->maps.n; i++)
		if (!same_map(&a->maps.v[i], &b->maps.v[i]))
			return false;
	return true;
}
