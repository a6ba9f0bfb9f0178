/* Tables as JSON. */
#include "base/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "format/common/headline.h"
#include "format/common/outline.h"
#include "format/common/value.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/change/estimate.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "profile/tree/top.h"

#include <math.h>
#include <stdlib.h>

/* Rounds to four digits after the point: more would be noise. */
static void json_percent(struct json *j, const char *key, double part, double whole)
{
	json_key_num(j, key, nearbyint(value_percent(part, whole) * 1e4) / 1e4);
}

/* Adds a number, or null if it is 0, which means unknown. */
static void json_known(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	if (v > 0)
		json_i64(j, v);
	else
		json_str(j, NULL);
}

static void json_meta(struct json *j, const struct profile *p)
{
	const struct profile_meta *meta = &p->meta;
	json_key(j, "meta");
	json_obj(j);
	json_key_text(j, "command", profile_str(p, meta->command));
	json_key_text(j, "host", profile_str(p, meta->host));
	json_key_text(j, "kernel", profile_str(p, meta->kernel));
	json_known(j, "cpus", meta->cpus);
	json_key_text(j, "clock", profile_str(p, meta->clock));
	headline_start_json(j, meta->start_wall_ns);
	json_known(j, "duration_ns", meta->duration_ns);
	json_key_u64(j, "lost_samples", profile_lost_samples(p));
	if (meta->comments.n) { /* from the recorder, such as what could not be recorded */
		json_key(j, "comments");
		json_arr(j);
		for (size_t i = 0; i < meta->comments.n; i++)
			json_str(j, profile_str(p, meta->comments.v[i]));
		json_end(j);
	}
	json_key(j, "losses");
	json_obj(j);
	for (int i = 0; i < LOSS_REASONS; i++) {
		if (!meta->loss[i])
			continue;
		json_key_u64(j, loss_reasons[i].name, meta->loss[i]);
	}
	json_end(j);
	json_key(j, "losses_ns");
	json_obj(j);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (meta->loss_ns[i])
			json_key_i64(j, loss_reasons[i].name, meta->loss_ns[i]);
	json_end(j);
	json_end(j);
}

static void json_totals(struct json *j, const struct tree *t)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	json_key_text(j, "type", t->type_name);
	json_key_text(j, "unit", t->unit);
	json_key_num(j, "scale", t->scale > 0 ? t->scale : NAN);
	json_key_text(j, "scaled_unit", t->scaled_unit);
	json_key_u64(j, "samples", t->n_samples);
	json_key_i64(j, "total", root->total);
	if (t->is_diff)
		json_key_i64(j, "old_total", root->other_total);
	if (t->n_negative) {
		json_key(j, "negative");
		json_obj(j);
		json_key_u64(j, "samples", t->n_negative);
		json_key_i64(j, "sum", sum_sub(0, root->other_total));
		json_key_bool(j, "marked", t->is_marked);
		json_end(j);
		json_key_i64(j, "percent_of", t->whole);
	}
	json_key_i64(j, "unfiltered_total", t->unfiltered_total);
	json_key_i64(j, "truncated", headline_truncated(t));
}

static void json_func(struct json *j, const struct tree *t, uint32_t func)
{
	json_key_str(j, "function", table_name(t, func));
	json_key_text(j, "kind", table_kind(t, func));
	json_key_text(j, "binary", table_binary(t, func));
	json_key_text(j, "file", table_file(t, func));
}

static void json_estimate(struct json *j, const struct table *t, const struct top_row *r)
{
	if (!t->estimates)
		return;
	struct estimate e = estimates_get(t->estimates, t->tree, r->func, r->self, r->total);
	json_key_i64(j, "self_low", e.self_low);
	json_key_i64(j, "self_high", e.self_high);
	json_key_i64(j, "total_low", e.total_low);
	json_key_i64(j, "total_high", e.total_high);
}

static void json_row(struct json *j, const struct table *table, const struct top_row *r)
{
	const struct tree *t = table->tree;
	int64_t whole = tree_whole(t, false), older_whole = tree_whole(t, true);
	json_obj(j);
	json_func(j, t, r->func);
	json_key_i64(j, "self", r->self);
	json_key_i64(j, "total", r->total);
	json_percent(j, "self_percent", r->self, whole);
	json_percent(j, "total_percent", r->total, whole);
	if (t->is_diff) {
		json_key_i64(j, "old_self", r->other_self);
		json_key_i64(j, "old_total", r->other_total);
		json_percent(j, "old_self_percent", r->other_self, older_whole);
		json_percent(j, "old_total_percent", r->other_total, older_whole);
		json_percent(j, "change_points", table_change(t, r), 100);
	}
	json_estimate(j, table, r);
	json_end(j);
}

static void json_top(struct json *j, const struct table *t, uint32_t top_n)
{
	uint32_t n;
	struct top_row *rows = table_rows(t, top_n, &n);
	json_key(j, "top");
	json_arr(j);
	for (uint32_t i = 0; i < n; i++)
		json_row(j, t, &rows[i]);
	json_end(j);
	free(rows);
}

/* Where a function's members were written; len 0: not yet. */
struct written {
	size_t at, len;
};

/* Most functions occur in a tree many times, so their members are copied from the first
 * occurrence. */
static void json_func_again(struct json *j, const struct tree *t, uint32_t func, struct written *w)
{
	if (!w->len) {
		w->at = j->out->len;
		json_func(j, t, func);
		json_key_bool(j, "inlined", t->funcs.v[func].inlined);
		w->len = j->out->len - w->at;
		return;
	}
	buf_reserve(j->out, w->len);
	buf_add(j->out, j->out->data + w->at, w->len);
}

static void json_tree(struct json *j, const char *key, const struct tree *t,
		      const struct tree *base)
{
	struct written *written = xcalloc(t->funcs.n + 1, sizeof *written);
	struct outline o = { 0 };
	outline_build(t, ORDER_TOTAL, INT64_MIN, &o);
	json_key(j, key);
	json_arr(j);
	for (size_t i = 0; i < o.rows.n; i++) {
		const struct tree_node *n = &t->nodes.v[o.rows.v[i].node];
		json_obj(j);
		json_key_i64(j, "depth", o.rows.v[i].depth);
		json_func_again(j, t, n->func, &written[n->func]);
		json_key_i64(j, "self", n->self);
		json_key_i64(j, "total", n->total);
		json_percent(j, "total_percent", n->total, tree_whole(base, false));
		if (t->is_diff) {
			json_key_i64(j, "old_self", n->other_self);
			json_key_i64(j, "old_total", n->other_total);
		}
		json_end(j);
	}
	json_end(j);
	outline_done(&o);
	free(written);
}

void table_json(const struct table *t, const struct table_opts *opts, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_text(&j, "format", "cresset.report");
	json_key_i64(&j, "version", 1);
	json_meta(&j, t->profile);
	json_totals(&j, t->tree);
	if (t->top)
		json_top(&j, t, opts->top_n);
	if (t->estimates)
		json_key_i64(&j, "estimated", estimates_total(t->estimates));
	if (t->with_tree)
		json_tree(&j, "tree", t->tree, t->tree);
	if (t->callers && t->callees) {
		json_key_text(&j, "callers_of", t->function);
		json_tree(&j, "callers", t->callers, t->tree);
		json_tree(&j, "callees", t->callees, t->tree);
	}
	if (t->binaries)
		binaries_json(&j, t->binaries);
	json_end(&j);
	buf_addc(b, '\n');
}
