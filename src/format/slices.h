/* format/slices.h: one thread's slices of a trace, made into stacks with the time that each slice had for itself.
 *
 * A slice is begun and ended by two events (B, E) or told whole with its duration (X). Events come in any order and are sorted by
 * time, which costs nothing where they are in order. Then, as trace viewers do:
 *
 * - A slice that begins inside another is its child. One that would end after its parent is cut there, and counted.
 * - Of whole slices that begin together the longer one is the parent, of equally long ones the first in the file.
 * - An end closes the innermost open B of its name (any, when it has none) and what was left open inside; it is skipped and
 *   counted where none of the SLICES_MATCH innermost open ones fits. At equal times an end goes first when it fits the
 *   innermost slice.
 * - What is still open at the end of the thread ends there.
 *
 * Memory: SLICES_EVENT_BYTES for each event, until its thread is given to the sink. */
#ifndef CRESSET_FORMAT_SLICES_H
#define CRESSET_FORMAT_SLICES_H

#include "base/vec.h"
#include "profile/sink.h"

#include <stdint.h>

enum {
	SLICES_MATCH = 64,
	SLICES_MAX_DEPTH = 2048, /* slices nested deeper give their time to the one at this depth */
	SLICES_EVENT_BYTES = 24,
	SLICES_NO_NAME = UINT32_MAX,
};

/* dur_ns of what has none. */
#define SLICE_BEGIN -1
#define SLICE_END   -2

struct slice_event {
	int64_t ts_ns, dur_ns; /* dur_ns >= 0: a whole slice */
	uint32_t frame;        /* the sink's; SLICES_NO_NAME for an end without name */
	uint32_t order;        /* in the file */
};
_Static_assert(sizeof(struct slice_event) == SLICES_EVENT_BYTES, "no padding");

struct slices { /* zeroed = empty */
	VEC(struct slice_event) events;
	bool unordered;
};

void slices_add(struct slices *s, int64_t ts_ns, int64_t dur_ns, uint32_t frame);

/* One sample per slice that had time for itself: its stack, begin and self time; like says the rest of it. Returns how many
 * samples there were; *skipped grows by what did not fit. s is empty afterwards. */
uint64_t slices_give(struct slices *s, struct sink *sink, const struct sample *like,
		     uint64_t *skipped);
void slices_done(struct slices *s);

#endif
