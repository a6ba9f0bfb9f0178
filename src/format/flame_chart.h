/* format/flame_chart.h: what each thread did, in the order of time: for pictures with time on x.
 *
 *     lane    a thread: its spans, one beside the other
 *     span    a stack from a moment to another, what one sample says
 *     box     a frame of the stacks of neighbouring spans: equal frames that touch are one
 *
 * A sample with a length (a wait) is a span from its start to its end, exactly. One without says what ran at that moment and stands
 * for the period P that it was taken with: from P/2 before it to P/2 after it, but no further than half the way to the next sample of
 * the thread, or to where a wait begins or ends; and as far as there when that is at most 3/4 P away, since timers jitter. What nobody
 * saw stays a gap. P is the period of the series where that is a time; else what the sample is worth where that is a time; else the
 * median distance of samples of one thread.
 *
 * What is only a sum has no place here: a marker alone, as "[off-CPU below 1ms]", that is worth less than the time it covers. It is
 * counted (placeless).
 *
 * A thread does one thing at a time: what overlaps an earlier wait of the same thread is cut to the rest, or hidden and counted.
 * Times are since the start of the profile. */
#ifndef CRESSET_FORMAT_FLAME_CHART_H
#define CRESSET_FORMAT_FLAME_CHART_H

#include "base/vec.h"
#include "profile/tree.h"

enum {
	/* Unless more are asked for: those with the greatest sums; other threads are counted only. */
	CHART_MAX_LANES = 64,
	CHART_MAX_DEPTH = 200 /* frames of a stack, from its root; deeper ones are counted */
};

struct chart_span {
	uint32_t node; /* of the tree */
	int64_t from_ns, to_ns;
};
struct chart_lane {
	uint32_t pid, tid; /* SAMPLE_NO_ID */
	uint32_t name;     /* string of the profile; 0: unknown */
	uint32_t row;      /* of its last sample */
	size_t first, n;   /* in spans */
	uint64_t samples;
	int64_t value; /* of all of them, in the tree's unit */
};
struct flame_chart {
	struct tree *tree;
	/* The first level of the tree is no frame: it keeps apart what threads did (chart_opts.by_state). */
	bool has_states;
	VEC(struct chart_span) spans; /* by lane, then time; none overlap */
	VEC(struct chart_lane) lanes; /* by pid, then tid */
	uint32_t n_threads;           /* those without a lane, too */
	int64_t from_ns, to_ns;       /* the axis */
	int64_t period_ns;    /* of samples without a length; 0: there are none, -1: they differ */
	int64_t placeless;    /* in the tree's unit */
	uint64_t hidden, cut; /* samples for which no time is left; stacks deeper than the limit */
};

struct chart_opts {
	const struct tree_opts *tree; /* neither inverted nor max_depth */
	bool by_state; /* waiting and running have nodes of their own, for colours that say which */
	size_t max_lanes; /* 0: CHART_MAX_LANES */
};

/* -EINVAL with the words in err for a bad regular expression or type. Every sample has a time. */
int flame_chart_build(struct profile *p, const struct chart_opts *opts, struct flame_chart *out,
		      struct err *err);
void flame_chart_done(struct flame_chart *c);

struct chart_box {
	uint32_t node;
	uint32_t depth; /* of the frame; outermost = 0 */
	/* > 0: stands for so many frames that are too narrow, here and further inside */
	uint32_t merged;
	uint32_t rows; /* how far inside: 1 for a frame */
	int64_t from_ns, to_ns;
};
struct chart_boxes {
	VEC(struct chart_box) all; /* each before those inside of it, then by time */
	uint32_t depth;            /* of the deepest, + 1 */
	uint64_t merged;           /* frames that are not there by themselves */
};

/* Appends the boxes of a lane. Those narrower than min_ns become one with narrow neighbours that are no further away than min_ns.
 * False, with some of them there, when there are more than `max` in all. */
bool chart_lane_boxes(const struct flame_chart *c, const struct chart_lane *lane, int64_t min_ns,
		      size_t max, struct chart_boxes *out);

#endif
