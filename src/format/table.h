/* format/table.h: a profile as text, JSON or CSV: a head, the top functions, the call tree, one function's callers and callees.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.report", version 1
 *     meta       {command, host, kernel, cpus, clock, start (RFC 3339, UTC), duration_ns, lost_samples, losses {reason: count}};
 *                what is not known is null
 *     type "cpu", unit "samples", scale and scaled_unit (value * scale is in scaled_unit; null where there is none), samples (rows)
 *     total      of what is shown; unfiltered_total: before focus, ignore and time; truncated: of stacks that were cut short;
 *                in a difference old_total
 *     top        [{function, kind, binary, file, self, total, self_percent, total_percent}], and in a difference
 *                old_self, old_total, old_self_percent, old_total_percent, change_points (of self_percent); where stacks are estimates
 *                (profile/estimate.h) self_low, self_high, total_low, total_high: intervals of 95 %
 *     estimated  how much of total is of such stacks, where there are any
 *     tree       [{depth, function, kind, binary, file, inlined, self, total, total_percent}] in pre-order, root first, and in
 *                a difference old_self, old_total
 *     callers_of, callers, callees   the function, and two trees with it as their roots
 *     binaries   of a tree of binaries, whose functions are binaries: [{binary, path, build_id, frames,
 *                names_from [{origin (null: without a name), frames}], remedy}], in frames of the stacks
 *
 * CSV (RFC 4180, UTF-8, LF) is the innermost part that was asked for, with a line of names first:
 *
 *     self_percent,total_percent,self,total,kind,function,binary,file[,old_self,old_total]
 *     depth,total_percent,self,total,kind,function,binary,file[,old_self,old_total]            tree
 *     side,depth,…                                                                             callers
 *     …,self_low,self_high,total_low,total_high                                                where stacks are estimates
 *     …,frames,names_from,remedy                                                               a table of binaries
 *
 * Percentages are of `total`, in CSV and JSON with four digits behind the point. Text comes from a profile and is made harmless
 * for the place it goes to. */
#ifndef CRESSET_FORMAT_TABLE_H
#define CRESSET_FORMAT_TABLE_H

#include "base/buf.h"
#include "format/format.h"
#include "profile/estimate.h"
#include "profile/profile.h"
#include "profile/top.h"
#include "profile/tree.h"

#include <stdbool.h>

/* Where the names of a binary's frames come from (profile/origins.h). Text stays the caller's. */
struct table_origin {
	const char *name; /* "": of frames without a name */
	uint64_t frames;
};
struct table_binary {
	const char *name, *path; /* as tables show it; of the mapping */
	const char *build_id;    /* hex, "" = unknown */
	const char *remedy;      /* what would give better names, "" = nothing known */
	uint64_t frames;
	const struct table_origin *origins;
	size_t n_origins;
};
struct table_binaries {
	const struct table_binary *v;
	size_t n;
};

/* What to show. profile and tree are always there; the tree is drawn only when with_tree. The tables stay the caller's. */
struct table {
	const struct profile *profile;
	const struct tree *tree;
	const struct top_table *top; /* NULL: no table of functions */
	bool with_tree;
	const struct tree *callers, *callees; /* from top_callers; NULL: not asked */
	const char *function;                 /* whose they are */
	/* NULL: the functions of the tree are functions, not binaries. */
	const struct table_binaries *binaries;
	const struct estimates *estimates; /* of the samples of the tree; NULL: all is exact */
};

struct table_opts {
	uint32_t top_n; /* rows of the top table; 0 = all */
	uint32_t width; /* columns of the terminal, at least 60 are taken; 0 = no limit */
	bool utf8;      /* else plain ASCII */
	bool color;     /* ANSI colours, text only */
};

/* In the tree of the text, subtrees below this share of the total become "(+143 frames, 2.1 %)". */
#define TABLE_TREE_PERCENT 0.5

/* All append to b. */
void table_text(const struct table *t, const struct table_opts *opts, struct buf *b);
void table_json(const struct table *t, const struct table_opts *opts, struct buf *b);
void table_csv(const struct table *t, const struct table_opts *opts, struct buf *b);

/* Writers for whole profiles: every function, and in JSON the tree. */
extern const struct format format_text, format_json, format_csv;

#endif
