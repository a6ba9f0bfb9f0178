/* Copies what a query selects into a profile, for charts, heatmaps and file writers. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/copy.h"
#include "query/groups.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/snapshots.h"

#include <errno.h>
#include <stdlib.h>

enum { GUARD_EVERY = 1 << 14 }; /* samples between two checks of memory */

/* A dictionary, and the ids of its stacks in the response. */
struct source_dict {
	struct profile *dict;
	struct profile_copy copy;
	struct map stacks; /* id → id in the response */
};

struct answering {
	const struct query *q;
	struct guard guard;
	struct groups groups;
	struct snapshots *snapshots; /* NULL: everything counts */
	struct profile *to;
	struct profile_copy catalog;
	VEC(struct source_dict *) dicts;
	struct source_dict *last;
	VEC(uint32_t) frames;
	struct err *err;
};

static struct source_dict *find_dict(struct answering *a, struct profile *dict)
{
	if (a->last && a->last->dict == dict)
		return a->last;
	for (size_t i = 0; i < a->dicts.n; i++)
		if (a->dicts.v[i]->dict == dict)
			return a->last = a->dicts.v[i];
	struct source_dict *d = xcalloc(1, sizeof *d);
	d->dict = dict;
	profile_copy_init(&d->copy, dict, a->to);
	vec_push(&a->dicts, d);
	return a->last = d;
}

static uint32_t copy_stack(struct answering *a, struct profile *dict, uint32_t stack)
{
	struct source_dict *d = find_dict(a, dict);
	const uint32_t *known = map_get(&d->stacks, stack);
	if (known)
		return *known;
	profile_copy_grow(&d->copy); /* names are set when a stack is first used */
	uint32_t n = stack_depth(&dict->stacks, stack);
	vec_reserve(&a->frames, n);
	stack_frames(&dict->stacks, stack, a->frames.v);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = a->frames.v[i];
		bool is_new;
		a->frames.v[i] = profile_copy_frame(&d->copy, frame, &is_new);
		if (is_new)
			profile_copy_names(&d->copy, frame, a->frames.v[i]);
	}
	struct sink *sink = profile_sink(a->to);
	uint32_t id = sink->ops->stack(sink, a->frames.v, n);
	map_put(&d->stacks, stack, id);
	return id;
}

static int add_sample(struct answering *a, struct sample *s, struct profile *dict)
{
	struct sink *sink = profile_sink(a->to);
	const struct sample_columns *c = &a->to->samples;
	s->series = profile_copy_series(&a->catalog, s->series);
	s->stack = copy_stack(a, dict, s->stack);
	sink->ops->sample(sink, s);
	int rc = guard_rows(&a->guard, c->n, a->err);
	if (rc == 0 && c->n % GUARD_EVERY == 0) {
		uint64_t row = 3 * sizeof *c->time_ns + 6 * sizeof *c->pid;
		rc = guard_memory(&a->guard, c->cap * row + sink->ops->kept_bytes(sink), a->err);
	}
	return rc;
}

static int add_row(void *ctx, const struct source_row *row)
{
	struct answering *a = ctx;
	if (a->q->is_exact && row->is_window) {
		err_set(a->err, ERANGE, "exact times exist for the last hours only");
		return err_hint(a->err, "select a shorter or later range");
	}
	if (a->snapshots && !snapshots_has(a->snapshots, row))
		return 0;
	if (groups_of_row(&a->groups, row) == GROUP_NONE)
		return groups_check(&a->groups, a->err);
	struct sample s = { .time_ns = a->q->source->is_block ? 0 : row->time_ns,
			    .length_ns = row->length_ns,
			    .value = row->value,
			    .series = row->series,
			    .stack = row->stack,
			    .pid = row->pid,
			    .tid = row->tid,
			    .cpu = row->cpu };
	if (row->link)
		s.link = profile_sink(a->to)->ops->link(profile_sink(a->to), row->link);
	return add_sample(a, &s, row->dict);
}

static int add_rows(struct answering *a)
{
	const struct query *q = a->q;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < query_pieces(q); i++) {
		struct query_piece part = query_piece_at(q, i);
		rc = q->source->ops->rows(q->source, a->groups.wanted, part.from_ns, part.to_ns,
					  add_row, a, a->err);
	}
	return rc;
}

static int add_snapshots(struct answering *a)
{
	struct snapshots snapshots;
	snapshots_init(&snapshots, a->q);
	int rc = snapshots_find(&snapshots, a->err);
	a->snapshots = &snapshots;
	if (rc == 0)
		rc = add_rows(a);
	snapshots_done(&snapshots);
	return rc;
}

static int add_sums(struct answering *a, uint32_t series, const struct source_sums *sums)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < sums->n; i++) {
		struct sample s = { .value = sums->value[i],
				    .series = series,
				    .stack = sums->stack[i],
				    .pid = SAMPLE_NO_ID,
				    .tid = SAMPLE_NO_ID,
				    .cpu = SAMPLE_NO_ID };
		if (s.value)
			rc = add_sample(a, &s, sums->dict);
	}
	return rc;
}

static int add_series(struct answering *a, uint32_t series, const bool *wanted)
{
	const struct query *q = a->q;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < query_pieces(q); i++) {
		struct query_piece part = query_piece_at(q, i);
		struct source_merged m = { 0 };
		rc = q->source->ops->merge(q->source, wanted, part.from_ns, part.to_ns, &m, a->err);
		for (size_t k = 0; rc == 0 && k < m.n; k++)
			rc = add_sums(a, series, &m.parts[k]);
		source_merged_done(&m);
		if (rc == 0)
			rc = guard_check(&a->guard, a->err);
	}
	return rc;
}

static int add_merged(struct answering *a)
{
	size_t n = a->groups.catalog->series.series.n;
	bool *wanted = xcalloc(n, sizeof *wanted);
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		if (!a->groups.wanted[i])
			continue;
		wanted[i] = true;
		rc = add_series(a, i, wanted);
		wanted[i] = false;
	}
	free(wanted);
	return rc;
}

/* Copies the metadata that still hold for the part. */
static void settle_meta(struct answering *a)
{
	const struct profile_meta *from = &a->groups.catalog->meta;
	const struct query *q = a->q;
	struct profile_meta *to = &a->to->meta;
	int64_t first_ns, end_ns;
	q->source->ops->range(q->source, &first_ns, &end_ns);
	first_ns = q->from_ns > first_ns ? q->from_ns : first_ns;
	end_ns = q->to_ns < end_ns ? q->to_ns : end_ns;
	to->start_mono_ns = first_ns;
	to->start_wall_ns = q->source->since_start ? 0 : first_ns;
	to->duration_ns = end_ns > first_ns && from->duration_ns ? end_ns - first_ns : 0;
	to->host = profile_copy_string(&a->catalog, from->host);
	to->kernel = profile_copy_string(&a->catalog, from->kernel);
	to->command = profile_copy_string(&a->catalog, from->command);
	to->clock = profile_copy_string(&a->catalog, from->clock);
	to->cpus = from->cpus;
}

static int answer(struct answering *a, bool with_times)
{
	struct query plain = *a->q;
	plain.n_by = 0;
	int rc = groups_init(&a->groups, &plain, a->err);
	if (rc < 0)
		return rc;
	a->to = profile_new();
	profile_copy_init(&a->catalog, a->groups.catalog, a->to);
	profile_copy_type(&a->catalog, a->q->type);
	settle_meta(a);
	if (query_is_snapshot(&plain))
		return add_snapshots(a);
	return with_times || a->groups.by_rows ? add_rows(a) : add_merged(a);
}

static void answering_done(struct answering *a)
{
	for (size_t i = 0; i < a->dicts.n; i++) {
		profile_copy_done(&a->dicts.v[i]->copy);
		map_done(&a->dicts.v[i]->stacks);
		free(a->dicts.v[i]);
	}
	vec_done(&a->dicts);
	vec_done(&a->frames);
	profile_copy_done(&a->catalog);
	groups_done(&a->groups);
}

int query_profile(const struct query *q, bool with_times, struct profile **out, bool *ids_missing,
		  struct err *err)
{
	struct answering a = { .q = q, .err = err };
	guard_begin(&a.guard, &q->limits, q->source);
	int rc = answer(&a, with_times);
	guard_end(&a.guard, q->source);
	if (rc == 0 && ids_missing)
		*ids_missing = a.groups.ids_missing;
	if (rc == 0)
		*out = a.to;
	else
		profile_free(a.to);
	answering_done(&a);
	return rc;
}
