/* cresset query --range, and of a metric: values over time, by labels.
 *
 * Text has a line for each step, and a column for each group. CSV has a line for each step and
 * group (of a metric, for those with a value): time_ns,LABEL…,value. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/query/query_cmd.h"
#include "format/common/columns.h"
#include "format/common/value.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "query/answer_json.h"
#include "query/metrics.h"
#include "query/source.h"
#include "query/time.h"

#include <math.h>

enum { QUERY_TIME_WIDTH = 24, QUERY_VALUE_WIDTH = 12 };

/* The common part of struct query_range and struct query_metric. */
struct query_columns {
	const char *title, *unit;
	const char **names; /* [group * n_by + i] */
	uint32_t n_by;
	const uint32_t *order; /* [n_shown] */
	uint32_t n_shown;
};

enum { PLAIN_WIDTH = 100 };

/* Returns the number of groups that get a column. */
static uint32_t query_columns_fit(const struct query_cmd *c, const struct query_columns *cols)
{
	uint32_t width = c->line->term.width_out ? c->line->term.width_out : PLAIN_WIDTH;
	uint32_t n = width > QUERY_TIME_WIDTH + QUERY_VALUE_WIDTH
			     ? (width - QUERY_TIME_WIDTH) / (QUERY_VALUE_WIDTH + 1)
			     : 1;

	n = c->opts->top_n && c->opts->top_n < n ? c->opts->top_n : n;
	return cols->n_shown < n ? cols->n_shown : n;
}

static void query_columns_head(const struct query_columns *cols, uint32_t n, struct buf *b)
{
	columns_left(b, cols->title, QUERY_TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++) {
		/* The names of a group, or the unit if no groups exist. */
		const char *const *names = cols->names + cols->order[i] * cols->n_by;
		struct buf name = { 0 };
		for (uint32_t k = 0; k < cols->n_by; k++)
			buf_addf(&name, "%s%s", k ? " " : "", names[k]);
		buf_addc(b, ' ');
		columns_right(b, cols->n_by ? (name.len ? buf_cstr(&name) : "?") : cols->unit,
			      QUERY_VALUE_WIDTH);
		buf_done(&name);
	}
	buf_addc(b, '\n');
}

/* Appends the number of groups without a column. */
static void query_columns_rest(const struct query_columns *cols, uint32_t n, struct buf *b)
{
	if (n == cols->n_shown)
		return;
	buf_adds(b, "(+");
	fmt_count(b, cols->n_shown - n);
	buf_adds(b, " groups)\n");
}

static void csv_field(struct buf *b, const char *text)
{
	esc_csv(b, text, strlen(text), STRTAB_MAX_LEN);
	buf_addc(b, ',');
}

/* --- --range: totals --- */

static int64_t range_step_time_ns(const struct query_range *r, size_t step)
{
	return sum_add(r->from_ns, sum_mul(r->step_ns, step));
}

static void range_csv(const struct query_cmd *c, const struct query_range *r, struct buf *b)
{
	buf_adds(b, "time_ns,");
	for (uint32_t i = 0; i < r->n_by; i++)
		csv_field(b, c->q.by[i]);
	buf_adds(b, "value\n");
	for (size_t step = 0; step < r->steps; step++) {
		for (uint32_t i = 0; i < r->n_shown; i++) {
			uint32_t group = r->order[i];
			buf_addf(b, "%lld,", (long long)range_step_time_ns(r, step));
			for (uint32_t k = 0; k < r->n_by; k++)
				csv_field(b, r->names[group * r->n_by + k]);
			buf_addf(b, "%lld\n", (long long)r->sums[group * r->steps + step]);
		}
	}
}

static void time_cell(const struct query_cmd *c, int64_t ns, struct buf *b)
{
	struct buf text = { 0 };
	if (c->source->since_start)
		fmt_duration(&text, ns < 0 ? 0 : ns);
	else
		time_text(&text, ns);
	columns_left(b, buf_cstr(&text), QUERY_TIME_WIDTH);
	buf_done(&text);
}

static void value_cell(const struct query_range *r, int64_t value, struct buf *b)
{
	struct buf text = { 0 };
	value_fmt_bare(&text, value, r->unit);
	buf_addc(b, ' ');
	columns_right(b, buf_cstr(&text), QUERY_VALUE_WIDTH);
	buf_done(&text);
}

static void range_text(const struct query_cmd *c, const struct query_range *r, struct buf *b)
{
	const struct query_columns cols = { r->type_name, r->unit,  r->names,
					    r->n_by,      r->order, r->n_shown };
	uint32_t n = query_columns_fit(c, &cols);
	query_columns_head(&cols, n, b);
	for (size_t step = 0; step < r->steps; step++) {
		time_cell(c, range_step_time_ns(r, step), b);
		for (uint32_t i = 0; i < n; i++)
			value_cell(r, r->sums[r->order[i] * r->steps + step], b);
		buf_addc(b, '\n');
	}
	query_columns_rest(&cols, n, b);
}

int query_show_range(const struct query_cmd *c)
{
	struct query_range r;
	struct err err = { 0 };
	struct buf b = { 0 };
	if (c->source->is_block)
		return cmd_usage(c->line, "option --range: the samples here have no times");
	if (query_range(&c->q, c->opts->range_ns, &r, &err) < 0)
		return query_fail(&err);
	if (!r.n_shown)
		log_info("nothing to show");
	query_note_ids(r.ids_missing);
	if (c->line->globals.json)
		range_json(&c->q, &r, &b);
	else if (c->opts->csv)
		range_csv(c, &r, &b);
	else
		range_text(c, &r, &b);
	query_range_done(&r);
	return cmd_print(&b);
}

/* --- a metric --- */

static double metric_value(const struct query_metric *m, uint32_t group, size_t step)
{
	return m->values[group * m->steps + step];
}

static int64_t metric_step_time_ns(const struct query_metric *m, size_t step)
{
	return m->from_ns + (int64_t)step * m->step_ns;
}

static void csv_line(const struct query_metric *m, uint32_t group, size_t step, struct buf *b)
{
	buf_addf(b, "%lld,", (long long)metric_step_time_ns(m, step));
	for (uint32_t k = 0; k < m->n_by; k++)
		csv_field(b, m->names[group * m->n_by + k]);
	buf_addf(b, "%.17g\n", metric_value(m, group, step));
}

static void metric_csv(const struct query_cmd *c, const struct query_metric *m, struct buf *b)
{
	buf_adds(b, "time_ns,");
	for (uint32_t i = 0; i < m->n_by; i++)
		csv_field(b, c->q.by[i]);
	buf_adds(b, "value\n");
	for (size_t step = 0; step < m->steps; step++)
		for (uint32_t i = 0; i < m->n_shown; i++)
			if (!isnan(metric_value(m, m->order[i], step)))
				csv_line(m, m->order[i], step, b);
}

static void metric_line(const struct query_metric *m, size_t step, uint32_t n, struct buf *b)
{
	struct buf text = { 0 };
	time_text(&text, metric_step_time_ns(m, step));
	columns_left(b, buf_cstr(&text), QUERY_TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++) {
		double v = metric_value(m, m->order[i], step);
		buf_clear(&text);
		if (isnan(v))
			buf_addc(&text, '-');
		else
			buf_addf(&text, "%.6g", v);
		buf_addc(b, ' ');
		columns_right(b, buf_cstr(&text), QUERY_VALUE_WIDTH);
	}
	buf_addc(b, '\n');
	buf_done(&text);
}

static void metric_text(const struct query_cmd *c, const struct query_metric *m, struct buf *b)
{
	const struct query_columns cols = { m->name, m->unit,  m->names,
					    m->n_by, m->order, m->n_shown };
	uint32_t n = query_columns_fit(c, &cols);
	query_columns_head(&cols, n, b);
	for (size_t step = 0; step < m->steps; step++)
		metric_line(m, step, n, b);
	query_columns_rest(&cols, n, b);
}

bool query_asks_metric(const struct query_cmd *c)
{
	return type_is_metric(&c->catalog->series.types.v[c->q.type]);
}

int query_show_metric(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	const char *name = profile_str(c->catalog, c->catalog->series.types.v[c->q.type].name);
	int64_t step_ns = o->range_ns ? (int64_t)o->range_ns : sum_sub(c->q.to_ns, c->q.from_ns);
	int reduction = query_reduction(&c->q, c->opts->reduce);
	struct query_metric m;
	struct err err = { 0 };
	struct buf b = { 0 };
	if (o->tree || o->callers || o->heatmap || query_asks_diff(o) || o->outputs.n || o->format)
		return cmd_usage(c->line, "'%s' is a metric without stacks; use --range", name);
	if (query_metric(&c->q, reduction, step_ns, &m, &err) < 0)
		return query_fail(&err);
	if (!m.n_shown)
		log_info("nothing to show");
	if (c->line->globals.json)
		metric_json(&c->q, &m, reduction, &b);
	else if (o->csv)
		metric_csv(c, &m, &b);
	else
		metric_text(c, &m, &b);
	query_metric_done(&m);
	return cmd_print(&b);
}
