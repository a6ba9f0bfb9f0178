#include "collect/resolver.h"

#include <string.h>

/* Calls of a GPU's libraries: what each is worth, in its type. */

const char *resolver_gpu_type_name(const struct resolve_types *t, uint32_t type)
{
	const struct gpu_types *g = &t->gpu;

	return type == g->launch   ? "gpu-launch"
	       : type == g->wait   ? "gpu-wait"
	       : type == g->copy   ? "gpu-copy"
	       : type == g->nccl   ? "nccl"
	       : type == g->alloc  ? "hbm-alloc"
	       : type == g->time   ? "gpu-time"
	       : type == g->window ? "gpu-window"
				   : "hbm-inuse";
}

/* Memory of code without names, so that an allocation need not wait for them. */
static uint32_t stack_now(struct resolver *r, struct process *p, const struct stack_ref *ref,
			  enum walk_end *end)
{
	struct resolved_stack stack;

	if (resolver_stack(r, p, ref, &stack)) {
		*end = stack.end;
		return stack.stack;
	}
	*end = stack.end;
	return resolver_stack_without_jit(r);
}

static enum walk_end put_alloc(struct resolver *r, struct process *p, const struct event_gpu *ev,
			       const struct stack_ref *ref)
{
	const struct gpu_info *g = &ev->gpu;
	struct sample sample = resolver_sample(r, &ev->sample);
	struct gpu_allocation a = { .address = g->address,
				    .bytes = g->value,
				    .time_ns = sample.time_ns,
				    .context = g->context,
				    .pid = sample.pid,
				    .tid = sample.tid,
				    .flags = g->flags };
	enum walk_end end;

	a.stack = sample.stack = stack_now(r, p, ref, &end);
	sample.value = g->value;
	if (r->types.gpu.alloc != TYPE_NONE) {
		sample.series = resolver_series(r, p, &ev->sample, r->types.gpu.alloc, 0);
		if (sample.series == SERIES_LEFT_OUT)
			r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
		else
			r->sink->ops->sample(r->sink, &sample);
	}
	if (r->types.gpu.inuse != TYPE_NONE) {
		a.series = resolver_series(r, p, &ev->sample, r->types.gpu.inuse, 0);
		if (a.series != SERIES_LEFT_OUT)
			gpu_live_add(&r->gpu_live, &a);
	}
	return end;
}

/* Of a launch that a library in the program tells of: who asked has its work by the correlation id. */
static enum walk_end hand_stack(struct resolver *r, struct process *p, const struct event_gpu *ev,
				const struct stack_ref *ref)
{
	enum walk_end end = WALK_COMPLETE;
	uint32_t stack = stack_now(r, p, ref, &end);

	if (r->opts.gpu_stack)
		r->opts.gpu_stack(r->opts.gpu_stack_ctx, ev->sample.tgid, ev->sample.tid,
				  ev->gpu.correlation, stack, ev->gpu.weight);
	if (r->opts.gpu_launch) {
		struct gpu_origin origin = {
			.key = resolver_series_key(r, p, &ev->sample, r->types.gpu.time, 0),
			.stack = stack,
			.pid = ev->sample.tgid,
			.tid = ev->sample.tid,
		};
		uint32_t id = gpu_origins_put(&r->gpu_origins, &origin);

		if (id)
			r->opts.gpu_launch(r->opts.gpu_launch_ctx, ev->sample.tgid,
					   ev->gpu.correlation, id, ev->gpu.weight);
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
	sample.series = resolver_series(r, p, &ev->sample, type, 0);
	return resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
}

void resolve_gpu_snapshot(struct resolver *r, uint64_t now_ns,
			  bool (*is_there)(void *ctx, uint32_t pid, uint64_t address,
					   uint32_t flags),
			  void *ctx)
{
	for (size_t i = 0; i < r->gpu_live.all.n; i++) {
		const struct gpu_allocation *a = &r->gpu_live.all.v[i];
		struct sample sample = {
			.time_ns = now_ns,
			.value = a->bytes,
			.series = a->series,
			.stack = a->stack,
			.pid = a->pid,
			.tid = a->tid,
			.cpu = SAMPLE_NO_ID,
		};

		if (a->is_live && is_there(ctx, a->pid, a->address, a->flags))
			r->sink->ops->sample(r->sink, &sample);
	}
}

/* One whose launch was not told of: what is known of its process by now. */
static struct gpu_origin origin_of(struct resolver *r, const struct gpu_ran *ran)
{
	const struct process *p = process_find(&r->processes, ran->pid);
	struct gpu_origin origin = { .pid = ran->pid, .tid = ran->pid };

	if (ran->origin)
		return *gpu_origins_get(&r->gpu_origins, ran->origin);
	if (p) {
		memcpy(origin.key.comm, p->name, strnlen(p->name, sizeof origin.key.comm));
		memcpy(origin.key.process, origin.key.comm, sizeof origin.key.process);
		origin.key.labels = p->labels;
	}
	return origin;
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
	sample.series = series_cache_get(&r->series, &origin.key,
					 resolver_gpu_type_name(&r->types, ran->type));
	if (sample.series == SERIES_LEFT_OUT) {
		r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
		return;
	}
	sample.stack = r->sink->ops->stack_above(r->sink, origin.stack, ran->frames, ran->n_frames);
	r->sink->ops->sample(r->sink, &sample);
}
