/* GPU memory that processes had before it was counted. */
#include "base/mem.h"
#include "base/vec.h"
#include "collect/resolve/resolve.h"
#include "collect/resolve/resolver.h"
#include "gpu/device/backend.h"

#include <stdlib.h>
#include <string.h>

struct told_memory {
	uint32_t pid, device;
	int64_t time_ns;
	bool is_seen; /* an allocation of it was counted */
	uint64_t told_bytes, counted_bytes;
};

static int compare_pids(const void *a, const void *b)
{
	const struct told_memory *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int compare_told(const void *a, const void *b)
{
	const struct told_memory *x = a, *y = b;

	if (x->pid != y->pid)
		return compare_pids(a, b);
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Adds up the latest figures of each process's devices, sorted by pid. Returns the number of
 * processes. */
static size_t add_up_told(const struct gpu_reading *told, struct told_memory *all)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < told->processes.n; i++) {
		const struct gpu_process *p = &told->processes.v[i];

		if (p->has_memory)
			all[n++] = (struct told_memory){ p->pid, p->device,       p->time_ns,
							 false,  p->memory_bytes, 0 };
	}
	if (n)
		qsort(all, n, sizeof *all, compare_told);
	for (size_t i = 0; i < n; i++) {
		bool is_last = i + 1 == n || all[i + 1].pid != all[i].pid ||
			       all[i + 1].device != all[i].device;

		if (!is_last)
			continue;
		if (!kept || all[kept - 1].pid != all[i].pid)
			all[kept++] = all[i];
		else
			all[kept - 1].told_bytes += all[i].told_bytes;
	}
	return kept;
}

static void add_up_counted(const struct gpu_live *live, struct told_memory *all, size_t n)
{
	for (size_t i = 0; n && i < live->all.n; i++) {
		const struct gpu_allocation *a = &live->all.v[i];
		const struct told_memory key = { .pid = a->pid };
		struct told_memory *t = bsearch(&key, all, n, sizeof *all, compare_pids);

		if (!t)
			continue;
		t->is_seen = true;
		t->counted_bytes += a->is_live ? a->bytes : 0;
	}
}

static struct gpu_origin before_of(struct resolver *r, uint32_t pid)
{
	struct gpu_origin origin = resolver_gpu_origin_of(r, pid);
	struct frame f = { .kind = FRAME_MARKER,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(r->sink, "[before attach]") };
	uint32_t frame = r->sink->ops->frame(r->sink, &f);

	origin.stack = r->sink->ops->stack(r->sink, &frame, 1);
	origin.key.type = r->types.gpu.inuse;
	origin.key.how = GPU_HOW_ESTIMATE;
	return origin;
}

static void put_before(struct resolver *r, uint64_t now_ns, const struct gpu_origin *origin,
		       uint64_t bytes)
{
	struct series_key key = origin->key;
	struct sample sample = {
		.time_ns = now_ns,
		.value = bytes,
		.stack = origin->stack,
		.pid = origin->pid,
		.tid = origin->tid,
		.cpu = SAMPLE_NO_ID,
	};

	key.type = r->types.gpu.inuse;
	sample.series = series_cache_get(&r->series, &key, resolver_type_name(&r->types, key.type));
	if (sample.series == SERIES_LEFT_OUT)
		r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
	else
		r->sink->ops->sample(r->sink, &sample);
}

static bool has_pid(const struct resolver *r, const uint32_t *ids, size_t n, uint32_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (gpu_origins_get(&r->gpu_origins, ids[i])->pid == pid)
			return true;
	return false;
}

/* A process that had memory and has none now gets one last sample, as for counted memory. The first
 * n entries are those of the last call. */
static void end_befores(struct resolver *r, uint64_t now_ns, size_t n)
{
	const uint32_t *ids = r->gpu_befores.v;
	size_t now = r->gpu_befores.n - n;

	for (size_t i = 0; i < n; i++) {
		const struct gpu_origin *o = gpu_origins_get(&r->gpu_origins, ids[i]);

		if (!has_pid(r, ids + n, now, o->pid))
			put_before(r, now_ns, o, 0);
	}
	if (now)
		memmove(r->gpu_befores.v, ids + n, now * sizeof *ids);
	r->gpu_befores.n = now;
}

void resolve_gpu_before(struct resolver *r, uint64_t now_ns, const struct gpu_reading *told,
			bool (*is_target)(void *ctx, uint32_t pid), void *ctx)
{
	struct told_memory *all = xcalloc(told->processes.n + 1, sizeof *all);
	size_t n = add_up_told(told, all);

	size_t last = r->gpu_befores.n;

	add_up_counted(&r->gpu_live, all, n);
	for (size_t i = 0; i < n; i++) {
		if (!(all[i].is_seen || is_target(ctx, all[i].pid)) ||
		    all[i].told_bytes <= all[i].counted_bytes)
			continue;
		const struct gpu_origin origin = before_of(r, all[i].pid);
		uint32_t id = gpu_origins_put(&r->gpu_origins, &origin);

		put_before(r, now_ns, &origin, all[i].told_bytes - all[i].counted_bytes);
		if (id)
			vec_push(&r->gpu_befores, id);
	}
	end_befores(r, now_ns, last);
	free(all);
}
