/* Programs of Go: their runtime's profiles of their heap and of mutexes. */
#include "collect/heap/go_program.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "collect/proc/proc_maps.h"
#include "collect/worker/proc_reader.h"
#include "mem/go/go_heap.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	GO_PROGRAMS_MAX = 64,   /* limit: Go programs with a heap that is read */
	GO_ENDED_MAX = 1 << 10, /* limit: ended Go programs in a recording */
	/* limit: stacks of all Go heaps, always on, some 6 MiB; beyond it each has its share */
	GO_ALWAYS_ROWS = 1 << 15,
	GO_WAITING_MAX = 1 << 12, /* limit: processes not examined yet, always on */
	COST_SHARE = 50,          /* reading takes at most this part of the time */
	ALWAYS_COST_SHARE = 500,  /* of all programs */
};
#define READ_WITHIN_NS 20000000ull  /* the rest of a profile is read later */
#define READ_MORE_NS   480000000ull /* always on: the longest time that others wait */
#define RUN_WITHIN_NS  30000000ull  /* other programs are read later */
#define PAUSE_NS       1000000000ull
#define OPEN_EACH_NS   5000000ull /* between two processes */
#define OPEN_WITHIN_NS 10000000000ull
#define OPEN_AGAIN_NS  20000000ull

/* --- life ------------------------------------------------------------------------------------- */

void go_program_note(struct collect_heap *h, uint32_t pid, const char *text)
{
	if (!h->stats.problem[0])
		snprintf(h->stats.problem, sizeof h->stats.problem, "process %" PRIu32 ": %.130s",
			 pid, text);
}

void go_program_note_lock(struct collect_heap *h, uint32_t pid, const char *text)
{
	if (!h->stats.lock_problem[0])
		snprintf(h->stats.lock_problem, sizeof h->stats.lock_problem,
			 "process %" PRIu32 ": %.130s", pid, text);
}

/* About the program as a whole. */
static void note_any(struct collect_heap *h, uint32_t pid, const char *text)
{
	(h->is_memory ? go_program_note : go_program_note_lock)(h, pid, text);
}

static void tell(const struct collect_heap *h, enum gpu_program_news what, uint32_t pid)
{
	if (h->opts->program)
		h->opts->program(h->opts->program_ctx, what, pid, 0);
}

static void close_file(struct go_program *p)
{
	gopclntab_close(&p->table);
	elf_layout_done(&p->layout);
	elf_file_close(&p->file);
	if (p->fd >= 0)
		close(p->fd);
	p->table = (struct gopclntab){ 0 };
	p->layout = (struct elf_layout){ 0 };
	p->file = (struct elf_file){ 0 };
	p->fd = -1;
}

static void program_free(struct go_program *p)
{
	close_file(p);
	map_done(&p->index);
	vec_done(&p->rows);
	go_locks_done(p);
	free(p);
}

static struct go_program *program_of(const struct collect_heap *h, uint32_t pid)
{
	for (size_t i = 0; i < h->go.n; i++)
		if (h->go.v[i]->pid == pid && !h->go.v[i]->has_ended)
			return h->go.v[i];
	return NULL;
}

/* The program's address, less its address as linked. */
struct bias_search {
	const struct elf_layout *layout;
	uint64_t ino, bias;
	bool is_found;
};

/* Whole pages are mapped. */
static bool on_map(void *ctx, const struct proc_map *m)
{
	enum { PAGE = 4096 };
	struct bias_search *s = ctx;

	for (size_t i = 0; m->executable && m->ino == s->ino && i < s->layout->segments.n; i++) {
		const struct elf_segment *e = &s->layout->segments.v[i];

		if (!e->executable || m->pgoff + PAGE <= e->offset ||
		    m->pgoff >= e->offset + e->size)
			continue;
		s->bias = m->start - m->pgoff - (e->vaddr - e->offset);
		s->is_found = true;
		return false;
	}
	return true;
}

static int read_program_file(struct go_program *p, struct err *err)
{
	int rc = elf_file_open(&p->file, p->fd, err);

	rc = rc ? rc : elf_layout_read(&p->layout, &p->file, err);
	const uint32_t finds = (p->h->is_memory ? GO_FINDS_HEAP : 0) |
			       (p->h->asked->events & COLLECT_LOCK ? GO_FINDS_LOCKS : 0);
	rc = rc ? rc : go_heap_find(&p->file, &p->layout, finds, &p->table, &p->heap, err);
	return rc || p->table.kind ? rc : gopclntab_open(&p->table, &p->file, &p->layout, err);
}

/* Returns -EAGAIN if the process has not responded in time. */
static int open_program(struct go_program *p, struct err *err)
{
	struct stat st;
	struct bias_search s = { .layout = &p->layout };
	uint32_t others = 0;

	if (p->fd < 0) {
		p->fd = proc_reader_open_program(p->h->reader, p->pid, &st);
		if (p->fd < 0)
			return p->fd;
		p->ino = st.st_ino;
		int rc = read_program_file(p, err);
		if (rc)
			return rc;
	}
	s.ino = p->ino;
	int rc = proc_reader_maps(p->h->reader, p->pid, on_map, &s, &others);
	if (rc < 0)
		return rc;
	p->bias = s.bias;
	p->is_open = s.is_found;
	return p->is_open ? 0 : -ENOENT;
}

static void drop(struct collect_heap *h, struct go_program *p)
{
	size_t i = 0;

	while (h->go.v[i] != p)
		i++;
	h->go.v[i] = h->go.v[--h->go.n];
	program_free(p);
}

static bool is_always(const struct collect_heap *h)
{
	return h->asked->is_always;
}

static size_t n_open(const struct collect_heap *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->go.n; i++)
		n += h->go.v[i]->is_open && !h->go.v[i]->has_ended;
	return n;
}

static void note_if_off(struct collect_heap *h, const struct go_program *p)
{
	if (!(h->asked->events & COLLECT_HEAP) || !p->is_read || !p->is_off || p->rows.n ||
	    p->is_asked)
		return;
	go_program_note(
		h, p->pid,
		p->heap.is_by_code
			? "Go's heap profile is off, and is not turned on: the program has no "
			  "symbols"
			: "Go's heap profile is off: the program never uses it, as with "
			  "net/http/pprof, or sets MemProfileRate to 0; --mem-switch turns it on");
}

/* Leaves the rows, if it has any. */
static void end(struct collect_heap *h, struct go_program *p)
{
	note_if_off(h, p);
	p->has_ended = true;
	if (p->rows.n || p->locks.rows.n)
		close_file(p);
	else
		drop(h, p);
}

/* By an exec: its heap is gone. p may be NULL. */
static void replaced(struct collect_heap *h, struct go_program *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->rows.n; i++)
		p->rows.v[i].in_use = 0;
	end(h, p);
}

/* Drops the program if it is none of Go, or cannot be read. */
static void try_open(struct collect_heap *h, struct go_program *p)
{
	struct err err = { 0 };
	uint64_t now_ns = clock_mono_ns();
	int rc = open_program(p, &err);
	bool is_late = rc == -EAGAIN || rc == -EBUSY;

	p->next_ns = now_ns;
	if (rc == 0 && is_always(h) && proc_reader_agent_fits(h->reader, p->pid) == 0) {
		drop(h, p); /* it is another agent's */
		return;
	}
	if (rc == 0 && n_open(h) > GO_PROGRAMS_MAX) {
		note_any(h, p->pid, "its Go runtime is not read: too many programs");
		drop(h, p);
		return;
	}
	if (rc == 0)
		return;
	if (is_late && now_ns < p->opened_ns + OPEN_WITHIN_NS) {
		p->next_ns = now_ns + OPEN_AGAIN_NS;
		return;
	}
	if (rc == -ENOTSUP)
		note_any(h, p->pid, err.text);
	else if (is_late || rc == -EXDEV)
		note_any(h, p->pid, "its program could not be read");
	drop(h, p);
}

/* Returns it, still to be opened; NULL: there are too many. */
static struct go_program *add(struct collect_heap *h, uint32_t pid, bool skips)
{
	size_t most = is_always(h) ? GO_WAITING_MAX : GO_PROGRAMS_MAX + GO_ENDED_MAX;

	if (h->go.n >= most) {
		note_any(h, pid, "its Go runtime, if any, is not read: too many programs");
		return NULL;
	}
	struct go_program *p = xcalloc(1, sizeof *p);
	p->h = h;
	p->pid = pid;
	p->fd = -1;
	p->skips = skips;
	p->opened_ns = clock_mono_ns();
	vec_push(&h->go, p);
	return p;
}

bool go_programs_add(struct collect_heap *h, uint32_t pid, uint64_t exec_ns)
{
	struct go_program *p = program_of(h, pid);

	if (p && p->opened_ns >= exec_ns) /* an earlier exec was handled after this one */
		return true;
	replaced(h, p);
	p = add(h, pid, !exec_ns);
	if (p)
		go_programs_run(h, p->opened_ns, false);
	return program_of(h, pid) != NULL;
}

void go_programs_ended(struct collect_heap *h, uint32_t pid)
{
	struct go_program *p = program_of(h, pid);

	tell(h, GPU_PROGRAM_ENDED, pid);
	if (p)
		end(h, p);
}

void go_programs_done(struct collect_heap *h)
{
	for (size_t i = 0; i < h->go.n; i++)
		program_free(h->go.v[i]);
	vec_done(&h->go);
	map_done(&h->go_seen);
}

/* --- all processes ---------------------------------------------------------------------------- */

struct go_search {
	struct collect_heap *h;
	struct map before;
	uint64_t next_ns;
};

/* In go_seen: how often it was seen, and whether it is, or was, one of the programs. */
enum { SEEN_ADDED = 1u << 31 };

/* Its name or container may be known later: checks at the first, second, fourth … search. */
static void tell_if_taken(struct collect_heap *h, uint32_t pid, uint32_t searches)
{
	if (!h->opts->program || (searches & (searches - 1)) ||
	    !resolve_ask_labels(h->resolver, pid, COLLECT_HEAP, &h->opts->takes))
		return;
	if (searches == 1)
		tell(h, GPU_PROGRAM_EXEC, pid);
	tell(h, GPU_PROGRAM_MAPPED, pid);
}

static void on_process(void *ctx, uint32_t pid, uint64_t begun_ns)
{
	struct go_search *s = ctx;
	uint64_t key = hash_mix(pid, begun_ns);
	const uint32_t *before = map_get(&s->before, key);
	uint32_t searches = (before ? *before & ~SEEN_ADDED : 0) + 1;
	struct go_program *p = NULL;

	tell_if_taken(s->h, pid, searches);
	if (!before || !(*before & SEEN_ADDED))
		p = add(s->h, pid, !begun_ns);
	bool is_added = p || (before && *before & SEEN_ADDED);
	map_put(&s->h->go_seen, key, searches | (is_added ? SEEN_ADDED : 0));
	if (!p)
		return;
	p->seen_key = key;
	p->next_ns = s->next_ns;
	p->opened_ns = s->next_ns; /* the time to open it in starts then */
	s->next_ns += OPEN_EACH_NS;
}

/* Programs that end before the next search are not examined: some hosts start a hundred in each
 * second. */
void go_programs_search(struct collect_heap *h, uint64_t now_ns)
{
	struct go_search s = { h, h->go_seen, now_ns };

	h->go_seen = (struct map){ 0 };
	resolve_each_process(h->resolver, on_process, &s);
	map_done(&s.before);
	for (size_t i = h->go.n; i-- > 0;)
		if (!h->go.v[i]->has_ended && !map_get(&h->go_seen, h->go.v[i]->seen_key))
			replaced(h, h->go.v[i]);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A process may have its list anywhere, so that reading takes long. */
static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct go_program *p = ctx;

	if (is_always(p->h) && clock_mono_ns() > p->until_ns + READ_MORE_NS)
		return -ETIME;
	return proc_reader_memory(p->h->reader, p->pid, addr, out, len);
}

/* While the process lives. */
uint32_t go_program_stack(struct go_program *p, const struct go_bucket *b,
			  uint64_t stack[GO_HEAP_STACK])
{
	for (uint32_t i = 0; i < b->n; i++)
		stack[i] = b->stack[i] - p->bias;
	uint32_t n = go_heap_physical(&p->table, stack, b->n);
	for (uint32_t i = 0; i < n; i++)
		stack[i] += p->bias;
	return n;
}

static uint32_t origin_of(struct go_program *p, const struct go_bucket *b)
{
	uint64_t stack[GO_HEAP_STACK];
	uint32_t n = go_program_stack(p, b, stack);

	return resolve_go_origin(p->h->resolver, p->pid, p->since_s, stack, n);
}

/* A row for each bucket. Those before the first whole reading, or without space then, have nothing
 * that counts yet. NULL: no space. */
static struct go_row *row_of(struct go_program *p, const struct go_bucket *b)
{
	const uint32_t *known = map_get(&p->index, b->addr);

	if (known)
		return &p->rows.v[*known];
	if (p->rows.n >= p->max_rows) {
		p->is_full = true;
		return NULL;
	}
	map_put(&p->index, b->addr, p->rows.n);
	vec_push(&p->rows, ((struct go_row){ .size = b->size }));
	struct go_row *row = &p->rows.v[p->rows.n - 1];
	if ((p->skips && !p->is_read) || p->is_full)
		row->given = b->allocs + b->recent_allocs;
	return row;
}

static bool on_bucket(void *ctx, const struct go_bucket *b)
{
	struct go_program *p = ctx;
	uint64_t allocs = b->allocs + b->recent_allocs;
	bool is_known = map_get(&p->index, b->addr);
	struct go_row *row = is_known ? row_of(p, b) : NULL;

	if ((!row || !row->origin) && clock_mono_ns() > p->until_ns) {
		p->is_cut = true;
		return false;
	}
	row = row ? row : row_of(p, b);
	if (!row)
		return true;
	if (!row->origin || row->since_s != p->since_s)
		row->origin = origin_of(p, b);
	row->since_s = p->since_s;
	/* Counters that are published just now may count twice, or not at all. */
	if (allocs > row->allocs)
		row->allocs = allocs;
	row->in_use = b->allocs - b->frees;
	return true;
}

/* Whether it still is the program that was opened. */
static bool is_same_program(struct go_program *p)
{
	struct stat st, own;
	int fd = proc_reader_open_program(p->h->reader, p->pid, &st);

	if (fd < 0)
		return false;
	close(fd);
	p->is_other = fstat(p->fd, &own) || st.st_ino != own.st_ino || st.st_dev != own.st_dev;
	return !p->is_other;
}

static size_t max_rows(const struct go_program *p)
{
	const struct collect_heap *h = p->h;
	size_t others = 0;

	if (!is_always(h))
		return GO_HEAP_BUCKETS;
	for (size_t i = 0; i < h->go.n; i++)
		others += h->go.v[i] == p ? 0 : h->go.v[i]->rows.n;
	size_t share = GO_ALWAYS_ROWS / (n_open(h) + 1);
	size_t left = others < GO_ALWAYS_ROWS ? GO_ALWAYS_ROWS - others : 0;
	return left > share ? left : share;
}

/* Blocks are weighted by the rate of their time, also after another program turned it off. */
static int read_rate(struct go_program *p, const struct go_heap_memory *m)
{
	uint64_t rate = 0;
	int rc = go_heap_rate(&p->heap, m, &rate);

	if (rc)
		return rc;
	p->is_off = !rate;
	p->read_s = (uint32_t)time(NULL);
	p->rate = rate ? rate : p->rate;
	p->is_asked &= p->is_off;
	return 0;
}

static int read_heap(struct go_program *p, const struct go_heap_memory *m)
{
	int rc = read_rate(p, m);

	rc = rc ? rc : go_heap_read(&p->heap, m, on_bucket, p);
	if (rc == -EBADMSG)
		go_program_note(p->h, p->pid, "Go's heap profile is not of a known layout");
	return rc;
}

/* Whether reading again is of no use. */
static bool is_whole(int rc)
{
	return rc == 0 || rc == -EAGAIN || rc == -E2BIG || rc == -EBADMSG;
}

static void read_program(struct go_program *p)
{
	const struct go_heap_memory m = { read_memory, p, p->bias };

	p->is_cut = p->is_done = false;
	p->until_ns = clock_mono_ns() + READ_WITHIN_NS;
	p->max_rows = max_rows(p);
	if (!is_same_program(p))
		return;
	int locks = p->h->asked->events & COLLECT_LOCK ? go_locks_read_program(p, &m) : 0;
	int rc = p->h->is_memory && p->heap.buckets ? read_heap(p, &m) : 0;
	if (rc == -E2BIG || p->is_full)
		go_program_note(p->h, p->pid, "more stacks in Go's heap profile than are read");
	p->is_done = !p->is_cut && is_whole(rc) && is_whole(locks);
	p->is_read |= p->is_done && rc != -EBADMSG;
}

uint64_t go_programs_due_ns(const struct collect_heap *h)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < h->go.n; i++)
		if (!h->go.v[i]->has_ended && h->go.v[i]->next_ns < next_ns)
			next_ns = h->go.v[i]->next_ns;
	return next_ns;
}

bool go_program_may_switch(const struct go_program *p)
{
	const struct heap_opts *opts = p->h->opts;

	return p->h->byte_switch.fd >= 0 && p->is_read && !p->h->is_ending &&
	       (opts->switches_all ||
		(opts->switches.apply &&
		 resolve_ask_labels(p->h->resolver, p->pid,
				    p->h->asked->events & (COLLECT_HEAP | COLLECT_LOCK),
				    &opts->switches)));
}

int go_program_switch(const struct go_program *p, enum byte_switch_variable variable, bool is_on)
{
	struct stat st;

	if (fstat(p->fd, &st))
		return -errno;
	const struct byte_switch_request r = {
		.pid = p->pid,
		.variable = variable,
		.is_on = is_on,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.addr = p->bias + (variable == SWITCH_GO_HEAP ? p->heap.rate : p->heap.lock_rate),
	};
	return byte_switch_on(&p->h->byte_switch, &r);
}

/* Whether it worked is seen in the next reading. */
static void switch_on(struct go_program *p)
{
	if (!p->is_off || p->is_asked || p->heap.is_by_code || !go_program_may_switch(p) ||
	    go_program_switch(p, SWITCH_GO_HEAP, false))
		return;
	p->is_asked = true;
	p->since_s = (uint32_t)time(NULL);
}

void go_programs_renew_switch(struct collect_heap *h)
{
	for (size_t i = 0; i < h->go.n; i++) {
		struct go_program *p = h->go.v[i];

		if (p->has_ended)
			continue;
		p->is_asked = p->locks.is_asked = false; /* a request may be lost */
		if (p->since_s)
			go_program_switch(p, SWITCH_GO_HEAP, true);
		if (p->locks.since_s)
			go_program_switch(p, SWITCH_GO_LOCKS, true);
	}
}

static void run(struct collect_heap *h, struct go_program *p)
{
	uint64_t start_ns = clock_mono_ns();

	if (!p->is_open) {
		try_open(h, p);
		return;
	}
	bool is_first = !p->is_read;
	read_program(p);
	if (p->is_other && is_always(h)) { /* its exec was not seen */
		map_del(&h->go_seen, p->seen_key);
		replaced(h, p);
		return;
	}
	switch_on(p);
	go_locks_switch_on(p);
	uint64_t end_ns = clock_mono_ns();
	uint64_t share = is_always(h) ? ALWAYS_COST_SHARE * n_open(h) : COST_SHARE;
	uint64_t rest_ns = (end_ns - start_ns) * share;
	uint64_t pause_ns = is_always(h) ? h->asked->waits.cut_every_ns : PAUSE_NS;
	p->next_ns = end_ns + (rest_ns > pause_ns ? rest_ns : pause_ns);
	/* The state at the start has to be known soon. */
	if (is_first && p->is_cut)
		p->next_ns = end_ns + (end_ns - start_ns);
}

/* Opens a program, and reads it. */
static void run_both(struct collect_heap *h, size_t i)
{
	struct go_program *p = h->go.v[i];
	bool was_open = p->is_open;

	run(h, p);
	if (!was_open && i < h->go.n && h->go.v[i] == p && p->is_open)
		run(h, p);
}

/* The last reading is a whole one, also where the process responds late. */
static void run_whole(struct collect_heap *h, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 2000000 };

	for (size_t i = h->go.n; i-- > 0;) {
		struct go_program *p = h->go.v[i];

		if (p->has_ended)
			continue;
		for (run_both(h, i);
		     i < h->go.n && h->go.v[i] == p && !p->is_done && clock_mono_ns() < until_ns;
		     run_both(h, i))
			nanosleep(&moment, NULL);
	}
}

void go_programs_run(struct collect_heap *h, uint64_t now_ns, bool all)
{
	const uint64_t last_ns = 2000000000;

	h->is_ending = all;
	if (all)
		run_whole(h, now_ns + last_ns);
	for (size_t i = h->go.n; !all && i-- > 0;) {
		if (i >= h->go.n || h->go.v[i]->has_ended || now_ns < h->go.v[i]->next_ns)
			continue;
		run_both(h, i);
		if (is_always(h) && clock_mono_ns() > now_ns + RUN_WITHIN_NS)
			break;
	}
}

/* --- cuts ------------------------------------------------------------------------------------- */

static void cut_row(struct go_program *p, struct go_row *row)
{
	struct collect_heap *h = p->h;
	bool has_use = h->is_snapshot && (!is_always(h) || (p->is_read && !p->has_ended));
	const struct go_blocks b = {
		.origin = row->origin,
		.size = row->size,
		.weight = go_heap_weight(row->size, p->rate),
		.allocated = row->allocs > row->given ? row->allocs - row->given : 0,
		.in_use = has_use ? row->in_use : 0,
	};

	row->given = row->allocs;
	if (b.origin)
		resolve_go_add(h->resolver, &b);
	else
		h->stats.dropped += b.allocated + b.in_use;
}

void go_programs_cut(struct collect_heap *h, uint64_t now_ns)
{
	double cycle_ns = go_clock_cycle_ns(&h->go_clock);

	h->stats.go_programs = h->stats.go_stacks = 0;
	h->stats.go_lock_programs = h->stats.go_lock_stacks = 0;
	for (size_t i = h->go.n; i-- > 0;) {
		struct go_program *p = h->go.v[i];

		note_if_off(h, p);
		if (p->is_off && p->is_asked && p->read_s > p->since_s + 1)
			go_program_note(h, p->pid, "Go's heap profile could not be switched on");
		h->stats.go_programs += p->rows.n > 0;
		h->stats.go_stacks += p->rows.n;
		for (size_t k = 0; k < p->rows.n; k++)
			cut_row(p, &p->rows.v[k]);
		go_locks_cut(p, now_ns, cycle_ns);
		if (is_always(h) && p->has_ended)
			drop(h, p);
	}
}

void go_programs_renamed(void *heap, gpu_origin_move *move, void *moves)
{
	struct collect_heap *h = heap;

	for (size_t i = 0; i < h->go.n; i++) {
		struct go_program *p = h->go.v[i];

		for (size_t k = 0; k < p->rows.n; k++)
			p->rows.v[k].origin = move(moves, p->rows.v[k].origin);
		go_locks_renamed(p, move, moves);
	}
}
