/* cresset report: where the time went, as a table. */
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/load.h"
#include "cmd/report_gpu.h"
#include "cmd/report_heatmap.h"
#include "cmd/report_names.h"
#include "format/format.h"
#include "format/table.h"
#include "profile/by_binary.h"
#include "profile/top.h"

#include <errno.h>
#include <string.h>

struct report_opts {
	struct filter_opts filter;
	uint64_t top_n;
	bool tree, csv, heatmap, gpu_idle;
	struct opt_number gpu_idle_threshold; /* in percent */
	const char *callers, *diff, *output;
};

/* Keys of the tree, and one of its own. */
enum { BY_BINARY = BY_KEYS };
static const char *const by_words[] = { TREE_BY_NAMES, [BY_BINARY] = "binary", NULL };

#define SHOW(member) .group = "What to show", .offset = offsetof(struct report_opts, member)
static const struct cmd_opt report_options[] = {
	{ NULL, "top", "N", "rows of the table; 0 = all", OPT_U64, SHOW(top_n), .def = "30",
	  .max = UINT32_MAX, .basic = true },
	{ NULL, "tree", NULL, "the call tree instead", OPT_FLAG, SHOW(tree), .basic = true },
	{ NULL, "callers", "FN", "who calls this function, and whom it calls", OPT_STRING,
	  SHOW(callers), .basic = true },
	{ NULL, "diff", "OLD", "changes since this file; see also cresset diff", OPT_STRING,
	  SHOW(diff), .basic = true },
	{ NULL, "heatmap", NULL, "when: a column per second, a row per 20 ms of it", OPT_FLAG,
	  SHOW(heatmap), .basic = true },
	{ "o", "output", "OUT.svg", "where --heatmap goes to, as a picture; - for standard output",
	  OPT_STRING, SHOW(output) },
	{ NULL, "gpu-idle", NULL,
	  "when GPUs had nothing to do, what ended that, and what their processes did meanwhile",
	  OPT_FLAG, SHOW(gpu_idle) },
	{ NULL, "gpu-idle-threshold", "PERCENT",
	  "where readings of a driver say so: a GPU is idle below this (5)", OPT_PERCENT,
	  SHOW(gpu_idle_threshold) },
	{ NULL, "csv", NULL, "CSV", OPT_FLAG, SHOW(csv), .basic = true },
	FILTER_OPTIONS_BY(report_opts, by_words,
			  "root frames: comm pid process unit pod user ... none; binary: a table "
			  "of binaries"),
	{ 0 },
};

/* One of the three views, in the asked format. */
static int print_table(const struct cmd_line *line, const struct report_opts *o,
		       const struct table *table)
{
	const struct term *term = &line->term;
	struct table_opts opts = {
		.top_n = o->top_n,
		.width = term->width_out,
		.utf8 = term->utf8,
		.color = term->color_out,
	};
	struct buf b = { 0 };
	if (line->globals.json)
		table_json(table, &opts, &b);
	else if (o->csv)
		table_csv(table, &opts, &b);
	else
		table_text(table, &opts, &b);
	return cmd_print(&b);
}

static int print_callers(const struct cmd_line *line, const struct report_opts *o,
			 struct table *table)
{
	struct tree *callers = NULL, *callees = NULL;
	struct err err = { 0 };
	if (top_callers(table->tree, o->callers, &callers, &callees, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	table->callers = callers;
	table->callees = callees;
	table->function = o->callers;
	int status = print_table(line, o, table);
	tree_free(callers);
	tree_free(callees);
	return status;
}

static int print_top(const struct cmd_line *line, const struct report_opts *o, struct table *table)
{
	struct top_table top = { 0 };
	top_build(table->tree, &top);
	table->top = &top;
	int status = print_table(line, o, table);
	top_done(&top);
	return status;
}

/* What is said of rows besides. */
struct report_extra {
	const struct table_binaries *binaries;
	const struct estimates *estimates;
};

static int report_tree(const struct cmd_line *line, const struct report_opts *o,
		       const struct profile *p, struct tree *tree, const struct report_extra *extra)
{
	struct table table = {
		.profile = p,
		.tree = tree,
		.with_tree = o->tree,
		.binaries = extra->binaries,
		.estimates = extra->estimates,
	};
	if (o->tree)
		tree_sort(tree, ORDER_TOTAL);
	if (!tree->nodes.v[TREE_ROOT].total)
		log_info("there is nothing to show%s",
			 tree->unfiltered_total ? ": no stack passes the filters" : "");
	if (o->callers)
		return print_callers(line, o, &table);
	return o->tree ? print_table(line, o, &table) : print_top(line, o, &table);
}

static bool is_by_binary(const struct report_opts *o)
{
	for (int i = 0; i < o->filter.by.n; i++)
		if (o->filter.by.v[i] == BY_BINARY)
			return true;
	return false;
}

/* Of binaries, with what their names come from. */
static int report_binaries(const struct cmd_line *line, const struct report_opts *o,
			   struct profile *p, const struct tree *functions)
{
	struct report_names names;
	struct tree *tree = tree_by_binary(functions);
	report_names_init(&names, p);
	int status = report_tree(line, o, p, tree,
				 &(struct report_extra){ .binaries = &names.binaries });
	report_names_done(&names);
	tree_free(tree);
	return status;
}

/* Of functions. */
static int report_functions(const struct cmd_line *line, const struct report_opts *o,
			    struct profile *p, const struct tree_opts *opts, struct tree *tree)
{
	struct estimates *estimates = NULL;
	struct err err = { 0 };
	int rc = tree->is_diff ? 0 : estimates_build(p, opts, &estimates, &err);
	int status = rc < 0 ? cmd_fail(CMD_USAGE, &err)
			    : report_tree(line, o, p, tree,
					  &(struct report_extra){ .estimates = estimates });
	estimates_free(estimates);
	return status;
}

/* older is NULL without --diff. */
static int report_profile(const struct cmd_line *line, const struct report_opts *o,
			  struct profile *p, struct profile *older)
{
	struct tree_opts opts = { 0 }, older_opts = { 0 };
	struct tree *tree = NULL;
	if (o->gpu_idle)
		return report_gpu_idle(line, &o->filter, p,
				       &(struct report_gpu_opts){ o->top_n, o->csv,
								  o->gpu_idle_threshold.v / 100 });
	int status = older ? filter_settle_pair(line, &o->filter, p, older, &opts, &older_opts)
			   : filter_settle(line, &o->filter, p, &opts);
	if (status != CMD_OK)
		return status;
	note_other_types(p, opts.type);
	if (o->heatmap)
		return report_heatmap(line, p, &opts, o->output, o->csv);
	struct err err = { 0 };
	int rc = older ? tree_build_diff(p, &opts, older, &older_opts, &tree, &err)
		       : tree_build(p, &opts, &tree, &err);
	if (rc < 0)
		return cmd_fail(CMD_USAGE, &err);
	if (is_by_binary(o))
		status = report_binaries(line, o, p, tree);
	else
		status = report_functions(line, o, p, &opts, tree);
	tree_free(tree);
	return status;
}

/* What cannot be asked for together. */
static int check_views(const struct cmd_line *line, const struct report_opts *o)
{
	const char *other = o->tree ? "tree" : o->callers ? "callers" : o->diff ? "diff" : NULL;
	int status = report_gpu_check(line, o->gpu_idle, &o->gpu_idle_threshold);
	if (status != CMD_OK)
		return status;
	if (line->globals.json && o->csv)
		return cmd_usage(line, "choose one of --json and --csv");
	if (o->tree && o->callers)
		return cmd_usage(line, "choose one of --tree and --callers");
	if (o->gpu_idle && (other || o->heatmap))
		return cmd_usage(line, "choose one of --gpu-idle and --%s",
				 other ? other : "heatmap");
	if (o->gpu_idle && o->filter.match)
		return cmd_usage(line, "--gpu-idle needs the samples of GPUs, too: --type says "
				       "which others to look at");
	if (o->heatmap && other)
		return cmd_usage(line, "choose one of --heatmap and --%s", other);
	if (o->output && !o->heatmap)
		return cmd_usage(line,
				 "-o is where --heatmap goes to; for tables, redirect: > FILE");
	if (o->output && (line->globals.json || o->csv))
		return cmd_usage(line, "choose one of -o and --%s", o->csv ? "csv" : "json");
	if (o->output && strcmp(o->output, "-") != 0 &&
	    format_by_ending(o->output) != format_by_name("svg"))
		return cmd_usage(line, "'%s' does not end in .svg", o->output);
	return CMD_OK;
}

static int report_run(struct cmd_line *line, const void *opts)
{
	const struct report_opts *o = opts;
	struct profile *p = NULL, *older = NULL;
	int status = check_views(line, o);
	if (status != CMD_OK)
		return status;
	status = load_sides(line, o->filter.from, o->diff, &p, &older);
	if (status == CMD_OK)
		status = report_profile(line, o, p, older);
	profile_free(p);
	profile_free(older);
	return status;
}

const struct cmd cmd_report = {
	.name = "report",
	.summary = "where the time went, as a table",
	.usage = "FILE... [OPTIONS]",
	.about = "Reads profiles of any format it knows, found by their content, and shows one type of them as a table: "
		 "self is time in a function's own code, total includes what it called, recursion counted once. Several "
		 "files are merged; - is standard input. --heatmap shows when instead: samples, or time for types that "
		 "are times, in cells of 20 ms, seconds side by side; longer recordings have wider columns.",
	.examples = {
		"cresset report cpu.cresset\tthe functions that cost most",
		"cresset report cpu.cresset --tree --by process\twho calls them, by process",
		"cresset report a.pb.gz b.pb.gz --callers malloc\tboth files, one function",
	},
	.options = report_options,
	.opts_size = sizeof(struct report_opts),
	.min_args = 1,
	.max_args = UINT32_MAX,
	.arg_name = "FILE",
	.has_json = true,
	.run = report_run,
};
