/* cresset query --range: totals over time, by labels.
 *
 * CSV has a line for each step and group: time_ns,LABEL…,value. */
#include "base/log.h"
#include "base/str.h"
#include "cmd/query_columns.h"
#include "format/columns.h"
#include "format/value.h"
#include "profile/sum.h"
#include "query/answer_json.h"
#include "query/time.h"

static const char *group_name(const struct query_range *r, uint32_t group, uint32_t i)
{
	return r->names[group * r->n_by + i];
}

static int64_t step_time_ns(const struct query_range *r, size_t step)
{
	return sum_add(r->from_ns, sum_mul(r->step_ns, step));
}

/* --- CSV --- */

static void csv_field(struct buf *b, const char *text)
{
	esc_csv(b, text, strlen(text), STRTAB_MAX_LEN);
	buf_addc(b, ',');
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
			buf_addf(b, "%lld,", (long long)step_time_ns(r, step));
			for (uint32_t k = 0; k < r->n_by; k++)
				csv_field(b, group_name(r, group, k));
			buf_addf(b, "%lld\n", (long long)r->sums[group * r->steps + step]);
		}
	}
}

/* --- text: a line for each step, a column for each group --- */

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
		time_cell(c, step_time_ns(r, step), b);
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
		log_info("there is nothing to show");
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
