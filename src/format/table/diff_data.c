/* A difference as JSON and CSV. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "format/table/table.h"
#include "format/table/table_rows.h"
#include "profile/change/diff.h"

#include <math.h>

const char *const diff_certainty_names[] = {
	[CHANGE_UNKNOWN] = "unknown",
	[CHANGE_CHANCE] = "chance",
	[CHANGE_LIKELY] = "likely",
	[CHANGE_SURE] = "sure",
};

static bool row_is_shown(const struct diff_table *t, const struct diff_row *r)
{
	return fabs(r->self.growth) >= t->min_growth || fabs(r->total.growth) >= t->min_growth;
}

const struct diff_row *diff_rows_next(const struct diff_table *t, const struct table_opts *opts,
				      size_t *next, uint32_t *shown)
{
	while (*next < t->diff->rows.n && (!opts->top_n || *shown < opts->top_n)) {
		const struct diff_row *r = &t->diff->rows.v[(*next)++];
		if (!row_is_shown(t, r))
			continue;
		++*shown;
		return r;
	}
	return NULL;
}

/* --- JSON --- */

static void json_change(struct json *j, const struct diff_change *c)
{
	json_key_num(j, "older", c->older);
	json_key_num(j, "newer", c->newer);
	json_key_num(j, "change", c->change);
	json_key_num(j, "low", c->interval.low);
	json_key_num(j, "high", c->interval.high);
	json_key_num(j, "growth_percent", c->growth);
	json_key_text(j, "certainty", diff_certainty_names[c->certainty]);
}

static void json_side(struct json *j, const char *key, const struct diff_table_side *s)
{
	json_key(j, key);
	json_obj(j);
	json_key_text(j, "name", s->name);
	json_key_text(j, "type", s->tree->type_name);
	json_key_text(j, "unit", s->tree->unit);
	json_key_i64(j, "samples", s->tree->n_samples);
	json_key_i64(j, "total", s->tree->nodes.v[TREE_ROOT].total);
	json_key_num(j, "duration_ns", s->seconds > 0 ? round(s->seconds * 1e9) : NAN);
	json_end(j);
}

static void json_whole(struct json *j, const struct diff *d)
{
	json_key(j, "whole");
	json_obj(j);
	json_key_text(j, "norm", diff_norm_names[d->whole_norm]);
	json_key_text(j, "unit", d->whole_unit);
	json_change(j, &d->whole);
	json_key_num(j, "ratio", d->whole.newer / d->whole.older);
	json_key_num(j, "ratio_low", d->whole_ratio.low);
	json_key_num(j, "ratio_high", d->whole_ratio.high);
	json_end(j);
}

/* What the older side calls it, if it is not equal. */
static void json_match(struct json *j, const struct diff *d, const struct diff_row *r)
{
	json_key_text(j, "match", match_how_names[r->match]);
	if (r->match == MATCH_EXACT || r->older_func == TREE_NONE)
		return;
	json_key_str(j, "older_function", table_name(d->names, r->older_func));
	json_key_text(j, "older_binary", table_binary(d->names, r->older_func));
	json_key_text(j, "older_file", table_file(d->names, r->older_func));
}

static void json_row(struct json *j, const struct diff *d, const struct diff_row *r)
{
	json_obj(j);
	json_key_str(j, "function", table_name(d->names, r->func));
	json_key_text(j, "kind", table_kind(d->names, r->func));
	json_key_text(j, "binary", table_binary(d->names, r->func));
	json_key_text(j, "file", table_file(d->names, r->func));
	json_key_i64(j, "older_self", r->older_self);
	json_key_i64(j, "newer_self", r->newer_self);
	json_key_i64(j, "older_total", r->older_total);
	json_key_i64(j, "newer_total", r->newer_total);
	json_key(j, "self");
	json_obj(j);
	json_change(j, &r->self);
	json_end(j);
	json_key(j, "total");
	json_obj(j);
	json_change(j, &r->total);
	json_end(j);
	json_match(j, d, r);
	json_end(j);
}

void diff_table_json(const struct diff_table *t, const struct table_opts *opts, struct buf *b)
{
	struct json j = json_to(b);
	const struct diff *d = t->diff;
	const struct diff_row *r;
	size_t next = 0;
	uint32_t shown = 0;
	json_obj(&j);
	json_key_text(&j, "format", "cresset.diff");
	json_key_i64(&j, "version", 1);
	json_key_text(&j, "norm", diff_norm_names[d->norm]);
	json_key_text(&j, "unit", d->unit);
	json_key_num(&j, "confidence", 100 * d->confidence);
	json_side(&j, "older", &t->older);
	json_side(&j, "newer", &t->newer);
	json_key_i64(&j, "compared", d->n_compared);
	json_whole(&j, d);
	json_key(&j, "rows");
	json_arr(&j);
	while ((r = diff_rows_next(t, opts, &next, &shown)))
		json_row(&j, d, r);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

/* --- CSV --- */

/* Adds a number, or nothing if it is unknown. */
static void csv_number(struct buf *b, double v)
{
	if (isfinite(v))
		buf_addf(b, "%.10g", v);
	buf_addc(b, ',');
}

static void csv_change(struct buf *b, const struct diff_change *c)
{
	csv_number(b, c->older);
	csv_number(b, c->newer);
	csv_number(b, c->change);
	csv_number(b, c->interval.low);
	csv_number(b, c->interval.high);
	buf_addf(b, "%s,", diff_certainty_names[c->certainty]);
}

static void csv_text(struct buf *b, const char *s, char end)
{
	esc_csv(b, s, strlen(s), SIZE_MAX);
	buf_addc(b, end);
}

void diff_table_csv(const struct diff_table *t, const struct table_opts *opts, struct buf *b)
{
	const struct tree *names = t->diff->names;
	const struct diff_row *r;
	size_t next = 0;
	uint32_t shown = 0;
	for (int i = 0; i < 2; i++) {
		const char *part = i ? "total" : "self";
		buf_addf(b, "%s_old,%s_new,%s_change,%s_low,%s_high,%s_certainty,", part, part,
			 part, part, part, part);
	}
	buf_adds(b, "kind,function,binary,file,match\n");
	while ((r = diff_rows_next(t, opts, &next, &shown))) {
		csv_change(b, &r->self);
		csv_change(b, &r->total);
		csv_text(b, table_kind(names, r->func), ',');
		csv_text(b, table_name(names, r->func), ',');
		csv_text(b, table_binary(names, r->func), ',');
		csv_text(b, table_file(names, r->func), ',');
		csv_text(b, match_how_names[r->match], '\n');
	}
}
