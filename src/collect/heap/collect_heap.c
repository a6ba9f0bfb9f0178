/* Programs with the library, and their rows. */
#include "collect/heap/collect_heap.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/resolve/resolve_links.h"
#include "collect/worker/proc_reader.h"
#include "gpu/code/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_PROGRAMS = 1024, /* limit: programs with sampled allocations, some 3 MiB each */
	/* limit: sampled blocks in use, always on, 40 bytes each: each program has its share */
	ALWAYS_ROWS = 1 << 19,
	LOOK_FIRST_NS = 2000000,
	LOOK_SLOWEST_NS = 500000000,
	RING_EACH_NS = 1000000000,
	SNAPSHOT_CUTS = 6,
	MEMFDS = 16,          /* limit: memory of its ancestors that a child may have mapped */
	LEFT_ALONE_MAX = 256, /* limit: programs with the library that are not selected */
	BY_HAND_MAX = 16,     /* limit: programs that are taken though no option selects them */
};
#define PROBES_WAIT_NS   10000000000ull
#define AHEAD_NS         (LIVE_AHEAD_MS * 1000000ull)
#define FOUND_NS         20000000000ull
#define START_NS         5000000000ull
/* Always on: one cut in SNAPSHOT_CUTS is a snapshot, or more if cuts are rare: a snapshot stands
 * for 300 s (QUERY_STALE_NS). */
#define SNAPSHOT_MOST_NS 60000000000ull
/* Probes are placed from when the library is mapped on; samples without them have no stacks. */
#define PROBES_FIRST_NS  1000000000ull
#define LOOK_RARELY_NS   10000000000ull /* always on */
#define LOOK_SELDOM_NS   60000000000ull /* … with its parent's memory, as a rule */
#define LOOK_BY_HAND_NS  2000000000ull  /* programs that only a person can have taken */

/* --- programs --------------------------------------------------------------------------------- */

static bool is_always(const struct collect_heap *h)
{
	return h->asked->is_always;
}

static struct heap_program *program_of(struct collect_heap *h, uint32_t pid)
{
	for (size_t i = 0; i < h->programs.n; i++)
		if (h->programs.v[i].owner.pid == pid)
			return &h->programs.v[i];
	return NULL;
}

/* It has the library, and its samples are not wanted. */
static bool is_left_alone(const struct heap_program *p)
{
	return p->by_hand && !p->live.memory;
}

static size_t n_left_alone(const struct collect_heap *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->programs.n; i++)
		n += is_left_alone(&h->programs.v[i]);
	return n;
}

static size_t n_taken(const struct collect_heap *h, bool by_hand)
{
	size_t n = 0;

	for (size_t i = 0; i < h->programs.n; i++)
		n += h->programs.v[i].live.memory && (!by_hand || h->programs.v[i].by_hand);
	return n;
}

static void note_problem(struct collect_heap *h, uint32_t pid, const char *text)
{
	if (!h->stats.problem[0])
		snprintf(h->stats.problem, sizeof h->stats.problem, "process %u: %.130s", pid,
			 text);
}

static void expect(struct collect_heap *h, uint32_t pid, uint64_t mapped_ns, bool by_hand,
		   const struct heap_program *parent)
{
	uint64_t now_ns = clock_mono_ns();
	struct heap_program p = { .owner = { .pid = pid },
				  .next_ns = now_ns + (is_always(h) ? PROBES_FIRST_NS : 0),
				  .pause_ns = LOOK_FIRST_NS,
				  .until_ns = parent ? UINT64_MAX : now_ns + FOUND_NS,
				  .by_hand = by_hand,
				  .mapped_ns = mapped_ns };

	if (program_of(h, pid) || (by_hand && n_left_alone(h) >= LEFT_ALONE_MAX))
		return;
	if (!by_hand && h->programs.n - n_left_alone(h) >= MAX_PROGRAMS) {
		note_problem(h, pid, "there are too many programs");
		return;
	}
	if (parent) {
		p.owner.ancestors[0] = parent->owner.pid;
		memcpy(p.owner.ancestors + 1, parent->owner.ancestors,
		       (HEAP_ANCESTORS - 1) * sizeof *p.owner.ancestors);
	}
	vec_push(&h->programs, p);
}

static void beat(void *live, uint64_t now_ns)
{
	const struct live l = { .memory = live };

	live_beat(&l, now_ns + AHEAD_NS);
}

static void close_program(struct collect_heap *h, struct heap_program *p)
{
	if (p->live.memory)
		gpu_beats_remove(h->beats, p->live.memory);
	live_close(&p->live);
	live_forget(p->watched);
	p->watched = NULL;
	free(p->rows);
	p->rows = NULL;
	p->n_rows = 0;
}

static void drop(struct collect_heap *h, struct heap_program *p)
{
	size_t at = p - h->programs.v;

	close_program(h, p);
	h->programs.n--;
	memmove(p, p + 1, (h->programs.n - at) * sizeof *p);
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_to_be_taken(const struct collect_heap *h, const struct heap_program *p,
			   enum live_by_hand decided)
{
	return decided != LIVE_DETACHED &&
	       (!p->by_hand || (decided == LIVE_ATTACHED && n_taken(h, true) < BY_HAND_MAX));
}

/* Looks before it takes the lock, which another recording may want. -ECANCELED: it is not to be
 * taken. */
static int open_one(struct collect_heap *h, struct heap_program *p, int fd, struct live *out,
		    struct err *err)
{
	const void *watched = live_watch((pid_t)p->owner.pid, fd);

	if (watched && !is_to_be_taken(h, p, live_decided(watched))) {
		p->watched = watched;
		return err_set(err, ECANCELED,
			       "it is detached; cresset mem attach %u takes it back", p->owner.pid);
	}
	live_forget(watched);
	return live_open_fd((pid_t)p->owner.pid, fd, out, err);
}

static int open_memory(struct collect_heap *h, struct heap_program *p, struct live *out,
		       struct err *err)
{
	int rc = err_set(err, ENOENT, "its library has no memory");

	for (uint32_t n = 0; rc && rc != -ECANCELED && n < MEMFDS; n++) {
		int fd = proc_reader_ring(h->reader, p->owner.pid, LIVE_NAME, O_RDWR, n);

		if (fd < 0)
			return fd == -ENOENT ? rc
					     : err_set(err, -fd, "its memory: %s", strerror(-fd));
		rc = open_one(h, p, fd, out, err);
		close(fd);
	}
	return rc;
}

static void ask(struct collect_heap *h, struct heap_program *p, uint64_t now_ns)
{
	struct live_now now = live_look(&p->live);
	const char *refused = live_refusal_text(now.refused);

	h->stats.programs++;
	if (refused)
		note_problem(h, p->owner.pid, refused);
	bool was_wanted = live_want(&p->live, true, now.mean_bytes, now_ns + AHEAD_NS);
	if (now.state == LIVE_CHILD && !was_wanted) /* it did not clear them */
		p->old_rows = now.samples;
	gpu_beats_add(h->beats, beat, p->live.memory);
}

static bool is_selected(const struct collect_heap *h, uint32_t pid)
{
	return !is_always(h) ||
	       (h->opts->takes.apply &&
		resolve_ask_labels(h->resolver, pid, COLLECT_HEAP, &h->opts->takes));
}

/* Selects again: its name, or its container, may not have been known. Returns whether it stays
 * untaken. */
static bool stays_alone(const struct collect_heap *h, struct heap_program *p, uint64_t now_ns)
{
	if (!is_always(h))
		return false;
	p->by_hand = p->by_hand && !is_selected(h, p->owner.pid);
	if (!p->watched || is_to_be_taken(h, p, live_decided(p->watched)))
		return false;
	p->next_ns = now_ns + LOOK_BY_HAND_NS;
	return true;
}

/* Returns false when looking again has no use. */
static bool try_open(struct collect_heap *h, struct heap_program *p, uint64_t now_ns)
{
	struct err err = { 0 };
	bool has_ended = kill((pid_t)p->owner.pid, 0) && errno == ESRCH;

	if (has_ended || stays_alone(h, p, now_ns))
		return !has_ended;
	live_forget(p->watched);
	p->watched = NULL;
	int rc = open_memory(h, p, &p->live, &err);
	if (rc == 0) {
		ask(h, p, now_ns);
		return true;
	}
	if (rc == -ECANCELED && is_always(h)) {
		p->next_ns = now_ns + LOOK_BY_HAND_NS;
		return true;
	}
	if (rc == -ECANCELED || (!p->by_hand && (now_ns > p->until_ns || rc == -EBUSY))) {
		note_problem(h, p->owner.pid, err.text);
		return false;
	}
	const uint64_t most_ns = p->by_hand     ? LOOK_SELDOM_NS
				 : is_always(h) ? LOOK_RARELY_NS
						: LOOK_SLOWEST_NS;
	p->pause_ns = p->pause_ns * 2 < most_ns ? p->pause_ns * 2 : most_ns;
	p->next_ns = now_ns + p->pause_ns;
	return true;
}

static void open_due(struct collect_heap *h, uint64_t now_ns, bool all)
{
	for (size_t i = 0; i < h->programs.n;) {
		struct heap_program *p = &h->programs.v[i];

		if (!p->live.memory && (all || now_ns >= p->next_ns) && !try_open(h, p, now_ns))
			drop(h, p);
		else
			i++;
	}
}

/* --- what processes do ------------------------------------------------------------------------ */

static bool is_library(const char *path)
{
	const struct gpu_library *l = path ? gpu_library_of(path) : NULL;

	return l && strcmp(l->name, MEM_LIBRARY) == 0;
}

static bool may_be_target(const struct collect_heap *h, uint32_t pid)
{
	if (is_always(h))
		return proc_reader_agent_fits(h->reader, pid) == 1;
	return h->asked->target != TARGET_PID || sampler_is_target(h->sampler, pid);
}

static void mapped(struct collect_heap *h, uint32_t pid, uint64_t time_ns)
{
	struct heap_program *p = program_of(h, pid);

	if (p)
		p->again_ns = time_ns;
	else if (may_be_target(h, pid))
		expect(h, pid, time_ns, !is_selected(h, pid), NULL);
}

static void found(void *ctx, uint32_t pid)
{
	if (!program_of(ctx, pid))
		mapped(ctx, pid, clock_mono_ns());
}

void collect_heap_scanned(struct collect_heap *h)
{
	if (h->is_memory)
		resolve_find_processes(h->resolver, is_library, found, h);
	java_programs_scanned(h);
}

bool collect_heap_seen(struct collect_heap *h, const struct side_record *r)
{
	if (java_programs_seen(h, r))
		return true;
	if (!h->is_memory || r->kind != SIDE_MMAP || !is_library(r->name))
		return false;
	mapped(h, r->pid, r->time_ns);
	return true;
}

struct row_copy {
	struct collect_heap *h;
	struct heap_program *p;
	size_t most;
};

static void take_row(void *ctx, const struct live_block *b)
{
	struct row_copy *c = ctx;

	if (b->number <= c->p->old_rows)
		return;
	if (c->p->n_rows < c->most) {
		c->p->rows[c->p->n_rows++] = *b;
		return;
	}
	c->h->stats.dropped++;
	c->p->is_cut = true;
}

static size_t most_rows(const struct collect_heap *h)
{
	size_t share = ALWAYS_ROWS / (n_taken(h, false) + 1);

	return is_always(h) && share < LIVE_ROWS ? share : LIVE_ROWS;
}

static void copy_rows(struct collect_heap *h, struct heap_program *p)
{
	struct row_copy c = { h, p, most_rows(h) };

	p->rows = xcalloc(LIVE_ROWS, sizeof *p->rows);
	p->n_rows = 0;
	p->is_cut = false;
	h->stats.wrong += live_rows(&p->live, take_row, &c);
	p->rows = xrealloc(p->rows, (p->n_rows + 1) * sizeof *p->rows);
	if (p->is_cut)
		note_problem(h, p->owner.pid, "more sampled blocks in use than are read");
	else
		resolve_heap_read(h->resolver, p->owner.pid);
}

static void add_rows(struct collect_heap *h, struct heap_program *p, bool has_ended)
{
	for (size_t i = 0; i < p->n_rows; i++)
		resolve_heap_add(h->resolver, &p->owner, &p->rows[i], has_ended);
	free(p->rows);
	p->rows = NULL;
	p->n_rows = 0;
}

static void count(struct collect_heap *h, struct heap_program *p)
{
	struct live_now now = live_look(&p->live);

	uint64_t from = p->counted > now.inherited ? p->counted : now.inherited;
	h->stats.samples += now.samples > from ? now.samples - from : 0;
	p->counted = now.samples;
	h->stats.dropped += now.dropped > p->counted_dropped ? now.dropped - p->counted_dropped : 0;
	p->counted_dropped = now.dropped;
	h->stats.slots += now.slots;
	h->stats.slots_foreign += now.slots_foreign;
	if (now.mean_bytes > h->stats.mean_bytes)
		h->stats.mean_bytes = now.mean_bytes;
}

static void ended(struct collect_heap *h, struct heap_program *p)
{
	if (p->live.memory && !p->rows) {
		count(h, p);
		copy_rows(h, p);
	}
	add_rows(h, p, true);
	resolve_heap_read(h->resolver, p->owner.pid);
	drop(h, p);
}

/* A program that another one has replaced: its memory is gone. */
static void replaced(struct collect_heap *h, struct heap_program *p, uint64_t time_ns)
{
	uint32_t pid = p->owner.pid;
	uint64_t again_ns = p->again_ns;

	if (time_ns < p->mapped_ns)
		return;
	drop(h, p);
	resolve_heap_read(h->resolver, pid);
	if (again_ns > time_ns)
		mapped(h, pid, again_ns);
}

void collect_heap_applied(struct collect_heap *h, const struct side_record *r)
{
	if (!h->is_on)
		return;
	if ((r->kind == SIDE_EXIT && r->pid == r->tid) || (r->kind == SIDE_COMM && r->exec))
		java_programs_ended(h, r->pid, r->time_ns);
	if (r->kind == SIDE_EXIT && r->pid == r->tid)
		go_programs_ended(h, r->pid);
	else if (r->kind == SIDE_COMM && r->exec && !is_always(h) &&
		 (h->is_memory || h->asked->target == TARGET_PID) && may_be_target(h, r->pid))
		go_programs_add(h, r->pid, r->time_ns);
	struct heap_program *p = program_of(h, r->kind == SIDE_FORK ? r->ppid : r->pid);
	if (!p)
		return;
	if (r->kind == SIDE_FORK && r->pid != r->ppid)
		expect(h, r->pid, r->time_ns, is_left_alone(p),
		       &(struct heap_program){ .owner = p->owner });
	else if (r->kind == SIDE_EXIT && r->pid == r->tid)
		ended(h, p);
	else if (r->kind == SIDE_COMM && r->exec)
		replaced(h, p, r->time_ns);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Any program may send samples as the library does. */
static bool wants(void *ctx, uint32_t pid)
{
	const struct heap_program *p = program_of(ctx, pid);

	return p && !is_left_alone(p);
}

void collect_heap_hooks(struct collect_heap *h, struct resolve_links *links,
			const struct sampler_opts *asked)
{
	links->heap_renamed = go_programs_renamed;
	links->heap_wants = asked->is_always ? wants : NULL;
	links->java_weight = java_programs_weight;
	links->heap_ctx = h;
}

void collect_heap_open(struct collect_heap *h)
{
	h->is_memory = h->asked->events & COLLECT_HEAP;
	h->is_on = h->is_memory || h->asked->events & COLLECT_LOCK;
	h->byte_switch.fd = -1;
	go_clock_cycle_ns(&h->go_clock);
	if (!h->is_on)
		return;
	h->has_switch = h->opts->switches_all || h->opts->switches.apply;
	if (h->has_switch)
		byte_switch_start(&h->byte_switch);
	if (!h->is_memory)
		return;
	h->beats = gpu_beats_new();
	int fd = h->opts->library ? open(h->opts->library, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	gpu_probes_add(h->probes, 0, h->opts->library, fd);
	gpu_probes_wait(h->probes, PROBES_WAIT_NS);
	close(fd);
}

void collect_heap_done(struct collect_heap *h)
{
	while (h->programs.n)
		drop(h, &h->programs.v[h->programs.n - 1]);
	vec_done(&h->programs);
	go_programs_done(h);
	java_programs_done(h);
	if (h->is_on)
		byte_switch_stop(&h->byte_switch);
	gpu_beats_free(h->beats);
}

static bool all_sample(const struct collect_heap *h)
{
	for (size_t i = 0; i < h->programs.n; i++) {
		const struct live *l = &h->programs.v[i].live;
		struct live_now now = l->memory ? live_look(l) : (struct live_now){ 0 };

		if (now.state == LIVE_PARKED && !now.refused && now.by_hand != LIVE_DETACHED)
			return false;
	}
	return true;
}

void collect_heap_start(struct collect_heap *h)
{
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + START_NS;

	/* What a command has mapped before its exec is of the process that starts it. */
	if (h->asked->wait_exec)
		return;
	if (h->is_on && is_always(h)) {
		h->next_snapshot_ns = now_ns + SNAPSHOT_MOST_NS;
		go_programs_search(h, now_ns);
	}
	collect_heap_scanned(h);
	if (is_always(h))
		return;
	if (h->is_on && h->asked->target == TARGET_PID)
		for (size_t i = 0; i < h->asked->n_ids; i++) {
			if (!go_programs_add(h, h->asked->ids[i], 0) && h->is_memory)
				found(h, h->asked->ids[i]);
		}
	java_programs_start(h);
	for (; h->programs.n && now_ns < until_ns; now_ns = clock_mono_ns()) {
		open_due(h, now_ns, true);
		if (all_sample(h))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_FIRST_NS }, NULL);
	}
}

uint64_t collect_heap_due_ns(const struct collect_heap *h)
{
	uint64_t next_ns = go_programs_due_ns(h), java_ns = java_programs_due_ns(h);

	next_ns = java_ns < next_ns ? java_ns : next_ns;

	for (size_t i = 0; i < h->programs.n; i++)
		if (!h->programs.v[i].live.memory && h->programs.v[i].next_ns < next_ns)
			next_ns = h->programs.v[i].next_ns;
	return next_ns;
}

/* A person has detached it: it has parked, or will, and its rows are gone. */
static void let_go(struct collect_heap *h, struct heap_program *p, uint64_t now_ns)
{
	if (!is_always(h))
		note_problem(h, p->owner.pid, "it was detached in the middle");
	count(h, p);
	live_want(&p->live, false, 0, now_ns);
	close_program(h, p);
	resolve_heap_read(h->resolver, p->owner.pid);
	p->has_run = false;
	p->next_ns = now_ns + LOOK_BY_HAND_NS;
}

/* A library has parked because this process did not get to run for so long. */
static void wake_parked(struct collect_heap *h, struct heap_program *p, uint64_t now_ns)
{
	struct live_now now = live_look(&p->live);

	if (now.by_hand == LIVE_DETACHED) {
		let_go(h, p, now_ns);
	} else if (now.state != LIVE_PARKED) {
		p->has_run = true;
	} else if (!now.refused && now_ns >= p->rung_ns + RING_EACH_NS) {
		p->rung_ns = now_ns;
		live_ring(&p->live);
		if (p->has_run)
			note_problem(h, p->owner.pid, "its samples stopped for a time: too busy");
	}
}

/* The stacks of blocks that are allocated from here on are retained. */
static void copy_all_rows(struct collect_heap *h)
{
	resolve_heap_begin(h->resolver);
	for (size_t i = 0; i < h->programs.n; i++) {
		struct heap_program *p = &h->programs.v[i];

		free(p->rows);
		p->rows = NULL;
		p->n_rows = 0;
		if (p->live.memory)
			copy_rows(h, p);
	}
}

void collect_heap_run(struct collect_heap *h, uint64_t now_ns)
{
	if (!h->is_on)
		return;
	open_due(h, now_ns, false);
	go_programs_run(h, now_ns, false);
	java_programs_run(h, now_ns);
	for (size_t i = 0; i < h->programs.n; i++)
		if (h->programs.v[i].live.memory)
			wake_parked(h, &h->programs.v[i], now_ns);
	if (!resolve_heap_is_full(h->resolver))
		return;
	copy_all_rows(h);
	for (size_t i = 0; i < h->programs.n; i++)
		add_rows(h, &h->programs.v[i], false);
	resolve_heap_end(h->resolver, now_ns, HEAP_RELIEF);
}

/* --- cuts ------------------------------------------------------------------------------------- */

/* Memory in use is stored as a row for each stack. Programs are not open yet at the first cut. */
static bool is_time_for_snapshot(struct collect_heap *h, uint64_t now_ns)
{
	if (!is_always(h))
		return true;
	if (h->n_cuts++ % SNAPSHOT_CUTS != 1 && now_ns < h->next_snapshot_ns)
		return false;
	h->next_snapshot_ns = now_ns + SNAPSHOT_MOST_NS;
	return true;
}

/* One that was killed leaves everything on: another one takes that over. */
static void renew_switch(struct collect_heap *h)
{
	if (!h->has_switch || (h->byte_switch.fd >= 0 && !byte_switch_is_gone(&h->byte_switch)))
		return;
	byte_switch_stop(&h->byte_switch);
	if (byte_switch_start(&h->byte_switch))
		return;
	go_programs_renew_switch(h);
	java_programs_renew_switch(h);
}

void collect_heap_begin_cut(struct collect_heap *h, uint64_t now_ns)
{
	if (!h->is_on)
		return;
	h->is_snapshot = is_time_for_snapshot(h, now_ns);
	renew_switch(h);
	open_due(h, now_ns, !is_always(h));
	if (is_always(h))
		go_programs_search(h, now_ns);
	else
		go_programs_run(h, now_ns, true);
	if (!h->is_snapshot)
		return;
	/* Programs that were missed, or read by another recording. */
	if (is_always(h))
		collect_heap_scanned(h);
	copy_all_rows(h);
}

void collect_heap_cut(struct collect_heap *h, uint64_t now_ns)
{
	if (!h->is_on)
		return;
	for (size_t i = 0; i < h->programs.n && h->asked->events & COLLECT_INUSE; i++)
		add_rows(h, &h->programs.v[i], false);
	go_programs_cut(h, now_ns);
	resolve_heap_end(h->resolver, now_ns,
			 !is_always(h)    ? HEAP_LAST
			 : h->is_snapshot ? HEAP_SNAPSHOT
					  : HEAP_ALLOCATED);
}

void collect_heap_stop(struct collect_heap *h, uint64_t now_ns)
{
	if (!h->is_on)
		return;
	collect_heap_begin_cut(h, now_ns);
	byte_switch_stop(&h->byte_switch);
	for (size_t i = 0; i < h->programs.n; i++) {
		struct heap_program *p = &h->programs.v[i];

		if (!p->live.memory)
			continue;
		count(h, p);
		gpu_beats_remove(h->beats, p->live.memory);
		live_want(&p->live, false, 0, now_ns);
	}
}
