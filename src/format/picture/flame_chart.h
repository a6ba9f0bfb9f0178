/* format/picture/flame_chart.h: the activity of each thread over time, for graphs with time on x.
 *
 *     lane    a thread: its consecutive spans. Threads without a tid are distinguished by name
 *     span    a stack during an interval, from one sample
 *     box     a frame of the stacks of adjacent spans; equal adjacent frames are one box
 *
 * A sample with a length (a wait) is a span from its start to its end, exactly. A sample without a
 * length stands for its period P and covers P/2 on each side. If the midpoint to the adjacent
 * sample of the thread, or the edge of an adjacent wait, is at most 3/4 P away, the span extends
 * exactly to there instead, since timers jitter. Time without samples stays a gap. P is the period
 * of the series if that is a time; else the value of the sample if that is a time; else the median
 * distance of samples of one thread.
 *
 * Pure sums have no place here: a marker alone, as "[off-CPU below 1ms]", that is worth less than
 * the time it covers. They are counted (placeless).
 *
 * A thread does one thing at a time: a span that overlaps an earlier wait of the same thread is
 * reduced to the rest, or hidden and counted. Times are relative to the start of the profile. */
#ifndef CRESSET_FORMAT_PICTURE_FLAME_CHART_H
#define CRESSET_FORMAT_PICTURE_FLAME_CHART_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct profile;

enum {
	/* Default number: those with the greatest sums; other threads are only counted. */
	CHART_MAX_LANES = 64, /* limit: threads in a flame chart */
	/* limit: frames of a stack in it, from the root; deeper ones are counted */
	CHART_MAX_DEPTH = 200
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
	int64_t value; /* sum of all of them, in the tree's unit */
};
struct flame_chart {
	struct tree *tree;
	/* The first level of the tree is not frames: it separates thread states
	 * (chart_opts.by_state). */
	bool has_states;
	VEC(struct chart_span) spans; /* by lane, then time; without overlap */
	VEC(struct chart_lane) lanes; /* by pid, then tid */
	uint32_t n_threads;           /* including those without a lane */
	int64_t from_ns, to_ns;       /* the axis */
	int64_t period_ns;            /* of samples without a length; 0: none, -1: they differ */
	int64_t placeless;            /* in the tree's unit */
	uint64_t hidden, cut; /* samples without any time left; stacks deeper than the limit */
};

struct chart_opts {
	const struct tree_opts *tree; /* neither inverted nor max_depth */
	bool by_state;    /* separate nodes for waiting and running, for colours by state */
	size_t max_lanes; /* 0: CHART_MAX_LANES */
};

/* Returns -EINVAL with a message in err for an invalid regular expression or type. Every sample
 * must have a time. */
int flame_chart_build(struct profile *p, const struct chart_opts *opts, struct flame_chart *out,
		      struct err *err);
void flame_chart_done(struct flame_chart *c);

struct chart_box {
	uint32_t node;
	uint32_t depth; /* of the frame; outermost: 0 */
	/* > 0: number of frames, too narrow to show, that it stands for, at this depth and
	 * deeper */
	uint32_t merged;
	uint32_t rows; /* height in levels; 1 for a frame */
	int64_t from_ns, to_ns;
};
struct chart_boxes {
	VEC(struct chart_box) all; /* each before those inside it, then by time */
	uint32_t depth;            /* of the deepest, plus 1 */
	uint64_t merged;           /* frames not shown individually */
};

/* Appends the boxes of a lane. Boxes narrower than min_ns are merged with narrow neighbours at most
 * min_ns away. Returns false, with some of the boxes appended, if there are more than `max` in
 * total. */
bool chart_lane_boxes(const struct flame_chart *c, const struct chart_lane *lane, int64_t min_ns,
		      size_t max, struct chart_boxes *out);

/* --- chart_bin.c ---
 *
 * The flame chart of one thread as a tree whose nodes have a start, written by
 * format/common/tree_bin.h. */

enum { CHART_BIN_MAX_BOXES = 200000 }; /* limit: frames of one thread's chart as bytes */

struct chart_bin_opts {
	const struct tree_opts *tree;
	int64_t from_ns,
		/* the axis, and the base of times in header and starts: Unix time if the profile's
		 * samples have it */
		to_ns;
	uint32_t px; /* drawn width; nodes narrower than one are merged into rests */
};

/* Writes the chart. A node is a frame during an interval and its total is the length; unsampled
 * time is the root's self time. p must have samples of one thread only, else -EINVAL with a
 * message; -E2BIG beyond CHART_BIN_MAX_BOXES; other errors as in flame_chart_build. Appends to out.
 * Sets the start and end of p to those of the axis. */
int chart_bin_write(struct profile *p, const struct chart_bin_opts *opts, struct buf *out,
		    struct err *err);

#endif
