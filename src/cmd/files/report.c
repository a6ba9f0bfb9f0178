/* cresset report: shows where the time went, as a table. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/filter.h"
#include "cmd/files/load.h"
#include "cmd/files/report_views.h"
#include "collect/inspect/remedy.h"
#include "collect/proc/mapped_file.h"
#include "format/formats.h"
#include "format/table/table.h"
#include "profile/change/estimate.h"
#include "profile/change/signed.h"
#include "profile/profile.h"
#include "profile/tree/top.h"
#include "profile/tree/tree.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- names: where the names of each binary come from, and how to get better ones --- */

struct report_names {
	struct table_binaries binaries; /* those with the most frames first */
	struct arena text;
	VEC(struct table_binary) rows;
	VEC(uint32_t) mappings; /* of the rows, before they are sorted */
	VEC(struct table_origin) origins;
};

/* By mapping, its most frequent origin first. */
static int by_mapping(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;
	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int by_frames(const void *a, const void *b)
{
	const struct table_binary *x = a, *y = b;
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* --- remedies --------------------------------------------------------------------------------- */

/* Whether the recorded file is on this machine; nothing is known of files of other machines. */
static bool is_here(const struct mapping *m, const char *path)
{
	uint8_t id[BUILD_ID_MAX];
	struct stat st;
	int fd = m->build_id_len && *path == '/' ? plain_file_open(path, &st) : -1;
	bool same = fd >= 0 && elf_build_id(fd, id, sizeof id) == m->build_id_len &&
		    memcmp(id, m->build_id, m->build_id_len) == 0;
	if (fd >= 0)
		close(fd);
	return same;
}

/* The most frequent origin decides: a few addresses between functions have no name anywhere. */
static bool wants_remedy(const struct table_binary *b)
{
	return b->n_origins && remedy_is_wanted(b->origins[0].name);
}

static void add_remedies(struct report_names *r, const struct profile *p)
{
	VEC(struct remedy) wishes = { 0 };
	VEC(uint32_t) rows = { 0 };
	struct remedy_opts opts = { .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
				    .debuginfod_urls = getenv("DEBUGINFOD_URLS") };
	for (uint32_t i = 0; i < r->rows.n; i++) {
		const struct mapping *m = &p->frames.mappings.v[r->mappings.v[i]];
		if (!wants_remedy(&r->rows.v[i]) || !is_here(m, r->rows.v[i].path))
			continue;
		vec_push(&wishes, (struct remedy){ .path = r->rows.v[i].path });
		vec_push(&rows, i);
	}
	remedies_find(&opts, wishes.v, wishes.n);
	for (size_t i = 0; i < wishes.n; i++)
		r->rows.v[rows.v[i]].remedy =
			arena_dup(&r->text, wishes.v[i].text, strlen(wishes.v[i].text));
	vec_done(&wishes);
	vec_done(&rows);
	close(opts.root);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* o[0..n) are the origins of one mapping; in r they start at `first`. */
static void add_row(struct report_names *r, const struct profile *p, const struct origin *o,
		    size_t n, size_t first)
{
	const struct mapping *m = &p->frames.mappings.v[o->mapping];
	const char *path = profile_str(p, m->name);
	struct buf hex = { 0 };
	for (int i = 0; i < m->build_id_len; i++)
		buf_addf(&hex, "%02x", m->build_id[i]);
	struct table_binary row = {
		.name = last_part(path),
		.path = path,
		.build_id = arena_dup(&r->text, hex.data, hex.len),
		.remedy = "",
		.origins = r->origins.v + first,
		.n_origins = n,
	};
	buf_done(&hex);
	for (size_t i = 0; i < n; i++)
		row.frames += o[i].frames;
	vec_push(&r->rows, row);
	vec_push(&r->mappings, o->mapping);
}

static void add_rows(struct report_names *r, const struct profile *p)
{
	size_t n = p->origins.all.n;
	struct origin *all = xreallocarray(NULL, n + 1, sizeof *all);
	memcpy(all, p->origins.all.v, n * sizeof *all);
	qsort(all, n, sizeof *all, by_mapping);
	for (size_t i = 0; i < n; i++)
		vec_push(&r->origins,
			 (struct table_origin){ profile_str(p, all[i].name), all[i].frames });
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && all[end].mapping == all[i].mapping; end++)
			;
		add_row(r, p, &all[i], end - i, i);
	}
	free(all);
}

static void report_names_init(struct report_names *r, struct profile *p)
{
	*r = (struct report_names){ 0 };
	if (p->origins.all.n) {
		add_rows(r, p);
		add_remedies(r, p);
		qsort(r->rows.v, r->rows.n, sizeof *r->rows.v, by_frames);
	}
	r->binaries = (struct table_binaries){ r->rows.v, r->rows.n };
}

static void report_names_done(struct report_names *r)
{
	vec_done(&r->rows);
	vec_done(&r->mappings);
	vec_done(&r->origins);
	arena_done(&r->text);
}

struct report_opts {
	struct filter_opts filter;
	uint64_t top_n;
	bool tree, csv, heatmap, gpu_idle;
	struct opt_number gpu_idle_threshold; /* in percent */
	const char *callers, *diff, *output;
};

/* Keys of the tree, and one more. */
enum { BY_BINARY = BY_KEYS };
static const char *const by_words[] = { TREE_BY_NAMES, [BY_BINARY] = "binary", NULL };

#define SHOW(member) .group = "What to show", .offset = offsetof(struct report_opts, member)
static const struct cmd_opt report_options[] = {
	{ NULL, "top", "N", "rows of the table; 0 = all", OPT_U64, SHOW(top_n), .def = "30",
	  .max = UINT32_MAX, .basic = true },
	{ NULL, "tree", NULL, "call tree instead of a table", OPT_FLAG, SHOW(tree), .basic = true },
	{ NULL, "callers", "FN", "callers and callees of this function", OPT_STRING, SHOW(callers),
	  .basic = true },
	{ NULL, "diff", "OLD", "changes since this file; see also cresset diff", OPT_STRING,
	  SHOW(diff), .basic = true },
	{ NULL, "strict", NULL, "with several files: match functions by name, file and binary",
	  OPT_FLAG, SHOW(filter.strict) },
	{ NULL, "heatmap", NULL, "over time: a column per second, a row per 20 ms", OPT_FLAG,
	  SHOW(heatmap), .basic = true },
	{ "o", "output", "OUT.svg", "SVG file for --heatmap; - for standard output", OPT_STRING,
	  SHOW(output) },
	{ NULL, "gpu-idle", NULL,
	  "idle times of GPUs, the work that ended each, and the CPU stacks of their processes",
	  OPT_FLAG, SHOW(gpu_idle) },
	{ NULL, "gpu-idle-threshold", "PERCENT",
	  "for driver readings: a GPU below this utilization is idle (default 5)", OPT_PERCENT,
	  SHOW(gpu_idle_threshold) },
	{ NULL, "csv", NULL, "CSV", OPT_FLAG, SHOW(csv), .basic = true },
	FILTER_OPTIONS_BY(report_opts, by_words,
			  "root frames: comm pid process unit pod user ... none; binary: a table "
			  "of binaries"),
	{ 0 },
};

/* Prints one of the three views in the requested format. */
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

/* Notes on the rows. */
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
	if (!tree->nodes.v[TREE_ROOT].total && !tree->nodes.v[TREE_ROOT].other_total)
		log_info("nothing to show%s",
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

/* Reports binaries, with the origins of their names. */
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

/* Reports functions. */
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
	int status = older ? filter_finalize_pair(line, &o->filter, p, older, &opts, &older_opts)
			   : filter_finalize(line, &o->filter, p, &opts);
	if (status != CMD_OK)
		return status;
	note_other_types(p, opts.type);
	if (o->heatmap)
		return report_heatmap(line, p, &opts, o->output, o->csv);
	struct err err = { 0 };
	int rc = older ? tree_build_diff(p, &opts, older, &older_opts, &tree, &err)
		       : tree_build_signed(p, &opts, &tree, &err);
	if (rc < 0)
		return cmd_fail(CMD_USAGE, &err);
	if (is_by_binary(o))
		status = report_binaries(line, o, p, tree);
	else
		status = report_functions(line, o, p, &opts, tree);
	tree_free(tree);
	return status;
}

/* Refuses combinations of options that exclude each other. */
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
		return cmd_usage(
			line, "--gpu-idle also needs GPU samples: select the others with --type");
	if (o->heatmap && other)
		return cmd_usage(line, "choose one of --heatmap and --%s", other);
	if (o->output && !o->heatmap)
		return cmd_usage(line, "-o is the file of --heatmap; for tables, redirect: > FILE");
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
	const struct load_opts load = filter_load(&o->filter);
	status = load_sides(line, &load, o->diff, &p, &older);
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
	.about = "Reads profiles of all supported formats, detected from their content, and "
		"shows one type as a table: self is the time in a function's own code, total "
		"includes its callees, with recursion counted once. Several files are merged; - "
		"is standard input. --heatmap shows samples over time instead, or durations for "
		"types that are times: a column per second, cells of 20 ms; longer recordings "
		"have wider columns.",
	.examples = {
		"cresset report cpu.cresset\tthe functions that cost most",
		"cresset report cpu.cresset --tree --by process\tthe call tree, by process",
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
