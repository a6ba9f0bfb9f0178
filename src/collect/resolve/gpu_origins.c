/* Interns combinations of stack, thread and labels. */
#include "collect/resolve/gpu_origins.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(struct gpu_origin) == sizeof(struct series_key) + 16,
	       "gpu_origin has no padding");

struct origin_search {
	const struct gpu_origins *origins;
	const struct gpu_origin *want;
};

static bool same_origin(const void *ctx, uint32_t i)
{
	const struct origin_search *s = ctx;

	return memcmp(&s->origins->all.v[i], s->want, sizeof *s->want) == 0;
}

uint32_t gpu_origins_put(struct gpu_origins *o, const struct gpu_origin *origin)
{
	struct origin_search search = { o, origin };

	if (o->all.n >= (o->max ? o->max : (uint32_t)GPU_ORIGINS_MAX))
		return 0;
	uint32_t i = map_intern(&o->index, hash_bytes(origin, sizeof *origin), o->all.n,
				same_origin, &search);
	if (i == o->all.n)
		vec_push(&o->all, *origin);
	return i + 1;
}

const struct gpu_origin *gpu_origins_get(const struct gpu_origins *o, uint32_t id)
{
	assert(id && id <= o->all.n);
	return &o->all.v[id - 1];
}

void gpu_origins_done(struct gpu_origins *o)
{
	vec_done(&o->all);
	map_done(&o->index);
}
