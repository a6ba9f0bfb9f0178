#include "format/perf_script_rows.h"

#include "format/perf_script.h"
#include "profile/sum.h"

#include <string.h>

void perf_rows_done(struct perf_rows *r)
{
	for (size_t i = 0; i < r->blocks.n; i++)
		free(r->blocks.v[i]);
	vec_done(&r->blocks);
	map_done(&r->index);
}

static struct sample *perf_row(const struct perf_rows *r, size_t i)
{
	return &r->blocks.v[i / PERF_ROWS_BLOCK][i % PERF_ROWS_BLOCK];
}

static void perf_row_append(struct perf_rows *r, const struct sample *sample)
{
	if (r->n == r->blocks.n * PERF_ROWS_BLOCK)
		vec_push(&r->blocks, xmalloc(PERF_ROWS_BLOCK * sizeof *sample));
	*perf_row(r, r->n++) = *sample;
}

struct perf_row_key {
	const struct perf_rows *r;
	const struct sample *sample;
};

static bool perf_same_row(const void *ctx, uint32_t id)
{
	const struct perf_row_key *key = ctx;
	const struct sample *a = perf_row(key->r, id), *b = key->sample;
	return a->series == b->series && a->stack == b->stack && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu;
}

static void perf_row_sum(struct perf_rows *r, struct sample sample)
{
	sample.time_ns = 0;
	if (r->drop_cpus)
		sample.cpu = SAMPLE_NO_ID;
	struct perf_row_key key = { r, &sample };
	uint64_t hash = hash_mix(hash_mix((uint64_t)sample.series << 32 | sample.stack, sample.cpu),
				 (uint64_t)sample.pid << 32 | sample.tid);
	uint32_t id = map_intern(&r->index, hash, r->n, perf_same_row, &key);
	if (id == r->n) {
		perf_row_append(r, &sample);
		return;
	}
	struct sample *row = perf_row(r, id);
	row->value = sum_add(row->value, sample.value);
}

/* From here on rows are summed; those that are there as well. */
static void perf_rows_sum(struct perf_rows *r, bool drop_cpus)
{
	struct perf_rows all = *r;
	*r = (struct perf_rows){ .is_summed = true, .drop_cpus = drop_cpus };
	r->times_dropped = all.times_dropped + (drop_cpus || !all.is_summed ? all.n : 0);
	for (size_t i = 0; i < all.n; i++)
		perf_row_sum(r, *perf_row(&all, i));
	perf_rows_done(&all);
}

void perf_rows_add(struct perf_rows *r, const struct sample *sample, bool has_time)
{
	bool is_full = r->n == PERF_SCRIPT_MAX_TIMED;
	if ((!r->is_summed && !has_time) || (!r->drop_cpus && is_full))
		perf_rows_sum(r, is_full);
	if (r->is_summed) {
		r->times_dropped += has_time || r->drop_cpus;
		perf_row_sum(r, *sample);
	} else {
		perf_row_append(r, sample);
	}
}

void perf_rows_give(struct perf_rows *r, struct sink *sink)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < r->n; i++) {
		const struct sample *s = perf_row(r, i);
		first = s->time_ns < first ? s->time_ns : first;
		last = s->time_ns > last ? s->time_ns : last;
		sink->ops->sample(sink, s);
		if (i % PERF_ROWS_BLOCK != PERF_ROWS_BLOCK - 1)
			continue;
		free(r->blocks.v[i / PERF_ROWS_BLOCK]);
		r->blocks.v[i / PERF_ROWS_BLOCK] = NULL;
	}
	if (r->times_dropped)
		sink->ops->loss(sink, LOSS_TIMES_DROPPED, r->times_dropped);
	if (r->n == 0 || r->is_summed)
		return;
	struct profile_meta *meta = sink->ops->meta(sink);
	meta->start_mono_ns = first;
	meta->duration_ns = last - first;
}
