/* format/tree_bin.h: a flame tree as bytes, for the page and the one-file report. docs/formats.md has the layout, byte by byte:
 *
 *     "CRT1"  header (JSON)  strings  frames, column by column  nodes in pre-order, column by column
 *
 * Siblings come as they hang in the tree: tree_sort(t, ORDER_NAME) makes pictures that stay as they are while numbers change. Text is UTF-8 there:
 * what is not becomes U+FFFD. */
#ifndef CRESSET_FORMAT_TREE_BIN_H
#define CRESSET_FORMAT_TREE_BIN_H

#include "base/buf.h"
#include "profile/tree.h"

#include <stdint.h>

#define TREE_BIN_TYPE "application/vnd.cresset.tree"

struct tree_bin_opts {
	int64_t from_ns, to_ns; /* the range asked for; both 0: not known */
	/* Of a difference: how its sides are compared (NULL: it is none), and how much time of each side is known. */
	const char *norm;
	double seconds, seconds_b;
	/* Of a chart in the order of time: when each node begins, since from_ns; pre-order is then an order of time. NULL: it is none. */
	const int64_t *starts_ns;
};

/* Of a difference side A is the older one (other_self), side B the newer. Appends to out. */
void tree_bin_write(const struct tree *t, const struct tree_bin_opts *opts, struct buf *out);

#endif
