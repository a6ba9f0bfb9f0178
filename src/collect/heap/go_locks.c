/* Waits for mutexes of Go programs, by the stack that unlocked them: goroutines do not sleep in the
 * kernel for a mutex. */
#include "base/clock.h"
#include "collect/heap/go_program.h"
#include "collect/resolve/resolve.h"

#include <errno.h>
#include <time.h>

enum {
	GO_LOCK_ROWS_MAX = 1 << 14, /* limit: stacks that unlock mutexes, of a Go program */
	/* limit: stacks that unlock mutexes, of all Go programs, always on … */
	GO_LOCK_ROWS_ALWAYS = 1 << 14,
	GO_LOCK_ROWS_LEAST = 1 << 8, /* … and of one beyond it */
};

static size_t max_rows(const struct go_program *p)
{
	const struct collect_heap *h = p->h;
	size_t others = 0;

	if (!h->asked->is_always)
		return GO_LOCK_ROWS_MAX;
	for (size_t i = 0; i < h->go.n; i++)
		others += h->go.v[i] == p ? 0 : h->go.v[i]->locks.rows.n;
	size_t left = others < GO_LOCK_ROWS_ALWAYS ? GO_LOCK_ROWS_ALWAYS - others : 0;
	return left > GO_LOCK_ROWS_LEAST ? left : GO_LOCK_ROWS_LEAST;
}

/* NULL: no space. Waits before the first reading do not count, if the program ran before, nor of
 * stacks without space then. */
static struct go_lock_row *row_of(struct go_program *p, const struct go_bucket *b)
{
	struct go_locks *l = &p->locks;
	const uint32_t *known = map_get(&l->index, b->addr);

	if (known)
		return &l->rows.v[*known];
	if (l->rows.n >= p->max_lock_rows) {
		l->is_full = true;
		go_program_note_lock(p->h, p->pid,
				     "more stacks in Go's profile of mutexes than are read");
		return NULL;
	}
	map_put(&l->index, b->addr, l->rows.n);
	vec_push(&l->rows, ((struct go_lock_row){ 0 }));
	struct go_lock_row *row = &l->rows.v[l->rows.n - 1];
	if ((p->skips && !l->is_read) || l->is_full) {
		row->read_waits = b->waits;
		row->read_cycles = b->cycles;
	}
	return row;
}

static void add(struct go_locks *l, struct go_lock_row *row, const struct go_bucket *b)
{
	/* The two are not written together. */
	if (b->waits > row->read_waits) {
		row->waits += (b->waits - row->read_waits) * l->scale;
		row->read_waits = b->waits;
	}
	if (b->cycles > row->read_cycles) {
		row->cycles += (double)(b->cycles - row->read_cycles) * l->scale;
		row->read_cycles = b->cycles;
	}
}

static bool on_bucket(void *ctx, const struct go_bucket *b)
{
	struct go_program *p = ctx;
	struct go_locks *l = &p->locks;
	struct go_lock_row *row = row_of(p, b);

	if (!row)
		return true;
	if (!row->origin || row->since_s != l->since_s) {
		uint64_t stack[GO_HEAP_STACK];

		if (clock_mono_ns() > p->until_ns) {
			p->is_cut = true;
			return false;
		}
		uint32_t n = go_program_stack(p, b, stack);
		row->origin = resolve_go_lock_origin(p->h->resolver, p->pid, l->since_s, stack, n);
		row->since_s = l->since_s;
	}
	add(l, row, b);
	return true;
}

int go_locks_read_program(struct go_program *p, const struct go_heap_memory *m)
{
	struct go_locks *l = &p->locks;
	uint64_t rate;

	if (!p->heap.locks || !go_clock_is_known())
		return 0;
	int rc = go_locks_rate(&p->heap, m, &rate);
	if (rc)
		return rc;
	l->is_off = !rate;
	l->is_asked &= l->is_off;
	l->read_s = (uint32_t)time(NULL);
	/* The last one, after it was turned off. */
	l->scale = p->heap.has_sampled_locks && rate ? (double)rate : l->scale > 0 ? l->scale : 1;
	p->max_lock_rows = max_rows(p);
	rc = go_locks_read(&p->heap, m, on_bucket, p);
	if (rc == -EBADMSG)
		go_program_note_lock(p->h, p->pid,
				     "Go's profile of mutexes is not of a known layout");
	l->is_read |= !p->is_cut && rc == 0;
	return rc;
}

void go_locks_switch_on(struct go_program *p)
{
	struct go_locks *l = &p->locks;

	if (!l->is_read || !l->is_off || l->is_asked || !go_program_may_switch(p) ||
	    go_program_switch(p, SWITCH_GO_LOCKS, false))
		return;
	l->is_asked = true;
	l->since_s = (uint32_t)time(NULL);
}

static void cut_row(struct go_program *p, struct go_lock_row *row, uint64_t now_ns, double cycle_ns)
{
	const struct go_waits w = { row->origin, row->cycles * cycle_ns, row->waits };

	if (!w.origin || (!(w.waits > 0) && !(w.ns > 0)))
		return;
	resolve_go_waits(p->h->resolver, now_ns, &w);
	row->waits = row->cycles = 0;
	row->has_waited = true;
}

/* Always on, a profile that is off is usual, if no option wants it on. */
static void note_state(struct go_program *p)
{
	const struct go_locks *l = &p->locks;

	if (!l->is_read || !l->is_off)
		return;
	if (l->is_asked && l->read_s > l->since_s + 1)
		go_program_note_lock(p->h, p->pid,
				     "Go's profile of mutexes could not be switched on");
	else if (!l->is_asked && !l->rows.n && !p->h->asked->is_always)
		go_program_note_lock(p->h, p->pid, "Go's profile of mutexes is off");
}

void go_locks_cut(struct go_program *p, uint64_t now_ns, double cycle_ns)
{
	struct go_locks *l = &p->locks;
	uint32_t n = 0;

	note_state(p);
	for (size_t i = 0; i < l->rows.n; i++) {
		if (cycle_ns > 0)
			cut_row(p, &l->rows.v[i], now_ns, cycle_ns);
		n += l->rows.v[i].has_waited;
	}
	p->h->stats.go_lock_programs += n > 0;
	p->h->stats.go_lock_stacks += n;
}

void go_locks_renamed(struct go_program *p, gpu_origin_move *move, void *moves)
{
	for (size_t i = 0; i < p->locks.rows.n; i++)
		p->locks.rows.v[i].origin = move(moves, p->locks.rows.v[i].origin);
}

void go_locks_done(struct go_program *p)
{
	map_done(&p->locks.index);
	vec_done(&p->locks.rows);
}
