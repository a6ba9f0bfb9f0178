/* query/plan.h: runs queries on a source.
 *
 *     struct query q = { .source = s, .selector = sel, .type = type, .from_ns = …, .to_ns = … };
 *     query_tree(&q, &answer, &err);                   a flame tree; tables with profile/tree/top.h
 *     query_range(&q, step_ns, &range, &err);          totals over time, by labels
 *     query_diff(&newer, &older, &opts, &diff, &err);
 *     query_profile(&q, true, &p, &err);               samples, for charts, heatmaps and files
 *
 * For types that are summed (AGG_SUM) everything in the range counts. For snapshots (AGG_SNAPSHOT:
 * memory in use) the last complete one of each origin counts: its samples at the latest time in the
 * range at which it has any, unless that is more than QUERY_STALE_NS before the end. An origin is
 * identified by the labels host, instance, job, service.name, container_id and process, and by the
 * pid. */
#ifndef CRESSET_QUERY_PLAN_H
#define CRESSET_QUERY_PLAN_H

#include "base/arena.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_opts;
struct err;
struct profile;
struct query;
struct selector;

/* Returns the type that a selector selects: the catalog's default if selected, otherwise the first
 * one; UINT32_MAX: none. *others: number of further types, not counting metrics if this one is a
 * profile. */
uint32_t query_pick_type(const struct profile *catalog, const struct selector *s, uint32_t *others);

struct query_tree {
	struct tree *tree;       /* tree_free */
	uint32_t series, groups; /* selected; with data */
	bool rounded;            /* source_merged.rounded */
	/* pid, tid, cpu or trace decide, but some samples are only in sums over windows */
	bool ids_missing;
};
/* Errors: -EINVAL for bad regular expressions, those of guard.h and of the source. */
int query_tree(const struct query *q, struct query_tree *out, struct err *err);

/* Totals; filters are ignored. A step of snapshots has the state at its end. */
struct query_range {
	int64_t from_ns, step_ns;
	size_t steps;
	uint32_t groups, n_by;
	const char **names; /* [group * n_by + i]: the value of by[i], "" for none */
	int64_t *sums;      /* [group * steps + step] */
	int64_t *totals;    /* by group; for snapshots the maximum of all steps */
	uint32_t *order;    /* [n_shown]: groups with data, by total, then name */
	uint32_t n_shown;
	bool ids_missing; /* as in query_tree */
	const char *type_name, *unit;
	double scale; /* as in struct tree */
	const char *scaled_unit;
	struct arena arena; /* all of it */
};
/* step_ns > 0; the step and the start are rounded to the source's windows. The last step may extend
 * past to_ns. */
int query_range(const struct query *q, int64_t step_ns, struct query_range *out, struct err *err);
void query_range_done(struct query_range *r);

/* The change from older to newer, of different ranges or selectors. *out as in diff_build. */
struct query_sides {
	struct query_tree newer, older; /* with spreads, to be freed with the trees in them */
	struct diff *diff;              /* diff_free */
};
int query_diff(const struct query *newer, const struct query *older, const struct diff_opts *opts,
	       struct query_sides *out, struct err *err);
/* Builds one tree of both (profile/tree/tree.h: tree_diff), with spreads if known; free it with
 * tree_free. */
int query_overlay(const struct query *newer, const struct query *older, struct tree **out,
		  struct err *err);
void query_sides_done(struct query_sides *s);

/* Returns how much of the range the source covers, in seconds. */
double query_seconds(const struct query *q);

/* --- leaks.c: stacks with memory in use that grows. */

enum { QUERY_LEAK_SNAPSHOTS = 5 }; /* the least of a process */
/* "0", "1m", "10m", "1h": memory older than that, by the least enum age; NULL-terminated. */
extern const char *const query_older_words[];

/* Values, and ns as the source has them. Texts are of query_leaks.arena. */
struct query_leak {
	const char *host, *process; /* "": no such label */
	uint32_t pid;               /* SAMPLE_NO_ID: unknown */
	const char *stack;          /* root first, with ';' between functions */
	int64_t from_ns, to_ns;
	double first, last; /* in use at these times */
	/* The line through all snapshots, with its 95 % interval. */
	double per_hour, per_hour_low, per_hour_high;
	double survives; /* part of the bytes allocated in the range; NAN: unknown */
};
struct query_leaks {
	struct query_leak *v; /* the fastest first */
	size_t n;
	const char *unit; /* of the values: "bytes", "count" */
	/* All processes of one name count as one: a part of the range has only sums. */
	bool by_name;
	struct arena arena;
};
/* least: only memory of this age, or older; memory without a known age counts. Errors: -EINVAL: not
 * a type of snapshots; -ENODATA: too few of them; others as query_tree. */
int query_leaks(const struct query *q, enum age least, struct query_leaks *out, struct err *err);
void query_leaks_done(struct query_leaks *l);
/* {…, "leaks": [{"process", "per_hour", …, "stack": [root, …]}, …]}, top_n at most (0: all). */
struct buf;
void query_leaks_json(const struct query_leaks *l, size_t top_n, struct buf *out);

/* Returns the samples as a profile (profile_free), unfiltered: with times and ids as the source has
 * them, or summed by series and stack. q->by is ignored. ids_missing: as in query_tree; may be
 * NULL. */
int query_profile(const struct query *q, bool with_times, struct profile **out, bool *ids_missing,
		  struct err *err);

#endif
