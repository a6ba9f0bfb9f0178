/* cresset query --types, --labels, --values, --series: what there is to ask for. */
#include "base/json.h"
#include "base/str.h"
#include "cmd/query.h"
#include "query/catalog.h"

#include <errno.h>

bool query_asks_list(const struct query_opts *o)
{
	return o->types || o->labels || o->series || o->values;
}

/* --- types --- */

static bool type_is_asked(const struct query_cmd *c, uint32_t type)
{
	return !c->selector || selector_takes_type(c->selector, c->catalog, type);
}

static uint32_t series_of_type(const struct profile *p, uint32_t type)
{
	uint32_t n = 0;
	for (size_t i = 0; i < p->series.series.n; i++)
		n += p->series.series.v[i].type == type;
	return n;
}

static void json_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_str(j, *text ? text : NULL);
}

static void type_json(const struct profile *p, uint32_t type, struct json *j)
{
	const struct type *t = &p->series.types.v[type];
	json_obj(j);
	json_text(j, "type", profile_str(p, t->name));
	json_text(j, "sample_type", profile_str(p, t->sample_type));
	json_text(j, "unit", profile_str(p, t->unit));
	json_text(j, "period_type", profile_str(p, t->period_type));
	json_text(j, "period_unit", profile_str(p, t->period_unit));
	json_text(j, "aggregation", t->aggregation == AGG_SNAPSHOT ? "snapshot" : "sum");
	json_key(j, "series");
	json_u64(j, series_of_type(p, type));
	json_end(j);
}

/* cpu:samples:count:cpu:nanoseconds, as selectors take it, and how many series it has. */
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
	fmt_count(b, series_of_type(p, type));
	buf_adds(b, " series");
	if (t->aggregation == AGG_SNAPSHOT)
		buf_adds(b, ", snapshots");
	buf_addc(b, '\n');
}

static void list_all_types(const struct query_cmd *c, struct buf *b)
{
	struct json j = json_to(b);
	bool is_json = c->line->globals.json;
	if (is_json)
		json_arr(&j);
	for (uint32_t i = 0; i < c->catalog->series.types.n; i++) {
		if (!type_is_asked(c, i))
			continue;
		if (is_json)
			type_json(c->catalog, i, &j);
		else
			type_line(c->catalog, i, b);
	}
	if (is_json)
		json_end(&j);
}

/* --- texts --- */

static void list_texts(const struct query_cmd *c, const struct catalog_texts *t, struct buf *b)
{
	struct json j = json_to(b);
	if (c->line->globals.json)
		json_arr(&j);
	for (size_t i = 0; i < t->all.n; i++) {
		if (c->line->globals.json) {
			json_str(&j, t->all.v[i]);
			continue;
		}
		esc_term(b, t->all.v[i], strlen(t->all.v[i]), STRTAB_MAX_LEN);
		buf_addc(b, '\n');
	}
	if (c->line->globals.json)
		json_end(&j);
}

static void find_series(const struct query_cmd *c, struct catalog_texts *out)
{
	struct selector_match *m = c->selector ? selector_match_new(c->selector, c->catalog) : NULL;
	struct buf b = { 0 };
	for (uint32_t i = 0; i < c->catalog->series.series.n; i++) {
		if (m && selector_match_series(m, i) == SELECTS_NOTHING)
			continue;
		buf_clear(&b);
		catalog_series_text(c->catalog, i, &b);
		vec_push(&out->all, arena_dup(&out->arena, b.data, b.len));
	}
	selector_match_free(m);
	buf_done(&b);
}

static int no_label(const struct query_cmd *c, const char *label)
{
	struct catalog_texts labels = { 0 };
	struct err err = { 0 };
	catalog_labels(c->catalog, NULL, &labels);
	const char *near = str_nearest(label, labels.all.v, labels.all.n);
	err_set(&err, ENOENT, "no series has a label '%s'", label);
	if (near)
		err_hint(&err, "did you mean '%s'?", near);
	else
		err_hint(&err, "cresset query --labels lists them");
	catalog_texts_done(&labels);
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
		find_series(c, &texts);
	if (o->types)
		list_all_types(c, &b);
	else
		list_texts(c, &texts, &b);
	if (c->line->globals.json)
		buf_addc(&b, '\n');
	catalog_texts_done(&texts);
	return cmd_print(&b);
}
