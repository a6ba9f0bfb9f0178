/* format/table/diff_table.h: the differences between two profiles, as text, JSON or CSV.
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
#ifndef CRESSET_FORMAT_TABLE_DIFF_TABLE_H
#define CRESSET_FORMAT_TABLE_DIFF_TABLE_H

struct buf;
struct table_opts;

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
