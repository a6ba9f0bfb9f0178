/* format/speedscope_calls.h: what the speedscope reader gathers: the frames may come last in a
 * file, so until its end stacks are paths in a tree of frame indices, and values hang on its
 * nodes. Memory goes with the distinct stacks, and with the intervals of evented profiles.
 *
 * The reader fills frames, sums and intervals; speedscope_give turns them into samples. */
#ifndef CRESSET_FORMAT_SPEEDSCOPE_CALLS_H
#define CRESSET_FORMAT_SPEEDSCOPE_CALLS_H

#include "profile/sink.h"

#include <math.h>
#include <stdbool.h>

/* A sum that loses neither whole numbers of 64 bits nor the fractions of many small values: -1 <
 * part < 1. */
struct amount {
	int64_t whole;
	double part;
};
struct amount amount_add(struct amount a, struct amount b);
struct amount amount_sub(struct amount a, struct amount b);
struct amount amount_mul(struct amount a, int64_t factor);
bool amount_less(struct amount a, struct amount b);
int64_t amount_round(struct amount a);

enum quantity { QUANTITY_TIME, QUANTITY_COUNT, QUANTITY_BYTES, QUANTITIES };

/* What profiles of the file are samples of. */
struct speedscope_source {
	enum quantity quantity;
	uint32_t labels, pid, tid;
};

enum {
	CALL_ROOT = 0,
	CALL_NONE = UINT32_MAX,      /* no such stack */
	FRAME_TOO_DEEP = UINT32_MAX, /* index of the frame that stands for all that are too deep */
};

struct speedscope_call {
	uint32_t parent, frame; /* frame: index in the file */
};
struct speedscope_sum {
	uint32_t source, call;
	uint64_t samples; /* of the file that are in it */
	struct amount value;
};
struct speedscope_interval {
	uint32_t source, call;
	int64_t start_ns, value_ns;
};
struct speedscope_calls {
	struct sink *sink;
	VEC(uint32_t) frames; /* ids in the sink, by index in the file */
	VEC(struct speedscope_call) calls;
	struct map children; /* parent << 32 | frame → call */
	struct map paths;    /* hash of all frames of a sampled stack → call */
	VEC(struct speedscope_source) sources;
	struct map source_index;
	VEC(struct speedscope_sum) sums;
	VEC(struct speedscope_interval) intervals;
	bool has_fractions[QUANTITIES];
	uint64_t skipped;
};

void speedscope_calls_init(struct speedscope_calls *c, struct sink *sink);
void speedscope_calls_done(struct speedscope_calls *c);

/* The call of this frame from parent; CALL_NONE when there are too many. */
uint32_t speedscope_call(struct speedscope_calls *c, uint32_t parent, uint32_t frame);

/* The call at the end of these frames, root first; CALL_NONE when there are too many. Most stacks
 * were there before: they cost one look-up, not one for each frame. */
uint32_t speedscope_path(struct speedscope_calls *c, const uint32_t *frames, size_t n);

/* The id of an equal source, added when new. */
uint32_t speedscope_source(struct speedscope_calls *c, const struct speedscope_source *source);

/* Gives everything to the sink; `first` is the type to show first. Returns how many samples were
 * given. */
size_t speedscope_give(struct speedscope_calls *c, enum quantity first);

#endif
