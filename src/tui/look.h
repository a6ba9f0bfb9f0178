/* tui/look.h: what is looked at: which part of a source, and what is asked about it. Every view is made of this and nothing else, so that
 * one that is made again shows the same. */
#ifndef CRESSET_TUI_LOOK_H
#define CRESSET_TUI_LOOK_H

#include "query/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct look {
	struct source *source;
	uint32_t type; /* of its catalog */
	int64_t from_ns, to_ns;
	int64_t history_ns;   /* as struct feed_take: the heatmap shows more than the window */
	uint32_t pid, tid;    /* only these; SAMPLE_NO_ID: all */
	const char *function; /* only stacks that have it; NULL: all */
	bool no_kernel;       /* kernel frames are left out */
	uint32_t heat_columns, heat_rows; /* cells of a heatmap */
};

/* Of what has neither times nor a duration the range is a moment: nothing is a share of it. */
static inline bool look_is_moment(int64_t from_ns, int64_t to_ns)
{
	return to_ns - from_ns <= 1;
}

/* Merged stacks: *out is the caller's, tree_free. */
int look_tree(const struct look *l, struct tree **out, struct err *err);
/* The samples themselves, for a file: profile_free. Filters of frames are not applied: tree says them. */
int look_profile(const struct look *l, struct profile **out, struct tree_opts *tree,
		 struct err *err);

/* The type with this name, or beginning with it where is_prefix; UINT32_MAX: there is none. */
uint32_t look_find_type(struct source *s, const char *name, bool is_prefix);
static inline const char *look_type_name(const struct look *l)
{
	const struct profile *p = l->source->ops->catalog(l->source);
	return l->type < p->series.types.n ? profile_str(p, p->series.types.v[l->type].name) : "";
}

#endif
