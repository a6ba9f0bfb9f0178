#include "collect/gpu_time.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/gpu_density.h"
#include "collect/gpu_held.h"
#include "collect/gpu_hopes.h"
#include "collect/gpu_stall.h"
#include "collect/gpu_windows.h"
#include "collect/gpu_works.h"
#include "gpu/join.h"
#include "gpu/probes.h"
#include "gpu/ring_read.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	EVERY_NS = 20000000, /* a thread with 100,000 launches a second fills its lane in 50 ms */
	MAX_LAUNCHES = 1 << 18,
	MAX_LAUNCHES_ALWAYS = 1 << 15,
	MAX_HELD_ALWAYS = 1 << 15,
	MAX_READ_ALWAYS =
		1 << 20, /* bytes of each lane at once: as large as the library makes them */
};
#define HOLD_NS         5000000000ull
#define STOP_NS         2000000000ull
#define SLACK_NS        1000000000ull
#define DENSE_NS        1000000000ull
#define WINDOW_UNTIL    UINT64_MAX
#define NAMES_WITHIN_NS 1000000000ull /* of the start */
#define LOOK_IDLE_NS    1000000000ull /* whether a program is still there */

struct program {
	uint32_t pid;
	struct ring_reader *ring;
	uint64_t found_ns;
	uint64_t window_ns; /* when the window opened; 0: none is open */
	struct ring_state_now before;
	struct gpu_windows windows;      /* where there is more than one */
	uint32_t gpus[RING_DEVICES_MAX]; /* as struct gpu_ran has them; 0: not known yet … */
	uint32_t gpus_since;             /* … by gpu_names.since */
	bool is_told;                    /* that something is wrong with it */
};
struct gpu_time {
	struct gpu_time_opts opts;
	struct gpu_join *join;
	uint64_t start_ns, next_ns;
	struct gpu_hopes hopes;
	VEC(struct program) programs;
	struct program *reading;
	uint64_t read_ns;
	struct gpu_works works;
	struct gpu_held held;
	struct gpu_density density;
	uint64_t dense_ns;               /* when the first of its sums began */
	uint32_t exact;                  /* records of this interval that were given one by one */
	uint32_t dash, no_stack, window; /* frames */
	uint64_t watched_ns;             /* of programs that are gone */
	struct gpu_time_stats stats;
};

static bool is_always(const struct gpu_time *g)
{
	return g->opts.budget > 0;
}

/* Else one for as long as this goes on. */
static bool has_windows(const struct gpu_time *g)
{
	return is_always(g) && g->opts.budget < 1;
}

/* --- samples ---------------------------------------------------------------------------------------------------------- */

static uint32_t frame_named(struct gpu_time *g, enum frame_kind kind, const char *name)
{
	struct frame f = {
		.kind = kind,
		.mapping = MAPPING_NONE,
		.function = sink_string(g->opts.sink, name),
	};

	return g->opts.sink->ops->frame(g->opts.sink, &f);
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

static void give_dense(void *ctx, const struct gpu_dense *d)
{
	struct gpu_time *g = ctx;

	give(g, g->opts.time_type, d, 0);
}

/* Whether a record still is given one by one. */
static bool takes_exact(const struct gpu_time *g)
{
	return !is_always(g) || g->exact < GPU_TIME_EXACT;
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

/* From the call on. Both times are of one clock, but the start is a program's word. */
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

/* A share takes records until it is used up. */
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

static void on_held(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns)
{
	struct gpu_time *g = ctx;

	gpu_held_add(&g->held, pid, work, start_ns, ns);
}

/* Its kernels are not told one by one. */
static bool is_graph(const char *work)
{
	static const union ring_any graph = { .r.type = RING_GRAPH };

	return strcmp(work, ring_work_text(&graph)) == 0;
}

static void on_share(void *ctx, const struct gpu_share *share)
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

/* --- which GPU ---------------------------------------------------------------------------------------------------------- */

/* 0: no label. */
static uint32_t gpu_of(struct gpu_time *g, struct program *p, uint32_t number)
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

/* One of each GPU where the program has a context; of a library that does not say so, one of all. */
static void put_windows(struct gpu_time *g, struct program *p, struct gpu_ran *ran)
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

static void put_window(struct gpu_time *g, struct program *p, uint64_t end_ns)
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

/* --- records ---------------------------------------------------------------------------------------------------------- */

/* What ran, when: the program's word for it. */
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
	struct program *p = g->reading;

	if (!is_plausible(g, w->time_ns, w->time_ns))
		return;
	put_window(g, p, w->time_ns);
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

static size_t read_ring(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	uint64_t begin_ns = clock_thread_ns();

	g->reading = p;
	g->read_ns = now_ns;
	size_t n = ring_poll(p->ring, is_always(g) ? MAX_READ_ALWAYS : SIZE_MAX, on_record, g);
	p->windows.reading_ns += clock_thread_ns() - begin_ns;
	if (n && g->opts.stall)
		gpu_stall_read(g->opts.stall, p->pid, p->ring);
	return n;
}

/* --- programs ----------------------------------------------------------------------------------------------------------- */

bool gpu_time_wants(const char *path)
{
	const struct gpu_library *l = gpu_library_of(path);

	for (size_t i = 0; l && i < l->n; i++)
		if (l->probes[i].row.what & GPU_STACK)
			return true;
	return false;
}

static bool is_known(const struct gpu_time *g, uint32_t pid)
{
	for (size_t i = 0; i < g->programs.n; i++)
		if (g->programs.v[i].pid == pid)
			return true;
	return gpu_hopes_has(&g->hopes, pid);
}

void gpu_time_expect(struct gpu_time *g, uint32_t pid, uint64_t now_ns)
{
	if (is_known(g, pid))
		return;
	gpu_hopes_add(&g->hopes, pid, now_ns);
	g->next_ns = now_ns;
}

static void note_problem(struct gpu_time *g, uint32_t pid, const char *text, const char *more)
{
	struct buf b = { 0 };
	char *room = g->stats.recent[g->stats.problems % GPU_TIME_RECENT];
	enum { ROOM = sizeof g->stats.problem };

	buf_addf(&b, "process %u: %s%s%s", pid, text, *more ? ": " : "", more);
	snprintf(room, ROOM, "%.*s", ROOM - 1, buf_cstr(&b));
	if (!g->stats.problems++)
		memcpy(g->stats.problem, room, sizeof g->stats.problem);
	buf_done(&b);
}

static uint32_t wants(const struct gpu_time *g)
{
	return RING_WANT_KERNELS | RING_WANT_COPIES | RING_WANT_CALLS |
	       (g->opts.stall ? RING_WANT_STALLS : 0);
}

static void begin_windows(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	if (!has_windows(g)) {
		ring_window(p->ring, wants(g), g->opts.stacks_per_s, now_ns, WINDOW_UNTIL);
		return;
	}
	gpu_windows_init(&p->windows, g->opts.budget, p->pid, &p->before, now_ns);
}

/* Of a hope. */
static int open_program(void *ctx, uint32_t pid, uint64_t now_ns, struct err *err)
{
	struct gpu_time *g = ctx;
	struct program p = { .pid = pid, .found_ns = now_ns };

	if (g->programs.n >= GPU_TIME_PROGRAMS)
		return err_set(err, E2BIG, "more than %d programs", GPU_TIME_PROGRAMS);
	int rc = ring_open(pid, now_ns, &p.ring, err);

	if (rc)
		return rc;
	ring_now(p.ring, &p.before);
	if (g->opts.stall && !p.before.knows_stalls)
		note_problem(g, pid, "the library in it knows nothing of stalls", "");
	begin_windows(g, &p, now_ns);
	vec_push(&g->programs, p);
	g->stats.programs++;
	return 0;
}

static void give_up(void *ctx, uint32_t pid, const char *why)
{
	note_problem(ctx, pid, why, "");
}

static uint64_t more_than(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Counts what the program lost since the ring was opened, or since this was called. */
static struct ring_state_now count_losses(struct gpu_time *g, struct program *p)
{
	struct ring_state_now now;

	ring_now(p->ring, &now);
	g->stats.dropped += more_than(now.dropped, p->before.dropped) +
			    more_than(now.cupti_dropped, p->before.cupti_dropped);
	g->stats.names_lost += more_than(now.names_lost, p->before.names_lost);
	g->stats.bad += more_than(now.bad_bytes, p->before.bad_bytes) +
			more_than(now.unknown_records, p->before.unknown_records);
	if (g->opts.stall)
		gpu_stall_lost(g->opts.stall, &now, &p->before);
	p->before = now;
	return now;
}

static bool is_gone(const struct program *p)
{
	return kill(p->pid, 0) < 0 && errno == ESRCH;
}

static void close_program(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	read_ring(g, p, now_ns);
	count_losses(g, p);
	put_window(g, p, now_ns);
	g->watched_ns += now_ns - p->found_ns;
	ring_close(p->ring);
}

/* Once for each program: level 0 goes on without. */
static void tell(struct gpu_time *g, struct program *p, const char *text, const char *more)
{
	if (!p->is_told)
		note_problem(g, p->pid, text, more);
	p->is_told = true;
}

static uint64_t program_due_ns(const struct gpu_time *g, const struct program *p, uint64_t now_ns)
{
	const struct gpu_windows *w = &p->windows;
	uint64_t idle_ns = now_ns + LOOK_IDLE_NS;

	if (!has_windows(g) || w->asked_ns)
		return now_ns + EVERY_NS;
	return w->is_given_up || w->at_ns > idle_ns ? idle_ns : w->at_ns;
}

/* False: somebody else has its ring, or it was given back. */
static bool watch(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	if (!has_windows(g) || p->windows.asked_ns)
		ring_beat(p->ring, now_ns);
	struct ring_state_now now = count_losses(g, p);

	read_ring(g, p, now_ns);
	if (now.error_part)
		tell(g, p, ring_part_text(now.error_part), now.state == RING_BUSY ? now.other : "");
	if (g->opts.stall && now.stall_part)
		tell(g, p, ring_part_text(now.stall_part), "");
	if (now.taken && !is_always(g))
		tell(g, p, "another agent has its ring", "");
	else if (!now.taken && has_windows(g))
		gpu_windows_run(&p->windows, p->ring, &now, wants(g), g->opts.stacks_per_s, now_ns);
	return !now.given_back && (!now.taken || !is_always(g));
}

/* Hopes to have it again. */
static void leave_program(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	uint32_t pid = p->pid;
	bool is_given_back = p->before.given_back;

	close_program(g, p, now_ns);
	p->pid = 0;
	gpu_time_expect(g, pid, is_given_back ? now_ns : now_ns + GPU_HOPES_AGAIN_NS);
}

void gpu_time_exec(struct gpu_time *g, uint32_t pid, uint64_t now_ns)
{
	gpu_hopes_drop(&g->hopes, pid);
	for (size_t i = 0; i < g->programs.n; i++) {
		if (g->programs.v[i].pid != pid)
			continue;
		close_program(g, &g->programs.v[i], now_ns);
		gpu_join_forget(g->join, pid);
		g->programs.n--;
		memmove(&g->programs.v[i], &g->programs.v[i + 1],
			(g->programs.n - i) * sizeof *g->programs.v);
		return;
	}
}

static uint64_t next_due_ns(const struct gpu_time *g, uint64_t now_ns)
{
	uint64_t next_ns = gpu_hopes_next_ns(&g->hopes);

	for (size_t i = 0; i < g->programs.n; i++) {
		uint64_t due_ns = program_due_ns(g, &g->programs.v[i], now_ns);

		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	return next_ns;
}

/* What runs is named after what the driver lists, which somebody asks meanwhile. */
static bool waits_for_names(const struct gpu_time *g, uint64_t now_ns)
{
	return is_always(g) && !resolve_gpu_names(g->opts.resolver)->is_told &&
	       now_ns < g->start_ns + NAMES_WITHIN_NS;
}

void gpu_time_run(struct gpu_time *g, uint64_t now_ns)
{
	size_t kept = 0;

	if (now_ns < g->next_ns)
		return;
	if (waits_for_names(g, now_ns)) {
		g->next_ns = now_ns + EVERY_NS;
		return;
	}
	gpu_hopes_look(&g->hopes, now_ns);
	for (size_t i = 0; i < g->programs.n; i++) {
		struct program *p = &g->programs.v[i];
		bool is_ours = watch(g, p, now_ns);

		if (is_gone(p))
			close_program(g, p, now_ns);
		else if (!is_ours)
			leave_program(g, p, now_ns);
		else
			g->programs.v[kept++] = *p;
	}
	g->programs.n = kept;
	gpu_join_settle(g->join, now_ns);
	if (g->density.rows.n && now_ns > g->dense_ns + DENSE_NS)
		gpu_density_flush(&g->density);
	g->next_ns = next_due_ns(g, now_ns);
}

uint64_t gpu_time_due_ns(const struct gpu_time *g)
{
	return g->programs.n || g->hopes.all.n ? g->next_ns : UINT64_MAX;
}

void gpu_time_launch(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
		     uint32_t weight, uint64_t time_ns)
{
	struct gpu_time *g = ctx;

	gpu_join_stack(g->join, pid, correlation, origin, weight, time_ns);
}

/* --- intervals ---------------------------------------------------------------------------------------------------------- */

void gpu_time_read(struct gpu_time *g, uint64_t now_ns)
{
	g->next_ns = 0;
	gpu_time_run(g, now_ns);
}

bool gpu_time_waits(const struct gpu_time *g)
{
	return gpu_join_waits(g->join);
}

void gpu_time_cut(struct gpu_time *g, uint64_t now_ns, bool has_stacks)
{
	if (has_stacks)
		gpu_join_flush(g->join);
	else
		gpu_join_share(g->join);
	gpu_held_done(&g->held);
	gpu_density_flush(&g->density);
	for (size_t i = 0; i < g->programs.n; i++) {
		struct program *p = &g->programs.v[i];
		bool is_open = p->window_ns > 0;

		put_window(g, p, now_ns);
		p->window_ns = is_open ? now_ns : 0;
		ring_give_pages(p->ring);
	}
	g->exact = 0;
	if (!gpu_join_waits(g->join))
		gpu_works_trim(&g->works);
}

static void make_frames(struct gpu_time *g)
{
	g->dash = frame_named(g, FRAME_MARKER, "-");
	g->no_stack = frame_named(g, FRAME_MARKER, "[no stack]");
	g->window = frame_named(g, FRAME_MARKER, "[gpu window]");
}

void gpu_time_set_sink(struct gpu_time *g, struct sink *sink, const struct gpu_types *types)
{
	g->opts.sink = sink;
	g->opts.time_type = types->time;
	g->opts.window_type = types->window;
	g->opts.queue_type = types->queue;
	gpu_works_new_sink(&g->works);
	make_frames(g);
}

void gpu_time_rename(struct gpu_time *g, gpu_origin_move *to, void *to_ctx)
{
	gpu_join_rename(g->join, to, to_ctx);
}

/* --- the end ------------------------------------------------------------------------------------------------------------ */

/* Whether the library has dealt with the end of its window. */
static bool has_closed(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	struct ring_state_now now;

	ring_now(p->ring, &now);
	bool closed = now.generation_seen == now.generation_asked || now.taken || now.given_back ||
		      is_gone(p);
	read_ring(g, p, now_ns);
	return closed;
}

void gpu_time_stop(struct gpu_time *g)
{
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + STOP_NS;
	bool all = false;

	for (size_t i = 0; i < g->programs.n; i++)
		ring_window(g->programs.v[i].ring, 0, 0, now_ns, 0);
	while (!all && now_ns < until_ns) {
		all = true;
		for (size_t i = 0; i < g->programs.n; i++)
			all &= has_closed(g, &g->programs.v[i], now_ns);
		if (!all)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		now_ns = clock_mono_ns();
	}
	for (size_t i = 0; i < g->programs.n; i++)
		close_program(g, &g->programs.v[i], now_ns);
	gpu_hopes_end(&g->hopes);
	vec_clear(&g->programs);
}

void gpu_time_flush(struct gpu_time *g)
{
	gpu_join_flush(g->join);
	gpu_held_done(&g->held);
	gpu_density_flush(&g->density);
}

void gpu_time_get_stats(const struct gpu_time *g, struct gpu_time_stats *out)
{
	struct gpu_join_counts n = gpu_join_counts(g->join);

	uint64_t now_ns = clock_mono_ns();

	*out = g->stats;
	out->watching = g->programs.n;
	out->watched_ns = g->watched_ns;
	for (size_t i = 0; i < g->programs.n; i++) {
		const struct program *p = &g->programs.v[i];

		out->given_up += p->windows.is_given_up;
		out->watched_ns += more_than(now_ns, p->found_ns);
		out->window_ns += p->window_ns ? more_than(now_ns, p->window_ns) : 0;
	}
	out->exact_ns = n.exact_ns;
	out->estimated_ns = n.estimated_ns;
	out->unknown_ns = n.unknown_ns;
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

struct gpu_time *gpu_time_new(const struct gpu_time_opts *opts, uint64_t now_ns)
{
	struct gpu_time *g = xcalloc(1, sizeof *g);

	g->opts = *opts;
	g->start_ns = now_ns;
	g->join = gpu_join_new(
		&(struct gpu_join_opts){ .max_launches =
						 is_always(g) ? MAX_LAUNCHES_ALWAYS : MAX_LAUNCHES,
					 .hold_ns = HOLD_NS,
					 .held = on_held },
		on_share, g);
	g->held.max = is_always(g) ? MAX_HELD_ALWAYS : 0;
	g->hopes = (struct gpu_hopes){
		.is_always = is_always(g), .open = open_program, .give_up = give_up, .ctx = g
	};
	g->density.give = give_dense;
	g->density.ctx = g;
	gpu_works_init(&g->works);
	make_frames(g);
	return g;
}

void gpu_time_free(struct gpu_time *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->programs.n; i++)
		ring_close(g->programs.v[i].ring);
	vec_done(&g->programs);
	gpu_hopes_done(&g->hopes);
	gpu_works_done(&g->works);
	gpu_density_done(&g->density);
	gpu_held_done(&g->held);
	gpu_join_free(g->join);
	free(g);
}
