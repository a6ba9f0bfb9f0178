/* Caches stacks of waits in progress by thread and key. */
#include "base/hash.h"
#include "base/vec.h"
#include "collect/resolve/stack_cache.h"

#include <stddef.h>

static void generation_done(struct open_wait_generation *t)
{
	map_done(&t->by_tid);
	vec_done(&t->all);
	*t = (struct open_wait_generation){ 0 };
}

void open_waits_done(struct open_waits *g)
{
	generation_done(&g->young);
	generation_done(&g->old);
}

static struct open_wait *find(const struct open_wait_generation *t, uint32_t tid)
{
	const uint32_t *i = map_get(&t->by_tid, tid);

	return i ? &t->all.v[*i] : NULL;
}

static struct open_wait *put(struct open_wait_generation *t, const struct open_wait *w)
{
	struct open_wait *there = find(t, w->tid);

	if (there) {
		*there = *w;
		return there;
	}
	map_put(&t->by_tid, w->tid, t->all.n);
	vec_push(&t->all, *w);
	return &t->all.v[t->all.n - 1];
}

static void turn(struct open_waits *g, uint64_t now_ns)
{
	if (now_ns < g->young_ns + OPEN_WAITS_KEPT_NS)
		return;
	generation_done(&g->old);
	g->old = g->young;
	g->young = (struct open_wait_generation){ 0 };
	g->young_ns = now_ns;
}

void open_waits_put(struct open_waits *g, const struct open_wait *w, uint64_t now_ns)
{
	turn(g, now_ns);
	put(&g->young, w);
}

const struct open_wait *open_waits_get(struct open_waits *g, uint32_t tid, uint32_t key,
				       uint64_t now_ns)
{
	turn(g, now_ns);
	const struct open_wait *there = find(&g->young, tid), *before;

	if (!there && (before = find(&g->old, tid)))
		there = put(&g->young, before);
	return there && there->key == key ? there : NULL;
}
