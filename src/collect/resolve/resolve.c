/* Applies side-band records, resolves addresses, and names frames. */
#include "collect/resolve/resolve.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/kernel/side_band.h"
#include "collect/kernel/walk_end.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/process.h"
#include "collect/process/symbolize.h"
#include "collect/resolve/labels.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolver.h"
#include "collect/walker/interpreted.h"
#include "collect/walker/space.h"
#include "collect/worker/far_files.h"
#include "collect/worker/proc_reader.h"
#include "profile/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SWEEP_EVERY_NS    1000000000ull
#define TRIM_EVERY_NS     5000000000ull
#define SNAPSHOT_FIRST_NS 30000000000ull
#define SNAPSHOT_LAST_NS  480000000000ull

enum {
	/* of a CPU, for processes without records, and the same for all of /proc */
	SCAN_SHARE = 400,
	SCAN_SAVED_NS = 100000000,
	/* of a CPU, for mappings that are missing in a stack */
	RESCAN_SHARE = 100,
	RESCAN_SAVED_NS = 500000000,
};

enum {
	FLUSH_MS = 500, /* how long samples of wall wait for names */
	AT_THE_END_MS = 10000,
};

/* --- life ------------------------------------------------------------------------------------- */

static uint32_t default_open_files(void)
{
	enum { MOST = 1024 };
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur / 4 < MOST ? limit.rlim_cur / 4 : MOST;
}

struct resolver *resolver_new(const struct resolve_opts *opts, const struct sampler_opts *asked,
			      const struct resolve_links *links)
{
	struct resolver *r = xcalloc(1, sizeof *r);

	r->opts = *opts;
	r->asked = *asked;
	r->links = *links;
	r->sink = links->sink;
	r->types = links->types;
	r->unknown_frame = FRAME_NONE;
	r->scans = (struct allowance){ .share = SCAN_SHARE, .most_ns = SCAN_SAVED_NS };
	r->rescans = (struct allowance){ .share = RESCAN_SHARE, .most_ns = RESCAN_SAVED_NS };
	r->snapshot_wait_ns = SNAPSHOT_FIRST_NS;
	r->traced.maps = links->traced;
	object_table_init(&r->objects,
			  opts->max_open_files ? opts->max_open_files : default_open_files());
	r->objects.far = r->far = links->helper ? far_files_new(links->helper) : NULL;
	r->objects.reader = r->search.reader = links->reader;
	process_table_init(&r->processes, &r->objects);
	if (links->space) {
		r->interpreted =
			links->runtimes ? interpreted_new(links->runtimes, &r->objects) : NULL;
		r->space = space_new(links->space, &r->objects, r->interpreted, links->cache_root);
		if (r->space && links->on_runtime)
			space_on_runtime(r->space, links->on_runtime, links->runtime_ctx);
	}
	r->links.space = NULL; /* these are the caller's */
	r->links.runtimes = NULL;
	kernel_space_init(&r->kernel, r->sink);
	r->kernel.keeps_symbols = opts->keep_kernel_names;
	r->kernel.cache_root = links->cache_root;
	label_table_init(&r->labels, NULL);
	r->labels.reader = links->reader;
	snprintf(r->period, sizeof r->period, "%g", (double)asked->waits.cut_every_ns / 1e9);
	series_cache_init(&r->series, r->sink,
			  &(struct series_cache_opts){ .labels = &r->labels,
						       .gpus = &r->gpu_names,
						       .period = r->period,
						       .all = opts->series });
	stack_cache_limit(&r->stacks, opts->stack_bytes);
	accounts_init(&r->accounts, &(struct account_opts){
					    .sink = r->sink,
					    .wall = r->types.wall != TYPE_NONE,
					    .min_block_ns = asked->waits.min_block_ns,
					    .max_block_ns = wait_max_told_ns(&asked->waits),
				    });
	resolver_resident_init(r);
	resolver_heap_init(r);
	r->gpu_live.max = links->gpu_max_live;
	r->gpu_origins.max = links->gpu_max_origins;
	r->gpu_live.gone = links->gpu_gone;
	r->gpu_live.ctx = links->gpu_ctx;
	jit_table_init(&r->jits, r->sink, &r->accounts, &r->objects, &r->leaf_samples,
		       links->helper);
	r->jits.is_raw = r->opts.jit_names == JIT_NAMES_RAW;
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	jit_table_done(&r->jits);
	process_table_done(&r->processes);
	space_free(r->space);
	interpreted_free(r->interpreted);
	object_table_done(&r->objects);
	far_files_free(r->far);
	kernel_space_done(&r->kernel);
	stack_cache_done(&r->stacks);
	open_waits_done(&r->going_on);
	series_cache_done(&r->series);
	accounts_done(&r->accounts);
	wait_reasons_done(&r->reasons);
	locks_done(&r->locks);
	map_done(&r->leaf_samples);
	map_done(&r->inside_frames);
	resolver_gpu_done(r);
	resolver_heap_done(r);
	resolver_resident_done(r);
	traced_done(&r->traced);
	label_table_done(&r->labels);
	lives_done(&r->lives);
	vec_done(&r->stack);
	vec_done(&r->frames);
	free(r);
}

/* --- processes -------------------------------------------------------------------------------- */

static void remove_process(struct resolver *r, struct process *p)
{
	if (!r->asked.wait_exec)
		gpu_live_end(&r->gpu_live, p->pid);
	jit_close(&r->jits, p, 0);
	traced_forget(&r->traced, p);
	process_remove(&r->processes, p);
}

void resolve_sweep(struct resolver *r, uint64_t now_ns)
{
	if (now_ns < r->swept_ns + SWEEP_EVERY_NS)
		return;
	r->swept_ns = now_ns;
	for (struct process *p; (p = process_next_ended(&r->processes, now_ns));)
		if (!proc_is_alive(p->pid))
			remove_process(r, p);
	traced_sweep(&r->traced);
	if (now_ns < r->trimmed_ns + TRIM_EVERY_NS)
		return;
	r->trimmed_ns = now_ns;
	object_trim(&r->objects);
}

/* Announces interpreters: other processes are known from their first sample on, but the first
 * samples of interpreters would lack their frames. */
static void expect_interpreters(struct resolver *r)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		if (p && p->image && interpreted_is_likely(r->interpreted, p->image))
			space_expect(r->space, p->pid);
	}
}

struct expecting {
	struct space *space;
	uint64_t until_ns;
};

static void expect_interpreter(void *ctx, uint32_t pid, const char *path)
{
	struct expecting *e = ctx;

	if (interpreted_is_likely_file(path) && clock_mono_ns() < e->until_ns)
		space_expect(e->space, pid);
}

void resolve_expect_interpreters(struct resolver *r, uint64_t until_ns)
{
	struct expecting e = { r->space, until_ns };

	if (r->space && r->interpreted && space_has_all_processes(r->space))
		proc_programs(expect_interpreter, &e);
}

void resolve_snapshot(struct resolver *r, void (*between)(void *ctx), void *ctx)
{
	r->snapshot_ns = clock_mono_ns();
	r->next_snapshot_ns = r->snapshot_ns + r->snapshot_wait_ns;
	proc_scan_all(&r->processes, r->snapshot_ns, between, ctx);
	if (r->space && r->interpreted && space_has_all_processes(r->space))
		expect_interpreters(r);
}

/* Replaces lost records by /proc: for a process that a sample meets immediately (follow_losses).
 * All other processes, which may have ended, are read rarely, and less and less often while records
 * continue to be lost. */
static bool scan_after_losses(struct resolver *r)
{
	uint64_t now_ns = clock_mono_ns(), begin_ns = proc_reader_clock_ns(r->links.reader);

	if (r->lost_ns <= r->snapshot_ns || now_ns < r->next_snapshot_ns)
		return false;
	r->snapshot_wait_ns = now_ns > r->next_snapshot_ns + 2 * r->snapshot_wait_ns
				      ? SNAPSHOT_FIRST_NS
				      : 2 * r->snapshot_wait_ns;
	if (r->snapshot_wait_ns > SNAPSHOT_LAST_NS)
		r->snapshot_wait_ns = SNAPSHOT_LAST_NS;
	resolve_snapshot(r, NULL, NULL);
	uint64_t cost_ns = (proc_reader_clock_ns(r->links.reader) - begin_ns) * SCAN_SHARE;
	r->next_snapshot_ns =
		now_ns + (cost_ns > r->snapshot_wait_ns ? cost_ns : r->snapshot_wait_ns);
	return true;
}

/* Rereads a process whose records may have been lost since it was read, or that there was no time
 * to read. */
static void follow_losses(struct resolver *r, struct process *p)
{
	uint64_t now_ns = clock_mono_ns();
	bool is_known = (p->scanned_ns || p->image) && !p->is_scan_late;

	if ((p->scanned_ns >= r->lost_ns && is_known) || p->is_kernel_thread || p->leader_gone ||
	    now_ns < p->next_scan_ns)
		return;
	proc_scan_within(&r->processes, p, &r->scans, now_ns);
}

/* Looks up a process without records in /proc; returns NULL when the table is full. */
static struct process *known_process(struct resolver *r, uint32_t pid, uint64_t now_ns)
{
	struct process *p = process_find(&r->processes, pid);

	if (p)
		return p;
	p = process_add(&r->processes, pid);
	if (p)
		proc_scan_within(&r->processes, p, &r->scans, now_ns);
	return p;
}

/* --- records ---------------------------------------------------------------------------------- */

void resolve_begin_reading(struct resolver *r)
{
	object_begin_reading(&r->objects);
}

/* The record's reference ends when it is applied. */
void resolve_seen(struct resolver *r, struct side_record *rec)
{
	uint32_t object = rec->kind == SIDE_MMAP ? object_of_record(&r->objects, rec) : OBJECT_NONE;

	if (object == OBJECT_NONE)
		return;
	object_ref(&r->objects, object);
	rec->object = object + 1;
}

void resolve_follow(struct resolver *r, const struct order_side *sides, size_t n)
{
	if (!r->space || !n)
		return;
	lives_clear(&r->lives);
	for (size_t i = n; i-- > 0;)
		lives_add(&r->lives, &sides[i].rec);
	for (size_t i = 0; i < n; i++) {
		if (lives_is_brief(&r->lives, n - 1 - i))
			space_passed(r->space, &sides[i].rec);
		else
			space_seen(r->space, &sides[i].rec);
	}
}

static void release_object(struct resolver *r, const struct side_record *rec)
{
	if (rec->object)
		object_unref(&r->objects, rec->object - 1);
}

void resolve_expect(struct resolver *r, uint32_t pid)
{
	if (r->space)
		space_expect(r->space, pid);
}

void resolve_waited(struct resolver *r, uint32_t pid)
{
	if (r->space)
		space_waited(r->space, pid);
}

void resolve_missed(struct resolver *r, const struct event_raw *raw)
{
	space_missed(r->space, raw);
}

void resolve_sync(struct resolver *r)
{
	if (r->space)
		space_sync(r->space);
}

void resolve_send(struct resolver *r, uint64_t until_ns)
{
	if (r->space)
		space_send(r->space, until_ns);
}

int resolve_fd(const struct resolver *r)
{
	return r->space ? space_fd(r->space) : -1;
}

uint64_t resolve_sync_ns(const struct resolver *r)
{
	return r->space ? space_look_ns(r->space) : UINT64_MAX;
}

bool resolve_is_busy(const struct resolver *r)
{
	return r->space && space_is_busy(r->space);
}

static void apply_mmap(struct resolver *r, const struct side_record *rec)
{
	struct process *p = known_process(r, rec->pid, rec->time_ns);
	struct image_map m = { rec->start, rec->start + rec->len, rec->pgoff, rec->object - 1 };

	if (!p || !rec->object)
		return;
	process_map(&r->processes, p, &m);
	if (p->awaits_exe && rec->name && *rec->name == '/')
		process_labels_exec(&r->labels, p, rec->name);
}

static void apply_comm(struct resolver *r, const struct side_record *rec)
{
	struct process *p = known_process(r, rec->pid, rec->time_ns);

	if (!p || (!rec->exec && rec->tid != rec->pid))
		return;
	process_set_name(p, rec->name);
	if (!rec->exec)
		return;
	jit_close(&r->jits, p, rec->time_ns);
	traced_forget(&r->traced, p);
	gpu_live_end(&r->gpu_live, p->pid);
	process_exec(&r->processes, p);
	p->begun_ns = rec->time_ns;
}

static void apply_fork(struct resolver *r, const struct side_record *rec)
{
	struct process *old = process_find(&r->processes, rec->pid);

	if (rec->pid == rec->ppid)
		return;
	if (old) {
		jit_close(&r->jits, old, 0);
		traced_forget(&r->traced, old);
	}
	struct process *p = process_fork(&r->processes, rec->ppid, rec->pid);
	if (!p)
		return;
	p->begun_ns = rec->time_ns;
	p->is_over = rec->is_over;
}

static void apply_lost(struct resolver *r, const struct side_record *rec)
{
	r->sink->ops->loss(r->sink, LOSS_SIDE_BAND, rec->lost);
	if (rec->time_ns > r->lost_ns)
		r->lost_ns = rec->time_ns;
}

void resolve_apply(struct resolver *r, const struct side_record *rec)
{
	resolve_sweep(r, rec->time_ns);
	switch (rec->kind) {
	case SIDE_MMAP:
		apply_mmap(r, rec);
		break;
	case SIDE_COMM:
		apply_comm(r, rec);
		break;
	case SIDE_FORK:
		apply_fork(r, rec);
		break;
	case SIDE_EXIT:
		process_exit(&r->processes, rec->pid, rec->tid, rec->time_ns);
		break;
	case SIDE_LOST:
		apply_lost(r, rec);
		break;
	}
	release_object(r, rec);
}

void resolve_pass(struct resolver *r, const struct side_record *rec)
{
	release_object(r, rec);
}

/* Its files stay open for the next process that maps them. */
void resolve_skip(struct resolver *r, const struct side_record *rec)
{
	if (rec->kind == SIDE_MMAP)
		object_touch(&r->objects, rec);
	else if (r->space)
		space_passed(r->space, rec);
}

void resolve_function(struct resolver *r, const struct event_function *f)
{
	if (r->interpreted)
		r->epoch_over |= interpreted_told(r->interpreted, f);
}

void resolve_stack_contents(struct resolver *r, const struct event_stack *st)
{
	if (r->interpreted && (st->n_python || st->flags & STACK_INLINE))
		interpreted_seen(r->interpreted, st);
	r->epoch_over |= stack_cache_put(&r->stacks, st);
}

bool resolve_take_epoch_over(struct resolver *r)
{
	bool over = r->epoch_over;

	r->epoch_over = false;
	return over;
}

/* --- samples ---------------------------------------------------------------------------------- */

static bool is_of_gpu(const union order_event *ev, const struct event_raw *raw)
{
	return ev->sample.kind == EVENT_GPU || (raw && ev->gpu.gpu.parts == PART_GPU);
}

void resolve_event(struct resolver *r, const union order_event *ev, const struct event_raw *raw)
{
	const struct event_sample *s = &ev->sample;
	struct process nobody = { /* the table is full: do not read /proc again each time */
				  .pid = s->tgid,
				  .is_kernel_thread = true,
				  .labels_known = true,
				  .cgroup_id = s->cgroup_id
	};

	resolve_sweep(r, s->time_ns);
	struct process *p = known_process(r, s->tgid, s->time_ns);
	if (p)
		follow_losses(r, p);
	p = p ? p : &nobody;
	context_search_look(&r->search, p, s->mappings, s->time_ns);
	if (is_of_gpu(ev, raw))
		r->ends[resolver_gpu(r, p, &ev->gpu, raw)]++;
	else
		resolver_event(r, p, ev, raw);
	traced_look(&r->traced, p, &r->objects, clock_mono_ns());
}

void resolve_flush(struct resolver *r)
{
	jit_settle(&r->jits, FLUSH_MS);
	accounts_flush(&r->accounts);
}

bool resolve_run(struct resolver *r)
{
	jit_run(&r->jits);
	object_take_far(&r->objects);
	return scan_after_losses(r);
}

void resolve_settle(struct resolver *r, uint32_t wait_ms)
{
	jit_settle(&r->jits, wait_ms);
}

bool resolve_is_full(const struct resolver *r)
{
	return accounts_are_full(&r->accounts);
}

/* --- names ------------------------------------------------------------------------------------ */

static void symbolize_objects(struct resolver *r, struct symbolize *s)
{
	for (size_t i = 0; i < r->objects.all.n; i++) {
		struct object *o = r->objects.all.v[i];

		if (!o || o->mapping == MAPPING_NONE)
			continue;
		symbolize_object(s, &r->objects, o);
		/* Its first frame came while it was looked for: object_frame could not count it. */
		bool is_gone = o->kind == OBJECT_FILE && o->state == OBJECT_GONE;
		if ((is_gone || o->state == OBJECT_CLOSED) && !o->loss_counted) {
			enum loss why = is_gone ? LOSS_OBJECT_GONE : LOSS_OBJECT_CLOSED;

			r->sink->ops->loss(r->sink, why, 1);
			o->loss_counted = true;
		}
	}
}

static uint64_t samples_with_leaf(const struct resolver *r, uint32_t frame)
{
	const uint32_t *n = map_get(&r->leaf_samples, frame);

	return n ? *n : 0;
}

void resolve_symbolize(struct resolver *r)
{
	struct name_files files;
	struct symbolize s = { .sink = r->sink, .files = &files, .leaf_samples = &r->leaf_samples };

	name_files_open(&files, &r->opts.names);
	jit_settle(&r->jits, AT_THE_END_MS); /* compilers may write their files late */
	accounts_flush(&r->accounts);
	symbolize_objects(r, &s);
	kernel_space_symbolize(&r->kernel, &s);
	r->unsymbolized = s.unsymbolized + samples_with_leaf(r, r->unknown_frame) +
			  samples_with_leaf(r, r->jits.unnamed_frame);
	name_files_failures(&files, &r->name_failures);
	name_files_close(&files);
}

/* --- replacing the sink ----------------------------------------------------------------------- */

void resolve_give_held(struct resolver *r)
{
	jit_ask_all(&r->jits, JIT_CUT_MS);
}

bool resolve_name_kernel(struct resolver *r)
{
	struct symbolize s = { .sink = r->sink, .leaf_samples = &r->leaf_samples };

	if (!kernel_space_has_new(&r->kernel))
		return false;
	kernel_space_symbolize(&r->kernel, &s);
	return true;
}

/* Files whose frames were copied are requested by their id in the new sink. */
static uint32_t copied_mapping(const struct profile_copy *copy, uint32_t mapping)
{
	return copy && mapping != MAPPING_NONE && copy->mapping[mapping]
		       ? copy->mapping[mapping] - 1
		       : MAPPING_NONE;
}

static void forget_frames(struct object_table *t, const struct profile_copy *copy)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct object *o = t->all.v[i];

		if (!o)
			continue;
		o->mapping = copied_mapping(copy, o->mapping);
		map_done(&o->frames);
	}
}

void resolve_set_sink(struct resolver *r, struct sink *sink, const struct resolve_types *types,
		      struct profile_copy *copy)
{
	jit_settle(&r->jits, 0);
	r->sink = r->links.sink = sink;
	r->types = *types;
	r->unknown_frame = FRAME_NONE;
	label_table_renew(&r->labels, &r->processes);
	resolver_gpu_renumber(r, true, copy);
	resolver_heap_renumber(r, true, copy);
	resolver_resident_renumber(r, true, copy);
	forget_frames(&r->objects, copy);
	kernel_space_set_sink(&r->kernel, sink);
	stack_cache_forget(&r->stacks);
	series_cache_set_sink(&r->series, sink);
	accounts_set_sink(&r->accounts, sink);
	jit_table_set_sink(&r->jits, sink);
	map_done(&r->leaf_samples);
	map_done(&r->inside_frames);
}

void resolve_find_files(struct resolver *r, bool (*is_wanted)(const char *path),
			void (*found)(void *ctx, const struct mapped_file *f, int fd), void *ctx)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		for (size_t k = 0; p && p->image && k < p->image->maps.n; k++) {
			const struct image_map *m = &p->image->maps.v[k];
			const struct object_place place = { p->pid, m->start, m->end, m->pgoff };

			const struct object *own = r->objects.all.v[m->object];

			if (!own->name || !is_wanted(own->name))
				continue;
			const struct mapped_file f = { .pid = p->pid,
						       .start = m->start,
						       .end = m->end,
						       .pgoff = m->pgoff,
						       .path = own->name,
						       .maj = own->maj,
						       .min = own->min,
						       .ino = own->ino };
			struct object *o = object_use(&r->objects, m->object, &place);
			if (o->is_far)
				continue;
			if (o != own && own->ino) /* a copy, which has the same names */
				found(ctx, &f, -1);
			else if (object_fd(&r->objects, o) >= 0)
				found(ctx, &f, o->fd);
		}
	}
}

void resolve_each_process(struct resolver *r,
			  void (*fn)(void *ctx, uint32_t pid, uint64_t begun_ns), void *ctx)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		if (p && !p->is_kernel_thread && !p->leader_gone && !p->is_over)
			fn(ctx, p->pid, p->begun_ns);
	}
}

static bool has_mapped(const struct resolver *r, const struct process *p,
		       bool (*is_wanted)(const char *path))
{
	for (size_t k = 0; p->image && k < p->image->maps.n; k++) {
		const char *name = r->objects.all.v[p->image->maps.v[k].object]->name;

		if (name && is_wanted(name))
			return true;
	}
	return false;
}

void resolve_find_processes(struct resolver *r, bool (*is_wanted)(const char *path),
			    void (*found)(void *ctx, uint32_t pid), void *ctx)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		if (p && has_mapped(r, p, is_wanted))
			found(ctx, p->pid);
	}
}

int resolve_file(struct resolver *r, uint32_t mapping)
{
	for (size_t i = 0; i < r->objects.all.n; i++) {
		struct object *o = r->objects.all.v[i];

		if (!o || o->mapping != mapping || o->kind != OBJECT_FILE)
			continue;
		int fd = object_fd(&r->objects, o);
		return fd < 0 ? -ENOENT : fd;
	}
	return -ENOENT;
}

const char *resolve_runtime_refused(const struct resolver *r)
{
	return r->interpreted ? interpreted_refused(r->interpreted) : NULL;
}

void resolve_get_stats(const struct resolver *r, struct resolve_stats *out)
{
	*out = (struct resolve_stats){
		.processes = r->processes.by_pid.n,
		.objects = r->objects.n,
		.open_files = r->objects.n_open,
		.unsymbolized = r->unsymbolized,
		.below_main = r->below_main,
		.names = r->name_failures,
		.short_off_ns = r->accounts.short_off_ns,
		.traced_refused = r->traced.refused,
		.mappings_refused = r->processes.refused + r->objects.refused,
		.gpu_memory_refused = r->gpu_live.refused,
		.heap_refused = r->heap.refused,
		.kernel_names_ns = r->kernel.naming_ns,
		.kernel_symbols_read = r->kernel.symbols_read,
	};
	memcpy(out->ends, r->ends, sizeof out->ends);
	for (uint32_t end = 0; end < WALK_ENDS; end++)
		out->truncated += walk_end_is_loss(end) ? r->ends[end] : 0;
	if (r->space) {
		space_get_stats(r->space, &out->tables);
		out->mappings_refused += space_refused(r->space);
	}
	if (r->interpreted) {
		struct interpreted_stats in;

		interpreted_get_stats(r->interpreted, &in);
		out->pythons_refused = in.refused;
		out->python_unplaced = r->python_unplaced;
		out->python_unnamed = in.unnamed;
	}
}
