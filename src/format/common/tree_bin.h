/* format/common/tree_bin.h: a flame tree as bytes, for the page and the one-file report.
 * Numbers are unsigned LEB128 varints unless stated otherwise:
 *
 *     "CRT1"             magic with the version: readers refuse another digit
 *     H, H bytes         the header, JSON
 *     S varints          lengths of the strings, in bytes
 *     …                  the strings, one after the other; string 0 is ""
 *     6 × F varints      of the frames: names, files (strings); lines, 0: a node is a function,
 *                        whichever of its lines ran; binaries (strings); kinds (of the header's
 *                        `kinds`); flags, 1: inlined into the frame above
 *     for each of `columns` a varint: its bytes; then N values
 *
 *     key of the header
 *       version                     1
 *       type, unit                  the counted quantity: cpu, nanoseconds
 *       scale, scaled_unit          factor to another unit; absent without a known period
 *       total, unfiltered           of the tree; before focus, ignore and hide; in a difference of
 *                                   side A; total_b, unfiltered_b of side B
 *       nodes, frames, strings      N, F, S
 *       kinds                       names of kinds; the first is "rest"
 *       columns                     which follow, in this order
 *       inverted                    leaves are at the root
 *       signed                      true: values of self and self_b are zigzag; else absent
 *       norm, seconds, seconds_b    of a difference: share, rate or abs; known time of each side
 *       from_ns, to_ns              the requested range
 *
 *     column
 *       depth       nodes are in pre-order: levels above a child of the previous node, 0 its child,
 *                   1 its sibling; the root's is 0
 *       frame       index; node 0 is the root, its frame, 0, has no name
 *       self        the value that ends here; in a difference side A, the older one
 *       self_b      side B, the newer
 *       n, n_b      samples in them; only in differences, if known
 *       w2, w2_b    sums of squares of the samples' weights, little-endian doubles. Absent if all
 *                   weigh the same: then self² / n
 *       start       of a flame chart of a thread: start in ns since from_ns, difference from the
 *                   previous node. Siblings are in time order and may repeat, self is in ns, and
 *                   the root's self is the unobserved time
 *
 * Readers skip unknown keys and columns. Totals are sums of self. A node of kind rest stands for
 * everything too small to draw below its parent, and is the last of its siblings; its name states
 * how many frames, "(143 frames)", or below which value. Strings have at most 64 KiB; trees up to
 * 65535 levels, with inlined calls more.
 *
 * "main" (3 itself) calls the inlined kernel function "read" (200) and two more (1); after the
 * header:
 *
 *     00 04 03 04 0a  "mainappread(2 frames)"
 *     00 01 03 04  00 00 00 00  00 00 00 00  00 02 00 00     names, files, lines, binaries: app
 *     13 01 02 00  00 00 01 00                               kinds: marker, native, kernel, rest;
 *                                                            flags
 *     04 00 00 00 01  04 00 01 02 03  05 00 03 c8 01 01      depth, frame, self
 *
 * Siblings keep their order in the tree: after tree_sort(t, ORDER_NAME) the layout of graphs
 * stays stable while numbers change. Text is UTF-8; invalid bytes become U+FFFD. */
#ifndef CRESSET_FORMAT_COMMON_TREE_BIN_H
#define CRESSET_FORMAT_COMMON_TREE_BIN_H

#include <stdint.h>

struct buf;
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
