#include "collect/going_on.h"

#include <stddef.h>

#define GENERATION_NS 60000000000ull

static void generation_done(struct going_on_generation *t)
{
	map_done(&t->by_tid);
	vec_done(&t->all);
	*t = (struct going_on_generation){ 0 };
}

void going_on_done(struct going_on *g)
{
	generation_done(&g->young);
	generation_done(&g->old);
}

static struct going_on_wait *find(const struct going_on_generation *t, uint32_t tid)
{
	const uint32_t *i = map_get(&t->by_tid, tid);

	return i ? &t->all.v[*i] : NULL;
}

static struct going_on_wait *put(struct going_on_generation *t, const struct going_on_wait *w)
{
	struct going_on_wait *there = find(t, w->tid);

	if (there) {
		*there = *w;
		return there;
	}
	map_put(&t->by_tid, w->tid, t->all.n);
	vec_push(&t->all, *w);
	return &t->all.v[t->all.n - 1];
}

static void turn(struct going_on *g, uint64_t now_ns)
{
	if (now_ns < g->young_ns + GENERATION_NS)
		return;
	generation_done(&g->old);
	g->old = g->young;
	g->young = (struct going_on_generation){ 0 };
	g->young_ns = now_ns;
}

void going_on_put(struct going_on *g, const struct going_on_wait *w, uint64_t now_ns)
{
	turn(g, now_ns);
	put(&g->young, w);
}

const struct going_on_wait *going_on_get(struct going_on *g, uint32_t tid, uint32_t key,
					 uint64_t now_ns)
{
	turn(g, now_ns);
	const struct going_on_wait *there = find(&g->young, tid), *before;

	if (!there && (before = find(&g->old, tid)))
		there = put(&g->young, before);
	return there && there->key == key ? there : NULL;
}
