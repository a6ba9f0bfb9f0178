#include "profile/origins.h"

void origin_add(struct origin_table *t, uint32_t mapping, uint32_t name, uint64_t frames)
{
	uint64_t key = (uint64_t)mapping << 32 | name;
	uint32_t i = map_intern(&t->index, key, t->all.n, NULL, NULL);
	if (i == t->all.n)
		vec_push(&t->all, (struct origin){ .mapping = mapping, .name = name });
	struct origin *o = &t->all.v[i];
	o->frames = o->frames > UINT64_MAX - frames ? UINT64_MAX : o->frames + frames;
}

void origin_table_done(struct origin_table *t)
{
	vec_done(&t->all);
	map_done(&t->index);
}
