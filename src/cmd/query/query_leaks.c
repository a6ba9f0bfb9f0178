/* cresset query --leaks: stacks with memory in use that grows. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/log.h"
#include "cmd/query/query_cmd.h"
#include "format/common/columns.h"
#include "format/common/value.h"
#include "profile/profile.h"
#include "query/plan.h"

#include <math.h>
#include <string.h>

enum { VALUE_WIDTH = 10, PART_WIDTH = 9, PROCESS_WIDTH = 16, PLAIN_WIDTH = 120 };

static size_t n_shown(const struct query_cmd *c, const struct query_leaks *l)
{
	size_t top_n = c->opts->top_n;

	return top_n && top_n < l->n ? top_n : l->n;
}

/* --- text ------------------------------------------------------------------------------------- */

static void value_cell(struct buf *b, double value, const char *unit)
{
	struct buf text = { 0 };

	value_fmt(&text, value_clamp(value), unit);
	columns_right(b, buf_cstr(&text), VALUE_WIDTH);
	buf_addc(b, ' ');
	buf_done(&text);
}

static void part_cell(struct buf *b, double part)
{
	struct buf text = { 0 };

	if (!isnan(part))
		buf_addf(&text, "%.0f %%", 100 * part);
	columns_right(b, buf_cstr(&text), PART_WIDTH);
	buf_addc(b, ' ');
	buf_done(&text);
}

/* The leaf first. */
static void stack_cell(struct buf *b, const char *stack, size_t width)
{
	struct buf text = { 0 };

	for (size_t end = strlen(stack); end;) {
		const char *semicolon = memrchr(stack, ';', end);
		size_t at = semicolon ? (size_t)(semicolon - stack) + 1 : 0;

		if (text.len)
			buf_adds(&text, " < ");
		buf_add(&text, stack + at, end - at);
		end = at ? at - 1 : 0;
	}
	columns_fit(b, buf_cstr(&text), width);
	buf_done(&text);
}

static void leaks_text(const struct query_cmd *c, const struct query_leaks *l, struct buf *b)
{
	const size_t fixed = 4 * (VALUE_WIDTH + 1) + PART_WIDTH + 1 + PROCESS_WIDTH + 1;
	size_t width = c->line->term.width_out ? c->line->term.width_out : PLAIN_WIDTH;

	columns_right(b, "an hour", VALUE_WIDTH);
	buf_addc(b, ' ');
	columns_right(b, "from", VALUE_WIDTH);
	buf_addc(b, ' ');
	columns_right(b, "to (95 %)", VALUE_WIDTH);
	buf_addc(b, ' ');
	columns_right(b, "in use", VALUE_WIDTH);
	buf_addc(b, ' ');
	columns_right(b, "survives", PART_WIDTH);
	buf_addc(b, ' ');
	columns_left(b, "process", PROCESS_WIDTH);
	buf_adds(b, " stack\n");
	for (size_t i = 0; i < n_shown(c, l); i++) {
		const struct query_leak *k = &l->v[i];

		value_cell(b, k->per_hour, l->unit);
		value_cell(b, k->per_hour_low, l->unit);
		value_cell(b, k->per_hour_high, l->unit);
		value_cell(b, k->last, l->unit);
		part_cell(b, k->survives);
		columns_left(b, k->process, PROCESS_WIDTH);
		buf_addc(b, ' ');
		stack_cell(b, k->stack, width > fixed + PROCESS_WIDTH ? width - fixed : fixed);
		buf_addc(b, '\n');
	}
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void leaks_csv(const struct query_cmd *c, const struct query_leaks *l, struct buf *b)
{
	buf_adds(
		b,
		"host,process,pid,per_hour,per_hour_low,per_hour_high,first,last,survives,stack\n");
	for (size_t i = 0; i < n_shown(c, l); i++) {
		const struct query_leak *k = &l->v[i];

		esc_csv(b, k->host, strlen(k->host), STRTAB_MAX_LEN);
		buf_addc(b, ',');
		esc_csv(b, k->process, strlen(k->process), STRTAB_MAX_LEN);
		buf_addc(b, ',');
		if (k->pid != SAMPLE_NO_ID)
			buf_addf(b, "%u", k->pid);
		buf_addf(b, ",%.0f,%.0f,%.0f,%.0f,%.0f,", k->per_hour, k->per_hour_low,
			 k->per_hour_high, k->first, k->last);
		if (!isnan(k->survives))
			buf_addf(b, "%.4f", k->survives);
		buf_addc(b, ',');
		esc_csv(b, k->stack, strlen(k->stack), STRTAB_MAX_LEN);
		buf_addc(b, '\n');
	}
}

int query_show_leaks(const struct query_cmd *c)
{
	struct query_leaks leaks;
	struct err err = { 0 };
	struct buf b = { 0 };

	if (query_leaks(&c->q, (enum age)c->opts->older, &leaks, &err) < 0) {
		query_leaks_done(&leaks);
		return query_fail(&err);
	}
	if (leaks.by_name)
		log_info("processes of one name count as one: the store has only sums for a part "
			 "of this range");
	if (!leaks.n)
		log_info("no stack has memory in use that grows");
	if (c->line->globals.json)
		query_leaks_json(&leaks, c->opts->top_n, &b);
	else if (c->opts->csv)
		leaks_csv(c, &leaks, &b);
	else if (leaks.n)
		leaks_text(c, &leaks, &b);
	query_leaks_done(&leaks);
	return cmd_print(&b);
}
