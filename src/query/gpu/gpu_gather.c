/* Selects other series of the same hosts, and reads their samples. */
#include "query/gpu/gpu_gather.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"
#include "store/codec/metric.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *gpu_label_text(const struct profile *p, uint32_t set, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&p->series, set, id);
	return l && !l->is_num ? profile_str(p, l->str) : "";
}

const char *gpu_gather_label(const struct gpu_gather *g, uint32_t series, const char *key)
{
	return gpu_label_text(g->catalog, g->catalog->series.series.v[series].labels, key);
}

static const char *type_name(const struct profile *p, uint32_t type)
{
	return profile_str(p, p->series.types.v[type].name);
}

/* --- hosts: those of the selected series ------------------------------------------------------ */

static void choose_host(struct gpu_gather *g, const char *host)
{
	uint32_t id = strtab_put(&g->hosts, host);
	for (size_t i = 0; i < g->chosen.n; i++)
		if (g->chosen.v[i] == id)
			return;
	vec_push(&g->chosen, id);
}

static bool is_chosen(const struct gpu_gather *g, const char *host)
{
	uint32_t id = strtab_find(&g->hosts, host);
	for (size_t i = 0; i < g->chosen.n; i++)
		if (g->chosen.v[i] == id)
			return true;
	return !g->is_limited;
}

/* Limits rows of other types to the host if there is only one. */
static int select_host(struct gpu_gather *g)
{
	struct buf text = { 0 };
	int rc = 0;
	if (g->chosen.n != 1 || !g->chosen.v[0])
		return 0;
	buf_adds(&text, "{host=\"");
	for (const char *s = strtab_get(&g->hosts, g->chosen.v[0]); *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_addc(&text, '\\');
		buf_addc(&text, *s);
	}
	buf_adds(&text, "\"}");
	if (!strchr(buf_cstr(&text), '\n'))
		rc = selector_parse(buf_cstr(&text), &g->host, g->err);
	buf_done(&text);
	return rc;
}

/* Points have no pid, tid, cpu, trace or stack. */
static bool is_selected(const struct profile *p, const struct selector_match *m, uint32_t series)
{
	enum selector_answer answer = selector_match_series(m, series);
	if (answer == SELECTS_NOTHING || answer == SELECTS_ALL)
		return answer == SELECTS_ALL;
	return !type_is_metric(&p->series.types.v[p->series.series.v[series].type]);
}

void gpu_gather_selected_types(const struct profile *catalog, const struct selector *selector,
			       bool *selected)
{
	struct selector_match *m = selector_match_new(selector, catalog);
	for (uint32_t i = 0; i < catalog->series.series.n; i++)
		if (is_selected(catalog, m, i))
			selected[catalog->series.series.v[i].type] = true;
	selector_match_free(m);
}

static int choose_hosts(struct gpu_gather *g)
{
	if (!g->q->selector)
		return 0;
	struct selector_match *m = selector_match_new(g->q->selector, g->catalog);
	g->is_limited = true;
	for (uint32_t i = 0; i < g->catalog->series.series.n; i++) {
		bool is_of_type = g->q->type == UINT32_MAX ||
				  g->q->type == g->catalog->series.series.v[i].type;
		if (is_of_type && is_selected(g->catalog, m, i))
			choose_host(g, gpu_gather_label(g, i, "host"));
	}
	selector_match_free(m);
	return g->chosen.n ? select_host(g) : err_set(g->err, ENODATA, "no series is selected");
}

/* --- samples ---------------------------------------------------------------------------------- */

int gpu_gather_type(struct gpu_gather *g, uint32_t type, const struct selector *selector,
		    struct profile **p)
{
	struct query q = *g->q;
	struct profile *part;
	q.type = type;
	q.selector = selector;
	q.n_by = q.n_within = 0;
	q.within = NULL;
	int rc = query_profile(&q, true, &part, NULL, g->err);
	if (rc)
		return rc;
	if (!*p) {
		*p = part;
		return 0;
	}
	profile_merge(*p, part);
	profile_free(part);
	rc = guard_rows(&g->guard, (*p)->samples.n, g->err);
	return rc ? rc : guard_check(&g->guard, g->err);
}

int gpu_gather_types(struct gpu_gather *g, const char *const *names, size_t n, struct profile **p)
{
	int rc = 0;
	for (uint32_t i = 0; i < g->catalog->series.types.n; i++)
		for (size_t k = 0; rc == 0 && k < n; k++)
			if (i != g->q->type && strcmp(type_name(g->catalog, i), names[k]) == 0)
				rc = gpu_gather_type(g, i, g->host, p);
	return rc;
}

/* --- metrics ---------------------------------------------------------------------------------- */

bool gpu_gather_is_of(const struct gpu_gather *g, uint32_t series, const char *name)
{
	const struct profile *p = g->catalog;
	return !series_is_free(&p->series, series) &&
	       strcmp(type_name(p, p->series.series.v[series].type), name) == 0 &&
	       is_chosen(g, gpu_gather_label(g, series, "host"));
}

bool gpu_gather_is_metric(const struct gpu_gather *g, uint32_t series, const char *name)
{
	const struct series_table *s = &g->catalog->series;
	return gpu_gather_is_of(g, series, name) &&
	       type_is_metric(&s->types.v[s->series.v[series].type]);
}

static int keep_points(void *ctx, const struct metric_point *points, size_t n)
{
	struct metric_points *to = ctx;
	if (to->n + n > METRIC_MAX_POINTS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (!isnan(points[i].value))
			vec_push(to, points[i]);
	return 0;
}

int gpu_gather_points(struct gpu_gather *g, uint32_t series, int64_t beyond_ns,
		      struct metric_points *to)
{
	const struct query *q = g->q;
	int rc = q->source->ops->points(q->source, series, sum_sub(q->from_ns, beyond_ns),
					sum_add(q->to_ns, beyond_ns), keep_points, to, g->err);
	if (rc == -E2BIG)
		return err_set(g->err, E2BIG,
			       "more than %d readings of a GPU: select a shorter range",
			       METRIC_MAX_POINTS);
	return rc ? rc : guard_check(&g->guard, g->err);
}

/* --- opening and closing ---------------------------------------------------------------------- */

int gpu_gather_init(struct gpu_gather *g, const struct query *q, struct err *err)
{
	*g = (struct gpu_gather){ .q = q,
				  .catalog = q->source->ops->catalog(q->source),
				  .err = err };
	strtab_init(&g->hosts);
	guard_begin(&g->guard, &q->limits, q->source);
	return choose_hosts(g);
}

void gpu_gather_done(struct gpu_gather *g)
{
	guard_end(&g->guard, g->q->source);
	vec_done(&g->chosen);
	strtab_done(&g->hosts);
	selector_free(g->host);
}
