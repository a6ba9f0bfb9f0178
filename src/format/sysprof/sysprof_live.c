#include "format/sysprof/sysprof.h"

#include "format/common/give.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <stddef.h>

struct site_key {
	const struct sysprof_live *live;
	const struct give_row *row;
};

static bool same_site(const void *ctx, uint32_t i)
{
	const struct site_key *key = ctx;
	const struct sysprof_site *a = &key->live->sites.v[i];
	return a->stack == key->row->stack && a->pid == key->row->pid && a->tid == key->row->tid;
}

static uint32_t site_of(struct sysprof_live *l, const struct give_row *row)
{
	struct site_key key = { l, row };
	uint64_t hash = hash_mix(hash_mix(row->pid, row->tid), row->stack);
	uint32_t fresh = l->sites.n, i = id_intern(&l->site_index, hash, fresh, same_site, &key);
	if (i == fresh)
		vec_push(&l->sites, (struct sysprof_site){ .stack = row->stack,
							   .pid = row->pid,
							   .tid = row->tid });
	return i;
}

void sysprof_live_add(struct sysprof_live *l, const struct give_row *row, uint64_t address)
{
	struct sysprof_block block = { .size = row->value, .site = site_of(l, row) };
	struct sysprof_site *site = &l->sites.v[block.site];
	site->objects++;
	site->live_objects++;
	site->bytes = sum_add(site->bytes, block.size);
	site->live_bytes = sum_add(site->live_bytes, block.size);
	map_put(&l->by_address, hash_mix(row->pid, address), l->blocks.n);
	vec_push(&l->blocks, block);
}

void sysprof_live_free(struct sysprof_live *l, uint32_t pid, uint64_t address)
{
	uint64_t key = hash_mix(pid, address);
	const uint32_t *i = map_get(&l->by_address, key);
	if (!i)
		return;
	struct sysprof_block *block = &l->blocks.v[*i];
	struct sysprof_site *site = &l->sites.v[block->site];
	site->live_objects--;
	site->live_bytes = sum_sub(site->live_bytes, block->size);
	map_del(&l->by_address, key);
}

static const struct live_type {
	const char *name, *unit;
	size_t value; /* offset in struct sysprof_site */
	uint8_t aggregation;
} live_types[] = {
	{ "alloc_objects", "count", offsetof(struct sysprof_site, objects), AGG_SUM },
	{ "alloc_space", "bytes", offsetof(struct sysprof_site, bytes), AGG_SUM },
	{ "inuse_objects", "count", offsetof(struct sysprof_site, live_objects), AGG_SNAPSHOT },
	{ "inuse_space", "bytes", offsetof(struct sysprof_site, live_bytes), AGG_SNAPSHOT },
};
enum { LIVE_SHOWN = 1, LIVE_TYPES = sizeof live_types / sizeof *live_types };

static void live_give_type(const struct sysprof_live *l, struct sink *s, const struct live_type *t)
{
	struct give_type type = { .name = t->name,
				  .sample_type = t->name,
				  .unit = t->unit,
				  .aggregation = t->aggregation };
	struct sample sample = { .series = give_series(s, &type), .cpu = SAMPLE_NO_ID };
	for (size_t i = 0; i < l->sites.n; i++) {
		const struct sysprof_site *site = &l->sites.v[i];
		sample.value = *(const int64_t *)((const char *)site + t->value);
		sample.stack = site->stack;
		sample.pid = site->pid;
		sample.tid = site->tid;
		if (sample.value)
			s->ops->sample(s, &sample);
	}
}

static void live_blocks_done(struct sysprof_live *l)
{
	vec_done(&l->blocks);
	id_index_done(&l->site_index);
	map_done(&l->by_address);
}

uint64_t sysprof_live_give(struct sysprof_live *l, struct sink *s, bool is_shown)
{
	live_blocks_done(l);
	struct profile_meta *meta = s->ops->meta(s);
	size_t before = meta->sample_types.n;
	for (size_t i = 0; l->sites.n && i < LIVE_TYPES; i++)
		live_give_type(l, s, &live_types[i]);
	if (l->sites.n && is_shown)
		meta->default_type = meta->sample_types.v[before + LIVE_SHOWN];
	return l->sites.n;
}

void sysprof_live_done(struct sysprof_live *l)
{
	vec_done(&l->sites);
	live_blocks_done(l);
}
