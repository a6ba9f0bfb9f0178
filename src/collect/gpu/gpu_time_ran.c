/* Turns records of rings about kernels, copies and windows into samples below the stacks that
 * launched them. */
#include "collect/gpu/gpu_time_state.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/gpu/gpu_stall.h"
#include "collect/resolve/gpu_names.h"
#include "collect/resolve/resolve.h"
#include "profile/sink.h"

#include <string.h>

enum {
	MAX_READ_ALWAYS = 1 << 20
}; /* bytes of each lane to read at one time: as large as the library makes it */
#define SLACK_NS 1000000000ull

/* --- sums ------------------------------------------------------------------------------------- */

static bool is_same_sum(const void *ctx, uint32_t i)
{
	const struct gpu_dense *const *d = ctx;
	const struct gpu_dense *row = &d[1][i];

	return row->pid == d[0]->pid && row->origin == d[0]->origin && row->work == d[0]->work &&
	       row->samples == d[0]->samples;
}

void gpu_density_flush(struct gpu_density *d)
{
	for (size_t i = 0; i < d->rows.n; i++)
		d->give(d->ctx, &d->rows.v[i]);
	vec_clear(&d->rows);
	map_clear(&d->index);
}

void gpu_density_done(struct gpu_density *d)
{
	vec_done(&d->rows);
	map_done(&d->index);
}

static void gpu_density_add(struct gpu_density *d, const struct gpu_dense *ran)
{
	if (d->rows.n >= GPU_DENSITY_ROWS)
		gpu_density_flush(d);
	const struct gpu_dense *ctx[] = { ran, d->rows.v };
	uint64_t key =
		hash_mix(hash_mix(ran->pid, ran->origin), (uint64_t)ran->samples << 32 | ran->work);
	uint32_t i = map_intern(&d->index, key, d->rows.n, is_same_sum, ctx);

	if (i == d->rows.n)
		vec_push(&d->rows, *ran);
	else
		d->rows.v[i].ns += ran->ns;
}

/* --- records without a stack ------------------------------------------------------------------ */

#define NO_RECORD UINT32_MAX

static uint64_t key_of(uint32_t pid, uint32_t work)
{
	return (uint64_t)pid << 32 | work;
}

static struct held_queue *queue_of(const struct gpu_held *h, uint32_t pid, uint32_t work)
{
	const uint32_t *known = map_get(&h->queue_of, key_of(pid, work));

	return known ? &h->queues.v[*known] : NULL;
}

static struct held_queue *add_queue(struct gpu_held *h, uint32_t pid, uint32_t work)
{
	map_put(&h->queue_of, key_of(pid, work), h->queues.n);
	vec_push(&h->queues, (struct held_queue){ NO_RECORD, NO_RECORD });
	return &h->queues.v[h->queues.n - 1];
}

static void gpu_held_add(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t start_ns,
			 uint64_t ns)
{
	struct held_queue *q = queue_of(h, pid, work);
	uint32_t at = h->records.n;

	if (at >= (h->max ? h->max : (uint32_t)GPU_HELD_MAX) || !ns)
		return;
	if (!q)
		q = add_queue(h, pid, work);
	vec_push(&h->records, (struct held_record){ start_ns, ns, NO_RECORD });
	if (q->first == NO_RECORD)
		q->first = at;
	else
		h->records.v[q->last].next = at;
	q->last = at;
}

/* Takes at most max_ns from the first record of that process and work; the rest stays. Returns 0 if
 * there is none. */
static uint64_t gpu_held_take(struct gpu_held *h, uint32_t pid, uint32_t work, uint64_t max_ns,
			      uint64_t *start_ns)
{
	struct held_queue *q = queue_of(h, pid, work);

	if (!q || q->first == NO_RECORD)
		return 0;
	struct held_record *r = &h->records.v[q->first];
	uint64_t ns = r->ns < max_ns ? r->ns : max_ns;

	*start_ns = r->start_ns;
	r->start_ns += ns;
	r->ns -= ns;
	if (!r->ns)
		q->first = r->next;
	return ns;
}

void gpu_held_done(struct gpu_held *h)
{
	vec_done(&h->records);
	vec_done(&h->queues);
	map_done(&h->queue_of);
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint32_t frame_named(struct gpu_time *g, enum frame_kind kind, const char *name)
{
	struct frame f = {
		.kind = kind,
		.mapping = MAPPING_NONE,
		.function = sink_string(g->opts.sink, name),
	};

	return g->opts.sink->ops->frame(g->opts.sink, &f);
}

void gpu_time_make_frames(struct gpu_time *g)
{
	g->dash = frame_named(g, FRAME_MARKER, "-");
	g->no_stack = frame_named(g, FRAME_MARKER, "[no stack]");
	g->window = frame_named(g, FRAME_MARKER, "[gpu window]");
}

static void give(struct gpu_time *g, uint32_t type, const struct gpu_dense *d, uint64_t length_ns)
{
	const struct gpu_work *w = &g->works.all.v[d->work];
	struct gpu_ran ran = {
		.type = type,
		.origin = d->origin,
		.pid = d->pid,
		.start_ns = d->start_ns,
		.length_ns = length_ns,
		.ns = d->ns,
		.gpu = w->gpu,
		.stream = w->stream,
		.samples = d->samples,
		.frames = { d->origin ? g->dash : g->no_stack,
			    gpu_works_frame(&g->works, g->opts.sink, d->work) },
		.n_frames = 2,
	};

	if (type != TYPE_NONE)
		resolve_gpu_ran(g->opts.resolver, &ran);
}

void gpu_time_give_dense(void *ctx, const struct gpu_dense *d)
{
	struct gpu_time *g = ctx;

	give(g, g->opts.time_type, d, 0);
}

/* Returns whether records are still put one by one. */
static bool takes_exact(const struct gpu_time *g)
{
	return !gpu_time_is_always(g) || g->exact < GPU_TIME_EXACT;
}

static void put_work(struct gpu_time *g, const struct gpu_share *share, uint64_t start_ns,
		     uint64_t length_ns, uint64_t ns)
{
	const struct gpu_dense ran = { .pid = share->pid,
				       .origin = share->stack,
				       .work = share->work,
				       .samples = share->samples,
				       .start_ns = start_ns,
				       .ns = ns };

	if (!ns)
		return;
	if (takes_exact(g)) {
		g->exact++;
		give(g, g->opts.time_type, &ran, length_ns);
		return;
	}
	if (!g->density.rows.n)
		g->dense_ns = clock_mono_ns();
	gpu_density_add(&g->density, &ran);
}

/* Puts the time from the call to the start. Both times are of one clock, but the start comes from
 * the program. */
static void put_queue(struct gpu_time *g, const struct gpu_share *share)
{
	const struct gpu_dense queued = { .pid = share->pid,
					  .origin = share->stack,
					  .work = share->work,
					  .start_ns = share->launch_ns,
					  .ns = share->start_ns - share->launch_ns };

	if (g->opts.queue_type != TYPE_NONE && share->launch_ns &&
	    share->start_ns > share->launch_ns && takes_exact(g))
		give(g, g->opts.queue_type, &queued, queued.ns);
}

/* Takes records until the share is used up. */
static void put_estimate(struct gpu_time *g, const struct gpu_share *share)
{
	uint64_t left = share->ns, start_ns, ns;

	while (left &&
	       (ns = gpu_held_take(&g->held, share->pid, share->work, left, &start_ns)) > 0) {
		put_work(g, share, start_ns, ns, ns);
		left -= ns;
	}
	put_work(g, share, clock_mono_ns(), 0, left);
}

void gpu_time_on_held(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns)
{
	struct gpu_time *g = ctx;

	gpu_held_add(&g->held, pid, work, start_ns, ns);
}

/* The kernels of a graph have no separate records. */
static bool is_graph(const char *work)
{
	static const union ring_any graph = { .r.type = RING_GRAPH };

	return strcmp(work, ring_work_text(&graph)) == 0;
}

void gpu_time_on_share(void *ctx, const struct gpu_share *share)
{
	struct gpu_time *g = ctx;
	const struct gpu_work *w = &g->works.all.v[share->work];

	if (g->opts.stall && w->kind == FRAME_GPU_KERNEL)
		gpu_stall_ran(g->opts.stall, share, w->gpu, strtab_get(&g->works.names, w->name));
	else if (g->opts.stall && is_graph(strtab_get(&g->works.names, w->name)))
		gpu_stall_ran(g->opts.stall, share, w->gpu, NULL);
	if (!share->is_exact) {
		put_estimate(g, share);
		return;
	}
	put_queue(g, share);
	put_work(g, share, share->start_ns, share->ns, share->ns);
}

/* --- which GPU -------------------------------------------------------------------------------- */

/* Returns 0 for no label. */
static uint32_t gpu_of(struct gpu_time *g, struct watched *p, uint32_t number)
{
	struct gpu_names *names = resolve_gpu_names(g->opts.resolver);
	struct ring_device is;

	if (number == UINT32_MAX)
		return 0;
	if (p->gpus_since != names->since)
		memset(p->gpus, 0, sizeof p->gpus);
	p->gpus_since = names->since;
	if (number < RING_DEVICES_MAX && p->gpus[number])
		return p->gpus[number];
	if (!ring_device(p->ring, number, &is))
		return gpu_names_put(names, number, NULL);
	return p->gpus[number] = gpu_names_put(names, number, &is);
}

/* Puts one for each GPU on which the program has a context; only one if the library does not report
 * contexts. */
static void put_windows(struct gpu_time *g, struct watched *p, struct gpu_ran *ran)
{
	struct ring_device is;
	bool is_any = false;

	for (uint32_t i = 0; i < RING_DEVICES_MAX; i++) {
		if (!ring_device(p->ring, i, &is) || !(is.flags & RING_DEVICE_CONTEXT))
			continue;
		is_any = true;
		ran->gpu = gpu_of(g, p, i);
		resolve_gpu_ran(g->opts.resolver, ran);
	}
	if (!is_any)
		resolve_gpu_ran(g->opts.resolver, ran);
}

void gpu_time_put_window(struct gpu_time *g, struct watched *p, uint64_t end_ns)
{
	struct gpu_ran ran = {
		.type = g->opts.window_type,
		.pid = p->pid,
		.start_ns = p->window_ns,
		.frames = { g->window },
		.n_frames = 1,
	};

	if (p->window_ns && end_ns > p->window_ns) {
		ran.length_ns = ran.ns = end_ns - p->window_ns;
		g->stats.window_ns += ran.ns;
		if (ran.type != TYPE_NONE)
			put_windows(g, p, &ran);
	}
	p->window_ns = 0;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Checks times, which come from the program. */
static bool is_plausible(const struct gpu_time *g, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns <= end_ns && start_ns + SLACK_NS >= g->start_ns &&
	       end_ns <= g->read_ns + SLACK_NS;
}

static void on_work(struct gpu_time *g, const union ring_any *r, uint32_t work, uint64_t start_ns,
		    uint64_t end_ns)
{
	if (!is_plausible(g, start_ns, end_ns)) {
		g->stats.bad++;
		return;
	}
	g->stats.records++;
	gpu_join_work(g->join, g->reading->pid, r->r.correlation, work, start_ns, end_ns - start_ns,
		      g->read_ns);
}

static void on_window(struct gpu_time *g, const struct ring_window *w)
{
	struct watched *p = g->reading;

	if (!is_plausible(g, w->time_ns, w->time_ns))
		return;
	gpu_time_put_window(g, p, w->time_ns);
	if (w->open)
		p->window_ns = w->time_ns;
}

static uint32_t stream_of(uint32_t number)
{
	return number == UINT32_MAX ? 0 : number + 1;
}

static uint32_t work_of(struct gpu_time *g, enum frame_kind kind, const char *name, uint32_t device,
			uint32_t stream)
{
	return gpu_works_put(&g->works, kind, name, gpu_of(g, g->reading, device),
			     stream_of(stream), RING_READ_NAMES);
}

static void on_stall(struct gpu_time *g, const union ring_any *r, const char *name)
{
	struct gpu_stall_told told = {
		.pid = g->reading->pid, .now_ns = g->read_ns, .record = r, .name = name
	};

	if (r->r.type == RING_STALL_CONFIG)
		told.gpu = gpu_of(g, g->reading, r->stall_config.device);
	if (g->opts.stall)
		gpu_stall_record(g->opts.stall, &told);
}

static void on_record(void *ctx, const union ring_any *r, const char *name)
{
	struct gpu_time *g = ctx;
	const struct ring_kernel *k = &r->kernel;
	const struct ring_copy *c = &r->copy;
	const struct ring_graph *graph = &r->graph;
	uint32_t work;

	switch (r->r.type) {
	case RING_CALL:
		gpu_join_call(g->join, g->reading->pid, r->r.correlation, r->call.tid);
		break;
	case RING_KERNEL:
		work = work_of(g, FRAME_GPU_KERNEL, name, k->device, k->stream);
		on_work(g, r, work, k->start_ns, k->end_ns);
		break;
	case RING_COPY:
	case RING_SET:
		work = work_of(g, FRAME_MARKER, ring_work_text(r), c->device, c->stream);
		on_work(g, r, work, c->start_ns, c->end_ns);
		break;
	case RING_GRAPH:
		work = work_of(g, FRAME_MARKER, ring_work_text(r), graph->device, graph->stream);
		on_work(g, r, work, graph->start_ns, graph->end_ns);
		break;
	case RING_WINDOW:
		on_window(g, &r->window);
		break;
	default:
		on_stall(g, r, name);
		break;
	}
}

size_t gpu_time_read_ring(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	uint64_t begin_ns = clock_thread_ns();

	g->reading = p;
	g->read_ns = now_ns;
	size_t n = ring_poll(p->ring, gpu_time_is_always(g) ? MAX_READ_ALWAYS : SIZE_MAX, on_record,
			     g);
	p->windows.reading_ns += clock_thread_ns() - begin_ns;
	if (n && g->opts.stall)
		gpu_stall_read(g->opts.stall, p->pid, p->ring);
	return n;
}
