/* cresset query of a metric: a number for each step and group.
 *
 * CSV has a line for each step and group that has a value: time_ns,LABEL…,value. */
#include "base/log.h"
#include "base/str.h"
#include "cmd/query_columns.h"
#include "format/columns.h"
#include "profile/sum.h"
#include "query/answer_json.h"
#include "query/metrics.h"
#include "query/time.h"

#include <math.h>

static const char *group_name(const struct query_metric *m, uint32_t group, uint32_t i)
{
	return m->names[group * m->n_by + i];
}

static double value_at(const struct query_metric *m, uint32_t group, size_t step)
{
	return m->values[group * m->steps + step];
}

static int64_t step_time_ns(const struct query_metric *m, size_t step)
{
	return m->from_ns + (int64_t)step * m->step_ns;
}

/* --- JSON and CSV --- */

static void csv_field(struct buf *b, const char *text)
{
	esc_csv(b, text, strlen(text), STRTAB_MAX_LEN);
	buf_addc(b, ',');
}

static void csv_line(const struct query_metric *m, uint32_t group, size_t step, struct buf *b)
{
	buf_addf(b, "%lld,", (long long)step_time_ns(m, step));
	for (uint32_t k = 0; k < m->n_by; k++)
		csv_field(b, group_name(m, group, k));
	buf_addf(b, "%.17g\n", value_at(m, group, step));
}

static void metric_csv(const struct query_cmd *c, const struct query_metric *m, struct buf *b)
{
	buf_adds(b, "time_ns,");
	for (uint32_t i = 0; i < m->n_by; i++)
		csv_field(b, c->q.by[i]);
	buf_adds(b, "value\n");
	for (size_t step = 0; step < m->steps; step++)
		for (uint32_t i = 0; i < m->n_shown; i++)
			if (!isnan(value_at(m, m->order[i], step)))
				csv_line(m, m->order[i], step, b);
}

/* --- text: a line for each step, a column for each group --- */

static void step_line(const struct query_metric *m, size_t step, uint32_t n, struct buf *b)
{
	struct buf text = { 0 };
	time_text(&text, step_time_ns(m, step));
	columns_left(b, buf_cstr(&text), QUERY_TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++) {
		double v = value_at(m, m->order[i], step);
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
		step_line(m, step, n, b);
	query_columns_rest(&cols, n, b);
}

/* --- all together --- */

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
		return cmd_usage(c->line, "'%s' is a metric, it has no stacks; ask with --range",
				 name);
	if (query_metric(&c->q, reduction, step_ns, &m, &err) < 0)
		return query_fail(&err);
	if (!m.n_shown)
		log_info("there is nothing to show");
	if (c->line->globals.json)
		metric_json(&c->q, &m, reduction, &b);
	else if (o->csv)
		metric_csv(c, &m, &b);
	else
		metric_text(c, &m, &b);
	query_metric_done(&m);
	return cmd_print(&b);
}
