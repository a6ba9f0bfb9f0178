/* cresset diff: compares two files, and shows how certain each change is. */
#include "profile/change/diff.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/filter.h"
#include "cmd/files/load.h"
#include "format/folded/folded.h"
#include "format/html/html.h"
#include "format/picture/svg.h"
#include "format/pprof/pprof.h"
#include "format/table/table.h"
#include "profile/change/signed.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>

struct diff_cmd_opts {
	struct filter_opts filter;
	const char *output;
	int norm, widths;
	uint64_t top_n;
	bool csv;
	struct opt_number min_change, confidence, fail_on;
};

static const char *const norms[] = { "share", "rate", "abs", NULL };
static const char *const widths[] = { "new", "old", NULL };

#define COMPARE(member) .group = "How to compare", .offset = offsetof(struct diff_cmd_opts, member)
#define SHOW(member)    .group = "What to show", .offset = offsetof(struct diff_cmd_opts, member)
static const struct cmd_opt diff_options[] = {
	{ NULL, "norm", "NORM", "share of the total, rate per second, or abs", OPT_ENUM,
	  COMPARE(norm), .words = norms, .def = "share", .basic = true },
	{ NULL, "fail-on", "PCT",
	  "status 10 if a function grew significantly by more than PCT points (rate, abs: % of the "
	  "OLD total)",
	  OPT_NUMBER, COMPARE(fail_on), .basic = true },
	{ NULL, "confidence", "PCT", "confidence level of the intervals", OPT_PERCENT,
	  COMPARE(confidence), .def = "95" },
	{ NULL, "strict", NULL, "match functions by name, file and binary", OPT_FLAG,
	  COMPARE(filter.strict) },
	{ "o", "output", "FILE", "file: .svg .html .folded .pb.gz .json .csv .txt", OPT_STRING,
	  SHOW(output), .basic = true },
	{ NULL, "top", "N", "rows of the table; 0 = all", OPT_U64, SHOW(top_n), .def = "15",
	  .max = UINT32_MAX, .basic = true },
	{ NULL, "min-change", "PCT", "hide smaller changes; unit as for --fail-on", OPT_NUMBER,
	  SHOW(min_change) },
	{ NULL, "widths", "SIDE", "frame widths in a graph: new or old", OPT_ENUM, SHOW(widths),
	  .words = widths, .def = "new" },
	{ NULL, "csv", NULL, "CSV", OPT_FLAG, SHOW(csv), .basic = true },
	FILTER_OPTIONS(diff_cmd_opts),
	{ 0 },
};

/* A comparison, from the files to the result. */
struct comparison {
	const struct cmd_line *line;
	const struct diff_cmd_opts *opts;
	struct profile *newer, *older;
	uint32_t type; /* of the newer side */
	struct tree *newer_tree, *older_tree;
	struct diff *diff;
	struct diff_table table;
};

static void comparison_done(struct comparison *c)
{
	diff_free(c->diff);
	tree_free(c->newer_tree);
	tree_free(c->older_tree);
	profile_free(c->newer);
	profile_free(c->older);
}

/* --- destinations --- */

enum kind { TABLE_TEXT, TABLE_JSON, TABLE_CSV, PICTURE, PAGE, FOLDED, PPROF };
static const struct {
	const char *ending;
	enum kind kind;
} endings[] = {
	{ ".txt", TABLE_TEXT }, { ".json", TABLE_JSON }, { ".csv", TABLE_CSV }, { ".svg", PICTURE },
	{ ".html", PAGE },      { ".folded", FOLDED },   { ".pb.gz", PPROF },   { ".pprof", PPROF },
};

static bool has_filters(const struct filter_opts *f)
{
	return f->match || f->time || f->focus || f->ignore || f->hide || f->by.n || f->no_kernel ||
	       f->no_user;
}

static int settle_kind(const struct cmd_line *line, const struct diff_cmd_opts *o, enum kind *kind)
{
	*kind = line->globals.json ? TABLE_JSON : o->csv ? TABLE_CSV : TABLE_TEXT;
	if (!o->output || strcmp(o->output, "-") == 0)
		return CMD_OK;
	size_t i = 0, n = sizeof endings / sizeof *endings;
	while (i < n && !str_ends(o->output, endings[i].ending))
		i++;
	if (i == n)
		return cmd_usage(
			line,
			"'%s' does not end in .svg, .html, .folded, .pb.gz, .json, .csv or "
			".txt",
			o->output);
	*kind = endings[i].kind;
	if (*kind == PPROF && has_filters(&o->filter))
		return cmd_usage(line, "filters do not apply to a pprof file: it has all samples");
	return CMD_OK;
}

static void put_table(const struct comparison *c, enum kind kind, bool to_file, struct buf *b)
{
	const struct term *term = &c->line->term;
	struct table_opts opts = { .top_n = c->opts->top_n, .utf8 = true };
	if (!to_file) {
		opts.width = term->width_out;
		opts.utf8 = term->utf8;
		opts.color = term->color_out;
	}
	if (kind == TABLE_JSON)
		diff_table_json(&c->table, &opts, b);
	else if (kind == TABLE_CSV)
		diff_table_csv(&c->table, &opts, b);
	else
		diff_table_text(&c->table, &opts, b);
}

static double older_factor(const struct comparison *c)
{
	if (c->diff->norm == DIFF_SHARE)
		return 0;
	if (c->diff->norm == DIFF_ABS)
		return 1;
	return c->table.newer.seconds / c->table.older.seconds;
}

static int write_stacks(struct comparison *c, enum kind kind, struct out *out, struct err *err)
{
	struct format_write_opts opts = { .older_widths = c->opts->widths == 1 };
	if (kind == PPROF)
		return pprof_write_diff(c->newer, c->older, out, err);
	tree_diff(c->newer_tree, c->older_tree, c->opts->filter.strict);
	c->newer_tree->other_factor = older_factor(c);
	if (kind == FOLDED)
		return folded_write_tree(c->newer_tree, &opts, out, err);
	if (kind == PAGE)
		return html_write_diff(c->newer, c->type, c->newer_tree, c->older, &opts, out, err);
	return svg_write_tree(c->newer, c->newer_tree, &opts, out, err);
}

static int write_file(struct comparison *c, enum kind kind)
{
	struct err err = { 0 };
	struct out out;
	struct buf b = { 0 };
	int rc = out_open(&out, c->opts->output, &err);
	if (rc < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	if (kind >= PICTURE) {
		rc = write_stacks(c, kind, &out, &err);
	} else {
		put_table(c, kind, true, &b);
		rc = out_write(&out, b.data, b.len, &err);
		buf_done(&b);
	}
	if (rc == 0)
		rc = out_commit(&out, &err);
	else
		out_abort(&out);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

/* Output in a file shows nothing on the terminal, so a summary is printed. */
static int show(struct comparison *c, enum kind kind)
{
	struct buf b = { 0 };
	if (!c->opts->output || strcmp(c->opts->output, "-") == 0) {
		put_table(c, kind, false, &b);
		return cmd_print(&b);
	}
	int status = write_file(c, kind);
	if (status == CMD_OK) {
		diff_table_summary(&c->table, &b);
		term_fit(&c->line->term, &b);
		log_info("%s", buf_cstr(&b));
	}
	buf_done(&b);
	return status;
}

/* --- --fail-on --- */

enum { FAILURES_SHOWN = 5 };

static bool is_too_much(const struct comparison *c, const struct diff_change *change)
{
	return change->certainty == CHANGE_SURE && change->growth > c->opts->fail_on.v;
}

/* Stacks that could not be walked, and functions that could not be found, say something of the
 * recordings, not of the program. */
static bool is_of_recording(const struct diff *d, const struct diff_row *r)
{
	return unseen_func(d->names, &d->names->funcs.v[r->func]);
}

static void say_too_much(const struct comparison *c, const char *what, const char *part,
			 double growth)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	esc_term(&b, what, strlen(what), 200);
	buf_addf(&b, " grew by %.2f %s%s: --fail-on %g", growth,
		 c->diff->norm == DIFF_SHARE ? "points" : "% of all before", part,
		 c->opts->fail_on.v);
	term_fit(&c->line->term, &b);
	err_set(&err, ERANGE, "%s", buf_cstr(&b));
	log_error(&err);
	buf_done(&b);
}

/* The greatest growth of self values is first, then callers that grew with their callees. */
static size_t fail_rows(const struct comparison *c, bool by_self, size_t n_said)
{
	const struct diff *d = c->diff;
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *r = &d->rows.v[i];
		if (is_of_recording(d, r))
			continue;
		bool is_self = is_too_much(c, &r->self);
		if (is_self != by_self || !(is_self || is_too_much(c, &r->total)))
			continue;
		if (n_said++ < FAILURES_SHOWN)
			say_too_much(
				c, strtab_get(&d->names->strings, d->names->funcs.v[r->func].name),
				is_self ? "" : " including callees",
				is_self ? r->self.growth : r->total.growth);
	}
	return n_said;
}

/* The whole has no share that could grow, so it is checked with other norms only. */
static int check_growth(const struct comparison *c)
{
	const struct diff *d = c->diff;
	size_t n = 0;
	if (!c->opts->fail_on.set)
		return CMD_OK;
	if (d->norm == d->whole_norm && is_too_much(c, &d->whole) && ++n)
		say_too_much(c, "everything", "", d->whole.growth);
	n = fail_rows(c, true, n);
	n = fail_rows(c, false, n);
	if (n > FAILURES_SHOWN)
		log_warn("%zu more grew beyond --fail-on", n - FAILURES_SHOWN);
	return n ? CMD_CONDITION : CMD_OK;
}

/* --- from the files to the result --- */

static int build_trees(struct comparison *c, struct tree_opts *newer, struct tree_opts *older)
{
	struct err err = { 0 };
	newer->with_spread = older->with_spread = true;
	if (tree_build(c->newer, newer, &c->newer_tree, &err) < 0 ||
	    tree_build(c->older, older, &c->older_tree, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	c->table.newer = (struct diff_table_side){ c->line->args.v[1], c->newer, c->newer_tree,
						   filter_seconds(newer, c->newer) };
	c->table.older = (struct diff_table_side){ c->line->args.v[0], c->older, c->older_tree,
						   filter_seconds(older, c->older) };
	return CMD_OK;
}

static int compare(struct comparison *c)
{
	struct diff_side newer = { c->newer_tree, c->table.newer.seconds };
	struct diff_side older = { c->older_tree, c->table.older.seconds };
	struct diff_opts opts = { c->opts->norm, c->opts->confidence.v / 100,
				  c->opts->filter.strict };
	struct err err = { 0 };
	if (diff_build(newer, older, &opts, &c->diff, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	c->table.diff = c->diff;
	c->table.min_growth = c->opts->min_change.v;
	if (c->diff->period_missing && opts.norm != DIFF_SHARE)
		log_warn("one of the files has no sampling period: assuming that both have the "
			 "same");
	return CMD_OK;
}

/* A side that is a difference itself has no shares. */
static void note_negative(const char *file, const struct profile *p, uint32_t type)
{
	struct signed_part part = signed_part_of(p, type);
	if (part.n)
		log_warn("%s: a difference already: %" PRIu64 " of %" PRIu64
			 " values are below zero; cresset report shows it",
			 file, part.n, part.n_all);
}

static int diff_files(struct comparison *c, enum kind kind)
{
	struct tree_opts newer = { 0 }, older = { 0 };
	int status =
		filter_finalize_pair(c->line, &c->opts->filter, c->newer, c->older, &newer, &older);
	if (status != CMD_OK)
		return status;
	note_other_types(c->newer, newer.type);
	note_negative(c->line->args.v[0], c->older, older.type);
	note_negative(c->line->args.v[1], c->newer, newer.type);
	c->type = newer.type;
	status = build_trees(c, &newer, &older);
	if (status == CMD_OK)
		status = compare(c);
	if (status == CMD_OK)
		status = show(c, kind);
	return status == CMD_OK ? check_growth(c) : status;
}

static int load_both(struct comparison *c)
{
	const struct load_opts load = filter_load(&c->opts->filter);
	const char *const *files = c->line->args.v;
	if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
		return cmd_usage(c->line, "standard input (-) can be read only once");
	int status = load_profile(files[0], &load, &c->older);
	return status == CMD_OK ? load_profile(files[1], &load, &c->newer) : status;
}

static int diff_run(struct cmd_line *line, const void *opts)
{
	struct comparison c = { .line = line, .opts = opts };
	enum kind kind;
	if (line->globals.json && c.opts->csv)
		return cmd_usage(line, "choose one of --json and --csv");
	if (!(c.opts->confidence.v > 0 && c.opts->confidence.v < 100))
		return cmd_usage(line,
				 "option --confidence: more than 0 and less than 100 percent");
	int status = settle_kind(line, c.opts, &kind);
	if (status == CMD_OK)
		status = load_both(&c);
	if (status == CMD_OK)
		status = diff_files(&c, kind);
	comparison_done(&c);
	return status;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.summary = "changes between two files, with confidence intervals",
	.usage = "OLD NEW [-o OUT] [OPTIONS]",
	.about = "Compares the self and total values of each function in two profiles of any "
		 "supported format, and shows an interval for each change: ~ may be chance, * is "
		 "significant even among all functions compared. Functions that another build "
		 "names differently are matched; docs/diff.md has the rules.",
	.examples = {
		"cresset diff old.cresset new.cresset\tfunctions that changed",
		"cresset diff old.cresset new.cresset --fail-on 5\tfor CI: exit status 10",
		"cresset diff old.cresset new.cresset -o diff.svg\tred grew, blue shrank",
	},
	.options = diff_options,
	.opts_size = sizeof(struct diff_cmd_opts),
	.min_args = 2,
	.max_args = 2,
	.arg_name = "OLD or NEW",
	.has_json = true,
	.run = diff_run,
};
