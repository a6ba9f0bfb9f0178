/* Writes metrics and the responses to uploads. */
#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_attr.h"
#include "format/otlp/otlp_metrics.h"
#include "format/otlp/otlp_metrics_wire.h"
#include "profile/profile.h"
#include "profile/series.h"

#include <string.h>

enum { NONE = UINT32_MAX };

/* Series of one metric of one resource, in order of arrival. */
struct metric_list {
	uint32_t resource;          /* label set */
	uint32_t first, last, next; /* series; next: list of another metric of the same resource */
};

struct metrics_writer {
	const struct otlp_metrics *m;
	struct profile *p;
	struct buf *out;
	VEC(uint32_t) resource_of, labels_of; /* by series: label sets */
	VEC(uint32_t) next_series;         /* by series: the next of the same metric and resource */
	VEC(uint32_t) first_point, points; /* by series; points in their order */
	VEC(struct metric_list) lists;
	VEC(struct label) labels, others;
	struct map index;
};

/* --- order ------------------------------------------------------------------------------------ */

static void split_labels(struct metrics_writer *w, uint32_t labels)
{
	struct series_table *t = &w->p->series;
	struct label_set set = labels ? t->sets.v[labels] : (struct label_set){ 0 };
	vec_clear(&w->labels);
	vec_clear(&w->others);
	for (uint32_t i = 0; i < set.n; i++) {
		struct label l = t->labels.v[set.first + i];
		if (!l.is_num && otlp_label_is_resource(profile_str(w->p, l.key)))
			vec_push(&w->labels, l);
		else
			vec_push(&w->others, l);
	}
	vec_push(&w->resource_of, label_set_intern(t, w->labels.v, w->labels.n));
	vec_push(&w->labels_of, label_set_intern(t, w->others.v, w->others.n));
}

struct list_key {
	const struct metrics_writer *w;
	uint32_t series;
};

static bool same_list(const void *ctx, uint32_t i)
{
	const struct list_key *key = ctx;
	const struct metrics_writer *w = key->w;
	uint32_t other = w->lists.v[i].first;
	const struct otlp_series *a = &w->m->series.v[key->series], *b = &w->m->series.v[other];
	return w->resource_of.v[key->series] == w->lists.v[i].resource && a->name == b->name &&
	       a->unit == b->unit && a->kind == b->kind;
}

static void list_series(struct metrics_writer *w, uint32_t series)
{
	const struct otlp_series *s = &w->m->series.v[series];
	split_labels(w, s->labels);
	vec_push(&w->next_series, NONE);
	struct list_key key = { w, series };
	uint32_t resource = w->resource_of.v[series], fresh = w->lists.n;
	uint64_t hash =
		hash_mix((uint64_t)resource << 32 | s->name, (uint64_t)s->unit << 2 | s->kind);
	uint32_t i = map_intern(&w->index, hash, fresh, same_list, &key);
	if (i == fresh) {
		vec_push(&w->lists, (struct metric_list){ resource, series, series, NONE });
		return;
	}
	w->next_series.v[w->lists.v[i].last] = series;
	w->lists.v[i].last = series;
}

/* Sorts points by series, keeping their order. */
static void list_points(struct metrics_writer *w)
{
	const struct otlp_metrics *m = w->m;
	size_t n = m->series.n + 2;
	vec_reserve(&w->first_point, n);
	memset(w->first_point.v, 0, n * sizeof *w->first_point.v);
	uint32_t *next = w->first_point.v + 1; /* becomes the series' end */
	for (size_t i = 0; i < m->points.n; i++)
		next[m->points.v[i].series + 1]++;
	for (size_t i = 1; i + 1 < n; i++)
		next[i] += next[i - 1];
	vec_reserve(&w->points, m->points.n + 1);
	for (uint32_t i = 0; i < m->points.n; i++)
		w->points.v[next[m->points.v[i].series]++] = i;
}

/* --- the message ------------------------------------------------------------------------------ */

static void put_label(struct metrics_writer *w, uint32_t field, const struct label *l)
{
	const char *name = profile_str(w->p, l->key);
	enum otlp_role role = otlp_role_of_label(name);
	name = role == ATTR_LABEL ? name : otlp_roles[role].key;
	if (!l->is_num) {
		otlp_put_key_text(w->out, field, name, profile_str(w->p, l->str),
				  strtab_len(&w->p->strings, l->str));
		return;
	}
	size_t mark = pb_begin(w->out, field);
	pb_put_bytes(w->out, KEY_VALUE_KEY, name, strlen(name));
	otlp_put_number(w->out, KEY_VALUE_VALUE, l->num);
	pb_end(w->out, mark);
}

static void put_labels(struct metrics_writer *w, uint32_t field, uint32_t labels)
{
	const struct series_table *t = &w->p->series;
	struct label_set set = labels ? t->sets.v[labels] : (struct label_set){ 0 };
	for (uint32_t i = 0; i < set.n; i++)
		put_label(w, field, &t->labels.v[set.first + i]);
}

static void put_point(struct metrics_writer *w, const struct otlp_point *p)
{
	uint64_t bits;
	size_t mark = pb_begin(w->out, DATA_POINTS);
	memcpy(&bits, &p->value, sizeof bits);
	if (p->start_ns)
		pb_put_fixed64(w->out, POINT_START, p->start_ns);
	pb_put_fixed64(w->out, POINT_TIME, p->time_ns);
	pb_put_fixed64(w->out, POINT_DOUBLE, bits);
	put_labels(w, POINT_ATTRIBUTES, w->labels_of.v[p->series]);
	pb_end(w->out, mark);
}

static void put_metric(struct metrics_writer *w, const struct metric_list *list)
{
	const struct otlp_series *s = &w->m->series.v[list->first];
	const struct strtab *texts = &w->p->strings;
	bool is_sum = s->kind != OTLP_GAUGE;
	size_t metric = pb_begin(w->out, SCOPE_METRICS_METRICS);
	pb_put_bytes(w->out, METRIC_NAME, strtab_get(texts, s->name), strtab_len(texts, s->name));
	if (s->unit)
		pb_put_bytes(w->out, METRIC_UNIT, strtab_get(texts, s->unit),
			     strtab_len(texts, s->unit));
	size_t data = pb_begin(w->out, is_sum ? METRIC_SUM_DATA : METRIC_GAUGE_DATA);
	for (uint32_t i = list->first; i != NONE; i = w->next_series.v[i])
		for (uint32_t k = w->first_point.v[i]; k < w->first_point.v[i + 1]; k++)
			put_point(w, &w->m->points.v[w->points.v[k]]);
	if (is_sum) {
		pb_put_u64(w->out, SUM_TEMPORALITY,
			   s->kind == OTLP_COUNTER ? TEMPORALITY_CUMULATIVE : TEMPORALITY_DELTA);
		pb_put_u64(w->out, SUM_IS_MONOTONIC, 1);
	}
	pb_end(w->out, data);
	pb_end(w->out, metric);
}

static void put_resource_metrics(struct metrics_writer *w, uint32_t first)
{
	size_t mark = pb_begin(w->out, REQUEST_RESOURCE_METRICS);
	size_t resource = pb_begin(w->out, RESOURCE_METRICS_RESOURCE);
	put_labels(w, RESOURCE_ATTRIBUTES, w->lists.v[first].resource);
	pb_end(w->out, resource);
	size_t scope = pb_begin(w->out, RESOURCE_METRICS_SCOPES);
	size_t name = pb_begin(w->out, SCOPE_METRICS_SCOPE);
	pb_put_bytes(w->out, SCOPE_NAME, "cresset", strlen("cresset"));
	pb_end(w->out, name);
	for (uint32_t i = first; i != NONE; i = w->lists.v[i].next)
		put_metric(w, &w->lists.v[i]);
	pb_end(w->out, scope);
	pb_end(w->out, mark);
}

static void put_message(struct metrics_writer *w)
{
	VEC(uint32_t) firsts = { 0 };
	struct map last = { 0 }; /* last list of each resource */
	for (uint32_t i = 0; i < w->lists.n; i++) {
		const uint32_t *before = map_get(&last, w->lists.v[i].resource);
		if (before)
			w->lists.v[*before].next = i;
		else
			vec_push(&firsts, i);
		map_put(&last, w->lists.v[i].resource, i);
	}
	for (size_t i = 0; i < firsts.n; i++)
		put_resource_metrics(w, firsts.v[i]);
	map_done(&last);
	vec_done(&firsts);
}

void otlp_metrics_encode(const struct otlp_metrics *m, struct profile *p, struct buf *out)
{
	struct metrics_writer w = { .m = m, .p = p, .out = out };
	for (uint32_t i = 0; i < m->series.n; i++)
		list_series(&w, i);
	list_points(&w);
	put_message(&w);
	vec_done(&w.resource_of);
	vec_done(&w.labels_of);
	vec_done(&w.next_series);
	vec_done(&w.first_point);
	vec_done(&w.points);
	vec_done(&w.lists);
	vec_done(&w.labels);
	vec_done(&w.others);
	map_done(&w.index);
}

void otlp_answer_encode(uint64_t rejected, const char *message, struct buf *out)
{
	enum { PARTIAL_SUCCESS = 1, REJECTED = 1, ERROR_MESSAGE = 2 };
	bool has_message = message && *message;
	if (!rejected && !has_message)
		return;
	size_t mark = pb_begin(out, PARTIAL_SUCCESS);
	if (rejected)
		pb_put_u64(out, REJECTED, rejected);
	if (has_message)
		pb_put_bytes(out, ERROR_MESSAGE, message, strlen(message));
	pb_end(out, mark);
}
