#include "collect/resolver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "collect/labels.h"
#include "collect/proc_scan.h"
#include "collect/proc_stat.h"
#include "collect/process.h"
#include "collect/symbolize.h"
#include "collect/walk_end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SWEEP_EVERY_NS 1000000000ull
#define TRIM_EVERY_NS  5000000000ull
#define SCAN_AGAIN_NS  1000000000ull

/* --- life ------------------------------------------------------------------------------------- */

static uint32_t default_open_files(void)
{
	enum { MOST = 1024 };
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur / 4 < MOST ? limit.rlim_cur / 4 : MOST;
}

struct resolver *resolver_new(const struct resolve_opts *opts)
{
	struct resolver *r = xcalloc(1, sizeof *r);

	r->opts = *opts;
	r->sink = opts->sink;
	r->types = opts->types;
	r->unknown_frame = FRAME_NONE;
	r->traced.maps = opts->traced;
	if (!r->opts.max_user)
		r->opts.max_user = WALK_MAX_USER;
	object_table_init(&r->objects,
			  opts->max_open_files ? opts->max_open_files : default_open_files());
	process_table_init(&r->processes, &r->objects);
	if (opts->space)
		r->interpreted =
			opts->runtimes ? interpreted_new(opts->runtimes, &r->objects) : NULL;
	if (opts->space)
		r->space = space_new(opts->space, &r->objects, r->interpreted);
	r->opts.space = NULL; /* these were the caller's */
	r->opts.runtimes = NULL;
	kernel_space_init(&r->kernel, r->sink);
	r->kernel.keeps_symbols = opts->keep_kernel_names;
	label_table_init(&r->labels, opts->host_root);
	series_cache_init(&r->series, r->sink,
			  &(struct series_cache_opts){ .labels = &r->labels,
						       .host = opts->host,
						       .fixed = opts->labels,
						       .n_fixed = opts->n_labels,
						       .hook = opts->series_hook,
						       .relabel = opts->relabel });
	stack_cache_limit(&r->stacks, opts->stack_bytes);
	accounts_init(&r->accounts, &(struct account_opts){
					    .sink = r->sink,
					    .wall = r->types.wall != TYPE_NONE,
					    .min_block_ns = opts->min_block_ns,
					    .max_block_ns = opts->max_block_ns,
				    });
	r->gpu_live.max = opts->gpu_max_live;
	r->gpu_origins.max = opts->gpu_max_origins;
	r->gpu_live.gone = opts->gpu_gone;
	r->gpu_live.ctx = opts->gpu_ctx;
	jit_table_init(&r->jits, r->sink, &r->accounts, &r->objects, &r->leaf_samples);
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->processes.all.n; i++)
		if (r->processes.all.v[i])
			jit_close(&r->jits, r->processes.all.v[i]);
	jit_table_done(&r->jits);
	process_table_done(&r->processes);
	space_free(r->space);
	interpreted_free(r->interpreted);
	object_table_done(&r->objects);
	kernel_space_done(&r->kernel);
	stack_cache_done(&r->stacks);
	series_cache_done(&r->series);
	accounts_done(&r->accounts);
	wait_reasons_done(&r->reasons);
	map_done(&r->leaf_samples);
	map_done(&r->inside_frames);
	gpu_live_done(&r->gpu_live);
	gpu_origins_done(&r->gpu_origins);
	vec_done(&r->gpu_owners);
	vec_done(&r->gpu_befores);
	label_table_done(&r->labels);
	vec_done(&r->stack);
	vec_done(&r->frames);
	free(r);
}

/* --- processes -------------------------------------------------------------------------------- */

static void remove_process(struct resolver *r, struct process *p)
{
	if (!r->opts.keep_ended_memory)
		gpu_live_end(&r->gpu_live, p->pid);
	jit_close(&r->jits, p);
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

/* Others are known from their first sample on; those would be without their frames. */
static void expect_interpreters(struct resolver *r)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		if (p && p->image && interpreted_is_likely(r->interpreted, p->image))
			space_expect(r->space, p->pid);
	}
}

void resolve_snapshot(struct resolver *r)
{
	r->snapshot_ns = clock_mono_ns();
	proc_scan_all(&r->processes, r->snapshot_ns);
	if (r->space && r->interpreted && space_has_all_processes(r->space))
		expect_interpreters(r);
}

/* A process that no record told of is looked up in /proc; NULL when the table is full. */
static struct process *known_process(struct resolver *r, uint32_t pid, uint64_t now_ns)
{
	struct process *p = process_find(&r->processes, pid);

	if (p)
		return p;
	p = process_add(&r->processes, pid);
	if (p)
		proc_scan(&r->processes, p, now_ns);
	return p;
}

void resolver_scan_again(struct resolver *r, struct process *p, uint64_t now_ns)
{
	if (!p->is_kernel_thread && now_ns >= p->scanned_ns + SCAN_AGAIN_NS)
		proc_scan(&r->processes, p, now_ns);
}

/* --- records ---------------------------------------------------------------------------------- */

void resolve_seen(struct resolver *r, const struct side_record *rec)
{
	if (rec->kind == SIDE_MMAP)
		object_of_record(&r->objects, rec);
	if (r->space)
		space_seen(r->space, rec);
}

void resolve_expect(struct resolver *r, uint32_t pid)
{
	if (r->space)
		space_expect(r->space, pid);
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
	uint32_t object = object_of_record(&r->objects, rec);
	struct image_map m = { rec->start, rec->start + rec->len, rec->pgoff, object };

	if (!p || object == OBJECT_NONE)
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
	jit_close(&r->jits, p);
	traced_forget(&r->traced, p);
	gpu_live_end(&r->gpu_live, p->pid);
	process_exec(&r->processes, p);
}

static void apply_fork(struct resolver *r, const struct side_record *rec)
{
	struct process *old = process_find(&r->processes, rec->pid);

	if (rec->pid == rec->ppid)
		return;
	if (old)
		jit_close(&r->jits, old);
	process_fork(&r->processes, rec->ppid, rec->pid);
}

/* A scan that was begun after the loss has seen what was lost. */
static void apply_lost(struct resolver *r, const struct side_record *rec)
{
	r->sink->ops->loss(r->sink, LOSS_SIDE_BAND, rec->lost);
	if (rec->time_ns >= r->snapshot_ns)
		resolve_snapshot(r);
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
}

void resolve_stack_contents(struct resolver *r, const struct event_stack *st, bool *epoch_over)
{
	if (r->interpreted && st->n_python)
		interpreted_seen(r->interpreted, st);
	*epoch_over |= stack_cache_put(&r->stacks, st);
}

/* --- labels ----------------------------------------------------------------------------------- */

static const char *type_name(const struct resolver *r, uint32_t type)
{
	const struct resolve_types *t = &r->types;

	return type == t->cpu          ? "cpu"
	       : type == t->off_cpu    ? "off-cpu"
	       : type == t->sched_wait ? "sched-wait"
	       : type == t->wall       ? "wall"
				       : resolver_gpu_type_name(t, type);
}

struct series_key resolver_series_key(struct resolver *r, struct process *p,
				      const struct event_sample *s, uint32_t type,
				      int64_t period_ns)
{
	struct series_key key = { .type = type, .period = period_ns };

	memcpy(key.comm, s->comm, strnlen(s->comm, sizeof s->comm));
	if (s->tid == s->tgid) /* the main thread's name is the process's, as of now */
		process_set_name(p, key.comm);
	memcpy(key.process, p->name[0] ? p->name : key.comm, sizeof key.process);
	key.labels = process_labels(&r->labels, p, s->cgroup_id, clock_mono_ns());
	return key;
}

/* SERIES_LEFT_OUT: nothing of this sample is wanted. */
uint32_t resolver_series(struct resolver *r, struct process *p, const struct event_sample *s,
			 uint32_t type, int64_t period_ns)
{
	struct series_key key = resolver_series_key(r, p, s, type, period_ns);

	return series_cache_get(&r->series, &key, type_name(r, type));
}

uint32_t resolver_series_how(struct resolver *r, struct process *p, const struct event_sample *s,
			     uint32_t type, int64_t period_ns, enum gpu_how how)
{
	struct series_key key = resolver_series_key(r, p, s, type, period_ns);

	key.how = how;
	return series_cache_get(&r->series, &key, type_name(r, type));
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

/* The span that its thread worked for; 0: none. */
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
		.cpu = s->cpu,
		.link = link_of(r, s),
	};
}

static enum walk_end put_on_cpu(struct resolver *r, struct process *p, const struct event_sample *s,
				const struct event_raw *raw)
{
	struct stack_ref ref = { .sample = s, .raw = raw };
	struct sample sample = resolver_sample(r, s);
	enum walk_end end = WALK_COMPLETE;

	if (r->types.cpu != TYPE_NONE) {
		sample.series = resolver_series(r, p, s, r->types.cpu, r->types.period_ns);
		end = resolver_put(r, p, &sample, &ref, ACCOUNT_NONE);
	}
	if (r->types.wall != TYPE_NONE) {
		ref.part = s->gpu_call ? ACCOUNT_GPU_SPIN : ACCOUNT_NONE;
		ref.folds_call = true;
		sample.series = resolver_series_how(r, p, s, r->types.wall, r->types.period_ns,
						    s->gpu_call ? GPU_HOW_SPIN : GPU_HOW_NONE);
		sample.value = r->types.period_ns;
		end = resolver_put(r, p, &sample, &ref,
				   s->gpu_call ? ACCOUNT_GPU_SPIN : ACCOUNT_ON_CPU);
	}
	return end;
}

/* A part of a wait, for the type of its own and for `wall`. */
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
		sample.series = resolver_series(r, p, s, piece->type, 0);
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

	if (off && w->off_ns)
		end = put_piece(r, p, &ev->sample, raw, w, &blocked, weight);
	if (run)
		end = put_piece(r, p, &ev->sample, raw, w, &ready, weight);
	return end;
}

/* The times of a thread that nobody wants samples of are not wanted, either. */
static void put_thread(struct resolver *r, struct process *p, const struct event_thread *t)
{
	uint32_t type = r->types.wall != TYPE_NONE ? r->types.wall : r->types.off_cpu;
	struct account_series series = { 0 };
	bool is_asked = r->types.wall != TYPE_NONE ||
			((r->opts.series_hook.apply || r->opts.relabel) && type != TYPE_NONE);

	if (is_asked)
		series.rest = resolver_series(r, p, &t->sample, type, 0);
	if (is_asked && (t->gpu_on_ns || t->gpu_off_ns)) {
		series.spin = resolver_series_how(r, p, &t->sample, type, 0, GPU_HOW_SPIN);
		series.sleep = resolver_series_how(r, p, &t->sample, type, 0, GPU_HOW_SLEEP);
	}
	if (series.rest != SERIES_LEFT_OUT)
		account_thread(&r->accounts, t, &series);
}

void resolve_event(struct resolver *r, const union order_event *ev, const struct event_raw *raw)
{
	const struct event_sample *s = &ev->sample;
	struct process nobody = { /* the table is full: /proc is not asked again and again */
				  .pid = s->tgid,
				  .is_kernel_thread = true,
				  .labels_known = true,
				  .cgroup_id = s->cgroup_id
	};

	resolve_sweep(r, s->time_ns);
	struct process *p = known_process(r, s->tgid, s->time_ns);
	p = p ? p : &nobody;
	context_search_look(&r->search, p, s->mappings, s->time_ns);
	if (s->kind == EVENT_THREAD)
		put_thread(r, p, &ev->thread);
	else if (s->kind == EVENT_GPU || (raw && ev->gpu.gpu.parts == PART_GPU))
		r->ends[resolver_gpu(r, p, &ev->gpu, raw)]++;
	else if (s->kind == EVENT_WAIT || (raw && ev->wait.wait.parts))
		r->ends[put_wait(r, p, &ev->wait, raw)]++;
	else
		r->ends[put_on_cpu(r, p, s, raw)]++;
	traced_look(&r->traced, p, &r->objects, clock_mono_ns());
}

void resolve_flush(struct resolver *r)
{
	jit_flush_all(&r->jits);
	accounts_flush(&r->accounts);
}

bool resolve_is_full(const struct resolver *r)
{
	return accounts_are_full(&r->accounts);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Compilers may have written their files only now. */
static void name_jit_code(struct resolver *r)
{
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < r->processes.all.n; i++) {
		struct process *p = r->processes.all.v[i];

		if (p && p->jit && !p->leader_gone)
			jit_look(&r->jits, p, now_ns);
	}
	jit_flush_all(&r->jits);
}

static void symbolize_objects(struct resolver *r, struct symbolize *s)
{
	for (size_t i = 0; i < r->objects.all.n; i++) {
		struct object *o = r->objects.all.v[i];

		if (!o || o->mapping == MAPPING_NONE)
			continue;
		symbolize_object(s, &r->objects, o);
		if (o->state == OBJECT_CLOSED && !o->loss_counted) {
			r->sink->ops->loss(r->sink, LOSS_OBJECT_CLOSED, 1);
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
	name_jit_code(r);
	accounts_flush(&r->accounts);
	symbolize_objects(r, &s);
	kernel_space_symbolize(&r->kernel, &s);
	r->unsymbolized = s.unsymbolized + samples_with_leaf(r, r->unknown_frame) +
			  samples_with_leaf(r, r->jits.unnamed_frame);
	name_files_failures(&files, &r->name_failures);
	name_files_close(&files);
}

/* --- one sink after the other ------------------------------------------------------------------ */

void resolve_give_held(struct resolver *r)
{
	name_jit_code(r);
}

bool resolve_name_kernel(struct resolver *r)
{
	struct symbolize s = { .sink = r->sink, .leaf_samples = &r->leaf_samples };

	if (!kernel_space_has_new(&r->kernel))
		return false;
	kernel_space_symbolize(&r->kernel, &s);
	return true;
}

/* Files of which frames were copied are asked for by what they are called there. */
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
	r->sink = r->opts.sink = sink;
	r->types = *types;
	r->unknown_frame = FRAME_NONE;
	label_table_renew(&r->labels, &r->processes);
	resolver_gpu_renumber(r, true, copy);
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
			void (*found)(void *ctx, uint32_t pid, const char *path, int fd), void *ctx)
{
	for (size_t i = 0; i < r->processes.all.n; i++) {
		const struct process *p = r->processes.all.v[i];

		for (size_t k = 0; p && p->image && k < p->image->maps.n; k++) {
			const struct image_map *m = &p->image->maps.v[k];
			const struct object_place place = { p->pid, m->start, m->end, m->pgoff };

			const char *name = r->objects.all.v[m->object]->name;

			if (!name || !is_wanted(name))
				continue;
			struct object *o = object_use(&r->objects, m->object, &place);
			int fd = object_fd(&r->objects, o);
			if (fd >= 0)
				found(ctx, p->pid, o->name, fd);
		}
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

void resolve_get_stats(const struct resolver *r, struct resolve_stats *out)
{
	*out = (struct resolve_stats){
		.processes = r->processes.by_pid.n,
		.objects = r->objects.n,
		.open_files = r->objects.n_open,
		.unsymbolized = r->unsymbolized,
		.names = r->name_failures,
		.short_off_ns = r->accounts.short_off_ns,
		.traced_refused = r->traced.refused,
		.gpu_memory_refused = r->gpu_live.refused,
	};
	memcpy(out->ends, r->ends, sizeof out->ends);
	for (uint32_t end = 0; end < WALK_ENDS; end++)
		out->truncated += walk_end_marker(end) ? r->ends[end] : 0;
	if (r->space)
		space_get_stats(r->space, &out->tables);
	if (r->interpreted) {
		struct interpreted_stats in;

		interpreted_get_stats(r->interpreted, &in);
		out->pythons_refused = in.refused;
		out->python_unplaced = r->python_unplaced;
		out->python_unnamed = in.unnamed;
	}
}
