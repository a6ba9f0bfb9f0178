/* format/common/tree_bin.h: a flame tree as bytes, for the page and the one-file report.
 * docs/formats.md describes the layout byte by byte:
 *
 *     "CRT1"  header (JSON)  strings  frames, by column  nodes in pre-order, by column
 *
 * Siblings keep their order in the tree: after tree_sort(t, ORDER_NAME) the layout of graphs
 * stays stable while numbers change. Text is UTF-8; invalid bytes become U+FFFD. */
#ifndef CRESSET_FORMAT_COMMON_TREE_BIN_H
#define CRESSET_FORMAT_COMMON_TREE_BIN_H

#include "base/buf.h"

#include <stdint.h>

struct tree;

#define TREE_BIN_TYPE "application/vnd.cresset.tree"

struct tree_bin_opts {
	int64_t from_ns, to_ns; /* the requested range; both 0: unknown */
	/* For a diff: how its sides are compared (NULL: no diff), and the known duration of each
	 * side. */
	const char *norm;
	double seconds, seconds_b;
	/* For a chart over time: the start of each node relative to from_ns. Pre-order is then
	 * chronological. NULL: no chart. */
	const int64_t *starts_ns;
};

/* Appends to out. In a diff, side A is the older one (other_self) and side B the newer. */
void tree_bin_write(const struct tree *t, const struct tree_bin_opts *opts, struct buf *out);

#endif
