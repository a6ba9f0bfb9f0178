/* query/query.h: a query to a source; query/plan.h runs it. */
#ifndef CRESSET_QUERY_QUERY_H
#define CRESSET_QUERY_QUERY_H

#include "profile/tree/tree.h"
#include "query/guard.h"

struct err;

#define QUERY_STALE_NS INT64_C(300000000000)

enum {
	/* limit: labels in a query's by */
	QUERY_BY_MAX = 8,
	/* limit: combinations of their values */
	QUERY_MAX_GROUPS = 10000,
	/* limit: steps of totals over time */
	QUERY_MAX_STEPS = 100000,
	/* limit: parts of a query's range */
	QUERY_MAX_WITHIN = 64,
};

struct query_piece {
	int64_t from_ns, to_ns;
};

struct query {
	struct source *source;           /* its stop is set to the query's while it runs */
	const struct selector *selector; /* NULL: all series of the type */
	uint32_t type;                   /* of the catalog; query_pick_type */
	int64_t from_ns, to_ns;
	/* Only these parts of the range count (query_within_parse), for trees and profiles;
	 * ascending, without overlap. NULL: the whole range. Not for snapshots. */
	const struct query_piece *within;
	uint32_t n_within;
	/* Labels to group by. If a series does not have the label, pid, tid and cpu are the
	 * sample's columns, and container is container_id. In trees they become root frames. */
	const char *by[QUERY_BY_MAX];
	uint32_t n_by;
	/* Filters and shape; its type, by and times are ignored. */
	struct tree_opts tree;
	struct guard_limits limits;
	/* query_profile: -ERANGE if there are only sums over windows */
	bool is_exact;
};

/* --- within.c ---
 *
 * Several parts of a query's range at once, such as the times at which something else happened.
 *
 *     1763717400000..1763717410000,now-5m..now-4m          times as in query/time.h; ascending,
 *                                                          without overlap */

struct time_words;

/* Parses parts into out[QUERY_MAX_WITHIN]. what: its source, for messages ("parameter within").
 * Returns their number or -EINVAL. */
int query_within_parse(const char *text, const struct time_words *words, const char *what,
		       struct query_piece *out, struct err *err);

/* The parts of the range: the whole range if no others exist. A part outside the range is
 * empty: from = to. */
uint32_t query_pieces(const struct query *q);
struct query_piece query_piece_at(const struct query *q, uint32_t i);

/* --- column_error.c: errors in a typed text, with their column --- */

/* Sets err to "selector, column 5: WHAT" (from 1, in bytes; from the second line on "SQL, line 2,
 * column 5: …"), and the hint to the text around that place with a mark below. where points into
 * text. Returns -EINVAL. */
int column_error(struct err *err, const char *of, const char *text, const char *where,
		 const char *what);

#endif
