/* cresset query -o, --format, --heatmap and --diff: the result as a profile, and two results
 * compared. */
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/files/report_views.h"
#include "cmd/query/query_cmd.h"
#include "format/html/html.h"
#include "format/table/table.h"
#include "profile/change/diff.h"
#include "profile/profile.h"
#include "query/catalog.h"
#include "query/gpu/gpu_beside.h"
#include "query/page.h"
#include "query/part.h"
#include "query/plan.h"
#include "query/selector.h"
#include "query/snapshots.h"

#include <errno.h>

/* --- the result as a profile --- */

/* The data that the outputs need. */
enum wish {
	WISH_SUMS, /* of a store; a file's result retains its times */
	WISH_PAGE,
	WISH_TIMES, /* with times and GPU tracks, for traces */
};

static bool has_page(const struct outputs *outputs)
{
	bool has = false;
	for (size_t i = 0; i < outputs->n; i++)
		has |= outputs->v[i].format == &format_html;
	return has;
}

/* Process ids are per host. */
static void note_hosts(const struct profile *p)
{
	struct catalog_texts hosts = { 0 };
	catalog_values(p, NULL, "host", &hosts);
	if (hosts.all.n > 1)
		log_info(
			"these are %zu hosts: threads with equal numbers share a track; choose one "
			"with {host=\"%s\"}",
			hosts.all.n, hosts.all.v[0]);
	catalog_texts_done(&hosts);
}

static int read_part(const struct query_cmd *c, const struct tree_opts *tree, bool with_times,
		     struct query_page *page, struct err *err)
{
	return query_part(&c->q, tree, with_times || c->file, &page->p, &page->ids_missing, err);
}

static int read_timed(const struct query_cmd *c, const struct tree_opts *tree,
		      struct query_page *page, struct err *err)
{
	int rc = read_part(c, tree, true, page, err);
	if (rc == 0)
		rc = query_gpu_tracks(&c->q, page->p, err);
	if (rc == 0)
		note_hosts(page->p);
	return rc;
}

static int read_page(const struct query_cmd *c, const struct tree_opts *tree,
		     struct query_page *page, struct err *err)
{
	int rc = query_page(&c->q, tree, c->file != NULL, page, err);
	if (rc == 0 && !page->no_timeline.code && !query_is_snapshot(&c->q))
		note_hosts(page->p);
	return rc;
}

static int read_wish(const struct query_cmd *c, const struct tree_opts *tree, enum wish wish,
		     struct query_page *page, struct err *err)
{
	return wish == WISH_TIMES ? read_timed(c, tree, page, err)
				  : read_part(c, tree, false, page, err);
}

/* Reads a page that shares its profile with other outputs. */
static int read_shared(const struct query_cmd *c, const struct tree_opts *tree, enum wish wish,
		       struct query_page *page, struct err *err)
{
	int rc = query_page_idle(&c->q, c->file != NULL, page, err);
	if (rc == 0)
		rc = read_wish(c, tree, wish, page, err);
	if (rc == 0 && wish == WISH_SUMS && !c->file) {
		err_set(&page->no_timeline, ERANGE, "the other outputs contain sums only");
		err_hint(&page->no_timeline, "write the page alone");
	}
	if (rc == 0)
		query_page_notes(page);
	return rc;
}

/* Call query_page_done on page in any case. */
static int answer_profile(const struct query_cmd *c, const struct outputs *outputs, enum wish wish,
			  struct query_page *page)
{
	struct tree_opts tree;
	struct err err = { 0 };
	bool is_page = has_page(outputs);
	int rc = query_root_frames(&c->q, &tree, &err);
	if (rc == 0)
		rc = wish == WISH_PAGE ? read_page(c, &tree, page, &err)
		     : is_page         ? read_shared(c, &tree, wish, page, &err)
				       : read_wish(c, &tree, wish, page, &err);
	if (rc < 0)
		return query_fail(&err);
	query_note_ids(page->ids_missing && !is_page); /* it is in a page's notes */
	for (size_t i = 0; page->notes[i]; i++)
		log_info("%s", page->notes[i]);
	return CMD_OK;
}

static int write_outputs(const struct query_cmd *c, struct outputs *outputs,
			 const struct query_page *page)
{
	struct profile *p = page->p;
	struct format_write_opts write = text_write_opts(&c->opts->text);
	struct filter_opts by = { .by.n = c->opts->by.n };
	struct err err = { 0 };
	query_page_opts(page, &write);
	filter_default_by(&by, p, &write.tree);
	if (!p->samples.n)
		log_info("no samples to write");
	if (outputs_open(c->line, outputs, &err) < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	return outputs_finish(outputs, p, &write);
}

/* Samples with their times are read only if all outputs show a timeline. */
static int wish_of(const struct query_cmd *c, const struct outputs *outputs, enum wish *wish)
{
	size_t timelines = 0, traces = 0;
	for (size_t i = 0; i < outputs->n; i++) {
		timelines += outputs->v[i].format->has_timeline;
		traces += outputs->v[i].format->has_counters;
	}
	bool all = timelines == outputs->n;
	*wish = !all ? WISH_SUMS : traces ? WISH_TIMES : WISH_PAGE;
	return traces && !all ? cmd_usage(c->line, "a trace cannot be combined with other outputs: "
						   "write them separately")
			      : CMD_OK;
}

int query_write(const struct query_cmd *c)
{
	const char *const standard_output[] = { "-" };
	struct str_list paths = c->opts->outputs;
	struct outputs outputs = { 0 };
	struct query_page page = { 0 };
	enum wish wish = WISH_SUMS;
	if (!paths.n)
		paths = (struct str_list){ (const char **)standard_output, 1 };
	int status = outputs_finalize(c->line, &paths, c->opts->format, &outputs);
	if (status == CMD_OK)
		status = wish_of(c, &outputs, &wish);
	if (status == CMD_OK)
		status = answer_profile(c, &outputs, wish, &page);
	if (status == CMD_OK)
		status = write_outputs(c, &outputs, &page);
	outputs_abort(&outputs);
	query_page_done(&page);
	return status;
}

int query_heatmap(const struct query_cmd *c)
{
	struct tree_opts tree;
	struct err err = { 0 };
	struct profile *p;
	bool ids_missing;
	if (query_root_frames(&c->q, &tree, &err) < 0 ||
	    query_profile(&c->q, true, &p, &ids_missing, &err) < 0)
		return query_fail(&err);
	query_note_ids(ids_missing);
	tree.type = 0; /* the only type */
	int status = report_heatmap(
		c->line, p, &tree, c->opts->outputs.n ? c->opts->outputs.v[0] : NULL, c->opts->csv);
	profile_free(p);
	return status;
}

/* --- two results --- */

bool query_asks_diff(const struct query_opts *o)
{
	return o->diff || o->diff_from || o->diff_to;
}

/* The older side: options that are not given are as for the newer one. */
static int settle_older(const struct query_cmd *c, struct query *older, struct selector **selector)
{
	const struct query_opts *o = c->opts;
	struct query_range_words words = { o->diff_from, o->diff_to, "option --diff-from",
					   "option --diff-to" };
	struct err err = { 0 };
	if (o->diff && selector_parse(o->diff, selector, &err) < 0) {
		err_prefix(&err, "option --diff");
		return cmd_fail(CMD_USAGE, &err);
	}
	int rc = query_parse_older(&c->q, &c->span, &words, *selector, older, &err);
	return rc < 0 ? cmd_fail(CMD_USAGE, &err) : CMD_OK;
}

static void print_diff(const struct query_cmd *c, const struct diff_table *table, struct buf *b)
{
	const struct term *term = &c->line->term;
	struct table_opts opts = { .top_n = c->opts->top_n,
				   .width = term->width_out,
				   .utf8 = term->utf8,
				   .color = term->color_out };
	if (c->line->globals.json)
		diff_table_json(table, &opts, b);
	else if (c->opts->csv)
		diff_table_csv(table, &opts, b);
	else
		diff_table_text(table, &opts, b);
}

static const char *selector_text(const struct query_cmd *c)
{
	return c->line->args.v[0];
}

int query_show_diff(const struct query_cmd *c)
{
	struct selector *selector = NULL;
	struct query older;
	struct query_sides sides = { 0 };
	struct diff_opts opts = { .norm = c->opts->norm,
				  .confidence = 0.95,
				  .is_strict = c->opts->filter.strict };
	struct err err = { 0 };
	struct buf b = { 0 };
	int status = settle_older(c, &older, &selector);
	if (status == CMD_OK && query_diff(&c->q, &older, &opts, &sides, &err) < 0)
		status = query_fail(&err);
	query_note_ids(sides.newer.ids_missing || sides.older.ids_missing);
	if (status == CMD_OK) {
		struct diff_table table = {
			.diff = sides.diff,
			.newer = { selector_text(c), c->catalog, sides.newer.tree,
				   query_seconds(&c->q) },
			.older = { c->opts->diff ? c->opts->diff : selector_text(c), c->catalog,
				   sides.older.tree, query_seconds(&older) },
		};
		print_diff(c, &table, &b);
		status = cmd_print(&b);
	}
	query_sides_done(&sides);
	selector_free(selector);
	return status;
}
