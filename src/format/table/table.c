/* Parts shared by the writers of tables. */
#include "format/table/table.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "format/common/value.h"
#include "format/table/table_rows.h"
#include "profile/change/signed.h"
#include "profile/tree/top.h"

#include <math.h>
#include <string.h>

enum { TEXT_TOP_N = 30 };

bool table_is_filtered(const struct tree *t)
{
	return t->unfiltered_total && t->unfiltered_total != t->nodes.v[TREE_ROOT].total;
}

double table_change(const struct tree *t, const struct top_row *r)
{
	return value_percent(r->self, tree_whole(t, false)) -
	       value_percent(r->other_self, tree_whole(t, true));
}

static int change_order(const void *a, const void *b, void *arg)
{
	const struct tree *t = arg;
	const struct top_row *x = a, *y = b;
	double dx = fabs(table_change(t, x)), dy = fabs(table_change(t, y));
	if (dx != dy)
		return dx < dy ? 1 : -1;
	int order = strcmp(table_name(t, x->func), table_name(t, y->func));
	return order ? order : x->func < y->func ? -1 : 1;
}

struct top_row *table_rows(const struct table *t, uint32_t top_n, uint32_t *n)
{
	size_t all = t->top->rows.n;
	struct top_row *rows = xreallocarray(NULL, all + 1, sizeof *rows);
	if (all)
		memcpy(rows, t->top->rows.v, all * sizeof *rows);
	if (t->tree->is_diff)
		qsort_r(rows, all, sizeof *rows, change_order, (void *)t->tree);
	*n = top_n && top_n < all ? top_n : all;
	return rows;
}

/* --- whole profiles --- */

static int table_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       void (*put)(const struct table *, const struct table_opts *, struct buf *),
		       const struct table_opts *how, bool with_tree, struct err *err)
{
	struct tree_opts tree_opts = opts->tree;
	struct tree *tree = NULL;
	struct top_table top = { 0 };
	struct buf b = { 0 };
	int rc = format_pick_type(p, opts->type, &tree_opts.type, err);
	if (rc == 0)
		rc = tree_build_signed(p, &tree_opts, &tree, err);
	if (rc)
		return rc;
	top_build(tree, &top);
	struct table table = { .profile = p, .tree = tree, .top = &top, .with_tree = with_tree };
	put(&table, how, &b);
	rc = out_write(out, b.data, b.len, err);
	buf_done(&b);
	top_done(&top);
	tree_free(tree);
	return rc;
}

static int text_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	static const struct table_opts how = { .top_n = TEXT_TOP_N, .utf8 = true };
	return table_write(p, opts, out, table_text, &how, false, err);
}

static int json_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	static const struct table_opts how = { 0 };
	return table_write(p, opts, out, table_json, &how, true, err);
}

static int csv_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err)
{
	static const struct table_opts how = { 0 };
	return table_write(p, opts, out, table_csv, &how, false, err);
}

const struct format format_text = {
	.name = "text",
	.summary = "table of the top functions",
	.notes = "The output of report.",
	.one_type = true,
	.write = text_write,
};

const struct format format_json = {
	.name = "json",
	.summary = "every function and the call tree",
	.notes = "The output of report --json.",
	.endings = (const char *const[]){ ".json", NULL },
	.one_type = true,
	.write = json_write,
};

const struct format format_csv = {
	.name = "csv",
	.summary = "every function",
	.notes = "The output of report --csv.",
	.endings = (const char *const[]){ ".csv", NULL },
	.one_type = true,
	.write = csv_write,
};
