/* One row per allocation, by process and address. */
#include "collect/resolve/gpu_live.h"

static uint64_t key_of(uint32_t pid, uint64_t address, uint32_t flags)
{
	return hash_mix(hash_mix(pid, flags), address);
}

/* Two keys of 64 bits collide in one of some 10^7 full tables: that row is then replaced. */
static uint32_t *row_of(const struct gpu_live *l, uint32_t pid, uint64_t address, uint32_t flags)
{
	return map_get(&l->by_address, key_of(pid, address, flags));
}

void gpu_live_drop(struct gpu_live *l, uint32_t row)
{
	struct gpu_allocation *a = &l->all.v[row];

	map_del(&l->by_address, key_of(a->pid, a->address, a->flags));
	a->is_live = false;
	vec_push(&l->free_rows, row);
}

static void drop_and_tell(struct gpu_live *l, uint32_t row)
{
	gpu_live_drop(l, row);
	if (l->gone)
		l->gone(l->ctx, &l->all.v[row]);
}

void gpu_live_add(struct gpu_live *l, const struct gpu_allocation *a)
{
	uint32_t *old = row_of(l, a->pid, a->address, a->flags), row = l->all.n;

	if (old) {
		l->all.v[*old] = *a;
		l->all.v[*old].is_live = true;
		return;
	}
	if (l->free_rows.n) {
		row = l->free_rows.v[--l->free_rows.n];
	} else if (l->all.n >= (l->max ? l->max : (uint32_t)GPU_LIVE_MAX)) {
		l->refused++;
		return;
	} else {
		vec_push(&l->all, (struct gpu_allocation){ 0 });
	}
	l->all.v[row] = *a;
	l->all.v[row].is_live = true;
	map_put(&l->by_address, key_of(a->pid, a->address, a->flags), row);
}

void gpu_live_free(struct gpu_live *l, uint32_t pid, uint64_t address, uint32_t flags)
{
	const uint32_t *row = row_of(l, pid, address, flags);

	if (row)
		gpu_live_drop(l, *row);
}

void gpu_live_reset(struct gpu_live *l, uint32_t pid, uint64_t context, uint64_t until_ns)
{
	for (size_t i = 0; i < l->all.n; i++) {
		const struct gpu_allocation *a = &l->all.v[i];

		if (a->is_live && a->pid == pid && a->context == context && a->time_ns <= until_ns)
			drop_and_tell(l, i);
	}
}

void gpu_live_end(struct gpu_live *l, uint32_t pid)
{
	for (size_t i = 0; l->by_address.n && i < l->all.n; i++)
		if (l->all.v[i].is_live && l->all.v[i].pid == pid)
			drop_and_tell(l, i);
}

void gpu_live_done(struct gpu_live *l)
{
	map_done(&l->by_address);
	vec_done(&l->all);
	vec_done(&l->free_rows);
}
