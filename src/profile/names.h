/* profile/names.h: what frames are called, kept apart from the frames, so that late or corrected
 * names change old data.
 *
 * A frame has a list of lines, innermost first: {function, line} each; the ones before the last
 * were inlined into it. A later names_set replaces the list. A frame by name (no mapping) needs no
 * entry: its own name is its one line. */
#ifndef CRESSET_PROFILE_NAMES_H
#define CRESSET_PROFILE_NAMES_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdint.h>

struct function {
	uint32_t name;       /* string: as people read it (demangled) */
	uint32_t linkage;    /* string: as the linker knows it, may equal name; 0 unknown */
	uint32_t file;       /* string, 0 unknown */
	uint32_t start_line; /* 0 unknown */
};
struct line {
	uint32_t function; /* id in names.functions */
	uint32_t line;     /* 0 unknown */
	uint32_t column;   /* 0 unknown; with LINE_FOLDED */
};
/* In the column of a frame's first line: the linker folded equal functions together, so the name is
 * one of several. */
enum { LINE_FOLDED = 1 << 30 };

struct line_run {
	uint32_t first, n; /* in names.lines; n = 0: no name */
};

struct names { /* zeroed = empty */
	VEC(struct function) functions;
	VEC(struct line) lines; /* runs; a run that was outgrown stays as garbage until the end */
	VEC(struct line_run) by_frame;
	struct map function_index;
	VEC(uint32_t) changes; /* by frame: how often its list was set */
	uint64_t all_changes;
};

/* Longer chains of inlined lines are cut at the outermost end. */
enum { NAMES_MAX_INLINE = 256 };

void names_done(struct names *t);
uint32_t function_intern(struct names *t, const struct function *f);
void names_set(struct names *t, uint32_t frame, const struct line *lines, uint32_t n);

/* How much a line says: a file first, then a line number, then a linkage name. More is better. */
static inline uint32_t line_detail(const struct function *f, const struct line *l)
{
	return (f->file != 0) << 2 | (l->line != 0) << 1 | (f->linkage != 0);
}

/* The lines of a frame, innermost first; returns their number, 0 when it has none. *lines is valid
 * until the next change. */
uint32_t names_get(const struct names *t, uint32_t frame, const struct line **lines);

#endif
