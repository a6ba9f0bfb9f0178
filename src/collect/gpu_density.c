#include "collect/gpu_density.h"

static bool is_same(const void *ctx, uint32_t i)
{
	const struct gpu_dense *const *d = ctx;
	const struct gpu_dense *row = &d[1][i];

	return row->pid == d[0]->pid && row->origin == d[0]->origin && row->work == d[0]->work &&
	       row->samples == d[0]->samples;
}

void gpu_density_add(struct gpu_density *d, const struct gpu_dense *ran)
{
	if (d->rows.n >= GPU_DENSITY_ROWS)
		gpu_density_flush(d);
	const struct gpu_dense *ctx[] = { ran, d->rows.v };
	uint64_t key =
		hash_mix(hash_mix(ran->pid, ran->origin), (uint64_t)ran->samples << 32 | ran->work);
	uint32_t i = map_intern(&d->index, key, d->rows.n, is_same, ctx);

	if (i == d->rows.n)
		vec_push(&d->rows, *ran);
	else
		d->rows.v[i].ns += ran->ns;
}

void gpu_density_flush(struct gpu_density *d)
{
	for (size_t i = 0; i < d->rows.n; i++)
		d->give(d->ctx, &d->rows.v[i]);
	vec_clear(&d->rows);
	map_clear(&d->index);
}

void gpu_density_done(struct gpu_density *d)
{
	vec_done(&d->rows);
	map_done(&d->index);
}
