/* Tables as CSV. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/hash.h"
#include "format/common/outline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/change/estimate.h"
#include "profile/tree/top.h"

static void csv_text(struct buf *b, const char *s)
{
	buf_addc(b, ',');
	esc_csv(b, s, strlen(s), SIZE_MAX);
}

static void csv_value(struct buf *b, int64_t v)
{
	buf_addf(b, ",%lld", (long long)v);
}

static void csv_func(struct buf *b, const struct tree *t, uint32_t func)
{
	csv_text(b, table_kind(t, func));
	csv_text(b, table_name(t, func));
	csv_text(b, table_binary(t, func));
	csv_text(b, table_file(t, func));
}

static void csv_older(struct buf *b, const struct tree *t, int64_t old_self, int64_t old_total)
{
	if (!t->is_diff)
		return;
	csv_value(b, old_self);
	csv_value(b, old_total);
}

static void csv_head(struct buf *b, const struct tree *t, const char *first)
{
	buf_adds(b, first);
	buf_adds(b, "total_percent,self,total,kind,function,binary,file");
	buf_adds(b, t->is_diff ? ",old_self,old_total" : "");
}

static void csv_estimate(struct buf *b, const struct table *t, const struct top_row *r)
{
	if (!t->estimates)
		return;
	struct estimate e = estimates_get(t->estimates, t->tree, r->func, r->self, r->total);
	csv_value(b, e.self_low);
	csv_value(b, e.self_high);
	csv_value(b, e.total_low);
	csv_value(b, e.total_high);
}

static void csv_top(const struct table *t, uint32_t top_n, struct buf *b)
{
	uint32_t n;
	int64_t total = tree_whole(t->tree, false);
	struct top_row *rows = table_rows(t, top_n, &n);
	struct map index = t->binaries ? binaries_index(t->binaries) : (struct map){ 0 };
	csv_head(b, t->tree, "self_percent,");
	buf_adds(b, t->estimates ? ",self_low,self_high,total_low,total_high" : "");
	if (t->binaries)
		binaries_csv_head(b);
	buf_addc(b, '\n');
	for (uint32_t i = 0; i < n; i++) {
		const struct top_row *r = &rows[i];
		buf_addf(b, "%.4f,%.4f", value_percent(r->self, total),
			 value_percent(r->total, total));
		csv_value(b, r->self);
		csv_value(b, r->total);
		csv_func(b, t->tree, r->func);
		csv_older(b, t->tree, r->other_self, r->other_total);
		csv_estimate(b, t, r);
		if (t->binaries)
			binaries_csv(b, t->binaries, &index, table_name(t->tree, r->func));
		buf_addc(b, '\n');
	}
	map_done(&index);
	free(rows);
}

static void csv_tree(const struct tree *t, const struct tree *base, const char *side, struct buf *b)
{
	int64_t total = tree_whole(base, false);
	struct outline o = { 0 };
	outline_build(t, ORDER_TOTAL, INT64_MIN, &o);
	for (size_t i = 0; i < o.rows.n; i++) {
		const struct tree_node *n = &t->nodes.v[o.rows.v[i].node];
		buf_addf(b, "%s%u,%.4f", side, o.rows.v[i].depth, value_percent(n->total, total));
		csv_value(b, n->self);
		csv_value(b, n->total);
		csv_func(b, t, n->func);
		csv_older(b, t, n->other_self, n->other_total);
		buf_addc(b, '\n');
	}
	outline_done(&o);
}

void table_csv(const struct table *t, const struct table_opts *opts, struct buf *b)
{
	if (t->callers && t->callees) {
		csv_head(b, t->callers, "side,depth,");
		buf_addc(b, '\n');
		csv_tree(t->callers, t->tree, "callers,", b);
		csv_tree(t->callees, t->tree, "callees,", b);
	} else if (t->with_tree) {
		csv_head(b, t->tree, "depth,");
		buf_addc(b, '\n');
		csv_tree(t->tree, t->tree, "", b);
	} else if (t->top) {
		csv_top(t, opts->top_n, b);
	}
}
