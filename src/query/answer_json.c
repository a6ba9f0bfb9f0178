/* The JSON of each result: range, tree, table, catalog. */
#include "query/answer_json.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/catalog.h"
#include "query/query.h"
#include "query/selector.h"

void labels_json(struct json *j, const char *const *by, const char *const *names, uint32_t n)
{
	json_key(j, "labels");
	json_obj(j);
	for (uint32_t i = 0; i < n; i++)
		json_key_str(j, by[i], names[i]);
	json_end(j);
}

/* --- range ------------------------------------------------------------------------------------ */

static void group_json(const struct query *q, const struct query_range *r, uint32_t group,
		       struct json *j)
{
	json_obj(j);
	labels_json(j, q->by, r->names + group * r->n_by, r->n_by);
	json_key_i64(j, "total", r->totals[group]);
	json_key(j, "values");
	json_arr(j);
	for (size_t i = 0; i < r->steps; i++)
		json_i64(j, r->sums[group * r->steps + i]);
	json_end(j);
	json_end(j);
}

static void head_json(const struct query_range *r, struct json *j)
{
	json_key_str(j, "format", "cresset.range");
	json_key_u64(j, "version", 1);
	json_key_str(j, "type", r->type_name);
	json_key_str(j, "unit", r->unit);
	json_key_num(j, "scale", r->scaled_unit ? r->scale : __builtin_nan(""));
	json_key_str(j, "scaled_unit", r->scaled_unit);
	json_key_i64(j, "from_ns", r->from_ns);
	json_key_i64(j, "step_ns", r->step_ns);
	json_key_u64(j, "steps", r->steps);
}

void range_json(const struct query *q, const struct query_range *r, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	head_json(r, &j);
	json_key(&j, "groups");
	json_arr(&j);
	for (uint32_t i = 0; i < r->n_shown; i++)
		group_json(q, r, r->order[i], &j);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

/* --- catalog ---------------------------------------------------------------------------------- */

uint32_t catalog_series_of_type(const struct profile *p, uint32_t type)
{
	uint32_t n = 0;
	for (size_t i = 0; i < p->series.series.n; i++)
		n += p->series.series.v[i].type == type && !series_is_free(&p->series, i);
	return n;
}

void catalog_series(const struct profile *p, const struct selector *s, struct catalog_texts *out)
{
	struct selector_match *m = s ? selector_match_new(s, p) : NULL;
	struct buf b = { 0 };
	for (uint32_t i = 0; i < p->series.series.n; i++) {
		if (series_is_free(&p->series, i) ||
		    (m && selector_match_series(m, i) == SELECTS_NOTHING))
			continue;
		buf_clear(&b);
		catalog_series_text(p, i, &b);
		vec_push(&out->all, arena_dup(&out->arena, b.data, b.len));
	}
	selector_match_free(m);
	buf_done(&b);
}

static void type_json(const struct profile *p, uint32_t type, struct json *j)
{
	const struct type *t = &p->series.types.v[type];
	json_obj(j);
	json_key_text(j, "type", profile_str(p, t->name));
	json_key_text(j, "sample_type", profile_str(p, t->sample_type));
	json_key_text(j, "unit", profile_str(p, t->unit));
	json_key_text(j, "period_type", profile_str(p, t->period_type));
	json_key_text(j, "period_unit", profile_str(p, t->period_unit));
	json_key_text(j, "aggregation", catalog_aggregation(t));
	json_key_u64(j, "series", catalog_series_of_type(p, type));
	json_end(j);
}

void types_json(const struct profile *catalog, const struct selector *s, struct buf *b)
{
	struct json j = json_to(b);
	json_arr(&j);
	for (uint32_t i = 0; i < catalog->series.types.n; i++)
		if (!s || selector_takes_type(s, catalog, i))
			type_json(catalog, i, &j);
	json_end(&j);
	buf_addc(b, '\n');
}

void texts_json(const struct catalog_texts *t, struct buf *b)
{
	struct json j = json_to(b);
	json_arr(&j);
	for (size_t i = 0; i < t->all.n; i++)
		json_str(&j, t->all.v[i]);
	json_end(&j);
	buf_addc(b, '\n');
}

/* --- metrics --------------------------------------------------------------------------------- */

void metric_json(const struct query *q, const struct query_metric *m, int reduction, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_str(&j, "format", "cresset.metric");
	json_key_u64(&j, "version", 1);
	json_key_str(&j, "metric", m->name);
	json_key_str(&j, "unit", m->unit);
	json_key_str(&j, "reduce", query_reductions[1 + reduction]);
	json_key_i64(&j, "from_ns", m->from_ns);
	json_key_i64(&j, "step_ns", m->step_ns);
	json_key_u64(&j, "steps", m->steps);
	json_key(&j, "groups");
	json_arr(&j);
	for (uint32_t i = 0; i < m->n_shown; i++) {
		uint32_t group = m->order[i];
		json_obj(&j);
		labels_json(&j, q->by, m->names + group * m->n_by, m->n_by);
		json_key(&j, "values");
		json_arr(&j);
		for (size_t k = 0; k < m->steps; k++)
			json_num(&j, m->values[group * m->steps + k]);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}
