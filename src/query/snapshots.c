/* Finds the last snapshot of each origin before a time. */
#include "query/snapshots.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "query/query.h"

#include <stdlib.h>

static const struct profile *catalog_of(const struct query *q)
{
	return q->source->ops->catalog(q->source);
}

bool query_is_snapshot(const struct query *q)
{
	return catalog_of(q)->series.types.v[q->type].aggregation == AGG_SNAPSHOT;
}

static void add_label_text(struct buf *b, const struct profile *p, uint32_t set, const char *name)
{
	const struct label *l = label_find(&p->series, set, strtab_find(&p->strings, name));
	if (l && l->is_num)
		buf_addf(b, "%lld", (long long)l->num);
	else if (l)
		buf_add(b, profile_str(p, l->str), strtab_len(&p->strings, l->str));
	buf_addc(b, '\0');
}

void snapshots_init(struct snapshots *s, const struct query *q)
{
	static const char *const labels[] = { "host",         "instance",     "job",
					      "service.name", "container_id", "process" };
	const struct profile *p = catalog_of(q);
	size_t n = p->series.series.n;
	struct buf b = { 0 };
	*s = (struct snapshots){ .q = q };
	strtab_init(&s->names);
	s->name_of_series = xreallocarray(NULL, n, sizeof *s->name_of_series);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&b);
		for (size_t k = 0; k < sizeof labels / sizeof *labels; k++)
			add_label_text(&b, p, p->series.series.v[i].labels, labels[k]);
		s->name_of_series[i] = strtab_putn(&s->names, b.data, b.len);
	}
	buf_done(&b);
}

void snapshots_done(struct snapshots *s)
{
	free(s->name_of_series);
	strtab_done(&s->names);
	map_done(&s->index);
	vec_done(&s->latest_ns);
}

uint32_t snapshots_origin(struct snapshots *s, const struct source_row *row)
{
	uint64_t key = (uint64_t)s->name_of_series[row->series] << 32 | row->pid;
	uint32_t fresh = s->latest_ns.n;
	uint32_t id = map_intern(&s->index, key, fresh, NULL, NULL);
	if (id == fresh)
		vec_push(&s->latest_ns, INT64_MIN);
	return id;
}

int64_t snapshots_from_ns(const struct query *q)
{
	int64_t fresh_ns = sum_sub(q->to_ns, QUERY_STALE_NS);
	return q->from_ns > fresh_ns ? q->from_ns : fresh_ns;
}

int snapshots_rows(const struct snapshots *s, int64_t from_ns, source_row_fn row, void *ctx,
		   struct err *err)
{
	struct source *source = s->q->source;
	const struct series_table *t = &catalog_of(s->q)->series;
	bool *wanted = xcalloc(t->series.n, sizeof *wanted);
	for (size_t i = 0; i < t->series.n; i++)
		wanted[i] = t->series.v[i].type == s->q->type;
	int rc = source->ops->rows(source, wanted, from_ns, s->q->to_ns, row, ctx, err);
	free(wanted);
	return rc;
}

static int note_time(void *ctx, const struct source_row *row)
{
	struct snapshots *s = ctx;
	uint32_t origin = snapshots_origin(s, row);
	int64_t *latest = &s->latest_ns.v[origin];
	*latest = row->time_ns > *latest ? row->time_ns : *latest;
	return 0;
}

int snapshots_find(struct snapshots *s, struct err *err)
{
	return snapshots_rows(s, snapshots_from_ns(s->q), note_time, s, err);
}

bool snapshots_has(struct snapshots *s, const struct source_row *row)
{
	uint32_t origin = snapshots_origin(s, row);
	return row->time_ns == s->latest_ns.v[origin];
}
