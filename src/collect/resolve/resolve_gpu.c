/* Series and samples of GPU work. */
#include "collect/resolve/resolver.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/resolve/resolve.h"
#include "profile/copy.h"

#include <stdlib.h>
#include <string.h>

/* Calls of GPU libraries: puts the value of each into its type. */

static void put_sample(struct resolver *r, const struct sample *sample)
{
	if (sample->series == SERIES_LEFT_OUT)
		r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
	else
		r->sink->ops->sample(r->sink, sample);
}

/* The caller and its stack: used for memory and for GPU work. */
static uint32_t put_origin(struct resolver *r, struct process *p, const struct event_gpu *ev,
			   uint32_t stack)
{
	struct gpu_origin origin = {
		.key = resolver_series_key(r, p, &ev->sample, 0, 0),
		.stack = stack,
		.pid = ev->sample.tgid,
		.tid = ev->sample.tid,
	};

	return gpu_origins_put(&r->gpu_origins, &origin);
}

static void keep_alloc(struct resolver *r, struct process *p, const struct event_gpu *ev,
		       uint32_t stack)
{
	const struct gpu_info *g = &ev->gpu;
	struct gpu_allocation a = { .address = g->address,
				    .bytes = g->value,
				    .time_ns = ev->sample.time_ns,
				    .context = g->context,
				    .pid = ev->sample.tgid,
				    .flags = g->flags,
				    .origin = put_origin(r, p, ev, stack) };

	if (a.origin)
		gpu_live_add(&r->gpu_live, &a);
	else
		r->gpu_live.refused++;
}

static enum walk_end put_alloc(struct resolver *r, struct process *p, const struct event_gpu *ev,
			       const struct stack_ref *ref)
{
	struct sample sample = resolver_sample(r, &ev->sample);
	enum walk_end end;

	sample.stack = resolver_stack_now(r, p, ref, &end);
	if (r->types.gpu.alloc != TYPE_NONE) {
		sample.value = ev->gpu.value;
		sample.series = resolver_series(r, p, &ev->sample, r->types.gpu.alloc, 0);
		put_sample(r, &sample);
		sample.value = 1;
		sample.series = resolver_series(r, p, &ev->sample, r->types.gpu.alloc_objects, 0);
		put_sample(r, &sample);
	}
	if (r->types.gpu.inuse != TYPE_NONE)
		keep_alloc(r, p, ev, sample.stack);
	return end;
}

/* For a launch reported by a library in the program: the receiver knows its work by the correlation
 * id. */
static enum walk_end hand_stack(struct resolver *r, struct process *p, const struct event_gpu *ev,
				const struct stack_ref *ref)
{
	enum walk_end end = WALK_COMPLETE;
	uint32_t stack = resolver_stack_now(r, p, ref, &end);

	if (r->links.gpu_stack)
		r->links.gpu_stack(r->links.gpu_stack_ctx, ev->sample.tgid, ev->sample.tid,
				   ev->gpu.correlation, stack, ev->gpu.weight);
	if (r->links.gpu_launch) {
		uint32_t id = put_origin(r, p, ev, stack);

		if (id)
			r->links.gpu_launch(r->links.gpu_launch_ctx, ev->sample.tgid,
					    ev->gpu.correlation, id, ev->gpu.weight,
					    ev->sample.time_ns);
	}
	return end;
}

enum walk_end resolver_gpu(struct resolver *r, struct process *p, const struct event_gpu *ev,
			   const struct event_raw *raw)
{
	const struct gpu_types *t = &r->types.gpu;
	const struct gpu_info *g = &ev->gpu;
	struct stack_ref ref = { .sample = &ev->sample, .raw = raw };
	struct sample sample = resolver_sample(r, &ev->sample);
	uint32_t type = TYPE_NONE;

	switch (g->what) {
	case GPU_LAUNCH:
		type = t->launch;
		sample.value = g->weight;
		break;
	case GPU_WAIT:
		type = t->wait;
		sample.time_ns = g->start_ns;
		sample.length_ns = sample.value = g->value;
		break;
	case GPU_COPY:
		type = t->copy;
		sample.value = g->value * g->weight;
		break;
	case GPU_NCCL:
		type = t->nccl;
		sample.value = g->value * g->weight;
		break;
	case GPU_STACK:
		ref.is_launch = true;
		return hand_stack(r, p, ev, &ref);
	case GPU_HEAP:
		return resolver_heap(r, p, ev, raw);
	case GPU_ALLOC:
		return put_alloc(r, p, ev, &ref);
	case GPU_FREE:
		gpu_live_free(&r->gpu_live, ev->sample.tgid, g->address, g->flags);
		break;
	case GPU_RESET:
		gpu_live_reset(&r->gpu_live, ev->sample.tgid, g->context, ev->sample.time_ns);
		break;
	}
	if (type == TYPE_NONE)
		return WALK_COMPLETE;
	sample.series = resolver_series_how(r, p, &ev->sample, type, 0, g->how);
	return resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
}

/* --- memory in use ---------------------------------------------------------------------------- */

struct in_use {
	uint64_t bytes, objects;
};

static void put_value(struct resolver *r, uint64_t now_ns, struct gpu_origin origin, uint32_t type,
		      uint64_t value)
{
	struct sample sample = {
		.time_ns = now_ns,
		.value = value,
		.stack = origin.stack,
		.pid = origin.pid,
		.tid = origin.tid,
		.cpu = SAMPLE_NO_ID,
	};

	origin.key.type = type;
	sample.series =
		series_cache_get(&r->series, &origin.key, resolver_type_name(&r->types, type));
	if (sample.series != SERIES_LEFT_OUT)
		r->sink->ops->sample(r->sink, &sample);
}

static void put_in_use(struct resolver *r, uint64_t now_ns, uint32_t id, struct in_use sum)
{
	const struct gpu_origin *origin = gpu_origins_get(&r->gpu_origins, id);

	put_value(r, now_ns, *origin, r->types.gpu.inuse, sum.bytes);
	put_value(r, now_ns, *origin, r->types.gpu.inuse_objects, sum.objects);
}

/* Returns the owner of an allocation, by which snapshots are distinguished (query/plan.h). */
static uint64_t owner_of(const struct resolver *r, uint32_t id)
{
	const struct gpu_origin *o = gpu_origins_get(&r->gpu_origins, id);

	return hash_mix(hash_bytes(o->key.process, sizeof o->key.process),
			hash_mix(o->pid, o->key.labels));
}

/* Returns sums by origin, from 1 on. */
static struct in_use *sums_in_use(struct resolver *r,
				  bool (*is_there)(void *ctx, uint32_t pid, uint64_t address,
						   uint32_t flags),
				  void *ctx)
{
	struct in_use *sums = xcalloc(r->gpu_origins.all.n + 1, sizeof *sums);

	for (size_t i = 0; i < r->gpu_live.all.n; i++) {
		const struct gpu_allocation *a = &r->gpu_live.all.v[i];

		if (!a->is_live)
			continue;
		if (is_there && !is_there(ctx, a->pid, a->address, a->flags)) {
			gpu_live_drop(&r->gpu_live, i);
			continue;
		}
		sums[a->origin].bytes += a->bytes;
		sums[a->origin].objects++;
	}
	return sums;
}

/* An owner that had memory and has none now gets one last sample: otherwise its last value would
 * still count. */
static void note_owners(struct resolver *r, uint64_t now_ns, const struct in_use *sums)
{
	struct map now = { 0 };
	VEC(uint32_t) owners = { 0 };

	for (uint32_t id = 1; id <= r->gpu_origins.all.n; id++) {
		uint64_t owner = sums[id].objects ? owner_of(r, id) : 0;

		if (!sums[id].objects || map_get(&now, owner))
			continue;
		map_put(&now, owner, 1);
		vec_push(&owners, id);
	}
	for (size_t i = 0; i < r->gpu_owners.n; i++)
		if (!map_get(&now, owner_of(r, r->gpu_owners.v[i])))
			put_in_use(r, now_ns, r->gpu_owners.v[i], (struct in_use){ 0 });
	vec_clear(&r->gpu_owners);
	vec_append(&r->gpu_owners, owners.v, owners.n);
	vec_done(&owners);
	map_done(&now);
}

void resolve_gpu_snapshot(struct resolver *r, uint64_t now_ns,
			  bool (*is_there)(void *ctx, uint32_t pid, uint64_t address,
					   uint32_t flags),
			  void *ctx)
{
	if (r->types.gpu.inuse == TYPE_NONE || (!r->gpu_live.by_address.n && !r->gpu_owners.n))
		return;
	struct in_use *sums = sums_in_use(r, is_there, ctx);

	for (uint32_t id = 1; id <= r->gpu_origins.all.n; id++)
		if (sums[id].objects)
			put_in_use(r, now_ns, id, sums[id]);
	note_owners(r, now_ns, sums);
	free(sums);
}

/* --- origins ---------------------------------------------------------------------------------- */

void origin_moves_begin(struct origin_moves *m, struct resolver *r, struct gpu_origins *origins,
			bool is_new_sink, struct profile_copy *copy)
{
	*m = (struct origin_moves){ r, *origins, origins, NULL, is_new_sink, copy };
	m->to = xcalloc(m->old.all.n + 1, sizeof *m->to);
	*origins = (struct gpu_origins){ .max = m->old.max };
}

uint32_t origin_moved(void *moves, uint32_t id)
{
	struct origin_moves *m = moves;

	if (!id || m->to[id])
		return id ? m->to[id] - 1 : 0;
	struct gpu_origin origin = *gpu_origins_get(&m->old, id);
	if (m->is_new_sink) {
		const struct process *p = process_find(&m->r->processes, origin.pid);

		origin.key.labels = p ? p->labels : 0;
		origin.stack = m->copy ? profile_copy_stack(m->copy, origin.stack) : 0;
	}
	uint32_t now = gpu_origins_put(m->now, &origin);
	m->to[id] = now + 1;
	return now;
}

void origin_moves_end(struct origin_moves *m)
{
	gpu_origins_done(&m->old);
	free(m->to);
}

void resolver_gpu_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy)
{
	struct origin_moves m;

	if (!r->gpu_origins.all.n)
		return;
	origin_moves_begin(&m, r, &r->gpu_origins, is_new_sink, copy);
	for (size_t i = 0; i < r->gpu_live.all.n; i++)
		if (r->gpu_live.all.v[i].is_live)
			r->gpu_live.all.v[i].origin = origin_moved(&m, r->gpu_live.all.v[i].origin);
	for (size_t i = 0; i < r->gpu_owners.n; i++)
		r->gpu_owners.v[i] = origin_moved(&m, r->gpu_owners.v[i]);
	for (size_t i = 0; i < r->gpu_befores.n; i++)
		r->gpu_befores.v[i] = origin_moved(&m, r->gpu_befores.v[i]);
	if (r->links.gpu_renamed)
		r->links.gpu_renamed(r->links.gpu_ctx, origin_moved, &m);
	origin_moves_end(&m);
}

void resolver_gpu_done(struct resolver *r)
{
	gpu_names_done(&r->gpu_names);
	gpu_live_done(&r->gpu_live);
	gpu_origins_done(&r->gpu_origins);
	vec_done(&r->gpu_owners);
	vec_done(&r->gpu_befores);
}

void resolve_gpu_trim(struct resolver *r)
{
	uint32_t max = r->gpu_origins.max ? r->gpu_origins.max : (uint32_t)GPU_ORIGINS_MAX;

	if (r->gpu_origins.all.n > max / 2)
		resolver_gpu_renumber(r, false, NULL);
}

/* --- GPU work --------------------------------------------------------------------------------- */

struct gpu_origin resolver_gpu_origin_of(struct resolver *r, uint32_t pid)
{
	const struct process *p = process_find(&r->processes, pid);
	struct gpu_origin origin = { .pid = pid, .tid = pid };

	if (p) {
		memcpy(origin.key.comm, p->name, strnlen(p->name, sizeof origin.key.comm));
		memcpy(origin.key.process, origin.key.comm, sizeof origin.key.process);
		origin.key.labels = p->labels;
	}
	return origin;
}

static uint32_t type_of(const struct resolver *r, uint32_t events)
{
	const struct heap_types *heap = &r->types.heap;

	if (!(events & COLLECT_HEAP))
		return events & COLLECT_LOCK ? r->types.lock : r->types.gpu.time;
	return heap->inuse == TYPE_NONE ? heap->alloc : heap->inuse;
}

bool resolve_ask_labels(struct resolver *r, uint32_t pid, uint32_t events,
			const struct series_hook *hook)
{
	struct process *p = process_find(&r->processes, pid);

	if (!p)
		return false;
	const struct sampled_owner owner = { p->cgroup_id, p->has_uid ? p->uid : EVENT_NO_UID };
	process_labels(&r->labels, p, owner, clock_mono_ns());
	const struct gpu_origin origin = resolver_gpu_origin_of(r, pid);
	return series_cache_ask(&r->series, &origin.key,
				resolver_type_name(&r->types, type_of(r, events)), hook);
}

/* Falls back to the process if its launch was not seen. */
static struct gpu_origin origin_of(struct resolver *r, const struct gpu_ran *ran)
{
	return ran->origin ? *gpu_origins_get(&r->gpu_origins, ran->origin)
			   : resolver_gpu_origin_of(r, ran->pid);
}

/* Rounds down to 1, 2 or 5 times a power of ten, so that the label has few values. An interval
 * becomes too wide rather than too narrow. */
static uint32_t round_down(uint32_t n)
{
	uint32_t step = 1;

	while (n / 10 >= step)
		step *= 10;
	return n / step >= 5 ? 5 * step : n / step >= 2 ? 2 * step : n ? step : 0;
}

struct gpu_names *resolve_gpu_names(struct resolver *r)
{
	return &r->gpu_names;
}

void resolve_gpu_ran(struct resolver *r, const struct gpu_ran *ran)
{
	struct gpu_origin origin = origin_of(r, ran);
	struct sample sample = {
		.time_ns = ran->start_ns,
		.length_ns = ran->length_ns,
		.value = ran->ns,
		.pid = origin.pid,
		.tid = origin.tid,
		.cpu = SAMPLE_NO_ID,
	};

	origin.key.type = ran->type;
	origin.key.gpu = ran->gpu;
	origin.key.stream = ran->stream;
	origin.key.samples = round_down(ran->samples);
	origin.key.period = ran->period;
	sample.series =
		series_cache_get(&r->series, &origin.key, resolver_type_name(&r->types, ran->type));
	if (sample.series == SERIES_LEFT_OUT) {
		r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
		return;
	}
	sample.stack = r->sink->ops->stack_above(r->sink, origin.stack, ran->frames, ran->n_frames);
	if (ran->n_more)
		sample.stack =
			r->sink->ops->stack_above(r->sink, sample.stack, ran->more, ran->n_more);
	r->sink->ops->sample(r->sink, &sample);
}
