/* format/table/table.h: a profile as text, JSON or CSV: a head, the top functions, the call tree,
 * one function's callers and callees.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.report", version 1
 *     meta       {command, host, kernel, cpus, clock, start (RFC 3339, UTC), duration_ns,
 *                lost_samples, losses {reason: count}}; unknown values are null
 *     type "cpu", unit "samples", scale and scaled_unit (value * scale is in scaled_unit; null
 *     if none exists), samples (rows)
 *     total      of the selection; unfiltered_total: before focus, ignore and time; truncated: of
 *                truncated stacks; in a difference old_total
 *     negative   {samples, sum, marked}, percent_of: if the profile was a difference already
 *                (profile/change/signed.h): its values below zero, which are the older side, and
 *                what percentages of both sides are of
 *     top        [{function, kind, binary, file, self, total, self_percent, total_percent}], and in
 *                a difference old_self, old_total, old_self_percent, old_total_percent,
 *                change_points (of self_percent); if stacks are estimates
 *                (profile/change/estimate.h) self_low, self_high, total_low, total_high:
 *                intervals of 95 %
 *     estimated  the part of total in such stacks, if there are any
 *     tree       [{depth, function, kind, binary, file, inlined, self, total, total_percent}] in
 *                pre-order, root first, and in a difference old_self, old_total
 *     callers_of, callers, callees   the function, and two trees with it as their roots
 *     binaries   for a tree of binaries, whose functions are binaries: [{binary, path, build_id,
 *                frames, names_from [{origin (null: without a name), frames}], remedy}], in frames
 *                of the stacks
 *
 * CSV (RFC 4180, UTF-8, LF) is the innermost part requested, and starts with a line of names:
 *
 *     self_percent,total_percent,self,total,kind,function,binary,file[,old_self,old_total]
 *     depth,total_percent,self,total,kind,function,binary,file[,old_self,old_total]  tree
 *     side,depth,…                                                       callers
 *     …,self_low,self_high,total_low,total_high                          if stacks are estimates
 *     …,frames,names_from,remedy                                         a table of binaries
 *
 * Percentages are of `total` (or percent_of), in CSV and JSON with four digits after the point.
 * Text from a profile is escaped for its destination. */
#ifndef CRESSET_FORMAT_TABLE_TABLE_H
#define CRESSET_FORMAT_TABLE_TABLE_H

#include "format/common/format.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Where the names of a binary's frames come from (struct origin). The caller owns the text. */
struct table_origin {
	const char *name; /* "": frames without a name */
	uint64_t frames;
};
struct table_binary {
	const char *name, *path; /* name in tables; path of the mapping */
	const char *build_id;    /* hex, "" = unknown */
	const char *remedy;      /* a way to better names; "" = none known */
	uint64_t frames;
	const struct table_origin *origins;
	size_t n_origins;
};
struct table_binaries {
	const struct table_binary *v;
	size_t n;
};

/* The content. profile and tree are always set; the tree is drawn only if with_tree. The caller
 * owns the tables. */
struct table {
	const struct profile *profile;
	const struct tree *tree;
	const struct top_table *top; /* NULL: no table of functions */
	bool with_tree;
	const struct tree *callers, *callees; /* from top_callers; NULL: not requested */
	const char *function;                 /* the function they belong to */
	/* NULL: functions of the tree are not binaries. */
	const struct table_binaries *binaries;
	const struct estimates *estimates; /* of the tree's samples; NULL: all is exact */
};

struct table_opts {
	uint32_t top_n; /* rows of the top table; 0 = all */
	uint32_t width; /* columns of the terminal, at least 60; 0 = no limit */
	bool utf8;      /* else plain ASCII */
	bool color;     /* ANSI colours, text only */
};

/* In the text tree, subtrees below this percentage of the total become "(+143 frames, 2.1 %)". */
#define TABLE_TREE_PERCENT 0.5

/* All append to b. */
void table_text(const struct table *t, const struct table_opts *opts, struct buf *b);
void table_json(const struct table *t, const struct table_opts *opts, struct buf *b);
void table_csv(const struct table *t, const struct table_opts *opts, struct buf *b);

/* Writers for whole profiles: every function, and in JSON the tree. */
extern const struct format format_text, format_json, format_csv;

/* --- heatmap_table.c ---
 *
 * A heatmap as text, JSON or CSV.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.heatmap", version 1, type, unit
 *     epoch_ns                    the start of the recording: Unix time, or if unknown, on its own
 *                                 clock
 *     from_ns, to_ns              the selected range, relative to epoch_ns
 *     start_ns, column_ns, row_ns, columns, rows
 *     total, outside, max         all cells and `outside` (before the start) add up to the total
 *     cells                       [[value of each row] of each column]; null: not in from_ns …
 *                                 to_ns
 *
 * CSV has a line for each row, with its offset in seconds first; the first line has the start times
 * of the columns in seconds. Cells outside the range are empty. */

struct heatmap;
struct profile;

/* Returns the number of columns that fit into opts->width; 0 means HEATMAP_PLAIN_WIDTH. */
enum { HEATMAP_PLAIN_WIDTH = 80 };
uint32_t heatmap_text_columns(const struct table_opts *opts);

/* All append to b. In colour a line of text shows two rows, otherwise one. */
void heatmap_text(const struct profile *p, const struct heatmap *h, const struct table_opts *opts,
		  struct buf *b);
void heatmap_json(const struct heatmap *h, struct buf *b);
void heatmap_csv(const struct heatmap *h, struct buf *b);

/* --- diff_data.c, diff_text.c ---
 *
 * The differences between two profiles, as text, JSON or CSV.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.diff", version 1
 *     norm "share" | "rate" | "abs", unit (of values under the norm: "%", "samples" …), confidence
 *     (percent)
 *     older, newer   {name, type, unit, samples (rows), total, duration_ns}; null: unknown
 *     compared       number of comparisons made: of self values, total values and the whole
 *     whole          {norm, unit, CHANGE, ratio, ratio_low, ratio_high}: all of newer against all
 *                    of older; by rate if both durations are known, except with the norm abs
 *     rows           [{function, kind, binary, file, older_self, newer_self, older_total,
 *                    newer_total (values as recorded), self {CHANGE}, total {CHANGE}, match
 *                    "exact" | "loose" | "no-names" (profile/tree/tree_match.h); if not exact
 *                    older_function, older_binary, older_file: as the older side has them}]
 *     CHANGE         older, newer, change, low, high (interval of the change; null: unknown),
 *                    growth_percent (of the older whole), certainty "unknown" | "chance" (the
 *                    interval contains 0) | "likely" | "sure" (also among all compared)
 *
 * CSV (RFC 4180, UTF-8, LF) starts with a line of names:
 *
 *     self_old,self_new,self_change,self_low,self_high,self_certainty,total_…,kind,
 *     function,binary,file,match
 *
 * Rows are in the order of diff.rows. */

struct diff_table_side {
	const char *name; /* of the file */
	const struct profile *profile;
	const struct tree *tree;
	double seconds; /* recorded; 0 = unknown */
};
struct diff_table {
	const struct diff *diff;
	struct diff_table_side newer, older;
	double min_growth; /* rows whose self and total both changed by less are omitted */
};

/* All append to b. opts.top_n counts only rows not omitted. */
void diff_table_text(const struct diff_table *t, const struct table_opts *opts, struct buf *b);
void diff_table_json(const struct diff_table *t, const struct table_opts *opts, struct buf *b);
void diff_table_csv(const struct diff_table *t, const struct table_opts *opts, struct buf *b);

/* Appends "3 functions grew and 1 shrank …; all of cpu: +4.1 % (+2.9 … +5.3 %)." without a
 * newline. */
void diff_table_summary(const struct diff_table *t, struct buf *b);

#endif
