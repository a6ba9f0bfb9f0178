#include "format/common/give.h"
#include "base/mem.h"

#include "format/common/guess.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <stdbool.h>
#include <string.h>

static uint32_t give_string(struct sink *s, struct give_text t)
{
	return t.len ? s->ops->string(s, t.s, t.len) : 0;
}

uint32_t give_series_of(struct sink *s, const struct give_type *t, uint32_t labels)
{
	struct profile_meta *meta = s->ops->meta(s);
	struct type type = { .name = sink_string(s, t->name),
			     .sample_type = sink_string(s, t->sample_type),
			     .unit = sink_string(s, t->unit),
			     .period_type = sink_string(s, t->period_type),
			     .period_unit = sink_string(s, t->period_unit),
			     .aggregation = t->aggregation };
	struct series series = { .period = t->period, .labels = labels };
	series.type = s->ops->type(s, &type);
	bool known = false;
	for (size_t i = 0; i < meta->sample_types.n; i++)
		known |= meta->sample_types.v[i] == series.type;
	if (!known)
		vec_push(&meta->sample_types, series.type);
	return s->ops->series(s, &series);
}

uint32_t give_series(struct sink *s, const struct give_type *t)
{
	return give_series_of(s, t, 0);
}

uint32_t give_frame(struct sink *s, const struct give_frame *f)
{
	static const struct give_text unknown = { "[unknown]", 9 };
	struct give_text name = f->name.len ? f->name : unknown;
	const char *file = f->file.len ? f->file.s : "";
	struct frame frame = { .kind = f->kind,
			       .mapping = MAPPING_NONE,
			       .function = give_string(s, name),
			       .file = give_string(s, f->file),
			       .binary = give_string(s, f->binary),
			       .line = f->line };
	if (f->kind == GIVE_GUESS)
		frame.kind = guess_kind(name.s, name.len, file, f->file.len);
	return s->ops->frame(s, &frame);
}

static struct sample give_sample(uint32_t series, uint32_t stack, int64_t value)
{
	return (struct sample){ .series = series,
				.stack = stack,
				.value = value,
				.pid = SAMPLE_NO_ID,
				.tid = SAMPLE_NO_ID,
				.cpu = SAMPLE_NO_ID };
}

void give_value(struct sink *s, uint32_t series, uint32_t stack, int64_t value)
{
	struct sample sample = give_sample(series, stack, value);
	s->ops->sample(s, &sample);
}

struct give_key {
	const struct give_sums *sums;
	const struct give_row *row;
};

static bool give_same_row(const void *ctx, uint32_t id)
{
	const struct give_key *key = ctx;
	const struct give_row *a = &key->sums->rows.v[id], *b = key->row;
	return a->series == b->series && a->stack == b->stack && a->pid == b->pid &&
	       a->tid == b->tid;
}

void give_sums_add(struct give_sums *g, const struct give_row *row)
{
	struct give_key key = { g, row };
	uint64_t ids = hash_mix(row->pid, row->tid);
	uint64_t hash = hash_mix(ids, (uint64_t)row->series << 32 | row->stack);
	uint32_t fresh = g->rows.n, id = id_intern(&g->index, hash, fresh, give_same_row, &key);
	if (id == fresh)
		vec_push(&g->rows, *row);
	else
		g->rows.v[id].value = sum_add(g->rows.v[id].value, row->value);
}

enum { GIVE_PIECE = 1 << 15 }; /* rows: their memory is given back together */

/* The samples take more memory than the rows, which are no longer needed. */
uint64_t give_sums_end(struct give_sums *g, struct sink *s)
{
	uint64_t n = 0;
	id_index_done(&g->index);
	for (size_t i = 0; i < g->rows.n; i++) {
		const struct give_row *row = &g->rows.v[i];
		struct sample sample = give_sample(row->series, row->stack, row->value);
		sample.pid = row->pid;
		sample.tid = row->tid;
		if (row->value)
			s->ops->sample(s, &sample);
		n += row->value != 0;
		if ((i + 1) % GIVE_PIECE == 0)
			mem_discard(&g->rows.v[i + 1 - GIVE_PIECE], GIVE_PIECE * sizeof *row);
	}
	vec_clear(&g->rows);
	return n;
}

void give_sums_done(struct give_sums *g)
{
	vec_done(&g->rows);
	id_index_done(&g->index);
}
