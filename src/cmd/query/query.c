/* cresset query: queries a store or a file. */
#include "cmd/query/query_cmd.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/files/filter.h"
#include "cmd/files/report_views.h"
#include "cmd/query/remote.h"
#include "format/table/table.h"
#include "profile/profile.h"
#include "profile/tree/top.h"
#include "query/gpu/gpu_idle.h"
#include "query/metrics.h"
#include "query/plan.h"
#include "query/selector.h"
#include "query/source.h"

#include <errno.h>
#include <string.h>

/* --- --gpu-idle: a selector chooses the owners' samples, and thereby the hosts --- */

static int query_gpu_idle(const struct query_cmd *c)
{
	const struct gpu_idle_opts how = { .threshold = c->opts->gpu_idle_threshold.v / 100 };
	const struct report_gpu_opts opts = { .top_n = c->opts->top_n, .csv = c->opts->csv };
	struct query q = c->q;
	struct gpu_idle idle = { 0 };
	struct err err = { 0 };
	if (gpu_idle_ask_type(&q, &err) < 0)
		return query_fail(&err);
	int rc = gpu_idle_query(&q, &how, &idle, &err);
	int status = rc == 0          ? report_gpu_print(c->line, &opts, &idle)
		     : rc == -ENODATA ? report_gpu_fail(rc, &err)
				      : query_fail(&err);
	/* Exact times of a part of the range may be gone. */
	if (rc == 0 && idle.exact_from_ns)
		log_info("exact times exist for the last hours only: earlier GPU work is "
			 "left out");
	gpu_idle_done(&idle);
	return status;
}

static const char *const norms[] = { "share", "rate", "abs", NULL };

#define ASK(member)    .group = "Query", .offset = offsetof(struct query_opts, member)
#define SHOW(member)   .group = "What to show", .offset = offsetof(struct query_opts, member)
#define LIST(member)   .group = "Lists", .offset = offsetof(struct query_opts, member)
#define OUTPUT(member) .group = "Output", .offset = offsetof(struct query_opts, member)
#define LIMIT(member)  .group = "Limits", .offset = offsetof(struct query_opts, member)
static const struct cmd_opt query_options[] = {
	{ NULL, "data", "PATH", "a file that cresset reads, or a store directory", OPT_STRING,
	  ASK(data), .basic = true },
	{ NULL, "from", "T", "2026-11-21T09:30:00Z, Unix time, now-15m, start+10s", OPT_STRING,
	  ASK(from), .basic = true },
	{ NULL, "to", "T", "end; default: all of a file, last 15m of a store", OPT_STRING, ASK(to),
	  .basic = true },
	{ NULL, "by", "L,...", "group by these labels, or pid, tid, cpu", OPT_COMMA, ASK(by),
	  .basic = true },
	{ NULL, "range", "STEP", "totals over time", OPT_DURATION, SHOW(range_ns), .basic = true },
	{ NULL, "reduce", "HOW",
	  "aggregation of a metric per step; auto: rate of a counter, else avg", OPT_ENUM,
	  SHOW(reduce), .words = query_reductions, .def = "auto" },
	{ NULL, "tree", NULL, "the call tree", OPT_FLAG, SHOW(tree), .basic = true },
	{ NULL, "callers", "FN", "callers and callees of this function", OPT_STRING, SHOW(callers),
	  .basic = true },
	{ NULL, "heatmap", NULL, "over time: a column per second, a row per 20 ms", OPT_FLAG,
	  SHOW(heatmap) },
	{ NULL, "gpu-idle", NULL,
	  "idle times of GPUs, the work that ended each, and the CPU stacks of their processes",
	  OPT_FLAG, SHOW(gpu_idle) },
	{ NULL, "gpu-idle-threshold", "PERCENT",
	  "for driver readings: a GPU below this utilization is idle (default 5)", OPT_PERCENT,
	  SHOW(gpu_idle_threshold) },
	{ NULL, "leaks", NULL, "stacks with memory in use that grows: 'inuse{}'", OPT_FLAG,
	  SHOW(leaks) },
	{ NULL, "older", "AGE", "for --leaks: only memory older than 0, 1m, 10m or 1h", OPT_ENUM,
	  SHOW(older), .words = query_older_words, .def = "10m" },
	{ NULL, "top", "N", "rows of the table; 0 = all", OPT_U64, SHOW(top_n), .def = "30",
	  .max = UINT32_MAX },
	{ NULL, "csv", NULL, "CSV", OPT_FLAG, SHOW(csv) },
	{ NULL, "diff", "SELECTOR", "compare with this selector, the older side", OPT_STRING,
	  SHOW(diff) },
	{ NULL, "diff-from", "T", "start of the --diff range, if it differs", OPT_STRING,
	  SHOW(diff_from) },
	{ NULL, "diff-to", "T", "end of the --diff range", OPT_STRING, SHOW(diff_to) },
	{ NULL, "norm", "NORM",
	  "normalization of --diff: share of the total, rate per second, or abs", OPT_ENUM,
	  SHOW(norm), .words = norms, .def = "share" },
	{ NULL, "strict", NULL, "match functions by name, file and binary", OPT_FLAG,
	  SHOW(filter.strict) },
	{ "o", "output", "OUT", "output file, format from its ending; - = stdout", OPT_STRINGS,
	  OUTPUT(outputs), .basic = true },
	{ NULL, "format", "FORMAT", "output format (default: from the file name ending)",
	  OPT_STRING, OUTPUT(format) },
	TEXT_OPTIONS(query_opts),
	{ NULL, "types", NULL, "types of profiles", OPT_FLAG, LIST(types), .basic = true },
	{ NULL, "labels", NULL, "labels of series", OPT_FLAG, LIST(labels), .basic = true },
	{ NULL, "values", "L", "values of a label", OPT_STRING, LIST(values), .basic = true },
	{ NULL, "series", NULL, "series, as selectors", OPT_FLAG, LIST(series) },
	FILTER_STACKS(query_opts),
	FILTER_SIDES(query_opts),
	REMOTE_OPTIONS(query_opts),
	{ NULL, "timeout", "TIME", "time limit", OPT_DURATION, LIMIT(timeout_ns) },
	{ NULL, "max-memory", "SIZE", "memory limit", OPT_SIZE, LIMIT(memory_bytes) },
	{ 0 },
};

/* --- the query --- */

static int open_source(struct query_cmd *c)
{
	int status = data_open(c->line, c->opts->data, &c->file, &c->source);
	if (status == CMD_OK)
		c->catalog = c->source->ops->catalog(c->source);
	return status;
}

static int parse_selector(struct query_cmd *c)
{
	struct err err = { 0 };
	if (!c->line->args.n)
		return query_asks_list(c->opts) || c->opts->gpu_idle
			       ? CMD_OK
			       : cmd_usage(c->line, "SELECTOR is missing: 'cpu{}'");
	if (selector_parse(c->line->args.v[0], &c->selector, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	return CMD_OK;
}

static int settle_range(struct query_cmd *c)
{
	struct query_range_words words = { c->opts->from, c->opts->to, "option --from",
					   "option --to" };
	struct err err = { 0 };
	query_span_of(c->source, c->file, &c->span);
	return query_span_parse(&c->span, &words, &c->q, &err) < 0 ? cmd_fail(CMD_USAGE, &err)
								   : CMD_OK;
}

static int settle_type(struct query_cmd *c)
{
	struct err err = { 0 };
	struct buf list = { 0 };
	uint32_t others;
	if (query_parse_type(&c->q, &others, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	if (others) {
		query_list_types(&list, c->catalog, c->q.type);
		log_info("showing %s; there is also: %s", query_type_word(c->catalog, c->q.type),
			 buf_cstr(&list));
		buf_done(&list);
	}
	return CMD_OK;
}

static int settle_by(struct query_cmd *c)
{
	const struct str_list *by = &c->opts->by;
	if (by->n > QUERY_BY_MAX)
		return cmd_usage(c->line, "option --by: more than %d labels", QUERY_BY_MAX);
	for (size_t i = 0; i < by->n; i++)
		if (strcmp(by->v[i], "none") != 0)
			c->q.by[c->q.n_by++] = by->v[i];
	return CMD_OK;
}

static int settle_query(struct query_cmd *c)
{
	c->q.source = c->source;
	c->q.selector = c->selector;
	c->q.limits = (struct guard_limits){ .time_ns = c->opts->timeout_ns,
					     .memory_bytes = c->opts->memory_bytes };
	int status = settle_range(c);
	if (status == CMD_OK && !c->opts->gpu_idle)
		status = settle_type(c);
	if (status == CMD_OK)
		status = settle_by(c);
	c->q.tree.is_strict = c->opts->filter.strict;
	c->q.tree.merges_builds = !c->file && !c->opts->filter.strict;
	return status == CMD_OK ? filter_stacks(c->line, &c->opts->filter, &c->q.tree) : status;
}

/* --- tables --- */

static int print_table(const struct query_cmd *c, const struct table *table)
{
	const struct term *term = &c->line->term;
	struct table_opts opts = { .top_n = c->opts->top_n,
				   .width = term->width_out,
				   .utf8 = term->utf8,
				   .color = term->color_out };
	struct buf b = { 0 };
	if (c->line->globals.json)
		table_json(table, &opts, &b);
	else if (c->opts->csv)
		table_csv(table, &opts, &b);
	else
		table_text(table, &opts, &b);
	return cmd_print(&b);
}

static int print_callers(const struct query_cmd *c, struct table *table)
{
	struct tree *callers = NULL, *callees = NULL;
	struct err err = { 0 };
	if (top_callers(table->tree, c->opts->callers, &callers, &callees, &err) < 0)
		return cmd_fail(CMD_USAGE, &err);
	table->callers = callers;
	table->callees = callees;
	table->function = c->opts->callers;
	int status = print_table(c, table);
	tree_free(callers);
	tree_free(callees);
	return status;
}

static int print_top(const struct query_cmd *c, struct table *table)
{
	struct top_table top = { 0 };
	top_build(table->tree, &top);
	table->top = &top;
	int status = print_table(c, table);
	top_done(&top);
	return status;
}

/* Prints why there is nothing to show. */
static void explain_nothing(const struct query_cmd *c, const struct query_tree *answer)
{
	const char *unknown = selector_unknown_label(c->selector, c->catalog);
	if (answer->tree->unfiltered_total)
		log_info("nothing to show: no stack passes the filters");
	else if (!answer->series && unknown)
		match_explain(unknown, c->catalog);
	else if (!answer->series)
		log_info("no series is selected; cresset query --series lists them");
	else
		log_info("no data in this time range");
}

/* Whether values are below zero: a difference was imported (profile/change/signed.h). */
static bool note_negative(const struct tree *t)
{
	for (size_t i = 0; i < t->nodes.n; i++)
		if (t->nodes.v[i].self < 0) {
			log_info("a difference: values below zero are of its older side. Both "
				 "sides: add -o x.pb.gz, then cresset report x.pb.gz");
			return true;
		}
	return false;
}

static int show_tree(const struct query_cmd *c)
{
	struct query_tree answer;
	struct err err = { 0 };
	if (query_tree(&c->q, &answer, &err) < 0)
		return query_fail(&err);
	struct tree *tree = answer.tree;
	struct table table = { .profile = c->catalog, .tree = tree, .with_tree = c->opts->tree };
	if (c->opts->tree)
		tree_sort(tree, ORDER_TOTAL);
	if (!note_negative(tree) && !tree->nodes.v[TREE_ROOT].total)
		explain_nothing(c, &answer);
	if (answer.rounded)
		log_info("the times of the samples are coarser than the range: more than the range "
			 "is shown");
	query_note_ids(answer.ids_missing);
	int status = c->opts->callers ? print_callers(c, &table)
		     : c->opts->tree  ? print_table(c, &table)
				      : print_top(c, &table);
	tree_free(tree);
	return status;
}

static int show(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	if (o->gpu_idle)
		return query_gpu_idle(c);
	if (query_asks_metric(c))
		return query_show_metric(c);
	if (o->reduce)
		return cmd_usage(c->line, "option --reduce: this is not a metric");
	if (o->leaks)
		return query_show_leaks(c);
	if (o->range_ns)
		return query_show_range(c);
	if (query_asks_diff(o))
		return query_show_diff(c);
	if (o->heatmap)
		return query_heatmap(c);
	return o->outputs.n || o->format ? query_write(c) : show_tree(c);
}

/* --- all together --- */

/* Refuses combinations of options that exclude each other. */
static int check_views(const struct cmd_line *line, const struct query_opts *o)
{
	const struct {
		const char *name;
		bool asked, to_file;
	} views[] = {
		{ "range", o->range_ns, false },       { "tree", o->tree, false },
		{ "callers", o->callers, false },      { "heatmap", o->heatmap, true },
		{ "diff", query_asks_diff(o), false }, { "gpu-idle", o->gpu_idle, false },
		{ "leaks", o->leaks, false },
	};
	const char *first = NULL;
	if (line->globals.json && o->csv)
		return cmd_usage(line, "choose one of --json and --csv");
	int status = report_gpu_check(line, o->gpu_idle, &o->gpu_idle_threshold);
	if (status != CMD_OK)
		return status;
	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		if (!views[i].asked)
			continue;
		if (first)
			return cmd_usage(line, "choose one of --%s and --%s", first, views[i].name);
		first = views[i].name;
		if ((o->outputs.n || o->format) && !views[i].to_file)
			return cmd_usage(line, "-o writes samples, not the result of --%s", first);
	}
	return CMD_OK;
}

static int run(struct query_cmd *c)
{
	int status = check_views(c->line, c->opts);
	if (status == CMD_OK && c->opts->remote.server)
		return query_remote(c);
	if (status == CMD_OK)
		status = parse_selector(c);
	if (status == CMD_OK)
		status = open_source(c);
	if (status == CMD_OK && query_asks_list(c->opts))
		return query_list(c);
	if (status == CMD_OK)
		status = settle_query(c);
	return status == CMD_OK ? show(c) : status;
}

static int query_run(struct cmd_line *line, const void *opts)
{
	struct query_cmd c = { .line = line, .opts = opts };
	int status = run(&c);
	data_say_left_out(c.source);
	source_close(c.source);
	profile_free(c.file);
	selector_free(c.selector);
	return status;
}

const struct cmd cmd_query = {
	.name = "query",
	.summary = "query recordings and the store",
	.usage = "--data PATH 'SELECTOR' [OPTIONS]",
	.about = "A selector is a type of profiles and conditions on labels: "
		 "cpu{comm=\"redis\",host=~\"web.*\"}; = and != compare, =~ and !~ match the "
		 "whole value with a regular expression. The selected samples are merged and "
		 "shown as a table of functions, as report does, as totals over time, as a "
		 "tree, or written to a file. In a store, samples older than 2 hours are summed "
		 "over 10 s, without pid, tid and cpu.",
	.examples = {
		"cresset query --data cpu.cresset 'cpu{comm=~\"redis.*\"}'\ttheir functions",
		"cresset query --data cpu.cresset --types\tits types",
		"cresset query --data cpu.cresset cpu --format folded\tas folded stacks",
	},
	.options = query_options,
	.opts_size = sizeof(struct query_opts),
	.max_args = 1,
	.arg_name = "SELECTOR",
	.has_json = true,
	.run = query_run,
};
