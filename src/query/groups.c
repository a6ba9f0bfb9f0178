/* Matches series with the selector, and groups them by labels. */
#include "query/groups.h"

#include "base/err.h"
#include "base/mem.h"
#include "query/query.h"
#include "query/selector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *groups_text(const struct groups *g, uint32_t group, uint32_t i)
{
	return strtab_get(&g->texts, g->keys.v[group * g->q->n_by + i]);
}

/* --- values --- */

static const struct label *find_label(const struct groups *g, uint32_t series, const char *name)
{
	uint32_t set = g->catalog->series.series.v[series].labels;
	const struct label *l =
		label_find(&g->catalog->series, set, strtab_find(&g->catalog->strings, name));
	if (!l && strcmp(name, "container") == 0)
		l = find_label(g, series, "container_id");
	if (!l && strcmp(name, "service") == 0)
		l = find_label(g, series, "service.name");
	return l;
}

static uint32_t number_text(struct groups *g, int64_t number)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)number);
	return strtab_put(&g->texts, text);
}

static bool is_column(const char *name)
{
	return strcmp(name, "pid") == 0 || strcmp(name, "tid") == 0 || strcmp(name, "cpu") == 0;
}

/* row: NULL if the series alone decides. */
static uint32_t key_text(struct groups *g, const char *name, uint32_t series,
			 const struct source_row *row)
{
	const struct label *l = find_label(g, series, name);
	if (l)
		return l->is_num ? number_text(g, l->num)
				 : strtab_put(&g->texts, profile_str(g->catalog, l->str));
	if (!row || !is_column(name))
		return 0;
	uint32_t id = *name == 'p' ? row->pid : *name == 't' ? row->tid : row->cpu;
	return id == SAMPLE_NO_ID ? 0 : number_text(g, id);
}

/* --- groups --- */

struct group_key {
	const struct groups *g;
	const uint32_t *texts;
};

static bool group_same(const void *ctx, uint32_t id)
{
	const struct group_key *k = ctx;
	size_t n = k->g->q->n_by;
	return !n || memcmp(&k->g->keys.v[id * n], k->texts, n * sizeof *k->texts) == 0;
}

static uint32_t find_group(struct groups *g, uint32_t series, const struct source_row *row)
{
	uint32_t texts[QUERY_BY_MAX];
	for (uint32_t i = 0; i < g->q->n_by; i++)
		texts[i] = key_text(g, g->q->by[i], series, row);
	struct group_key key = { g, texts };
	uint64_t hash = hash_bytes(texts, g->q->n_by * sizeof *texts);
	uint32_t id;
	if (map_lookup(&g->index, hash, group_same, &key, &id))
		return id;
	if (g->n > QUERY_MAX_GROUPS)
		return GROUP_NONE; /* reported by groups_check */
	id = g->n++;
	vec_append(&g->keys, texts, g->q->n_by);
	return map_intern(&g->index, hash, id, group_same, &key);
}

static bool asks_column(const struct groups *g, uint32_t series)
{
	for (uint32_t i = 0; i < g->q->n_by; i++)
		if (is_column(g->q->by[i]) && !find_label(g, series, g->q->by[i]))
			return true;
	return false;
}

static void take_series(struct groups *g, uint32_t series)
{
	enum selector_answer answer = SELECTS_ALL;
	g->of_series[series] = GROUP_NONE;
	if (g->catalog->series.series.v[series].type != g->q->type ||
	    series_is_free(&g->catalog->series, series))
		return;
	if (g->match)
		answer = selector_match_series(g->match, series);
	if (answer == SELECTS_NOTHING)
		return;
	g->wanted[series] = true;
	g->n_series++;
	bool by_stack = answer & SELECTS_BY_STACK;
	bool by_ids = answer & SELECTS_BY_COLUMN || asks_column(g, series);
	g->by_stack |= by_stack;
	g->by_ids |= by_ids;
	if (by_stack || by_ids) {
		g->of_series[series] = GROUP_ASK;
		g->by_rows = true;
	} else {
		g->of_series[series] = find_group(g, series, NULL);
	}
}

uint32_t groups_of_row(struct groups *g, const struct source_row *row)
{
	uint32_t group = g->of_series[row->series];
	if (group != GROUP_ASK)
		return group;
	g->ids_missing |= row->is_window && g->by_ids;
	const struct selected_sample sample = { row->series, row->pid,  row->tid,  row->cpu,
						row->link,   row->dict, row->stack };
	if (g->match && !selector_match_sample(g->match, &sample))
		return GROUP_NONE;
	return find_group(g, row->series, row);
}

int groups_read(const struct groups *g, int64_t from_ns, int64_t to_ns, source_row_fn row,
		source_columns_fn columns, void *ctx, struct err *err)
{
	struct source *s = g->q->source;
	return g->by_stack
		       ? s->ops->rows(s, g->wanted, from_ns, to_ns, row, ctx, err)
		       : source_columns(s, g->wanted, from_ns, to_ns, row, columns, NULL, ctx, err);
}

int groups_check(const struct groups *g, struct err *err)
{
	if (g->n <= QUERY_MAX_GROUPS)
		return 0;
	err_set(err, E2BIG, "more than %d groups by these labels", QUERY_MAX_GROUPS);
	err_hint(err, "use labels with fewer values");
	return -E2BIG;
}

int groups_init(struct groups *g, const struct query *q, struct err *err)
{
	*g = (struct groups){ .q = q, .catalog = q->source->ops->catalog(q->source) };
	size_t n = g->catalog->series.series.n;
	if (q->selector)
		g->match = selector_match_new(q->selector, g->catalog);
	strtab_init(&g->texts);
	g->wanted = xcalloc(n, sizeof *g->wanted);
	g->of_series = xcalloc(n, sizeof *g->of_series);
	for (uint32_t i = 0; i < n; i++)
		take_series(g, i);
	g->scale = value_scale_of(g->catalog, q->type, g->wanted);
	return groups_check(g, err);
}

void groups_done(struct groups *g)
{
	selector_match_free(g->match);
	strtab_done(&g->texts);
	vec_done(&g->keys);
	map_done(&g->index);
	free(g->wanted);
	free(g->of_series);
}
