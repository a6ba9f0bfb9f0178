/* cresset query --types, --labels, --values, --series: the contents of a source. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/str.h"
#include "cmd/query/query_cmd.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/answer_json.h"
#include "query/catalog.h"
#include "query/selector.h"

bool query_asks_list(const struct query_opts *o)
{
	return o->types || o->labels || o->series || o->values;
}

/* --- types --- */

/* cpu:samples:count:cpu:nanoseconds, as in selectors, and the number of its series. */
static void type_line(const struct profile *p, uint32_t type, struct buf *b)
{
	const struct type *t = &p->series.types.v[type];
	struct buf line = { 0 };
	buf_addf(&line, "%s:%s", profile_str(p, t->name), profile_str(p, t->sample_type));
	if (t->period_type)
		buf_addf(&line, ":%s:%s:%s", profile_str(p, t->unit),
			 profile_str(p, t->period_type), profile_str(p, t->period_unit));
	esc_term(b, buf_cstr(&line), line.len, line.len);
	buf_done(&line);
	buf_addc(b, ' ');
	fmt_count(b, catalog_series_of_type(p, type));
	buf_adds(b, " series");
	if (t->aggregation == AGG_SNAPSHOT)
		buf_adds(b, ", snapshots");
	if (type_is_metric(t)) {
		buf_adds(b, ", metric");
		if (t->unit)
			buf_adds(b, " in ");
		esc_term(b, profile_str(p, t->unit), strlen(profile_str(p, t->unit)),
			 STRTAB_MAX_LEN);
	}
	buf_addc(b, '\n');
}

static void list_all_types(const struct query_cmd *c, struct buf *b)
{
	if (c->line->globals.json) {
		types_json(c->catalog, c->selector, b);
		return;
	}
	for (uint32_t i = 0; i < c->catalog->series.types.n; i++)
		if (!c->selector || selector_takes_type(c->selector, c->catalog, i))
			type_line(c->catalog, i, b);
}

/* --- texts --- */

static void list_texts(const struct query_cmd *c, const struct catalog_texts *t, struct buf *b)
{
	if (c->line->globals.json) {
		texts_json(t, b);
		return;
	}
	for (size_t i = 0; i < t->all.n; i++) {
		esc_term(b, t->all.v[i], strlen(t->all.v[i]), STRTAB_MAX_LEN);
		buf_addc(b, '\n');
	}
}

static int no_label(const struct query_cmd *c, const char *label)
{
	struct err err = { 0 };
	query_no_label(c->catalog, label, &err);
	if (!*err.hint)
		err_hint(&err, "cresset query --labels lists them");
	return cmd_fail(CMD_USAGE, &err);
}

int query_list(const struct query_cmd *c)
{
	const struct query_opts *o = c->opts;
	struct catalog_texts texts = { 0 };
	struct buf b = { 0 };
	if (o->types + o->labels + o->series + (o->values != NULL) > 1)
		return cmd_usage(c->line, "choose one of --types, --labels, --values and --series");
	if (o->values && !catalog_has_label(c->catalog, o->values))
		return no_label(c, o->values);
	if (o->labels)
		catalog_labels(c->catalog, c->selector, &texts);
	else if (o->values)
		catalog_values(c->catalog, c->selector, o->values, &texts);
	else if (o->series)
		catalog_series(c->catalog, c->selector, &texts);
	if (o->types)
		list_all_types(c, &b);
	else
		list_texts(c, &texts, &b);
	catalog_texts_done(&texts);
	return cmd_print(&b);
}
