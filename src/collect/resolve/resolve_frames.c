/* Resolves the addresses of a stack to frames, with markers and Python frames. */
#include "collect/resolve/resolver.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/runtime_frame.h"
#include "bpf/space.h"
#include "collect/kernel/walk_end.h"
#include "collect/proc/proc_maps.h"
#include "collect/process/helper_end.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/symbolize.h"
#include "collect/resolve/python_order.h"
#include "collect/walker/interpreted.h"
#include "collect/walker/space.h"
#include "gpu/code/probes.h"

#include <string.h>

/* arch/x86/include/uapi/asm/vsyscall.h: not in any record, because it belongs to no process. */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_BYTES 0x1000ull

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

/* States it once for each file, where all that look at the recording find it. */
static void say_shared_build_id(struct resolver *r, const struct object *o)
{
	struct buf text = { 0 };

	buf_addf(&text, "%s has the build id of %s, another file: it is identified by path only",
		 o->name, o->has_build_id_of);
	vec_push(&r->sink->ops->meta(r->sink)->comments, sink_string(r->sink, buf_cstr(&text)));
	r->sink->ops->loss(r->sink, LOSS_BUILD_ID_SHARED, 1);
	buf_done(&text);
}

static uint32_t intern_mapping(struct resolver *r, const struct object *o)
{
	struct mapping m = { .name = sink_string(r->sink, o->name) };

	memcpy(m.build_id, o->build_id, o->build_id_len);
	m.build_id_len = o->build_id_len;
	if (o->build_id_len)
		m.identity = o->fingerprint;
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
	if (o->has_build_id_of && !o->build_id_said) {
		o->build_id_said = true;
		say_shared_build_id(r, o);
	}
	if (o->state == OBJECT_GONE && !o->loss_counted) {
		r->sink->ops->loss(r->sink, LOSS_OBJECT_GONE, 1);
		o->loss_counted = true;
	}
	struct frame f = { .kind = FRAME_NATIVE, .mapping = o->mapping, .offset = offset };
	uint32_t frame = r->sink->ops->frame(r->sink, &f);
	map_put(&o->frames, offset, frame);
	enum gpu_inside inside = o->name ? gpu_inside_of(o->name) : GPU_INSIDE_NONE;
	if (inside != GPU_INSIDE_NONE)
		map_put(&r->inside_frames, frame, inside);
	return frame;
}

static uint32_t vsyscall_frame(struct resolver *r, uint64_t addr)
{
	struct proc_map m = { .start = VSYSCALL_START, .name = "[vsyscall]" };
	uint32_t id = object_of_map(&r->objects, 0, &m);

	return object_frame(r, r->objects.all.v[id], addr - VSYSCALL_START);
}

/* Returns an element for jit_hold: a frame, or an address in code without a file. */
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

/* Callers are return addresses: one less is inside the call. */
static uint64_t code_address(const uint64_t *addr, uint32_t i)
{
	return i ? addr[i] - 1 : addr[i];
}

/* Returns the run-time address of a user frame; false if the frame is an offset in an object. */
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

/* Whether a frame of two words is at that index: one of code that a runtime has made. */
static bool is_inline(const struct event_stack *st, const uint64_t *user, uint32_t i)
{
	return st->flags & STACK_INLINE && is_runtime_frame(user[i]);
}

/* Returns how many of the user frames are plausible: a return address outside all code means that a
 * chain of frame pointers went astray in code that does not keep them. */
static uint32_t plausible_frames(const struct process *p, const struct event_stack *st,
				 const uint64_t *user)
{
	uint32_t i = st->n_python;
	uint64_t addr;

	if (i < st->n_user)
		i += 1 + is_inline(st, user, i);
	if (!p->image || !p->image->maps.n)
		return st->n_user;
	while (i < st->n_user && (is_inline(st, user, i) || !run_time_address(st, user, i, &addr) ||
				  image_find(p->image, addr)))
		i += 1 + is_inline(st, user, i);
	return i < st->n_user ? i : st->n_user;
}

/* Finds the last two of n_user frames; returns false unless they are native ones. */
static bool last_native(const struct event_stack *st, const uint64_t *user, uint32_t n_user,
			uint32_t *last, uint32_t *before)
{
	bool is_native = false, was_native = false;

	*last = st->n_python;
	for (uint32_t i = st->n_python; i < n_user; i += 1 + is_inline(st, user, i)) {
		*before = *last;
		*last = i;
		was_native = is_native;
		is_native = !is_inline(st, user, i);
	}
	return is_native && (was_native || *last == *before);
}

/* Returns an element for jit_hold. */
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

/* The helper's stack may be complete. */
static enum walk_end helper_end(struct resolver *r, const struct process *p,
				const struct event_stack *st, const uint64_t *user)
{
	uint32_t last = st->n_user - 1;
	uint64_t addr = code_address(user, last);
	const struct image_map *m = p->image ? image_find(p->image, addr) : NULL;

	if (m) {
		struct object_place place = { p->pid, m->start, m->end, m->pgoff };
		struct object *o = object_use(&r->objects, m->object, &place);

		if (helper_begins_in(&r->objects, o, addr - m->start + m->pgoff))
			return WALK_COMPLETE;
	}
	return st->n_user >= r->links.helper_frames ? WALK_DEPTH : WALK_KERNEL;
}

/* Finds the file and offset of an element of the user part. */
static struct object *place_of(struct resolver *r, const struct process *p,
			       const struct event_stack *st, const uint64_t *user, uint32_t i,
			       uint64_t *offset)
{
	uint64_t addr;
	if (!run_time_address(st, user, i, &addr)) {
		*offset = user[i] & FRAME_OFFSET_MASK;
		return space_object(r->space, user[i]);
	}
	const struct image_map *m = p->image ? image_find(p->image, addr) : NULL;
	if (!m)
		return NULL;
	struct object_place place = { p->pid, m->start, m->end, m->pgoff };
	*offset = addr - m->start + m->pgoff;
	return object_use(&r->objects, m->object, &place);
}

/* Whether a walk ended at code without unwind rows and frame pointer, called by nothing but the
 * start of a program: it calls main. */
static bool ends_below_main(struct resolver *r, const struct process *p,
			    const struct event_stack *st, const uint64_t *user, uint32_t n_user)
{
	uint32_t last, before;
	uint64_t offset;
	if (st->walk_end != WALK_NO_FP || n_user < 2 || st->n_python ||
	    !last_native(st, user, n_user, &last, &before))
		return false;
	struct object *caller = place_of(r, p, st, user, last, &offset);
	if (!caller || caller->kind != OBJECT_FILE)
		return false;
	struct object *o = place_of(r, p, st, user, before, &offset);
	bool is_main = o && helper_is_main(&r->objects, o, offset);
	r->below_main += is_main;
	return is_main;
}

/* Whether a walk ended at code without unwind rows because its file could not be read. */
static bool ends_without_file(struct resolver *r, const struct process *p,
			      const struct event_stack *st, const uint64_t *user, uint32_t n_user)
{
	uint32_t last, before;
	uint64_t offset;
	if (n_user <= st->n_python || !last_native(st, user, n_user, &last, &before) ||
	    (st->walk_end != WALK_NO_FP && st->walk_end != WALK_ASTRAY &&
	     st->walk_end != WALK_UNREADABLE))
		return false;
	const struct object *o = place_of(r, p, st, user, last, &offset);
	return o && o->kind == OBJECT_FILE &&
	       (o->state == OBJECT_GONE || o->state == OBJECT_AWAITED);
}

static enum walk_end end_of(struct resolver *r, const struct process *p,
			    const struct event_stack *st, const uint64_t *user, uint32_t n_user)
{
	bool by_helper = r->links.helper_frames && !(st->flags & STACK_FRAMES);

	if (n_user < st->n_user)
		return no_frame_pointer(st);
	if (by_helper && n_user && st->walk_end == WALK_COMPLETE)
		return helper_end(r, p, st, user);
	if (ends_below_main(r, p, st, user, n_user))
		return WALK_COMPLETE;
	return ends_without_file(r, p, st, user, n_user) ? WALK_NO_FILE : st->walk_end;
}

/* Appends a frame of the user part to r->stack; returns true when it is code made at run time. */
static bool push_user(struct resolver *r, const struct process *p, const struct event_stack *st,
		      uint32_t i)
{
	uint64_t element = stack_element(r, p, st, (const uint64_t *)st->addr + st->n_kernel, i);

	vec_push(&r->stack, element);
	return (element & JIT_ADDRESS) != 0;
}

/* --- frames of runtimes among them ------------------------------------------------------------ */

/* Returns the runtime that a native frame's code is part of; < 0: none. */
static int runtime_of(struct resolver *r, uint32_t pid, uint64_t word)
{
	if (word & FRAME_ADDRESS && r->interpreted)
		return interpreted_runtime_at(r->interpreted, pid, word & ~FRAME_ADDRESS);
	const struct object *o = word & FRAME_ADDRESS ? NULL : space_object(r->space, word);

	return o ? interpreted_runtime_of(o) : -1;
}

static bool is_interpreter(void *ctx, uint64_t word)
{
	return !(word & FRAME_ADDRESS) && runtime_of(ctx, 0, word) == RUNTIME_CPYTHON;
}

/* Greenlets: their C code starts each of them on a stack that belongs to another one further
 * out. */
static bool is_switch(void *ctx, uint64_t word)
{
	struct resolver *r = ctx;
	const struct object *o = word & FRAME_ADDRESS ? NULL : space_object(r->space, word);
	const char *slash = o && o->name ? strrchr(o->name, '/') : NULL;

	return slash &&
	       (strncmp(slash, "/_greenlet.", 11) == 0 || strncmp(slash, "/greenlet.", 10) == 0);
}

static bool is_left_out(struct resolver *r, uint32_t pid, const struct python_order *o, size_t i)
{
	enum python_part_kind kind = o->all.v[i].kind;

	if (kind != PYTHON_NATIVE && kind != PYTHON_LOOP)
		return false;
	if (python_order_is_trampoline(o, i))
		return true;
	return r->opts.runtime_native == RUNTIME_FOLD &&
	       python_order_folds(o, i, runtime_of(r, pid, o->in.words[o->all.v[i].at]));
}

static const char *name_of_unnamed(const struct interpreted_frames *in, const uint64_t words[2])
{
	return in->named == RUNTIME_GONE && RUNTIME_NUMBER_OF(words[0]) != RUNTIME_CPYTHON
		       ? "[gone]"
		       : "[unknown]";
}

static void push_runtime(struct resolver *r, uint32_t pid, const uint64_t words[2])
{
	struct interpreted_frames in;

	interpreted_frames(r->interpreted, pid, words, &in);
	r->has_pending_names |= in.is_pending;
	if (in.named == RUNTIME_LEFT_OUT ||
	    (in.named == RUNTIME_OWN && r->opts.runtime_native == RUNTIME_FOLD))
		return;
	if (!in.n)
		in.v[in.n++] = (struct interpreted_frame){ .name = name_of_unnamed(&in, words) };
	while (in.n-- > 0) {
		const struct interpreted_frame *from = &in.v[in.n];
		struct frame f = {
			.kind = in.kind,
			.mapping = MAPPING_NONE,
			.function = sink_string(r->sink, from->name),
			.file = sink_string(r->sink, from->file),
			.line = from->line,
		};

		vec_push(&r->stack, r->sink->ops->frame(r->sink, &f));
	}
}

static void push_cut(struct resolver *r)
{
	resolver_push_marker(r, "[truncated: frames of Python]");
}

/* Some are missing, or may be in the wrong place: then none is shown. */
static void push_cut_php(struct resolver *r, const struct event_stack *st)
{
	r->python_unplaced += st->flags & STACK_PHP_UNFIT ? 1 : 0;
	if (st->flags & (STACK_PHP_CUT | STACK_PHP_UNFIT))
		resolver_push_marker(r, "[truncated: frames of PHP]");
}

static bool is_without_place(const struct event_stack *st, const uint64_t *word)
{
	return st->flags & STACK_PHP_UNFIT && RUNTIME_NUMBER_OF(*word) == RUNTIME_PHP;
}

/* Returns whether there are frames without a place among the others, and without a marker there. */
static bool lacks_marker(const struct python_order *o)
{
	bool is_none_left = python_order_lacks(o) || !o->in.n_python;

	return o->turns.fit == PYTHON_UNFIT || (o->in.is_cut && is_none_left);
}

/* Does the same for the whole user part, n_user words, root first, if it has frames of runtimes. */
static void push_user_order(struct resolver *r, const struct process *p,
			    const struct event_stack *st, uint32_t n_user, enum walk_end end,
			    bool *has_jit)
{
	const uint64_t *words = (const uint64_t *)st->addr + st->n_kernel;
	struct python_stack in = {
		.words = words,
		.n_words = n_user,
		.n_python = st->n_python,
		.is_whole = !walk_end_marker(end),
		.is_cut = st->flags & STACK_PYTHON_CUT,
		.is_switch = is_switch,
		.is_interpreter = is_interpreter,
		.ctx = r,
	};
	struct python_order o;

	python_order_init(&o, &in);
	r->python_unplaced += python_order_lacks(&o);
	if (lacks_marker(&o))
		push_cut(r);
	for (size_t i = o.all.n; i-- > 0;) {
		uint32_t at = o.all.v[i].at;

		if (is_left_out(r, st->tgid, &o, i) ||
		    (o.all.v[i].kind == PYTHON_INLINE && is_without_place(st, words + at)))
			continue;
		if (o.all.v[i].kind == PYTHON_CUT)
			push_cut(r);
		else if (o.all.v[i].kind == PYTHON_FRAME || o.all.v[i].kind == PYTHON_INLINE)
			push_runtime(r, st->tgid, words + at);
		else
			*has_jit |= push_user(r, p, st, at);
	}
	python_order_done(&o);
}

/* --- a stack ---------------------------------------------------------------------------------- */

enum walk_end resolver_push_stack(struct resolver *r, const struct process *p,
				  const struct event_stack *st, uint64_t now_ns, bool *has_jit)
{
	const uint64_t *kernel = (const uint64_t *)st->addr, *user = kernel + st->n_kernel;
	uint32_t n_user = r->asked.no_user ? 0 : plausible_frames(p, st, user);
	uint32_t end = end_of(r, p, st, user, n_user);
	const char *marker = r->asked.no_user ? NULL : walk_end_marker(end);

	if (marker)
		vec_push(&r->stack, named_frame(r, FRAME_MARKER, marker));
	bool has_order = st->n_python || st->flags & STACK_INLINE;

	push_cut_php(r, st);
	if (has_order)
		push_user_order(r, p, st, n_user, end, has_jit);
	for (uint32_t i = has_order ? 0 : n_user; i-- > 0;)
		*has_jit |= push_user(r, p, st, i);
	for (uint32_t i = r->asked.no_kernel ? 0 : st->n_kernel; i-- > 0;)
		vec_push(&r->stack,
			 kernel_space_frame(&r->kernel, code_address(kernel, i), now_ns));
	return marker ? end : WALK_COMPLETE;
}

void resolver_push_marker(struct resolver *r, const char *name)
{
	vec_push(&r->stack, named_frame(r, FRAME_MARKER, name));
}

void resolver_push_address(struct resolver *r, struct process *p, uint64_t addr)
{
	const uint64_t pause_ns = 100000000;
	uint64_t now_ns = clock_mono_ns();

	/* Records of an exec may be late, or lost. */
	if ((!p->image || !image_find(p->image, addr)) && !p->is_kernel_thread &&
	    now_ns - p->scanned_ns > pause_ns)
		proc_scan_within(&r->processes, p, &r->rescans, now_ns);
	vec_push(&r->stack, user_frame(r, p, addr));
}

uint32_t resolver_marker_stack(struct resolver *r, const char *name)
{
	uint32_t frame = named_frame(r, FRAME_MARKER, name);

	return r->sink->ops->stack(r->sink, &frame, 1);
}

void resolver_push_function(struct resolver *r, const char *name)
{
	vec_push(&r->stack, named_frame(r, FRAME_NATIVE, name));
}

void resolver_forget_jit(struct resolver *r, size_t from)
{
	for (size_t i = from; i < r->stack.n; i++)
		if (r->stack.v[i] & JIT_ADDRESS)
			r->stack.v[i] = unknown_frame(r);
}

/* Rereads the mappings of a process when the table lacks some, at most once a second. */
static void scan_again(struct resolver *r, struct process *p, uint64_t now_ns)
{
	if (!p->is_kernel_thread && now_ns >= p->next_scan_ns)
		proc_scan_within(&r->processes, p, &r->rescans, now_ns);
}

void resolver_check_leaf(struct resolver *r, struct process *p, const struct event_stack *st,
			 uint64_t now_ns)
{
	const uint64_t *user = (const uint64_t *)st->addr + st->n_kernel;
	uint64_t leaf;

	if (st->n_user <= st->n_python || r->asked.no_user || is_inline(st, user, st->n_python) ||
	    !run_time_address(st, user, st->n_python, &leaf) ||
	    leaf - VSYSCALL_START < VSYSCALL_BYTES)
		return;
	if (!p->image || !image_find(p->image, leaf))
		scan_again(r, p, now_ns);
}
