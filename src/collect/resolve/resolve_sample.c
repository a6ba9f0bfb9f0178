/* Makes samples from resolved stacks: series, labels, time and value. */
#include "collect/resolve/resolver.h"

#include "base/clock.h"
#include "collect/process/process.h"
#include "collect/process/symbolize.h"
#include "collect/resolve/labels.h"
#include "collect/resolve/order.h"
#include "profile/link.h"

#include <string.h>

/* Puts the value of an event into each of its types: on a CPU, waiting, a thread's times. */

/* --- labels ----------------------------------------------------------------------------------- */

static const char *heap_type_name(const struct heap_types *h, uint32_t type)
{
	return type == h->alloc           ? "alloc"
	       : type == h->alloc_objects ? "alloc-objects"
	       : type == h->inuse         ? "inuse"
	       : type == h->inuse_objects ? "inuse-objects"
					  : NULL;
}

static const char *gpu_type_name(const struct gpu_types *g, uint32_t type)
{
	return type == g->launch          ? "gpu-launch"
	       : type == g->wait          ? "gpu-wait"
	       : type == g->copy          ? "gpu-copy"
	       : type == g->nccl          ? "nccl"
	       : type == g->alloc         ? "hbm-alloc"
	       : type == g->time          ? "gpu-time"
	       : type == g->window        ? "gpu-window"
	       : type == g->queue         ? "gpu-queue"
	       : type == g->stall         ? "gpu-stall"
	       : type == g->not_issued    ? "gpu-stall-not-issued"
	       : type == g->alloc_objects ? "hbm-alloc-objects"
	       : type == g->inuse_objects ? "hbm-inuse-objects"
					  : "hbm-inuse";
}

const char *resolver_type_name(const struct resolve_types *t, uint32_t type)
{
	const char *heap = heap_type_name(&t->heap, type);

	return heap                    ? heap
	       : type == t->cpu        ? "cpu"
	       : type == t->off_cpu    ? "off-cpu"
	       : type == t->sched_wait ? "sched-wait"
	       : type == t->wall       ? "wall"
	       : type == t->lock       ? "lock"
	       : type == t->lock_waits ? "lock-waits"
	       : type == t->page_fault ? "page-fault"
	       : type == t->rss        ? "rss"
				       : gpu_type_name(&t->gpu, type);
}

struct series_key resolver_series_key(struct resolver *r, struct process *p,
				      const struct event_sample *s, uint32_t type,
				      int64_t period_ns)
{
	struct series_key key = { .type = type, .period = period_ns };

	memcpy(key.comm, s->comm, strnlen(s->comm, sizeof s->comm));
	if (s->tid == s->tgid) /* the process has its main thread's current name */
		process_set_name(p, key.comm);
	memcpy(key.process, p->name[0] ? p->name : key.comm, sizeof key.process);
	const struct sampled_owner owner = { s->cgroup_id, s->uid };
	key.labels = process_labels(&r->labels, p, owner, clock_mono_ns());
	return key;
}

/* Returns SERIES_LEFT_OUT if the sample is not wanted. */
uint32_t resolver_series(struct resolver *r, struct process *p, const struct event_sample *s,
			 uint32_t type, int64_t period_ns)
{
	struct series_key key = resolver_series_key(r, p, s, type, period_ns);

	return series_cache_get(&r->series, &key, resolver_type_name(&r->types, type));
}

uint32_t resolver_series_how(struct resolver *r, struct process *p, const struct event_sample *s,
			     uint32_t type, int64_t period_ns, uint32_t how)
{
	struct series_key key = resolver_series_key(r, p, s, type, period_ns);

	key.how = how;
	return series_cache_get(&r->series, &key, resolver_type_name(&r->types, type));
}

/* --- samples ---------------------------------------------------------------------------------- */

enum walk_end resolver_put(struct resolver *r, struct process *p, struct sample *sample,
			   const struct stack_ref *ref, enum account_part held_as)
{
	struct resolved_stack stack;

	if (sample->series == SERIES_LEFT_OUT) {
		r->sink->ops->loss(r->sink, LOSS_LEFT_OUT, 1);
		return WALK_COMPLETE;
	}
	if (!resolver_stack(r, p, ref, &stack)) {
		jit_hold(&r->jits, p, sample, held_as, r->stack.v, r->stack.n);
		return stack.end;
	}
	sample->stack = stack.stack;
	account_sample(&r->accounts, sample, held_as);
	if (held_as == ACCOUNT_NONE && stack.leaf != FRAME_NONE)
		leaf_count(&r->leaf_samples, stack.leaf);
	return stack.end;
}

/* Returns the span that its thread worked for; 0: none. */
static uint32_t link_of(struct resolver *r, const struct event_sample *s)
{
	struct trace_link link;

	_Static_assert(sizeof link == sizeof s->trace, "the bytes as they are written");
	memcpy(&link, &s->trace, sizeof link);
	return link_is_none(&link) ? 0 : r->sink->ops->link(r->sink, &link);
}

struct sample resolver_sample(struct resolver *r, const struct event_sample *s)
{
	return (struct sample){
		.time_ns = s->time_ns,
		.value = 1,
		.pid = s->tgid,
		.tid = s->tid,
		.cpu = s->cpu == EVENT_NO_CPU ? SAMPLE_NO_ID : s->cpu,
		.link = link_of(r, s),
	};
}

static enum walk_end put_on_cpu(struct resolver *r, struct process *p, const struct event_sample *s,
				const struct event_raw *raw)
{
	struct stack_ref ref = { .sample = s, .raw = raw };
	struct sample sample = resolver_sample(r, s);
	enum walk_end end = WALK_COMPLETE;

	sample.value = s->periods ? s->periods : 1;
	if (r->types.cpu != TYPE_NONE) {
		sample.series = resolver_series(r, p, s, r->types.cpu, r->types.period_ns);
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	}
	if (r->types.wall != TYPE_NONE) {
		ref.part = s->gpu_call ? ACCOUNT_GPU_SPIN : ACCOUNT_NONE;
		ref.folds_call = true;
		sample.series = resolver_series_how(r, p, s, r->types.wall, r->types.period_ns,
						    s->gpu_call ? GPU_HOW_SPIN : GPU_HOW_NONE);
		sample.value *= r->types.period_ns;
		end = resolver_put(r, p, &sample, &ref,
				   s->gpu_call ? ACCOUNT_GPU_SPIN : ACCOUNT_ON_CPU);
	}
	return end;
}

/* A part of a wait, for its own type and for `wall`. */
struct wait_piece {
	enum account_part part;
	uint32_t type;
	uint64_t start_ns, length_ns;
};

static enum walk_end put_piece(struct resolver *r, struct process *p, const struct event_sample *s,
			       const struct event_raw *raw, const struct wait_info *w,
			       const struct wait_piece *piece, double weight)
{
	struct stack_ref ref = { .sample = s, .wait = w, .raw = raw, .part = piece->part };
	struct sample sample = resolver_sample(r, s);
	enum walk_end end = WALK_COMPLETE;

	sample.time_ns = piece->start_ns;
	sample.length_ns = piece->length_ns;
	sample.value =
		weight == 1 ? (int64_t)piece->length_ns : (int64_t)(piece->length_ns * weight);
	if (piece->type != TYPE_NONE) {
		sample.series = resolver_series_how(r, p, s, piece->type, 0,
						    w->parts & WAIT_THINNED ? HOW_WINDOWS : 0);
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	}
	if (r->types.wall != TYPE_NONE) {
		bool is_gpu = s->gpu_call && piece->part == ACCOUNT_OFF_CPU;

		if (is_gpu)
			ref.part = ACCOUNT_GPU_SLEEP;
		ref.folds_call = true;
		sample.series = resolver_series_how(r, p, s, r->types.wall, 0,
						    is_gpu ? GPU_HOW_SLEEP : GPU_HOW_NONE);
		end = resolver_put(r, p, &sample, &ref, ref.part);
	}
	return end;
}

/* Time at a lock, and its end as one wait. */
static enum walk_end put_lock(struct resolver *r, struct process *p, const struct event_wait *ev,
			      const struct event_raw *raw, double weight)
{
	const struct wait_info *w = &ev->wait;
	const struct stack_ref ref = { .sample = &ev->sample,
				       .wait = w,
				       .raw = raw,
				       .part = ACCOUNT_OFF_CPU,
				       .is_lock = true };
	const uint32_t how = w->parts & WAIT_THINNED ? HOW_WINDOWS : 0;
	struct sample sample = resolver_sample(r, &ev->sample);
	enum walk_end end = WALK_COMPLETE;

	sample.time_ns = w->start_ns;
	sample.length_ns = w->off_ns;
	sample.value = (int64_t)(w->off_ns * weight);
	sample.series = resolver_series_how(r, p, &ev->sample, r->types.lock, 0, how);
	if (w->off_ns)
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	sample.time_ns = w->start_ns + w->off_ns;
	sample.length_ns = 0;
	sample.value = w->lock.how & LOCK_PENDING ? 0 : locks_count(&r->locks, weight);
	sample.series = resolver_series_how(r, p, &ev->sample, r->types.lock_waits, 0, how);
	if (sample.value)
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	return end;
}

static bool is_at_lock(struct resolver *r, const struct event_wait *ev)
{
	return r->types.lock != TYPE_NONE && ev->wait.parts & WAIT_OFF_CPU && ev->wait.lock.how &&
	       locks_has_owner(&r->locks, ev->sample.tgid, &ev->wait, ev->sample.time_ns);
}

static enum walk_end put_wait(struct resolver *r, struct process *p, const struct event_wait *ev,
			      const struct event_raw *raw)
{
	const struct wait_info *w = &ev->wait;
	uint64_t off_end_ns = w->start_ns + w->off_ns;
	bool off = w->parts & (WAIT_OFF_CPU | WAIT_STOPPED_PART), run = w->parts & WAIT_SCHED;
	uint64_t shown_ns = (off ? w->off_ns : 0) + (run ? w->run_ns : 0);
	bool stopped = w->parts & WAIT_STOPPED_PART;
	const struct wait_piece blocked = { stopped ? ACCOUNT_STOPPED : ACCOUNT_OFF_CPU,
					    stopped ? TYPE_NONE : r->types.off_cpu, w->start_ns,
					    w->off_ns },
				ready = { ACCOUNT_SCHED_WAIT, r->types.sched_wait, off_end_ns,
					  w->run_ns };
	double weight = !shown_ns || w->weight_ns == shown_ns ? 1 : (double)w->weight_ns / shown_ns;

	enum walk_end end = WALK_COMPLETE;

	if (is_at_lock(r, ev))
		end = put_lock(r, p, ev, raw, weight);
	if (off && w->off_ns)
		end = put_piece(r, p, &ev->sample, raw, w, &blocked, weight);
	if (run)
		end = put_piece(r, p, &ev->sample, raw, w, &ready, weight);
	return end;
}

/* The wait is still pending, and its thread has not run since it was reported with its stack. */
static enum walk_end put_wait_again(struct resolver *r, struct process *p,
				    const struct event_wait *ev)
{
	struct event_wait again = *ev;

	again.sample.stack_hash = resolver_open_wait(r, ev);
	return put_wait(r, p, &again, NULL);
}

/* If the samples of a thread are not wanted, its times are not wanted, either. */
static void put_thread(struct resolver *r, struct process *p, const struct event_thread *t)
{
	uint32_t type = r->types.wall != TYPE_NONE ? r->types.wall : r->types.off_cpu;
	struct account_series series = { 0 };
	bool is_asked =
		r->types.wall != TYPE_NONE ||
		((r->opts.series.hook.apply || r->opts.series.relabel) && type != TYPE_NONE);

	if (is_asked)
		series.rest = resolver_series(r, p, &t->sample, type, 0);
	if (is_asked && (t->gpu_on_ns || t->gpu_off_ns)) {
		series.spin = resolver_series_how(r, p, &t->sample, type, 0, GPU_HOW_SPIN);
		series.sleep = resolver_series_how(r, p, &t->sample, type, 0, GPU_HOW_SLEEP);
	}
	if (series.rest != SERIES_LEFT_OUT)
		account_thread(&r->accounts, t, &series);
}

/* A fault that is a period of others has the pages of all of them. */
static enum walk_end put_fault(struct resolver *r, struct process *p, const struct event_fault *ev,
			       const struct event_raw *raw)
{
	const struct stack_ref ref = { .sample = &ev->sample, .raw = raw };
	struct sample sample = resolver_sample(r, &ev->sample);
	enum walk_end end = WALK_COMPLETE;

	sample.value = (int64_t)FAULT_PAGE_BYTES << ev->fault.bits;
	if (ev->fault.flags & FAULT_CHANCE) {
		sample.series =
			resolver_series(r, p, &ev->sample, r->types.page_fault, sample.value);
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	}
	if (ev->fault.flags & (FAULT_PAGE | FAULT_REGION))
		end = resolver_resident(r, p, ev, raw);
	return end;
}

void resolver_event(struct resolver *r, struct process *p, const union order_event *ev,
		    const struct event_raw *raw)
{
	const struct event_sample *s = &ev->sample;

	if (s->kind == EVENT_THREAD)
		put_thread(r, p, &ev->thread);
	else if (s->kind == EVENT_FAULT || (raw && ev->fault.fault.parts == PART_FAULT))
		r->ends[put_fault(r, p, &ev->fault, raw)]++;
	else if (s->kind == EVENT_WAIT && ev->wait.wait.going_on)
		r->ends[put_wait_again(r, p, &ev->wait)]++;
	else if (s->kind == EVENT_WAIT || (raw && ev->wait.wait.parts))
		r->ends[put_wait(r, p, &ev->wait, raw)]++;
	else
		r->ends[put_on_cpu(r, p, s, raw)]++;
}
