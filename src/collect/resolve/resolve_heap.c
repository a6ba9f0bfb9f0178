/* Samples of allocations, and of memory in use. */
#include "collect/resolve/resolver.h"

#include "base/buf.h"
#include "base/clock.h"
#include "collect/process/process.h"
#include "collect/resolve/resolve.h"
#include "mem/live/live_read.h"
#include "profile/state.h"

#include <string.h>

/* --- allocations ------------------------------------------------------------------------------ */

static enum walk_end put_alloc(struct resolver *r, struct process *p, const struct event_gpu *ev,
			       const struct stack_ref *ref, double weight)
{
	const struct gpu_info *g = &ev->gpu;
	struct sample sample = resolver_sample(r, &ev->sample);
	uint64_t key = hash_mix(ev->sample.tgid, g->correlation);
	double bytes = weight * (double)g->value;

	sample.value = heap_whole(bytes, key);
	sample.series = resolver_series(r, p, &ev->sample, r->types.heap.alloc,
					heap_period(bytes - (double)g->value));
	resolver_put(r, p, &sample, ref, ACCOUNT_NONE);
	sample.value = heap_whole(weight, key);
	sample.series = resolver_series(r, p, &ev->sample, r->types.heap.alloc_objects,
					heap_period(weight - 1));
	return resolver_put(r, p, &sample, ref, ACCOUNT_NONE);
}

static enum walk_end keep(struct resolver *r, struct process *p, const struct event_gpu *ev,
			  const struct stack_ref *ref)
{
	enum walk_end end = WALK_COMPLETE;
	const struct gpu_origin origin = {
		.key = resolver_series_key(r, p, &ev->sample, 0, 0),
		.stack = resolver_stack_now(r, p, ref, &end),
		.pid = ev->sample.tgid,
		.tid = r->asked.is_always ? ev->sample.tgid : ev->sample.tid,
	};
	uint32_t id = gpu_origins_put(&r->heap.origins, &origin);

	if (id)
		heap_put(&r->heap, origin.pid, ev->gpu.correlation, id);
	else
		r->heap.refused++;
	return end;
}

/* Memory in use is unknown. */
static enum walk_end put_java(struct resolver *r, struct process *p, const struct event_gpu *ev,
			      const struct event_raw *raw)
{
	const struct gpu_info *g = &ev->gpu;
	const struct stack_ref ref = { .sample = &ev->sample, .raw = raw, .is_runtime = true };
	double weight = r->links.java_weight
				? r->links.java_weight(r->links.heap_ctx, ev->sample.tgid, g)
				: 0;

	if (weight > 0 && !live_is_possible(g->correlation, g->value, weight))
		r->heap.refused++;
	else if (weight > 0 && r->types.heap.alloc != TYPE_NONE)
		return put_alloc(r, p, ev, &ref, weight);
	return WALK_COMPLETE;
}

enum walk_end resolver_heap(struct resolver *r, struct process *p, const struct event_gpu *ev,
			    const struct event_raw *raw)
{
	if (ev->gpu.flags & GPU_HEAP_JAVA)
		return put_java(r, p, ev, raw);
	uint64_t told = ev->gpu.weight;
	double weight = (double)(told & ((1ull << LIVE_BY_SHIFT) - 1)) / LIVE_WEIGHT_1;
	const struct stack_ref ref = { .sample = &ev->sample,
				       .raw = raw,
				       .is_launch = true,
				       .called = live_function_text(told >> LIVE_BY_SHIFT) };
	enum walk_end end = WALK_COMPLETE;

	if (r->links.heap_wants && !r->links.heap_wants(r->links.heap_ctx, ev->sample.tgid))
		return end;
	if (!live_is_possible(ev->gpu.correlation, ev->gpu.value, weight)) {
		r->heap.refused++;
		return end;
	}
	if (r->types.heap.inuse != TYPE_NONE)
		end = keep(r, p, ev, &ref);
	if (r->types.heap.alloc != TYPE_NONE)
		end = put_alloc(r, p, ev, &ref, weight);
	return end;
}

/* --- in use ----------------------------------------------------------------------------------- */

void resolve_heap_begin(struct resolver *r)
{
	r->heap.round++;
	heap_clear(&r->heap.now);
}

bool resolve_heap_is_full(const struct resolver *r)
{
	return r->heap.all.n > (r->heap.many ? r->heap.many : HEAP_SAMPLES_MANY);
}

void resolve_heap_read(struct resolver *r, uint32_t pid)
{
	map_put(&r->heap.read, pid, 1);
}

/* A child of fork has blocks that its parent allocated. */
static uint32_t origin_in(struct resolver *r, uint32_t pid, uint32_t parents)
{
	struct gpu_origin origin = resolver_gpu_origin_of(r, pid);

	origin.stack = gpu_origins_get(&r->heap.origins, parents)->stack;
	return gpu_origins_put(&r->heap.origins, &origin);
}

static uint32_t origin_without_stack(struct resolver *r, uint32_t pid)
{
	struct gpu_origin origin = resolver_gpu_origin_of(r, pid);

	vec_clear(&r->stack);
	resolver_push_marker(r, "[no stack]");
	origin.stack = resolver_stack_without_jit(r);
	return gpu_origins_put(&r->heap.origins, &origin);
}

void resolve_heap_add(struct resolver *r, const struct heap_owner *owner,
		      const struct live_block *block, bool has_ended)
{
	uint32_t origin = heap_find(&r->heap, owner->pid, block->number);

	for (size_t i = 0; !origin && i < HEAP_ANCESTORS && owner->ancestors[i]; i++) {
		origin = heap_find(&r->heap, owner->ancestors[i], block->number);
		if (origin)
			origin = origin_in(r, owner->pid, origin);
	}
	if (!origin)
		origin = origin_without_stack(r, owner->pid);
	const struct heap_blocks blocks = { origin,
					    heap_age(clock_mono_ns() / 1000000000, block->born_s),
					    block->size, 1, block->weight };
	if (origin)
		heap_add(has_ended ? &r->heap.ended : &r->heap.now, &blocks);
}

/* lock: as in the type lock, after the waiting stack, which is unknown. */
static uint32_t go_origin(struct resolver *r, uint32_t pid, uint32_t since_s, const uint64_t *addr,
			  uint32_t n, bool is_lock)
{
	struct process *p = process_find(&r->processes, pid);
	struct buf holder = { 0 };

	if (!p)
		return 0;
	const struct sampled_owner owner = { p->cgroup_id, p->has_uid ? p->uid : EVENT_NO_UID };
	process_labels(&r->labels, p, owner, clock_mono_ns());
	struct gpu_origin origin = resolver_gpu_origin_of(r, pid);
	vec_clear(&r->stack);
	if (is_lock) {
		buf_addf(&holder, STATE_HELD_BY "%.*s]", EVENT_COMM_LEN, p->name);
		resolver_push_marker(r, STATE_GOROUTINES_MARKER);
		resolver_push_marker(r, buf_cstr(&holder));
		buf_done(&holder);
	}
	for (uint32_t i = n; i-- > 0;)
		resolver_push_address(r, p, addr[i] - 1);
	if (is_lock)
		resolver_push_marker(r, STATE_LOCK_MARKER "]");
	origin.stack = resolver_stack_without_jit(r);
	origin.key.since_s = since_s;
	return gpu_origins_put(&r->heap.origins, &origin);
}

uint32_t resolve_go_origin(struct resolver *r, uint32_t pid, uint32_t since_s, const uint64_t *addr,
			   uint32_t n)
{
	return go_origin(r, pid, since_s, addr, n, false);
}

uint32_t resolve_go_lock_origin(struct resolver *r, uint32_t pid, uint32_t since_s,
				const uint64_t *addr, uint32_t n)
{
	return go_origin(r, pid, since_s, addr, n, true);
}

void resolve_go_add(struct resolver *r, const struct go_blocks *b)
{
	struct heap_blocks blocks = { b->origin, 0, b->size, b->allocated, b->weight };

	if (b->allocated)
		heap_add(&r->heap.allocated, &blocks);
	blocks.n = b->in_use;
	if (b->in_use)
		heap_add(&r->heap.now, &blocks);
}

static void put_value(struct resolver *r, uint64_t now_ns, struct gpu_origin origin, uint32_t type,
		      double value, int64_t period)
{
	struct sample sample = {
		.time_ns = now_ns,
		.value = heap_whole(value, hash_mix(origin.stack, origin.tid)),
		.stack = origin.stack,
		.pid = origin.pid,
		.tid = origin.tid,
		.cpu = SAMPLE_NO_ID,
	};

	origin.key.type = type;
	origin.key.period = period;
	sample.series =
		series_cache_get(&r->series, &origin.key, resolver_type_name(&r->types, type));
	if (sample.series != SERIES_LEFT_OUT)
		r->sink->ops->sample(r->sink, &sample);
}

void resolve_go_waits(struct resolver *r, uint64_t now_ns, const struct go_waits *w)
{
	const struct gpu_origin origin = *gpu_origins_get(&r->heap.origins, w->origin);

	if (r->types.lock == TYPE_NONE)
		return;
	if (w->ns > 0)
		put_value(r, now_ns, origin, r->types.lock, w->ns, 0);
	if (w->waits > 0)
		put_value(r, now_ns, origin, r->types.lock_waits, w->waits, 0);
}

static void put_sums(struct resolver *r, uint64_t now_ns, const struct heap_sums *sums,
		     uint32_t bytes_type, uint32_t objects_type)
{
	if (bytes_type == TYPE_NONE)
		return;
	for (size_t i = 0; i < sums->all.n; i++) {
		const struct heap_sum *s = &sums->all.v[i];
		struct gpu_origin origin = *gpu_origins_get(&r->heap.origins, s->origin);

		origin.key.age = s->age;
		put_value(r, now_ns, origin, bytes_type, s->bytes, s->bytes_period);
		put_value(r, now_ns, origin, objects_type, s->objects, s->objects_period);
	}
}

/* --- owners ----------------------------------------------------------------------------------- */

/* By which snapshots are distinguished (query/plan.h). */
static uint64_t owner_of(const struct resolver *r, uint32_t id)
{
	const struct gpu_origin *o = gpu_origins_get(&r->heap.origins, id);

	return hash_mix(hash_bytes(o->key.process, sizeof o->key.process),
			hash_mix(o->pid, o->key.labels));
}

static void put_nothing(struct resolver *r, uint64_t now_ns, uint32_t id)
{
	const struct gpu_origin origin = *gpu_origins_get(&r->heap.origins, id);

	put_value(r, now_ns, origin, r->types.heap.inuse, 0, 0);
	put_value(r, now_ns, origin, r->types.heap.inuse_objects, 0, 0);
}

static bool has_ended(const struct resolver *r, uint32_t id)
{
	return !process_find(&r->processes, gpu_origins_get(&r->heap.origins, id)->pid);
}

/* The last snapshot of a process that has no memory now would still count. */
static void note_ended(struct resolver *r, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < r->heap_owners.n; i++) {
		uint32_t id = r->heap_owners.v[i];

		if (has_ended(r, id))
			put_nothing(r, now_ns, id);
		else
			r->heap_owners.v[n++] = id;
	}
	r->heap_owners.n = n;
}

static void note_owners(struct resolver *r, uint64_t now_ns)
{
	const struct heap_sums *sums = &r->heap.now;
	VEC(uint32_t) owners = { 0 };
	struct map now = { 0 };

	for (size_t i = 0; i < sums->all.n; i++) {
		uint64_t owner = owner_of(r, sums->all.v[i].origin);

		if (!map_get(&now, owner))
			vec_push(&owners, sums->all.v[i].origin);
		map_put(&now, owner, 1);
	}
	for (size_t i = 0; i < r->heap_owners.n; i++)
		if (!map_get(&now, owner_of(r, r->heap_owners.v[i])))
			put_nothing(r, now_ns, r->heap_owners.v[i]);
	vec_clear(&r->heap_owners);
	vec_append(&r->heap_owners, owners.v, owners.n);
	vec_done(&owners);
	map_done(&now);
}

/* --- cuts ------------------------------------------------------------------------------------- */

void resolve_heap_end(struct resolver *r, uint64_t now_ns, enum heap_cut cut)
{
	const struct heap_types *t = &r->types.heap;
	bool has_inuse = t->inuse != TYPE_NONE;

	if (has_inuse && cut == HEAP_ALLOCATED)
		note_ended(r, now_ns);
	if (has_inuse && cut == HEAP_SNAPSHOT)
		note_owners(r, now_ns);
	if (cut >= HEAP_SNAPSHOT)
		put_sums(r, now_ns, &r->heap.now, t->inuse, t->inuse_objects);
	if (cut == HEAP_LAST)
		put_sums(r, now_ns, &r->heap.ended, t->inuse, t->inuse_objects);
	if (cut != HEAP_RELIEF) {
		put_sums(r, now_ns, &r->heap.allocated, t->alloc, t->alloc_objects);
		heap_clear(&r->heap.ended);
		heap_clear(&r->heap.allocated);
	}
	if (cut != HEAP_ALLOCATED)
		heap_forget(&r->heap, r->links.heap_wants, r->links.heap_ctx);
	if (cut != HEAP_RELIEF && r->heap.origins.max &&
	    r->heap.origins.all.n > r->heap.origins.max / 2)
		resolver_heap_renumber(r, false, NULL);
}

/* --- origins ---------------------------------------------------------------------------------- */

/* Sums are empty between cuts, or their stacks are unknown from here on. */
void resolver_heap_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy)
{
	struct heap *h = &r->heap;
	struct origin_moves m;

	heap_clear(&h->now);
	heap_clear(&h->ended);
	heap_clear(&h->allocated);
	if (!h->origins.all.n)
		return;
	origin_moves_begin(&m, r, &h->origins, is_new_sink, copy);
	for (size_t i = 0; i < h->all.n; i++)
		h->all.v[i].origin = origin_moved(&m, h->all.v[i].origin);
	for (size_t i = 0; i < r->heap_owners.n; i++)
		r->heap_owners.v[i] = origin_moved(&m, r->heap_owners.v[i]);
	if (r->links.heap_renamed)
		r->links.heap_renamed(r->links.heap_ctx, origin_moved, &m);
	origin_moves_end(&m);
}

void resolver_heap_init(struct resolver *r)
{
	if (!r->asked.is_always)
		return;
	r->heap.max = HEAP_SAMPLES_ALWAYS;
	r->heap.origins.max = HEAP_ORIGINS_ALWAYS;
}

void resolver_heap_done(struct resolver *r)
{
	heap_done(&r->heap);
	vec_done(&r->heap_owners);
}
