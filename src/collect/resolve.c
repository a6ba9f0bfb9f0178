#include "collect/resolve.h"

#include "base/clock.h"
#include "base/mem.h"
#include "collect/container.h"
#include "collect/jit.h"
#include "collect/kernel_space.h"
#include "collect/proc_scan.h"
#include "collect/proc_stat.h"
#include "collect/process.h"
#include "collect/series_cache.h"
#include "collect/stack_cache.h"
#include "collect/symbolize.h"
#include "collect/walk_end.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { CONTAINERS_MAX = 4096, /* cgroups remembered */ };
#define SWEEP_EVERY_NS 1000000000ull
#define TRIM_EVERY_NS  5000000000ull
#define SCAN_AGAIN_NS  1000000000ull

/* arch/x86/include/uapi/asm/vsyscall.h: in no record, as it belongs to no process. */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_BYTES 0x1000ull

struct resolver {
	struct sink *sink;
	struct resolve_opts opts;
	struct object_table objects;
	struct process_table processes;
	struct kernel_space kernel;
	struct stack_cache stacks;
	struct series_cache series;
	struct jit_table jits;
	struct space *space;     /* NULL: frame pointers only */
	struct map leaf_samples; /* frame → samples */
	struct map containers;   /* id of a cgroup v2 → string + 1, 1 = none */
	VEC(uint64_t) stack;     /* the one being built, as jit_hold takes it */
	VEC(uint32_t) frames;
	uint32_t unknown_frame; /* FRAME_NONE until it was needed */
	uint64_t snapshot_ns, swept_ns, trimmed_ns;
	uint64_t ends[WALK_ENDS]; /* samples, by why their stacks end */
	uint64_t unsymbolized;
	struct name_failures name_failures;
};

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
	r->unknown_frame = FRAME_NONE;
	if (!r->opts.max_user)
		r->opts.max_user = WALK_MAX_USER;
	object_table_init(&r->objects,
			  opts->max_open_files ? opts->max_open_files : default_open_files());
	process_table_init(&r->processes, &r->objects);
	if (opts->space)
		r->space = space_new(opts->space, &r->objects);
	kernel_space_init(&r->kernel, r->sink);
	series_cache_init(&r->series, r->sink);
	jit_table_init(&r->jits, r->sink, &r->objects, &r->leaf_samples);
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
	object_table_done(&r->objects);
	kernel_space_done(&r->kernel);
	stack_cache_done(&r->stacks);
	series_cache_done(&r->series);
	map_done(&r->leaf_samples);
	map_done(&r->containers);
	vec_done(&r->stack);
	vec_done(&r->frames);
	free(r);
}

/* --- processes -------------------------------------------------------------------------------- */

static void remove_process(struct resolver *r, struct process *p)
{
	jit_close(&r->jits, p);
	process_remove(&r->processes, p);
}

/* Ended processes go, and objects that nobody uses. */
static void sweep(struct resolver *r, uint64_t now_ns)
{
	if (now_ns < r->swept_ns + SWEEP_EVERY_NS)
		return;
	r->swept_ns = now_ns;
	for (struct process *p; (p = process_next_ended(&r->processes, now_ns));)
		if (!proc_is_alive(p->pid))
			remove_process(r, p);
	if (now_ns < r->trimmed_ns + TRIM_EVERY_NS)
		return;
	r->trimmed_ns = now_ns;
	object_trim(&r->objects);
}

void resolve_snapshot(struct resolver *r)
{
	r->snapshot_ns = clock_mono_ns();
	proc_scan_all(&r->processes, r->snapshot_ns);
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

/* Reads the mappings again when the table misses some, at most once a second and process. */
static void scan_again(struct resolver *r, struct process *p, uint64_t now_ns)
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

bool resolve_is_busy(const struct resolver *r)
{
	return r->space && space_is_busy(r->space);
}

static void apply_mmap(struct resolver *r, const struct side_record *rec)
{
	struct process *p = known_process(r, rec->pid, rec->time_ns);
	uint32_t object = object_of_record(&r->objects, rec);
	struct image_map m = { rec->start, rec->start + rec->len, rec->pgoff, object };

	if (p && object != OBJECT_NONE)
		process_map(&r->processes, p, &m);
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
	sweep(r, rec->time_ns);
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
	*epoch_over |= stack_cache_put(&r->stacks, st);
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t named_frame(struct resolver *r, enum frame_kind kind, const char *name)
{
	struct frame f = {
		.kind = kind,
		.mapping = MAPPING_NONE,
		.function = sink_string(r->sink, name),
	};

	return r->sink->ops->frame(r->sink, &f);
}

static uint32_t unknown_frame(struct resolver *r)
{
	if (r->unknown_frame == FRAME_NONE)
		r->unknown_frame = named_frame(r, FRAME_NATIVE, "[unknown]");
	return r->unknown_frame;
}

static uint32_t intern_mapping(struct resolver *r, const struct object *o)
{
	struct mapping m = { .name = sink_string(r->sink, o->name) };

	memcpy(m.build_id, o->build_id, o->build_id_len);
	m.build_id_len = o->build_id_len;
	if (!o->build_id_len && o->opened)
		m.identity =
			hash_mix(hash_mix(o->dev, o->file_ino), hash_mix(o->size, o->mtime_ns));
	else if (!o->build_id_len)
		m.identity = hash_mix((uint64_t)o->maj << 32 | o->min, o->ino);
	return r->sink->ops->mapping(r->sink, &m);
}

static uint32_t object_frame(struct resolver *r, struct object *o, uint64_t offset)
{
	const uint32_t *known = map_get(&o->frames, offset);

	if (known)
		return *known;
	if (o->mapping == MAPPING_NONE)
		o->mapping = intern_mapping(r, o);
	if (o->state == OBJECT_GONE && !o->loss_counted) {
		r->sink->ops->loss(r->sink, LOSS_OBJECT_GONE, 1);
		o->loss_counted = true;
	}
	struct frame f = { .kind = FRAME_NATIVE, .mapping = o->mapping, .offset = offset };
	uint32_t frame = r->sink->ops->frame(r->sink, &f);
	map_put(&o->frames, offset, frame);
	return frame;
}

static uint32_t vsyscall_frame(struct resolver *r, uint64_t addr)
{
	struct proc_map m = { .start = VSYSCALL_START, .name = "[vsyscall]" };
	uint32_t id = object_of_map(&r->objects, 0, &m);

	return object_frame(r, r->objects.all.v[id], addr - VSYSCALL_START);
}

/* An element for jit_hold: a frame, or an address in code without a file. */
static uint64_t user_frame(struct resolver *r, const struct process *p, uint64_t addr)
{
	const struct image_map *m = p->image ? image_find(p->image, addr) : NULL;

	if (addr - VSYSCALL_START < VSYSCALL_BYTES)
		return vsyscall_frame(r, addr);
	if (!m)
		return unknown_frame(r);
	struct object_place place = { p->pid, m->start, m->end, m->pgoff };
	struct object *o = object_use(&r->objects, m->object, &place);
	if (o->kind == OBJECT_JIT)
		return addr | JIT_ADDRESS;
	return object_frame(r, o, addr - m->start + m->pgoff);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Callers are return addresses: one less lies inside the call. */
static uint64_t code_address(const uint64_t *addr, uint32_t i)
{
	return i ? addr[i] - 1 : addr[i];
}

/* The run-time address of a user frame; false when it is one of an object. */
static bool run_time_address(const struct event_stack *st, const uint64_t *user, uint32_t i,
			     uint64_t *out)
{
	if (!(st->flags & STACK_FRAMES))
		*out = code_address(user, i);
	else if (user[i] & FRAME_ADDRESS)
		*out = user[i] & ~FRAME_ADDRESS;
	else
		return false;
	return true;
}

/* How many of the user frames to believe: a return address outside of all code is where a chain of frame pointers went
 * astray through code that does not keep them. */
static uint32_t plausible_frames(const struct process *p, const struct event_stack *st,
				 const uint64_t *user)
{
	uint32_t i = st->n_user ? 1 : 0;
	uint64_t addr;

	if (!p->image || !p->image->maps.n)
		return st->n_user;
	while (i < st->n_user &&
	       (!run_time_address(st, user, i, &addr) || image_find(p->image, addr)))
		i++;
	return i;
}

/* An element for jit_hold. */
static uint64_t stack_element(struct resolver *r, const struct process *p,
			      const struct event_stack *st, const uint64_t *user, uint32_t i)
{
	uint64_t addr;

	if (run_time_address(st, user, i, &addr))
		return user_frame(r, p, addr);
	struct object *o = space_object(r->space, user[i]);
	return o ? object_frame(r, o, user[i] & FRAME_OFFSET_MASK) : unknown_frame(r);
}

static enum walk_end no_frame_pointer(const struct event_stack *st)
{
	return st->flags & STACK_FRAMES ? WALK_NO_FP : WALK_KERNEL;
}

/* Builds r->stack, root first. Returns why it ends there; *has_jit tells whether it has addresses. */
static enum walk_end build_stack(struct resolver *r, const struct process *p,
				 const struct event_stack *st, uint64_t now_ns, bool *has_jit)
{
	const uint64_t *kernel = (const uint64_t *)st->addr, *user = kernel + st->n_kernel;
	uint32_t n_user = r->opts.no_user ? 0 : plausible_frames(p, st, user);
	uint32_t end = n_user < st->n_user ? no_frame_pointer(st) : st->walk_end;
	const char *marker = r->opts.no_user ? NULL : walk_end_marker(end);

	vec_clear(&r->stack);
	if (marker)
		vec_push(&r->stack, named_frame(r, FRAME_MARKER, marker));
	for (uint32_t i = n_user; i-- > 0;) {
		uint64_t element = stack_element(r, p, st, user, i);

		*has_jit |= (element & JIT_ADDRESS) != 0;
		vec_push(&r->stack, element);
	}
	for (uint32_t i = r->opts.no_kernel ? 0 : st->n_kernel; i-- > 0;)
		vec_push(&r->stack,
			 kernel_space_frame(&r->kernel, code_address(kernel, i), now_ns));
	return marker ? end : WALK_COMPLETE;
}

static struct resolved_stack intern_stack(struct resolver *r, enum walk_end end)
{
	struct resolved_stack s = { .leaf = FRAME_NONE, .end = end };

	vec_clear(&r->frames);
	for (size_t i = 0; i < r->stack.n; i++)
		vec_push(&r->frames, r->stack.v[i]);
	s.stack = r->sink->ops->stack(r->sink, r->frames.v, r->frames.n);
	if (r->frames.n)
		s.leaf = r->frames.v[r->frames.n - 1];
	return s;
}

/* An instruction pointer always lies in an executable mapping: when it does not, the table has
 * missed one (mremap, lost records). */
static void check_leaf(struct resolver *r, struct process *p, const struct event_stack *st,
		       uint64_t now_ns)
{
	const uint64_t *user = (const uint64_t *)st->addr + st->n_kernel;
	uint64_t leaf;

	if (!st->n_user || r->opts.no_user || !run_time_address(st, user, 0, &leaf) ||
	    leaf - VSYSCALL_START < VSYSCALL_BYTES)
		return;
	if (!p->image || !image_find(p->image, leaf))
		scan_again(r, p, now_ns);
}

static const struct event_stack empty_stack = { .walk_end = WALK_NO_USER };
static const struct event_stack lost_stack = { .walk_end = WALK_LOST };

static uint64_t image_id(const struct process *p)
{
	return p->image ? p->image->id : 0;
}

/* What was resolved before: the same in every process, or in this image. */
static const struct resolved_stack *known_stack(const struct resolver *r, const struct process *p,
						uint64_t hash)
{
	const struct resolved_stack *known = stack_cache_resolved(&r->stacks, 0, hash);

	return known || !image_id(p) ? known : stack_cache_resolved(&r->stacks, image_id(p), hash);
}

static const struct event_stack *stack_contents(const struct resolver *r, uint64_t hash)
{
	const struct event_stack *st = hash ? stack_cache_get(&r->stacks, hash) : &empty_stack;

	return st ? st : &lost_stack;
}

/* The stack of a sample in the sink. False when it has code made at run time: then it is in
 * r->stack, to be held back. */
static bool resolve_stack(struct resolver *r, struct process *p, const struct event_sample *s,
			  struct resolved_stack *out)
{
	const struct resolved_stack *known = known_stack(r, p, s->stack_hash);
	bool has_jit = false;

	if (known) {
		*out = *known;
		return true;
	}
	const struct event_stack *st = stack_contents(r, s->stack_hash);
	check_leaf(r, p, st, s->time_ns);
	out->end = build_stack(r, p, st, s->time_ns, &has_jit);
	if (has_jit)
		return false;
	*out = intern_stack(r, out->end);
	if (st != &lost_stack)
		stack_cache_keep(&r->stacks, st->flags & STACK_PORTABLE ? 0 : image_id(p),
				 s->stack_hash, out);
	return true;
}

/* The same of a sample that brought its stack along. */
static bool resolve_raw(struct resolver *r, struct process *p, const struct event_raw *raw,
			uint64_t now_ns, struct resolved_stack *out)
{
	const struct event_stack *kernel = stack_contents(r, raw->sample.stack_hash);
	uint32_t n_kernel = kernel->n_kernel;
	struct event_stack *st =
		xcalloc(1, sizeof *st + (n_kernel + WALK_MAX_USER) * sizeof st->addr[0]);
	bool has_jit = false;

	memcpy(st->addr, kernel->addr, n_kernel * sizeof st->addr[0]);
	struct unwind_walk w = space_walk(r->space, p->image, raw, (uint64_t *)st->addr + n_kernel,
					  r->opts.max_user);
	st->n_kernel = n_kernel;
	st->n_user = w.n;
	st->walk_end = w.end;
	st->flags = STACK_FRAMES;
	out->end = build_stack(r, p, st, now_ns, &has_jit);
	if (!has_jit)
		*out = intern_stack(r, out->end);
	free(st);
	return !has_jit;
}

/* --- labels ----------------------------------------------------------------------------------- */

static uint32_t remember_container(struct resolver *r, uint64_t cgroup_id, uint32_t container)
{
	if (r->containers.n >= CONTAINERS_MAX)
		map_clear(&r->containers);
	map_put(&r->containers, cgroup_id, container + 1);
	return container;
}

/* Asked once per process and cgroup. A process that is gone keeps what it inherited. */
static uint32_t container_of(struct resolver *r, struct process *p, uint64_t cgroup_id)
{
	const uint32_t *known = map_get(&r->containers, cgroup_id);
	char id[CONTAINER_ID_LEN + 1];
	bool unified;

	if (p->container_known && p->cgroup_id == cgroup_id)
		return p->container;
	p->container_known = true;
	p->cgroup_id = cgroup_id;
	if (known)
		return p->container = *known - 1;
	if (container_id_of(p->pid, id, &unified))
		return p->container;
	p->container = sink_string(r->sink, id);
	if (unified)
		remember_container(r, cgroup_id, p->container);
	return p->container;
}

static uint32_t series_of(struct resolver *r, struct process *p, const struct event_sample *s,
			  uint32_t type, int64_t period_ns)
{
	struct series_key key = { .type = type, .period = period_ns };

	memcpy(key.comm, s->comm, strnlen(s->comm, sizeof s->comm));
	if (s->tid == s->tgid) /* the main thread's name is the process's, as of now */
		process_set_name(p, key.comm);
	memcpy(key.process, p->name[0] ? p->name : key.comm, sizeof key.process);
	key.container = container_of(r, p, s->cgroup_id);
	return series_cache_get(&r->series, &key);
}

/* --- samples ---------------------------------------------------------------------------------- */

void resolve_sample(struct resolver *r, const struct event_sample *s, const struct event_raw *raw,
		    uint32_t type, int64_t period_ns)
{
	struct process nobody = { /* the table is full: /proc is not asked again and again */
				  .pid = s->tgid,
				  .is_kernel_thread = true,
				  .container_known = true,
				  .cgroup_id = s->cgroup_id
	};
	struct resolved_stack stack;

	sweep(r, s->time_ns);
	struct process *p = known_process(r, s->tgid, s->time_ns);
	p = p ? p : &nobody;
	struct sample sample = {
		.time_ns = s->time_ns,
		.value = 1,
		.series = series_of(r, p, s, type, period_ns),
		.pid = s->tgid,
		.tid = s->tid,
		.cpu = s->cpu,
	};
	bool named =
		raw ? resolve_raw(r, p, raw, s->time_ns, &stack) : resolve_stack(r, p, s, &stack);
	r->ends[stack.end]++;
	if (!named) {
		jit_hold(&r->jits, p, &sample, r->stack.v, r->stack.n);
		return;
	}
	sample.stack = stack.stack;
	r->sink->ops->sample(r->sink, &sample);
	if (stack.leaf != FRAME_NONE)
		leaf_count(&r->leaf_samples, stack.leaf);
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
	symbolize_objects(r, &s);
	kernel_space_symbolize(&r->kernel, &s);
	r->unsymbolized = s.unsymbolized + samples_with_leaf(r, r->unknown_frame) +
			  samples_with_leaf(r, r->jits.unnamed_frame);
	name_files_failures(&files, &r->name_failures);
	name_files_close(&files);
}

void resolve_get_stats(const struct resolver *r, struct resolve_stats *out)
{
	*out = (struct resolve_stats){
		.processes = r->processes.by_pid.n,
		.objects = r->objects.n,
		.open_files = r->objects.n_open,
		.unsymbolized = r->unsymbolized,
		.names = r->name_failures,
	};
	memcpy(out->ends, r->ends, sizeof out->ends);
	for (uint32_t end = 0; end < WALK_ENDS; end++)
		out->truncated += walk_end_marker(end) ? r->ends[end] : 0;
	if (r->space)
		space_get_stats(r->space, &out->tables);
}
