/* cresset query --server: the same queries through docs/api.md. Settings of the terminal (widths,
 * colours) are not sent: the server responds as for a file or a pipe. */
#include "cmd/query/query_cmd.h"

#include "base/buf.h"
#include "format/formats.h"
#include "query/metrics.h"
#include "query/plan.h"

#include <errno.h>
#include <string.h>

static void add_list(struct question *q, const char *name, const struct str_list *list)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < list->n; i++)
		buf_addf(&b, "%s%s", i ? "," : "", list->v[i]);
	if (list->n)
		question_add(q, name, buf_cstr(&b));
	buf_done(&b);
}

static void add_filters(struct question *q, const struct query_opts *o)
{
	question_add(q, "focus", o->filter.focus);
	question_add(q, "ignore", o->filter.ignore);
	question_add(q, "hide", o->filter.hide);
	question_add(q, "no_kernel", o->filter.no_kernel ? "1" : NULL);
	question_add(q, "no_user", o->filter.no_user ? "1" : NULL);
	question_add(q, "strict", o->filter.strict ? "1" : NULL);
}

static void add_query(struct question *q, const struct query_cmd *c)
{
	question_add(q, "q", c->line->args.n ? c->line->args.v[0] : NULL);
	question_add(q, "from", c->opts->from);
	question_add(q, "to", c->opts->to);
	add_list(q, "by", &c->opts->by);
	add_filters(q, c->opts);
}

/* --- views ------------------------------------------------------------------------------------ */

static const char *table_format(const struct query_cmd *c)
{
	return c->line->globals.json ? "json" : c->opts->csv ? "csv" : "text";
}

static int needs_json(const struct query_cmd *c, const char *what)
{
	return c->line->globals.json
		       ? CMD_OK
		       : cmd_usage(c->line, "--server returns %s as JSON only: add --json", what);
}

static int ask_list(const struct query_cmd *c, struct question *q)
{
	const struct query_opts *o = c->opts;
	question_init(q, o->types    ? "api/v1/types"
			 : o->labels ? "api/v1/labels"
			 : o->values ? "api/v1/values"
				     : "api/v1/series");
	question_add(q, "name", o->values);
	question_add(q, "match", c->line->args.n ? c->line->args.v[0] : NULL);
	return needs_json(c, "lists");
}

static void ask_diff(const struct query_cmd *c, struct question *q)
{
	static const char *const norms[] = { "share", "rate", "abs" };
	const struct query_opts *o = c->opts;
	question_init(q, "api/v1/diff");
	question_add(q, "a", o->diff ? o->diff : c->line->args.v[0]);
	question_add(q, "afrom", o->diff_from ? o->diff_from : o->from);
	question_add(q, "ato", o->diff_to ? o->diff_to : o->to);
	question_add(q, "b", c->line->args.v[0]);
	question_add(q, "bfrom", o->from);
	question_add(q, "bto", o->to);
	question_add(q, "norm", norms[o->norm]);
	question_add_u64(q, "n", o->top_n);
	question_add(q, "fmt", table_format(c));
	add_filters(q, o);
}

static int ask_range(const struct query_cmd *c, struct question *q)
{
	char step[32];
	snprintf(step, sizeof step, "%lluns", (unsigned long long)c->opts->range_ns);
	question_init(q, c->opts->reduce ? "api/v1/metrics" : "api/v1/range");
	add_query(q, c);
	question_add(q, "step", step);
	if (c->opts->reduce)
		question_add(q, "reduce", query_reductions[c->opts->reduce]);
	return needs_json(c, "--range");
}

static void ask_table(const struct query_cmd *c, struct question *q)
{
	question_init(q, c->opts->callers ? "api/v1/callers" : "api/v1/top");
	add_query(q, c);
	question_add(q, "f", c->opts->callers);
	question_add(q, "fmt", table_format(c));
	if (!c->opts->callers)
		question_add_u64(q, "n", c->opts->top_n);
}

static void ask_gpu_idle(const struct query_cmd *c, struct question *q)
{
	const struct opt_number *threshold = &c->opts->gpu_idle_threshold;
	char share[32];
	snprintf(share, sizeof share, "%.17g", threshold->v / 100);
	question_init(q, "api/v1/gpu-idle");
	add_query(q, c);
	question_add_u64(q, "n", c->opts->top_n);
	question_add(q, "fmt", table_format(c));
	question_add(q, "threshold", threshold->set ? share : NULL);
}

static int ask_leaks(const struct query_cmd *c, struct question *q)
{
	question_init(q, "api/v1/leaks");
	add_query(q, c);
	question_add_u64(q, "n", c->opts->top_n);
	question_add(q, "older", query_older_words[c->opts->older]);
	return needs_json(c, "--leaks");
}

static int ask_view(const struct query_cmd *c, struct question *q)
{
	const struct query_opts *o = c->opts;
	if (query_asks_list(o))
		return ask_list(c, q);
	if (o->leaks)
		return ask_leaks(c, q);
	if (o->range_ns)
		return ask_range(c, q);
	if (o->gpu_idle) {
		ask_gpu_idle(c, q);
	} else if (query_asks_diff(o)) {
		ask_diff(c, q);
	} else if (o->heatmap) {
		question_init(q, "api/v1/heatmap");
		add_query(q, c);
		question_add(q, "fmt", o->csv ? "csv" : "json");
		return o->csv ? CMD_OK : needs_json(c, "--heatmap");
	} else if (o->tree) {
		question_init(q, "api/v1/flame");
		add_query(q, c);
		return needs_json(c, "--tree");
	} else {
		ask_table(c, q);
	}
	return CMD_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static int ask_file(const struct query_cmd *c, const char *path)
{
	const struct format *by_name = c->opts->format ? format_by_name(c->opts->format) : NULL;
	const struct format *f = c->opts->format ? by_name : format_by_ending(path);
	struct question q;
	struct buf answer = { 0 };
	if (!f || !f->write)
		return cmd_usage(c->line, "%s: no such output format",
				 c->opts->format ? c->opts->format : path);
	question_init(&q, "api/v1/flame");
	add_query(&q, c);
	question_add(&q, "fmt", f->name);
	int status = remote_ask(&c->opts->remote, &q, &answer);
	if (status == CMD_OK)
		status = remote_write(path, &answer);
	buf_done(&answer);
	return status;
}

/* --- all together ----------------------------------------------------------------------------- */

static int check(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	if (o->data)
		return cmd_usage(c->line, "choose one of --data and --server");
	if (!c->line->args.n && !query_asks_list(o) && !o->gpu_idle)
		return cmd_usage(c->line, "SELECTOR is missing: 'cpu{}'");
	if (o->memory_bytes)
		return cmd_usage(c->line, "option --max-memory: the server decides that");
	return CMD_OK;
}

int query_remote(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	struct question q = { 0 };
	struct buf answer = { 0 };
	int status = check(c);
	if (status == CMD_OK && !o->heatmap && (o->outputs.n || o->format)) {
		for (size_t i = 0; i < o->outputs.n && status == CMD_OK; i++)
			status = ask_file(c, o->outputs.v[i]);
		return o->outputs.n ? status : ask_file(c, "-");
	}
	if (status == CMD_OK)
		status = ask_view(c, &q);
	if (status == CMD_OK)
		status = remote_ask(&o->remote, &q, &answer);
	else
		buf_done(&q.path);
	if (status == CMD_OK)
		return cmd_print(&answer);
	buf_done(&answer);
	return status;
}
