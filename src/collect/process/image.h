/* collect/process/image.h: the executable mappings of one address space, sorted by address, without
 * overlaps.
 *
 * A fork shares its parent's image until one of them changes its mappings. An image gets a new id
 * after every change: anything derived from an image (collect/resolve/stack_cache.h) stays valid
 * for that id. Every mapping holds a reference to its object. */
#ifndef CRESSET_COLLECT_PROCESS_IMAGE_H
#define CRESSET_COLLECT_PROCESS_IMAGE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct object_table;

struct image_map {
	uint64_t start, end, pgoff; /* pgoff: the file offset of start, 0 for anonymous memory */
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

/* Adds a mapping over whatever it overlaps, as mmap does: the parts of old ones before and after it
 * stay. */
void image_replace(struct image *image, const struct image_map *m, struct object_table *objects);

/* Returns whether exactly this mapping is there, or, for anonymous memory, all of it. */
bool image_has(const struct image *image, const struct image_map *m);

/* Returns the mapping that covers addr; NULL when none does. */
const struct image_map *image_find(const struct image *image, uint64_t addr);

bool image_equal(const struct image *a, const struct image *b);

#endif
