/* collect/image.h: the executable mappings of one address space, sorted by address, none
 * overlapping another.
 *
 * A fork shares its parent's image until one of them changes its mappings. An image's id is new
 * after every change: what was derived from an image (collect/stack_cache.h) is good for that id
 * for ever. Every mapping holds a reference to its object. */
#ifndef CRESSET_COLLECT_IMAGE_H
#define CRESSET_COLLECT_IMAGE_H

#include "base/vec.h"
#include "collect/object.h"

#include <stdbool.h>
#include <stdint.h>

struct image_map {
	uint64_t start, end, pgoff; /* pgoff: the file offset of start, 0 of anonymous memory */
	uint32_t object;
};
struct image {
	uint64_t id;
	uint32_t refs;
	VEC(struct image_map) maps;
};

struct image *image_new(uint64_t id);
struct image *image_copy(const struct image *from, uint64_t id, struct object_table *objects);
void image_unref(struct image *image, struct object_table *objects); /* NULL is fine */

/* Adds a mapping over whatever it overlaps, as mmap does: what is left of the old ones before and
 * behind it stays. */
void image_replace(struct image *image, const struct image_map *m, struct object_table *objects);

/* Whether this very mapping is there, or, of anonymous memory, all of it. */
bool image_has(const struct image *image, const struct image_map *m);

/* The mapping that covers addr; NULL when none does. */
const struct image_map *image_find(const struct image *image, uint64_t addr);

bool image_equal(const struct image *a, const struct image *b);

#endif
