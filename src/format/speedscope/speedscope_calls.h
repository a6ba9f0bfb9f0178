/* format/speedscope/speedscope_calls.h: the data collected by the speedscope reader. Frames may
 * are last in a file, so until its end stacks are paths in a tree of frame indices, and values
 * belong to its nodes. Memory grows with the number of distinct stacks and of intervals in evented
 * profiles.
 *
 * The reader fills frames, sums and intervals; speedscope_give turns them into samples. */
#ifndef CRESSET_FORMAT_SPEEDSCOPE_SPEEDSCOPE_CALLS_H
#define CRESSET_FORMAT_SPEEDSCOPE_SPEEDSCOPE_CALLS_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A sum that keeps both 64-bit whole numbers and the fractions of many small values: -1 < part <
 * 1. */
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

/* The origin of samples: the quantity and place that profiles of the file measure. */
struct speedscope_source {
	enum quantity quantity;
	uint32_t labels, pid, tid;
};

enum {
	CALL_ROOT = 0,
	CALL_NONE = UINT32_MAX,      /* no such stack */
	FRAME_TOO_DEEP = UINT32_MAX, /* index of the frame that replaces all frames too deep */
};

struct speedscope_call {
	uint32_t parent, frame; /* frame: index in the file */
};
struct speedscope_sum {
	uint32_t source, call;
	uint64_t samples; /* number of the file's samples in it */
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
	bool is_too_large[QUANTITIES]; /* for fractions */
	uint64_t skipped;
	int64_t skipped_ns; /* the time they stand for, as far as it is known */
};

void speedscope_calls_init(struct speedscope_calls *c, struct sink *sink);
void speedscope_calls_done(struct speedscope_calls *c);

/* Returns the call of this frame from parent, or CALL_NONE if there are too many. */
uint32_t speedscope_call(struct speedscope_calls *c, uint32_t parent, uint32_t frame);

/* Returns the call at the end of these frames, root first, or CALL_NONE if there are too many. Most
 * stacks already exist and cost one lookup, not one per frame. */
uint32_t speedscope_path(struct speedscope_calls *c, const uint32_t *frames, size_t n);

/* Returns the id of an equal source, adding it if new. */
uint32_t speedscope_source(struct speedscope_calls *c, const struct speedscope_source *source);

/* Passes everything to the sink; `first` is the type to show first. Returns the number of
 * samples. */
size_t speedscope_give(struct speedscope_calls *c, enum quantity first);

/* --- speedscope_profile.c ---
 *
 * The profile being read. Its keys come in any order, so unit and name are applied at its end, when
 * its sums and intervals go to speedscope_calls. */

/* The sum of the profile's samples for a call. */
struct call_sum {
	struct amount value;
	uint64_t samples;
};
/* A change of the stack, valid until the next change; CALL_ROOT: nothing ran. */
struct call_change {
	struct amount since;
	uint32_t call;
};
struct open_frame {
	uint32_t frame, call;
};

struct speedscope_profile { /* zeroed, except for calls */
	struct speedscope_calls *calls;
	struct buf name;
	uint8_t unit; /* as returned by speedscope_unit */
	bool has_start, has_end;
	struct amount start, end;

	VEC(struct call_sum) sums; /* by call, zero except for those in … */
	VEC(uint32_t) summed;      /* … here */

	/* Sampled: the array that is first waits here for the other. */
	VEC(uint32_t) samples; /* calls */
	VEC(struct amount) weights;
	bool has_samples, has_weights;
	uint64_t n_samples, n_weights;

	/* Evented. */
	bool has_events, has_now;
	struct amount now; /* time of the last event */
	VEC(struct open_frame) open;
	uint64_t beyond;                 /* frames open beyond SPEEDSCOPE_MAX_OPEN */
	VEC(struct call_change) changes; /* the last one extends to now */
};

/* Starts a new profile, discarding the previous one. */
void speedscope_profile_begin(struct speedscope_profile *p);
void speedscope_profile_done(struct speedscope_profile *p);

/* Returns the unit of this name, or that of "none" if unknown. */
uint8_t speedscope_unit(const char *name);

/* Adds the next sample: its call, or CALL_NONE. Adds the next weight: part is NAN if it is not a
 * number. */
void speedscope_sample(struct speedscope_profile *p, uint32_t call);
void speedscope_weight(struct speedscope_profile *p, struct amount weight);

/* Adds the next event. */
void speedscope_open_frame(struct speedscope_profile *p, uint32_t frame, struct amount at);
void speedscope_close_frame(struct speedscope_profile *p, uint32_t frame, struct amount at);

/* Passes everything to p->calls. Returns the quantity measured. */
enum quantity speedscope_profile_end(struct speedscope_profile *p);

#endif
