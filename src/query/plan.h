/* query/plan.h: questions to a source, answered.
 *
 *     struct query q = { .source = s, .selector = sel, .type = type, .from_ns = …, .to_ns = … };
 *     query_tree(&q, &answer, &err);                 merged: a flame tree; then profile/top.h for tables
 *     query_range(&q, step_ns, &range, &err);        totals over time, by labels
 *     query_diff(&newer, &older, &opts, &diff, &err);
 *     query_profile(&q, true, &p, &err);             samples, for charts, heatmaps and every file format
 *
 * Of types that are added up (AGG_SUM) everything in the range counts. Of snapshots (AGG_SNAPSHOT: memory in use) the last complete one
 * of each source counts: all that it had at the latest moment in the range at which it had anything, unless that is more than
 * QUERY_STALE_NS before the end. What was measured together, and is a source, is told by the labels host, instance, job, service.name,
 * container_id and process, and by the pid. */
#ifndef CRESSET_QUERY_PLAN_H
#define CRESSET_QUERY_PLAN_H

#include "base/arena.h"
#include "profile/diff.h"
#include "profile/tree.h"
#include "query/guard.h"
#include "query/selector.h"
#include "query/source.h"

#define QUERY_STALE_NS INT64_C(300000000000)

enum {
	QUERY_BY_MAX = 8,
	QUERY_MAX_GROUPS = 10000, /* combinations of values of the labels in by */
	QUERY_MAX_STEPS = 100000,
	QUERY_MAX_WITHIN = 64, /* parts of a range */
};

struct query_piece {
	int64_t from_ns, to_ns;
};

struct query {
	struct source *source;           /* its stop is the query's while it runs */
	const struct selector *selector; /* NULL: everything of the type */
	uint32_t type;                   /* of the catalog; query_pick_type */
	int64_t from_ns, to_ns;
	/* Of the range only what is in these parts of it (query/within.h), for trees and profiles; ascending, none over another. NULL: all of it. Not of
	 * snapshots. */
	const struct query_piece *within;
	uint32_t n_within;
	/* Labels whose values are told apart; where a series has no such label pid, tid and cpu are the sample's
	 * columns, and container is container_id. In trees they are root frames. */
	const char *by[QUERY_BY_MAX];
	uint32_t n_by;
	/* Filters and shape: of it type, by and the times do not count. */
	struct tree_opts tree;
	struct guard_limits limits;
	bool is_exact; /* query_profile: -ERANGE with words where sums over windows are all that is left */
};

/* The type a selector asks for: the catalog's default where it takes that, else the first it takes. *others: how many more it takes, metrics beside a profile aside.
 * UINT32_MAX: none. */
uint32_t query_pick_type(const struct profile *catalog, const struct selector *s, uint32_t *others);

struct query_tree {
	struct tree *tree;       /* tree_free */
	uint32_t series, groups; /* that were asked; that had anything */
	bool rounded;            /* source_merged.rounded */
	bool ids_missing; /* pid, tid, cpu or trace decide, and of some samples only sums over windows are left */
};
/* Errors: -EINVAL for regular expressions, those of guard.h and of the source. */
int query_tree(const struct query *q, struct query_tree *out, struct err *err);

/* Totals, filters do not count. Of snapshots a step has what was there at its end. */
struct query_range {
	int64_t from_ns, step_ns;
	size_t steps;
	uint32_t groups, n_by;
	const char **names; /* [group * n_by + i]: the value of by[i], "" where there is none */
	int64_t *sums;      /* [group * steps + step] */
	int64_t *totals;    /* by group; of snapshots the greatest of all steps */
	uint32_t *order;    /* [n_shown]: the groups that had anything, by total, then name */
	uint32_t n_shown;
	bool ids_missing; /* as query_tree's */
	const char *type_name, *unit;
	double scale; /* as struct tree's */
	const char *scaled_unit;
	struct arena arena; /* all of it */
};
/* step_ns > 0; both it and the beginning are rounded to the source's windows. The last step may reach beyond to_ns. */
int query_range(const struct query *q, int64_t step_ns, struct query_range *out, struct err *err);
void query_range_done(struct query_range *r);

/* What changed from older to newer: other ranges, or other selectors. *out as diff_build's. */
struct query_sides {
	struct query_tree newer, older; /* with spreads, to be freed with the trees in them */
	struct diff *diff;              /* diff_free */
};
int query_diff(const struct query *newer, const struct query *older, const struct diff_opts *opts,
	       struct query_sides *out, struct err *err);
/* Both in one tree (profile/tree.h: tree_diff), with spreads where they are known; tree_free. */
int query_overlay(const struct query *newer, const struct query *older, struct tree **out,
		  struct err *err);
void query_sides_done(struct query_sides *s);

/* How much of the range the source knows, in seconds. */
double query_seconds(const struct query *q);

/* The samples as a profile (profile_free), unfiltered: with times and ids as the source has them, or added up by series and stack. by
 * does not count. ids_missing: as query_tree's; NULL: nobody asks. */
int query_profile(const struct query *q, bool with_times, struct profile **out, bool *ids_missing,
		  struct err *err);

#endif
