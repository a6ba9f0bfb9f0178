/* collect/process/symbolize.h: names from symbol/ for frames in the sink. One source is in memory
 * at a time. */
#ifndef CRESSET_COLLECT_PROCESS_SYMBOLIZE_H
#define CRESSET_COLLECT_PROCESS_SYMBOLIZE_H

#include "base/hash.h"

#include <stdint.h>

struct object;
struct object_table;
struct symbol_source;

enum { FRAME_NONE = UINT32_MAX };

/* Counts one more sample with this leaf. */
static inline void leaf_count(struct map *leaf_samples, uint32_t frame)
{
	uint32_t *n = map_get(leaf_samples, frame);

	if (n)
		++*n;
	else
		map_put(leaf_samples, frame, 1);
}

struct symbolize {
	struct sink *sink;
	struct name_files *files;       /* for symbolize_object */
	const struct map *leaf_samples; /* frame → samples that have it as leaf */
	uint64_t named;                 /* frames that got a name */
	uint64_t unsymbolized;          /* samples whose leaf got none */
};

/* Looks up every key of frames (address → frame of this mapping) in names; with NULL no frame
 * gets a name. */
void symbolize_frames(struct symbolize *s, struct symbol_source *names, uint32_t mapping,
		      const struct map *frames);

/* Names the frames of one object from its file. */
void symbolize_object(struct symbolize *s, struct object_table *objects, struct object *o);

#endif
