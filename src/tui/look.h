/* tui/look.h: the scope of a view: a part of a source and the filters on it. A view is built from
 * this alone, so building it again shows the same. */
#ifndef CRESSET_TUI_LOOK_H
#define CRESSET_TUI_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct tree;
struct tree_opts;

struct look {
	struct source *source;
	uint32_t type; /* index in its catalog */
	int64_t from_ns, to_ns;
	int64_t history_ns;   /* as in struct feed_take; the heatmap shows more than the window */
	uint32_t pid, tid;    /* filter; SAMPLE_NO_ID: all */
	const char *function; /* only stacks that contain it; NULL: all */
	bool no_kernel;       /* without kernel frames */
	uint32_t heat_columns, heat_rows; /* cells of a heatmap */
};

/* Whether the range is a moment, as for data without times or a duration: no share of it can be
 * computed. */
static inline bool look_is_moment(int64_t from_ns, int64_t to_ns)
{
	return to_ns - from_ns <= 1;
}

/* Merges the stacks. The caller frees *out with tree_free. */
int look_tree(const struct look *l, struct tree **out, struct err *err);
/* Copies the samples, to be written to a file; free with profile_free. The filters are already
 * applied to *out; *tree gets the default root frames. */
int look_profile(const struct look *l, struct profile **out, struct tree_opts *tree,
		 struct err *err);

/* Returns the type with this name or, if is_prefix, the first whose name starts with it; UINT32_MAX
 * if none exists. */
uint32_t look_find_type(struct source *s, const char *name, bool is_prefix);
/* Returns the type's name, or "" if the catalog does not have the type. */
const char *look_type_name(const struct look *l);

#endif
