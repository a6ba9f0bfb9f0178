/* profile/names.h: the names of frames, kept apart from the frames, so late or corrected names also
 * apply to old data.
 *
 * A frame has a list of lines {function, line}, innermost first; all but the last were inlined
 * into it. A later names_set replaces the list. A frame by name (no mapping) needs no entry: its
 * own name is its only line. */
#ifndef CRESSET_PROFILE_NAMES_H
#define CRESSET_PROFILE_NAMES_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct function {
	uint32_t name;       /* string: demangled */
	uint32_t linkage;    /* string: the linker's name, may equal name; 0 unknown */
	uint32_t file;       /* string, 0 unknown */
	uint32_t start_line; /* 0 unknown */
};
struct line {
	uint32_t function; /* id in names.functions */
	uint32_t line;     /* 0 unknown */
	uint32_t column;   /* 0 unknown; with LINE_FOLDED */
};
/* Flag in the column of a frame's first line: the linker folded identical functions, so the name is
 * one of several. */
enum { LINE_FOLDED = 1 << 30 };

struct line_run {
	uint32_t first, n; /* in names.lines; n = 0: no name */
};

struct names { /* zeroed = empty */
	VEC(struct function) functions;
	VEC(struct line) lines; /* runs; a run that was replaced by a longer one is not freed */
	VEC(struct line_run) by_frame;
	struct map function_index;
	VEC(uint32_t) changes; /* by frame: number of times its list was set */
	uint64_t all_changes;
};

/* The version of what makes names of addresses. It is incremented when the same files would give
 * better names: what an older one wrote into caches and stores is then asked for again, and gives
 * way to what the new one says, whichever has more detail. 2 is the last one without a number. */
enum { NAMES_READER = 4 };

/* Longer chains of inlined lines are truncated at the outermost end. */
enum { NAMES_MAX_INLINE = 256 }; /* limit: inlined lines of a frame */

void names_done(struct names *t);
uint32_t function_intern(struct names *t, const struct function *f);
void names_set(struct names *t, uint32_t frame, const struct line *lines, uint32_t n);

/* Ranks the detail of a line: a file first, then a line number, then a linkage name. More is
 * better. */
static inline uint32_t line_detail(const struct function *f, const struct line *l)
{
	return (f->file != 0) << 2 | (l->line != 0) << 1 | (f->linkage != 0);
}

/* Sets *lines to the lines of a frame, innermost first, valid until the next change. Returns their
 * number, 0 if it lacks one. */
uint32_t names_get(const struct names *t, uint32_t frame, const struct line **lines);

#endif
