/* format/chart_bin.h: the flame chart of one thread as a tree whose nodes have a start: what format/tree_bin.h writes. */
#ifndef CRESSET_FORMAT_CHART_BIN_H
#define CRESSET_FORMAT_CHART_BIN_H

#include "base/buf.h"
#include "profile/tree.h"

#include <stdint.h>

enum { CHART_BIN_MAX_BOXES = 200000 };

struct chart_bin_opts {
	const struct tree_opts *tree;
	int64_t from_ns,
		to_ns; /* the axis, and what header and starts are told by: of the profile's samples with Unix times, Unix time */
	uint32_t px;   /* how wide it is drawn: what is narrower than one falls into rests */
};

/* A node is a frame from a moment to another, its total how long that is; what nobody saw is the root's own. Samples of one thread only: -EINVAL with words when there
 * are more, -E2BIG beyond CHART_BIN_MAX_BOXES, else as flame_chart_build. Appends to out. The start and the end of p become
 * those of the axis. */
int chart_bin_write(struct profile *p, const struct chart_bin_opts *opts, struct buf *out,
		    struct err *err);

#endif
