/* Reads the ring of each GPU program, joins its records with launches, and makes samples. */
#include "collect/gpu/gpu_time_state.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/gpu/gpu_beats.h"
#include "collect/gpu/gpu_stall.h"
#include "collect/gpu/gpu_time.h"
#include "collect/proc/proc_owner.h"
#include "collect/process/user_shares.h"
#include "collect/resolve/resolve.h"
#include "gpu/code/probes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	EVERY_NS = 20000000, /* a thread with 100,000 launches/s fills its lane in 50 ms */
	MAX_LAUNCHES = 1 << 18,
	MAX_LAUNCHES_ALWAYS = 1 << 15,
	MAX_HELD_ALWAYS = 1 << 15,
};
#define HOLD_NS         5000000000ull
#define STOP_NS         2000000000ull
#define DENSE_NS        1000000000ull
#define WINDOW_UNTIL    UINT64_MAX
#define NAMES_WITHIN_NS 1000000000ull /* after the start */
#define LOOK_IDLE_NS    1000000000ull /* how often to check that a program still exists */

/* --- windows under a budget ------------------------------------------------------------------- */

/* before: costs until now, which others caused, are not counted. */
static void gpu_windows_init(struct gpu_windows *w, double budget, uint32_t seed,
			     const struct ring_state_now *before, uint64_t now_ns)
{
	*w = (struct gpu_windows){ 0 };
	window_init(&w->governor, budget, seed, now_ns);
	w->governor.spent = (struct window_cost){ before->busy_ns, before->helper_ns,
						  before->overhead_ns, before->probes };
	w->at_ns = window_plan(&w->governor, now_ns, &w->until_ns);
}

static uint64_t between(uint64_t ns, uint64_t from_ns, uint64_t to_ns)
{
	return ns < from_ns ? from_ns : ns < to_ns ? ns : to_ns;
}

/* The requested window has ended, or was never opened. */
static void end_window(struct gpu_windows *w, const struct ring_state_now *now, uint64_t now_ns)
{
	const struct window_cost spent = { now->busy_ns, now->helper_ns,
					   now->overhead_ns + w->reading_ns, now->probes };
	uint64_t closed_ns = between(now->closed_ns, w->asked_ns, now_ns);
	uint64_t opened_ns = between(now->opened_ns, w->asked_ns, closed_ns);

	if (!now->error_part)
		window_done(&w->governor, opened_ns, closed_ns, &spent);
	w->is_given_up |= now->state == RING_INERT || now->error_part == RING_PART_STAYS_ON;
	w->at_ns =
		window_plan(&w->governor, now->error_part ? now_ns + GPU_WINDOWS_AGAIN_NS : now_ns,
			    &w->until_ns);
	w->asked_ns = 0;
}

static void ask_window(struct gpu_windows *w, struct ring_reader *ring, uint32_t want,
		       uint32_t stacks_per_s, uint64_t now_ns)
{
	struct err err = { 0 };

	if (ring_again(ring, now_ns, &err)) { /* another agent records it */
		w->at_ns = window_plan(&w->governor, now_ns + GPU_WINDOWS_AGAIN_NS, &w->until_ns);
		return;
	}
	w->until_ns += now_ns - w->at_ns; /* late, but the window is as long */
	w->at_ns = w->asked_ns = now_ns;
	ring_window(ring, want | RING_WANT_OFF_AFTER, stacks_per_s, now_ns, w->until_ns);
}

/* Ends a window that is over, and requests the next one when it is due. now: the ring's state
 * before its records were read. want: bits of RING_WANT_*. */
static void gpu_windows_run(struct gpu_windows *w, struct ring_reader *ring,
			    const struct ring_state_now *now, uint32_t want, uint32_t stacks_per_s,
			    uint64_t now_ns)
{
	bool is_answered = now->generation_seen == now->generation_asked;

	if (w->asked_ns &&
	    (is_answered || now_ns > w->until_ns + GPU_WINDOWS_LATE_S * 1000000000ull)) {
		end_window(w, now, now_ns);
		ring_rest(ring);
	}
	if (!w->asked_ns && !w->is_given_up && now_ns >= w->at_ns)
		ask_window(w, ring, want, stacks_per_s, now_ns);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Otherwise there is one window for the whole recording. */
static bool has_windows(const struct gpu_time *g)
{
	return gpu_time_is_always(g) && g->opts.budget < 1;
}

/* --- programs --------------------------------------------------------------------------------- */

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
	return gpu_pending_rings_has(&g->hopes, pid);
}

void gpu_time_expect(struct gpu_time *g, uint32_t pid, uint64_t now_ns)
{
	if (is_known(g, pid))
		return;
	gpu_pending_rings_add(&g->hopes, pid, now_ns);
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

static void open_window(const struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	p->asked_ns = now_ns;
	ring_window(p->ring, wants(g), g->opts.stacks_per_s, now_ns, WINDOW_UNTIL);
}

/* A library closes the window of an agent that gives no sign of life for RING_AGENT_GONE_MS.
 * Reopens it: this agent was only not scheduled. */
static void open_window_again(struct gpu_time *g, struct watched *p,
			      const struct ring_state_now *now, uint64_t now_ns)
{
	if (now->generation_seen != now->generation_asked || now->state != RING_PARKED ||
	    now->error_part || now->given_back)
		return;
	g->stats.closed_ns += now_ns - between(now->closed_ns, p->asked_ns, now_ns);
	open_window(g, p, now_ns);
}

static void begin_windows(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	if (!has_windows(g)) {
		open_window(g, p, now_ns);
		return;
	}
	gpu_windows_init(&p->windows, g->opts.budget, p->pid, &p->before, now_ns);
}

static bool has_room(const struct gpu_time *g, uint32_t user)
{
	uint32_t used = 0;

	for (size_t i = 0; i < g->programs.n; i++)
		used += g->programs.v[i].user == user;
	return user_shares_fits(user, used, g->programs.n, GPU_TIME_PROGRAMS);
}

static void beat(void *ring, uint64_t now_ns)
{
	ring_beat(ring, now_ns);
}

/* Opens a pending ring. */
static int open_program(void *ctx, uint32_t pid, uint64_t now_ns, struct err *err)
{
	struct gpu_time *g = ctx;
	struct watched p = { .pid = pid, .found_ns = now_ns };

	if (proc_owner(pid, &p.user))
		p.user = 0; /* it is gone */
	if (!has_room(g, p.user))
		return err_set(err, E2BIG, "more than %zu programs", g->programs.n);
	int rc = ring_open_by(&g->opts.rings, pid, now_ns, &p.ring, err);

	if (rc)
		return rc;
	ring_now(p.ring, &p.before);
	if (g->opts.stall && !p.before.knows_stalls)
		note_problem(g, pid, "its library does not support stalls", "");
	begin_windows(g, &p, now_ns);
	vec_push(&g->programs, p);
	gpu_beats_add(g->opts.beats, beat, p.ring);
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

/* Counts what the program lost since the ring was opened, or since the last call. */
static struct ring_state_now count_losses(struct gpu_time *g, struct watched *p)
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

static bool is_gone(const struct watched *p)
{
	return kill(p->pid, 0) < 0 && errno == ESRCH;
}

static void close_ring(struct gpu_time *g, struct watched *p)
{
	gpu_beats_remove(g->opts.beats, p->ring);
	ring_close(p->ring);
}

static void close_program(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	gpu_time_read_ring(g, p, now_ns);
	count_losses(g, p);
	gpu_time_put_window(g, p, now_ns);
	g->watched_ns += now_ns - p->found_ns;
	close_ring(g, p);
}

/* Reports a problem, once per program; level 0 continues without it. */
static void tell(struct gpu_time *g, struct watched *p, const char *text, const char *more)
{
	if (!p->is_told)
		note_problem(g, p->pid, text, more);
	p->is_told = true;
}

static uint64_t program_due_ns(const struct gpu_time *g, const struct watched *p, uint64_t now_ns)
{
	const struct gpu_windows *w = &p->windows;
	uint64_t idle_ns = now_ns + LOOK_IDLE_NS;

	if (!has_windows(g) || w->asked_ns)
		return now_ns + EVERY_NS;
	return w->is_given_up || w->at_ns > idle_ns ? idle_ns : w->at_ns;
}

/* Returns false if another agent took the ring or the program gave it back. */
static bool watch(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	if (!has_windows(g) || p->windows.asked_ns)
		ring_beat(p->ring, now_ns);
	struct ring_state_now now = count_losses(g, p);

	gpu_time_read_ring(g, p, now_ns);
	if (now.error_part)
		tell(g, p, ring_part_text(now.error_part), now.state == RING_BUSY ? now.other : "");
	if (g->opts.stall && now.stall_part)
		tell(g, p, ring_part_text(now.stall_part), "");
	if (now.taken && !gpu_time_is_always(g))
		tell(g, p, "another agent has its ring", "");
	else if (!now.taken && !has_windows(g))
		open_window_again(g, p, &now, now_ns);
	else if (!now.taken)
		gpu_windows_run(&p->windows, p->ring, &now, wants(g), g->opts.stacks_per_s, now_ns);
	return !now.given_back && (!now.taken || !gpu_time_is_always(g));
}

/* Closes the program, and polls for its ring again. */
static void leave_program(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	uint32_t pid = p->pid;
	bool is_given_back = p->before.given_back;

	close_program(g, p, now_ns);
	p->pid = 0;
	gpu_time_expect(g, pid, is_given_back ? now_ns : now_ns + GPU_HOPES_AGAIN_NS);
}

void gpu_time_exec(struct gpu_time *g, uint32_t pid, uint64_t now_ns)
{
	gpu_pending_rings_drop(&g->hopes, pid);
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
	uint64_t next_ns = gpu_pending_rings_next_ns(&g->hopes);

	for (size_t i = 0; i < g->programs.n; i++) {
		uint64_t due_ns = program_due_ns(g, &g->programs.v[i], now_ns);

		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	return next_ns;
}

/* GPU work gets the driver's labels, which another thread is reading. */
static bool waits_for_names(const struct gpu_time *g, uint64_t now_ns)
{
	return gpu_time_is_always(g) && !resolve_gpu_names(g->opts.resolver)->is_told &&
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
	gpu_pending_rings_look(&g->hopes, now_ns);
	for (size_t i = 0; i < g->programs.n; i++) {
		struct watched *p = &g->programs.v[i];
		bool is_ours = watch(g, p, now_ns);

		if (is_gone(p))
			close_program(g, p, now_ns);
		else if (!is_ours)
			leave_program(g, p, now_ns);
		else
			g->programs.v[kept++] = *p;
	}
	g->programs.n = kept;
	gpu_join_finish(g->join, now_ns);
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

/* --- intervals -------------------------------------------------------------------------------- */

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
		struct watched *p = &g->programs.v[i];
		bool is_open = p->window_ns > 0;

		gpu_time_put_window(g, p, now_ns);
		p->window_ns = is_open ? now_ns : 0;
		ring_give_pages(p->ring);
	}
	g->exact = 0;
	if (!gpu_join_waits(g->join))
		gpu_works_trim(&g->works);
}

void gpu_time_set_sink(struct gpu_time *g, struct sink *sink, const struct gpu_types *types)
{
	g->opts.sink = sink;
	g->opts.time_type = types->time;
	g->opts.window_type = types->window;
	g->opts.queue_type = types->queue;
	gpu_works_new_sink(&g->works);
	gpu_time_make_frames(g);
}

void gpu_time_rename(struct gpu_time *g, gpu_origin_move *to, void *to_ctx)
{
	gpu_join_rename(g->join, to, to_ctx);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Returns whether the library has handled the end of its window. */
static bool has_closed(struct gpu_time *g, struct watched *p, uint64_t now_ns)
{
	struct ring_state_now now;

	ring_now(p->ring, &now);
	bool closed = now.generation_seen == now.generation_asked || now.taken || now.given_back ||
		      is_gone(p);
	gpu_time_read_ring(g, p, now_ns);
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
	gpu_pending_rings_end(&g->hopes);
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
		const struct watched *p = &g->programs.v[i];

		out->given_up += p->windows.is_given_up;
		out->watched_ns += more_than(now_ns, p->found_ns);
		out->window_ns += p->window_ns ? more_than(now_ns, p->window_ns) : 0;
	}
	out->exact_ns = n.exact_ns;
	out->estimated_ns = n.estimated_ns;
	out->unknown_ns = n.unknown_ns;
}

/* --- life ------------------------------------------------------------------------------------- */

struct gpu_time *gpu_time_new(const struct gpu_time_opts *opts, uint64_t now_ns)
{
	struct gpu_time *g = xcalloc(1, sizeof *g);

	g->opts = *opts;
	g->start_ns = now_ns;
	g->join = gpu_join_new(
		&(struct gpu_join_opts){ .max_launches = gpu_time_is_always(g) ? MAX_LAUNCHES_ALWAYS
									       : MAX_LAUNCHES,
					 .hold_ns = HOLD_NS,
					 .held = gpu_time_on_held },
		gpu_time_on_share, g);
	g->held.max = gpu_time_is_always(g) ? MAX_HELD_ALWAYS : 0;
	g->hopes = (struct gpu_pending_rings){ .is_always = gpu_time_is_always(g),
					       .open = open_program,
					       .give_up = give_up,
					       .ctx = g };
	g->density.give = gpu_time_give_dense;
	g->density.ctx = g;
	gpu_works_init(&g->works);
	gpu_time_make_frames(g);
	return g;
}

void gpu_time_free(struct gpu_time *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->programs.n; i++)
		close_ring(g, &g->programs.v[i]);
	vec_done(&g->programs);
	gpu_pending_rings_done(&g->hopes);
	gpu_works_done(&g->works);
	gpu_density_done(&g->density);
	gpu_held_done(&g->held);
	gpu_join_free(g->join);
	free(g);
}
