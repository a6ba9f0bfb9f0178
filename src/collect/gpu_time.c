#include "collect/gpu_time.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/gpu_held.h"
#include "gpu/join.h"
#include "gpu/probes.h"
#include "gpu/ring_read.h"
#include "profile/strtab.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	EVERY_NS = 20000000, /* a thread with 100,000 launches a second fills its lane in 50 ms */
	LOOK_FIRST_NS = 2000000,
	LOOK_SLOWEST_NS = 500000000,
	MAX_LAUNCHES = 1 << 18,
	MAX_HOPES = 1024,
};
#define HOLD_NS      5000000000ull
#define STOP_NS      2000000000ull
#define SLACK_NS     1000000000ull
#define WINDOW_UNTIL UINT64_MAX

/* A process that has mapped the library and shows no ring yet. */
struct hope {
	uint32_t pid;
	uint64_t next_ns, pause_ns, until_ns;
};
struct program {
	uint32_t pid;
	struct ring_reader *ring;
	uint64_t window_ns; /* when the window opened; 0: none is open */
	struct ring_state_now before;
};
/* What the join calls work. */
struct work {
	uint32_t frame; /* of the sink */
	uint32_t gpu, stream;
};
struct gpu_time {
	struct gpu_time_opts opts;
	struct gpu_join *join;
	uint64_t start_ns, next_ns;
	VEC(struct hope) hopes;
	VEC(struct program) programs;
	const struct program *reading;
	uint64_t read_ns;
	struct strtab names;
	struct map frame_of; /* name → frame */
	struct map work_of;
	VEC(struct work) works;
	struct gpu_held held;
	uint32_t dash, no_stack, window; /* frames */
	struct gpu_time_stats stats;
};

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

static void put_work(struct gpu_time *g, const struct gpu_share *share, uint64_t start_ns,
		     uint64_t length_ns, uint64_t ns)
{
	const struct work *w = &g->works.v[share->work];
	struct gpu_ran ran = {
		.type = g->opts.time_type,
		.origin = share->stack,
		.pid = share->pid,
		.start_ns = start_ns,
		.length_ns = length_ns,
		.ns = ns,
		.gpu = w->gpu,
		.stream = w->stream,
		.frames = { share->stack ? g->dash : g->no_stack, w->frame },
		.n_frames = 2,
	};

	if (ns)
		resolve_gpu_ran(g->opts.resolver, &ran);
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

static void on_share(void *ctx, const struct gpu_share *share)
{
	struct gpu_time *g = ctx;

	if (share->is_exact)
		put_work(g, share, share->start_ns, share->ns, share->ns);
	else
		put_estimate(g, share);
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
		resolve_gpu_ran(g->opts.resolver, &ran);
	}
	p->window_ns = 0;
}

/* --- records ---------------------------------------------------------------------------------------------------------- */

static uint32_t frame_of(struct gpu_time *g, enum frame_kind kind, const char *name)
{
	uint32_t id = strtab_put(&g->names, name);
	const uint32_t *known = map_get(&g->frame_of, id);
	char *plain = NULL;

	if (known)
		return *known;
	if (kind == FRAME_GPU_KERNEL)
		plain = symbol_demangle(name);
	uint32_t frame = frame_named(g, kind, plain ? plain : *name ? name : "[unknown]");
	free(plain);
	map_put(&g->frame_of, id, frame);
	return frame;
}

static bool same_work(const void *ctx, uint32_t i)
{
	const struct work *const *w = ctx;

	return memcmp(&w[1][i], w[0], sizeof *w[0]) == 0;
}

static uint32_t work_of(struct gpu_time *g, struct work w)
{
	const struct work *ctx[] = { &w, g->works.v };
	uint64_t hash = hash_bytes(&w, sizeof w);

	if (g->works.n >= GPU_TIME_WORKS) { /* a program that invents streams */
		w.gpu = w.stream = 0;
		hash = hash_bytes(&w, sizeof w);
		if (g->works.n >= GPU_TIME_WORKS + RING_READ_NAMES)
			return 0;
	}
	uint32_t i = map_intern(&g->work_of, hash, g->works.n, same_work, ctx);

	if (i == g->works.n)
		vec_push(&g->works, w);
	return i;
}

/* What ran, when: the program's word for it. */
static bool is_plausible(const struct gpu_time *g, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns <= end_ns && start_ns + SLACK_NS >= g->start_ns &&
	       end_ns <= g->read_ns + SLACK_NS;
}

static void on_work(struct gpu_time *g, const union ring_any *r, struct work w, uint64_t start_ns,
		    uint64_t end_ns)
{
	if (!is_plausible(g, start_ns, end_ns)) {
		g->stats.bad++;
		return;
	}
	g->stats.records++;
	gpu_join_work(g->join, g->reading->pid, r->r.correlation, work_of(g, w), start_ns,
		      end_ns - start_ns, g->read_ns);
}

static void on_window(struct gpu_time *g, const struct ring_window *w)
{
	struct program *p = &g->programs.v[g->reading - g->programs.v];

	if (!is_plausible(g, w->time_ns, w->time_ns))
		return;
	put_window(g, p, w->time_ns);
	if (w->open)
		p->window_ns = w->time_ns;
}

static uint32_t label_of(uint32_t number)
{
	return number == UINT32_MAX ? 0 : number + 1;
}

static void on_record(void *ctx, const union ring_any *r, const char *name)
{
	struct gpu_time *g = ctx;
	const struct ring_kernel *k = &r->kernel;
	const struct ring_copy *c = &r->copy;
	const struct ring_graph *graph = &r->graph;
	struct work w = { 0 };

	switch (r->r.type) {
	case RING_CALL:
		gpu_join_call(g->join, g->reading->pid, r->r.correlation, r->call.tid);
		break;
	case RING_KERNEL:
		w = (struct work){ frame_of(g, FRAME_GPU_KERNEL, name), label_of(k->device),
				   label_of(k->stream) };
		on_work(g, r, w, k->start_ns, k->end_ns);
		break;
	case RING_COPY:
	case RING_SET:
		w = (struct work){ frame_of(g, FRAME_MARKER, ring_work_text(r)),
				   label_of(c->device), label_of(c->stream) };
		on_work(g, r, w, c->start_ns, c->end_ns);
		break;
	case RING_GRAPH:
		w = (struct work){ frame_of(g, FRAME_MARKER, ring_work_text(r)),
				   label_of(graph->device), label_of(graph->stream) };
		on_work(g, r, w, graph->start_ns, graph->end_ns);
		break;
	case RING_WINDOW:
		on_window(g, &r->window);
		break;
	default:
		break;
	}
}

static size_t read_ring(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	g->reading = p;
	g->read_ns = now_ns;
	return ring_poll(p->ring, SIZE_MAX, on_record, g);
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
	for (size_t i = 0; i < g->hopes.n; i++)
		if (g->hopes.v[i].pid == pid)
			return true;
	return false;
}

void gpu_time_expect(struct gpu_time *g, uint32_t pid, uint64_t now_ns)
{
	struct hope h = { pid, now_ns, LOOK_FIRST_NS,
			  now_ns + GPU_TIME_FOUND_WITHIN_S * 1000000000ull };

	if (is_known(g, pid) || g->hopes.n >= MAX_HOPES)
		return;
	vec_push(&g->hopes, h);
	g->next_ns = now_ns;
}

static void note_problem(struct gpu_time *g, uint32_t pid, const char *text, const char *more)
{
	struct buf b = { 0 };

	if (g->stats.problem[0])
		return;
	buf_addf(&b, "process %u: %s%s%s", pid, text, *more ? ": " : "", more);
	snprintf(g->stats.problem, sizeof g->stats.problem, "%.*s",
		 (int)sizeof g->stats.problem - 1, buf_cstr(&b));
	buf_done(&b);
}

/* True when there is nothing more to hope for. */
static bool try_ring(struct gpu_time *g, struct hope *h, uint64_t now_ns)
{
	struct program p = { .pid = h->pid };
	struct err err = { 0 };
	int rc = g->programs.n < GPU_TIME_PROGRAMS
			 ? ring_open(h->pid, now_ns, &p.ring, &err)
			 : err_set(&err, E2BIG, "more than %d programs", GPU_TIME_PROGRAMS);

	if ((rc == -ENOENT || rc == -EPROTO) && now_ns < h->until_ns && kill(h->pid, 0) == 0) {
		h->pause_ns = h->pause_ns * 2 < LOOK_SLOWEST_NS ? h->pause_ns * 2 : LOOK_SLOWEST_NS;
		h->next_ns = now_ns + h->pause_ns;
		return false;
	}
	if (rc) {
		note_problem(g, h->pid, err.text, "");
		return true;
	}
	ring_now(p.ring, &p.before);
	ring_window(p.ring, RING_WANT_KERNELS | RING_WANT_COPIES | RING_WANT_CALLS,
		    g->opts.stacks_per_s, now_ns, WINDOW_UNTIL);
	vec_push(&g->programs, p);
	g->stats.programs++;
	return true;
}

static void look(struct gpu_time *g, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->hopes.n; i++) {
		struct hope h = g->hopes.v[i];

		if (now_ns < h.next_ns || !try_ring(g, &h, now_ns))
			g->hopes.v[kept++] = h;
	}
	g->hopes.n = kept;
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
	ring_close(p->ring);
}

static void watch(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	ring_beat(p->ring, now_ns);
	read_ring(g, p, now_ns);
	struct ring_state_now now = count_losses(g, p);

	if (now.error_part)
		note_problem(g, p->pid, ring_part_text(now.error_part),
			     now.state == RING_BUSY ? now.other : "");
	if (now.taken)
		note_problem(g, p->pid, "another agent has its ring", "");
}

void gpu_time_run(struct gpu_time *g, uint64_t now_ns)
{
	size_t kept = 0;

	if (now_ns < g->next_ns)
		return;
	look(g, now_ns);
	for (size_t i = 0; i < g->programs.n; i++) {
		struct program *p = &g->programs.v[i];

		watch(g, p, now_ns);
		if (is_gone(p))
			close_program(g, p, now_ns);
		else
			g->programs.v[kept++] = *p;
	}
	g->programs.n = kept;
	gpu_join_settle(g->join, now_ns);
	g->next_ns = now_ns + EVERY_NS;
	for (size_t i = 0; i < g->hopes.n; i++)
		if (g->hopes.v[i].next_ns < g->next_ns)
			g->next_ns = g->hopes.v[i].next_ns;
}

uint64_t gpu_time_due_ns(const struct gpu_time *g)
{
	return g->programs.n || g->hopes.n ? g->next_ns : UINT64_MAX;
}

void gpu_time_launch(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
		     uint32_t weight)
{
	struct gpu_time *g = ctx;

	gpu_join_stack(g->join, pid, correlation, origin, weight);
}

/* --- the end ------------------------------------------------------------------------------------------------------------ */

/* Whether the library has dealt with the end of its window. */
static bool has_closed(struct gpu_time *g, struct program *p, uint64_t now_ns)
{
	struct ring_state_now now;

	ring_now(p->ring, &now);
	bool closed = now.generation_seen == now.generation_asked || now.taken || is_gone(p);
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
	vec_clear(&g->programs);
	vec_clear(&g->hopes);
}

void gpu_time_flush(struct gpu_time *g)
{
	gpu_join_flush(g->join);
	gpu_held_done(&g->held);
}

void gpu_time_get_stats(const struct gpu_time *g, struct gpu_time_stats *out)
{
	struct gpu_join_counts n = gpu_join_counts(g->join);

	*out = g->stats;
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
	g->join = gpu_join_new(&(struct gpu_join_opts){ .max_launches = MAX_LAUNCHES,
							.hold_ns = HOLD_NS,
							.held = on_held },
			       on_share, g);
	strtab_init(&g->names);
	g->dash = frame_named(g, FRAME_MARKER, "-");
	g->no_stack = frame_named(g, FRAME_MARKER, "[no stack]");
	g->window = frame_named(g, FRAME_MARKER, "[gpu window]");
	return g;
}

void gpu_time_free(struct gpu_time *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->programs.n; i++)
		ring_close(g->programs.v[i].ring);
	vec_done(&g->programs);
	vec_done(&g->hopes);
	vec_done(&g->works);
	gpu_held_done(&g->held);
	map_done(&g->frame_of);
	map_done(&g->work_of);
	strtab_done(&g->names);
	gpu_join_free(g->join);
	free(g);
}
