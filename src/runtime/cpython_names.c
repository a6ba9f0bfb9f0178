#include "runtime/cpython_names.h"

void cpython_names_done(struct cpython_names *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		cpython_code_done(&n->v.v[i].code);
	vec_done(&n->v);
	map_done(&n->by_code);
	n->bytes = 0;
}

struct wanted {
	const struct cpython_names *names;
	uint64_t addr;
	uint32_t stamp;
};

static bool is_wanted(const void *ctx, uint32_t value)
{
	const struct wanted *w = ctx;
	const struct cpython_kept *k = &w->names->v.v[value];

	return k->addr == w->addr && k->stamp == w->stamp;
}

const struct cpython_kept *cpython_names_get(const struct cpython_names *n, uint64_t addr,
					     uint32_t stamp)
{
	const struct wanted wanted = { n, addr, stamp };
	uint32_t at;

	return map_lookup(&n->by_code, hash_mix(addr, stamp), is_wanted, &wanted, &at) ? &n->v.v[at]
										       : NULL;
}

const struct cpython_kept *cpython_names_add(struct cpython_names *n, struct cpython_kept kept)
{
	if (n->v.n >= CPYTHON_MAX_KEPT || n->bytes >= CPYTHON_MAX_KEPT_BYTES)
		cpython_names_done(n);
	const struct wanted wanted = { n, kept.addr, kept.stamp };
	uint32_t fresh = n->v.n;
	vec_push(&n->v, kept);
	n->bytes += cpython_code_size(&kept.code);
	map_intern(&n->by_code, hash_mix(kept.addr, kept.stamp), fresh, is_wanted, &wanted);
	return &n->v.v[fresh];
}
