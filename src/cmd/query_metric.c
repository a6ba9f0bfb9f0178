/* cresset query of a metric: a number for each step and group.
 *
 * JSON is one object; keys are only ever added:
 *
 *     format "cresset.metric", version 1, metric, unit, reduce
 *     from_ns, step_ns, steps      Unix time
 *     groups                       [{labels {name: value, …}, values [of each step, null where there is nothing]}], by label
 *
 * CSV has a line for each step and group that has a value: time_ns,LABEL…,value. */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/query.h"
#include "format/columns.h"
#include "profile/sum.h"
#include "query/metrics.h"
#include "query/time.h"
#include "store/metric_samples.h"

#include <math.h>

enum { REDUCE_AUTO, REDUCE_FIRST };
const char *const query_reductions[] = { "auto", "avg", "min", "max", "rate", NULL };

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

static void group_json(const struct query_cmd *c, const struct query_metric *m, uint32_t group,
		       struct json *j)
{
	json_obj(j);
	json_key(j, "labels");
	json_obj(j);
	for (uint32_t i = 0; i < m->n_by; i++) {
		json_key(j, c->q.by[i]);
		json_str(j, group_name(m, group, i));
	}
	json_end(j);
	json_key(j, "values");
	json_arr(j);
	for (size_t i = 0; i < m->steps; i++)
		json_num(j, value_at(m, group, i));
	json_end(j);
	json_end(j);
}

static void metric_json(const struct query_cmd *c, const struct query_metric *m, int reduction,
			struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key(&j, "format");
	json_str(&j, "cresset.metric");
	json_key(&j, "version");
	json_u64(&j, 1);
	json_key(&j, "metric");
	json_str(&j, m->name);
	json_key(&j, "unit");
	json_str(&j, m->unit);
	json_key(&j, "reduce");
	json_str(&j, query_reductions[REDUCE_FIRST + reduction]);
	json_key(&j, "from_ns");
	json_i64(&j, m->from_ns);
	json_key(&j, "step_ns");
	json_i64(&j, m->step_ns);
	json_key(&j, "steps");
	json_u64(&j, m->steps);
	json_key(&j, "groups");
	json_arr(&j);
	for (uint32_t i = 0; i < m->n_shown; i++)
		group_json(c, m, m->order[i], &j);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

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

enum { TIME_WIDTH = 24, VALUE_WIDTH = 12, PLAIN_WIDTH = 100 };

static uint32_t columns_that_fit(const struct query_cmd *c, const struct query_metric *m)
{
	uint32_t width = c->line->term.width_out ? c->line->term.width_out : PLAIN_WIDTH;
	uint32_t n =
		width > TIME_WIDTH + VALUE_WIDTH ? (width - TIME_WIDTH) / (VALUE_WIDTH + 1) : 1;
	n = c->opts->top_n && c->opts->top_n < n ? c->opts->top_n : n;
	return m->n_shown < n ? m->n_shown : n;
}

static void head_line(const struct query_metric *m, uint32_t n, struct buf *b)
{
	struct buf name = { 0 };
	columns_left(b, m->name, TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++) {
		buf_clear(&name);
		for (uint32_t k = 0; k < m->n_by; k++)
			buf_addf(&name, "%s%s", k ? " " : "", group_name(m, m->order[i], k));
		buf_addc(b, ' ');
		columns_right(b, m->n_by ? (name.len ? buf_cstr(&name) : "?") : m->unit,
			      VALUE_WIDTH);
	}
	buf_addc(b, '\n');
	buf_done(&name);
}

static void step_line(const struct query_metric *m, size_t step, uint32_t n, struct buf *b)
{
	struct buf text = { 0 };
	time_text(&text, step_time_ns(m, step));
	columns_left(b, buf_cstr(&text), TIME_WIDTH);
	for (uint32_t i = 0; i < n; i++) {
		double v = value_at(m, m->order[i], step);
		buf_clear(&text);
		if (isnan(v))
			buf_addc(&text, '-');
		else
			buf_addf(&text, "%.6g", v);
		buf_addc(b, ' ');
		columns_right(b, buf_cstr(&text), VALUE_WIDTH);
	}
	buf_addc(b, '\n');
	buf_done(&text);
}

static void metric_text(const struct query_cmd *c, const struct query_metric *m, struct buf *b)
{
	uint32_t n = columns_that_fit(c, m);
	head_line(m, n, b);
	for (size_t step = 0; step < m->steps; step++)
		step_line(m, step, n, b);
	if (n < m->n_shown) {
		buf_adds(b, "(+");
		fmt_count(b, m->n_shown - n);
		buf_adds(b, " groups)\n");
	}
}

/* --- all together --- */

bool query_asks_metric(const struct query_cmd *c)
{
	return type_is_metric(&c->catalog->series.types.v[c->q.type]);
}

/* Of a counter how fast it grows is what it says. */
static int settle_reduction(const struct query_cmd *c)
{
	const struct type *t = &c->catalog->series.types.v[c->q.type];
	if (c->opts->reduce != REDUCE_AUTO)
		return c->opts->reduce - REDUCE_FIRST;
	return metric_kind_of(t) == METRIC_COUNTER ? METRIC_RATE : METRIC_AVG;
}

int query_show_metric(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	const char *name = profile_str(c->catalog, c->catalog->series.types.v[c->q.type].name);
	int64_t step_ns = o->range_ns ? (int64_t)o->range_ns : sum_sub(c->q.to_ns, c->q.from_ns);
	int reduction = settle_reduction(c);
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
		metric_json(c, &m, reduction, &b);
	else if (o->csv)
		metric_csv(c, &m, &b);
	else
		metric_text(c, &m, &b);
	query_metric_done(&m);
	return cmd_print(&b);
}
