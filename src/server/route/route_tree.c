/* /api/v1/flame, top, callers: merged stacks. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "format/common/tree_bin.h"
#include "format/formats.h"
#include "format/html/html.h"
#include "format/table/table.h"
#include "profile/tree/top.h"
#include "query/page.h"
#include "query/part.h"
#include "query/plan.h"
#include "server/answer.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/tenant.h"

#include <errno.h>
#include <string.h>

static void reply_table(struct request *r, const struct table *t, const struct table_opts *opts,
			enum table_format format)
{
	struct buf b = { 0 };
	if (format == TABLE_CSV)
		table_csv(t, opts, &b);
	else if (format == TABLE_TEXT)
		table_text(t, opts, &b);
	else
		table_json(t, opts, &b);
	reply_body(r, table_types[format], &b);
}

/* --- flame ------------------------------------------------------------------------------------ */

/* Nodes that are too small are never made, except in an inverted tree, which is pruned when it is
 * complete. */
static int pruned_tree(struct query *q, const struct answer_detail *d, struct query_tree *out,
		       struct err *err)
{
	q->tree.min_share = q->tree.inverted ? 0 : d->share;
	q->tree.zoom = answer_zoom(d);
	int rc = query_tree(q, out, err);
	if (rc == 0 && d->share > 0 && q->tree.inverted)
		tree_prune_share(out->tree, d->share, answer_zoom(d), NULL);
	return rc;
}

static void reply_json(struct query_params *a, struct tree *t)
{
	struct table_opts opts = { .utf8 = true };
	struct table table = { .profile = a->catalog, .tree = t, .with_tree = true };
	tree_sort(t, ORDER_TOTAL);
	reply_table(a->r, &table, &opts, TABLE_JSON);
}

static void flame_tree(struct query_params *a,
		       void (*reply)(struct query_params *a, struct tree *t))
{
	struct answer_detail detail = { 0 };
	struct query_tree answer;
	struct err err = { 0 };
	int rc = request_flag(a->r, "inverted", &a->q.tree.inverted, &err);
	if (rc == 0)
		rc = answer_detail_get(a->r, &detail, &err);
	if (rc == 0)
		rc = pruned_tree(&a->q, &detail, &answer, &err);
	if (rc == 0) {
		reply(a, answer.tree);
		tree_free(answer.tree);
	} else {
		reply_failure(a->r, &err);
	}
	answer_detail_done(&detail);
}

static void reply_bytes(struct query_params *a, struct tree *t)
{
	struct tree_bin_opts opts = { .from_ns = a->q.from_ns, .to_ns = a->q.to_ns };
	answer_tree_bin(a->r, t, &opts);
}

/* The content type of each format, and the policy for browsers. */
static const struct {
	const char *format, *type, *policy;
} contents[] = {
	{ "svg", "image/svg+xml", PICTURE_POLICY },
	{ "html", "text/html; charset=utf-8", NULL },
	{ "folded", "text/plain; charset=utf-8", NULL },
	{ "text", "text/plain; charset=utf-8", NULL },
	{ "csv", "text/csv; charset=utf-8", NULL },
	{ "json", "application/json", NULL },
	{ "speedscope", "application/json", NULL },
	{ "pprof", "application/octet-stream", NULL },
	{ NULL, "application/octet-stream", NULL },
};

static void write_options(const struct request *r, const struct query_page *page,
			  const struct tree_opts *tree, bool icicle, struct format_write_opts *out)
{
	*out = (struct format_write_opts){ .title = request_param(r, "title"),
					   .palette = request_param(r, "palette"),
					   .icicle = icicle };
	query_page_opts(page, out);
	if (!tree->n_by && !request_param(r, "by"))
		query_default_frames(page->p, &out->tree);
}

static int read_part(const struct query_params *a, const struct format *format,
		     const struct tree_opts *tree, struct query_page *page, struct err *err)
{
	bool is_file = a->r->tenant->data.file != NULL;
	return format == &format_html ? query_page(&a->q, tree, is_file, page, err)
				      : query_part(&a->q, tree, is_file, &page->p, NULL, err);
}

static int write_part(struct query_params *a, const struct format *format, struct query_page *page,
		      struct out *out, struct err *err)
{
	struct format_write_opts write;
	struct tree_opts tree;
	double min_width_px;
	bool icicle;
	int rc = request_flag(a->r, "icicle", &icicle, err);
	if (rc == 0)
		rc = query_root_frames(&a->q, &tree, err);
	if (rc == 0)
		rc = read_part(a, format, &tree, page, err);
	if (rc == 0) {
		write_options(a->r, page, &tree, icicle, &write);
		rc = format_write_fitting(format, page->p, &write, out, &min_width_px, err);
	}
	return rc;
}

static void flame_file(struct query_params *a, const struct format *format)
{
	struct query_page page = { 0 };
	struct err err = { 0 };
	struct out out;
	size_t i = 0;
	while (contents[i].format && strcmp(contents[i].format, format->name) != 0)
		i++;
	int rc = answer_open(&out, &err);
	if (rc < 0) {
		reply_failure(a->r, &err);
		return;
	}
	rc = write_part(a, format, &page, &out, &err);
	answer_close(a->r, contents[i].type, &out, rc, &err);
	if (rc == 0) {
		a->r->reply.policy =
			format == &format_html ? answer_html_policy(a->r) : contents[i].policy;
		a->r->reply.note = answer_note(a->r, page.notes);
	}
	query_page_done(&page);
}

static const struct format *asked_format(const char *name, struct err *err)
{
	const struct format *f = format_by_name(name);
	struct buf list = { 0 };
	if (f && f->write)
		return f;
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->write)
			buf_addf(&list, ", %s", formats[i]->name);
	err_set(err, EINVAL, "parameter fmt: unknown format '%.60s'", name);
	err_hint(err, "it is one of: tree, bin%s", buf_cstr(&list));
	buf_done(&list);
	return NULL;
}

void handle_flame(struct request *r)
{
	const char *fmt = request_param(r, "fmt");
	const struct format *format = NULL;
	struct err err = { 0 };
	struct query_params a = { .r = r };
	int rc = 0;
	bool is_bin = fmt && strcmp(fmt, "bin") == 0, is_tree = !fmt || strcmp(fmt, "tree") == 0;
	if (!is_bin && !is_tree && !(format = asked_format(fmt, &err)))
		rc = -EINVAL;
	if (rc == 0)
		rc = query_params_query(&a, r, &err);
	if (rc < 0)
		reply_failure(r, &err);
	else if (format)
		flame_file(&a, format);
	else
		flame_tree(&a, is_bin ? reply_bytes : reply_json);
	query_params_done(&a);
}

/* --- tables ----------------------------------------------------------------------------------- */

struct table_ask {
	enum table_format format;
	struct table_opts opts;
};

static int ask_table(struct request *r, struct table_ask *t, struct err *err)
{
	uint64_t n;
	int format, rc = request_word(r, "fmt", table_words, &format, err);
	if (rc == 0)
		rc = request_u64(r, "n", TOP_DEFAULT, UINT32_MAX, &n, err);
	if (rc == 0)
		*t = (struct table_ask){ format, { .top_n = n, .utf8 = true } };
	return rc;
}

static void reply_top(struct query_params *a, struct table *table, const struct table_ask *t)
{
	struct top_table top = { 0 };
	top_build(table->tree, &top);
	table->top = &top;
	reply_table(a->r, table, &t->opts, t->format);
	top_done(&top);
}

static void reply_callers(struct query_params *a, struct table *table, const struct table_ask *t)
{
	struct tree *callers = NULL, *callees = NULL;
	struct err err = { 0 };
	table->function = request_param(a->r, "f");
	if (top_callers(table->tree, table->function, &callers, &callees, &err) < 0) {
		reply_failure(a->r, &err);
		return;
	}
	table->callers = callers;
	table->callees = callees;
	reply_table(a->r, table, &t->opts, t->format);
	tree_free(callers);
	tree_free(callees);
}

static void handle_table(struct request *r,
			 void (*reply)(struct query_params *a, struct table *table,
				       const struct table_ask *t))
{
	struct query_params a = { .r = r };
	struct table_ask t;
	struct query_tree answer = { 0 };
	struct err err = { 0 };
	int rc = ask_table(r, &t, &err);
	if (rc == 0)
		rc = query_params_query(&a, r, &err);
	if (rc == 0)
		rc = query_tree(&a.q, &answer, &err);
	if (rc == 0) {
		struct table table = { .profile = a.catalog, .tree = answer.tree };
		reply(&a, &table, &t);
	} else {
		reply_failure(r, &err);
	}
	tree_free(answer.tree);
	query_params_done(&a);
}

void handle_top(struct request *r)
{
	handle_table(r, reply_top);
}

void handle_callers(struct request *r)
{
	struct err err = { 0 };
	if (request_param(r, "f")) {
		handle_table(r, reply_callers);
		return;
	}
	err_set(&err, EINVAL, "parameter f is missing: a function");
	reply_failure(r, &err);
}
