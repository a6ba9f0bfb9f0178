/* Puts together the stacks of samples and waits, and caches those resolved. */
#include "collect/resolve/resolver.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/kernel/walk_end.h"
#include "collect/process/image.h"
#include "collect/process/symbolize.h"
#include "collect/walker/space.h"
#include "gpu/code/probes.h"
#include "unwind/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- a stack ---------------------------------------------------------------------------------- */

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

static const struct event_stack empty_stack = { .walk_end = WALK_NO_USER };
static const struct event_stack lost_stack = { .walk_end = WALK_LOST };

static uint64_t image_id(const struct process *p)
{
	return p->image ? p->image->id : 0;
}

/* Returns a stack resolved earlier: the same in every process, or in this image. */
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

/* --- waits ------------------------------------------------------------------------------------ */

static bool shows_waker(const struct resolver *r, const struct wait_info *w)
{
	return r->asked.waits.wakers && w->waker_comm[0];
}

static bool shows_waker_stack(const struct resolver *r, const struct wait_info *w)
{
	return r->asked.waits.waker_stacks && w->waker_hash;
}

static enum wait_reason reason_of(struct resolver *r, const struct event_stack *st)
{
	if (!r->reasons_read)
		wait_reasons_read(&r->reasons, "/proc/kallsyms");
	r->reasons_read = true;
	return wait_reason_of(&r->reasons, st);
}

static bool is_folded(const struct stack_ref *ref)
{
	return ref->folds_call && ref->sample->gpu_call;
}

/* "[blocked: disk I/O]", "[sched-wait]", "[waiting for GPU]" */
static void push_state(struct resolver *r, const struct event_stack *st, enum account_part part)
{
	enum wait_reason reason = part == ACCOUNT_STOPPED ? WAIT_STOPPED : WAIT_OTHER;
	struct buf name = { 0 };

	if (part == ACCOUNT_SCHED_WAIT || part == ACCOUNT_GPU_SPIN || part == ACCOUNT_GPU_SLEEP) {
		resolver_push_marker(r, part == ACCOUNT_SCHED_WAIT ? STATE_SCHED_WAIT_MARKER
								   : STATE_GPU_WAIT_MARKER);
		return;
	}
	if (part == ACCOUNT_OFF_CPU)
		reason = reason_of(r, st);
	buf_addf(&name, "[blocked: %s]", wait_reason_names[reason]);
	resolver_push_marker(r, buf_cstr(&name));
	buf_done(&name);
}

uint32_t resolver_stack_without_jit(struct resolver *r)
{
	resolver_forget_jit(r, 0);
	return intern_stack(r, WALK_COMPLETE).stack;
}

/* Pushes the stack of a waker. Code made at run time gets no name there: it may belong to another
 * process. */
static void push_waker_stack(struct resolver *r, const struct wait_info *w,
			     const struct event_stack *st, uint64_t now_ns)
{
	struct process *p = process_find(&r->processes, w->waker_tgid);
	struct process nobody = { .is_kernel_thread = true };
	size_t from = r->stack.n;
	bool has_jit = false;

	resolver_push_stack(r, p ? p : &nobody, st, now_ns, &has_jit);
	if (has_jit)
		resolver_forget_jit(r, from);
}

/* Pushes the waker and its stack, if they are wanted. They may be known because of a lock. */
static void push_waker(struct resolver *r, const struct wait_info *w, uint64_t now_ns)
{
	struct buf name = { 0 };

	if (!shows_waker(r, w))
		return;
	buf_addf(&name, "[woken by: %.*s", EVENT_COMM_LEN, w->waker_comm);
	if (w->waker_tid)
		buf_addf(&name, " (%" PRIu32 ")", w->waker_tgid);
	buf_addc(&name, ']');
	resolver_push_marker(r, buf_cstr(&name));
	buf_done(&name);
	if (shows_waker_stack(r, w))
		push_waker_stack(r, w, stack_contents(r, w->waker_hash), now_ns);
}

/* Words of a copied stack with frames of Python, as in the kernel (bpf/maps.h). */
enum { RAW_MAX_FRAMES = 3400 };

/* --- whole stacks ----------------------------------------------------------------------------- */

/* Distinguishes stacks with the same addresses. */
static uint64_t ref_hash(const struct resolver *r, const struct stack_ref *ref)
{
	uint64_t hash = ref->sample->stack_hash;
	const struct wait_info *w = ref->wait;

	if (is_folded(ref))
		hash = hash_mix(hash, hash_mix(ref->part, ref->sample->gpu_call));
	if (!w)
		return ref->is_launch    ? hash_mix(hash, 1)
		       : ref->is_runtime ? hash_mix(hash, 2)
					 : hash;
	hash = hash_mix(hash, hash_mix(w->kernel_hash, ref->part));
	if (ref->is_lock)
		return hash_mix(hash, hash_mix(w->lock.address, w->lock.how));
	if (ref->part != ACCOUNT_SCHED_WAIT && shows_waker(r, w))
		hash = hash_mix(hash,
				hash_mix(w->waker_tgid, hash_bytes(w->waker_comm, EVENT_COMM_LEN)));
	return hash;
}

/* Returns a stack with the kernel part of another and space for n_user words of user part; to be
 * freed. */
static struct event_stack *with_kernel_part(const struct event_stack *kernel, uint32_t n_user)
{
	struct event_stack *st =
		xcalloc(1, sizeof *st + (kernel->n_kernel + n_user) * sizeof st->addr[0]);

	memcpy(st->addr, kernel->addr, kernel->n_kernel * sizeof st->addr[0]);
	st->n_kernel = kernel->n_kernel;
	st->syscall = kernel->syscall;
	return st;
}

/* The same, with Python's frames first and space for what follows them. */
static struct event_stack *with_python(const struct event_stack *kernel,
				       const struct event_stack *python, uint32_t room)
{
	struct event_stack *st = with_kernel_part(kernel, python->n_python + room);

	memcpy(st->addr + st->n_kernel, python->addr + python->n_kernel,
	       python->n_python * sizeof st->addr[0]);
	st->n_user = st->n_python = python->n_python;
	st->tgid = python->tgid;
	st->flags = python->flags;
	return st;
}

/* Walks the stack copy. */
static struct event_stack *walked(struct resolver *r, const struct process *p,
				  const struct event_raw *raw, uint32_t *inside)
{
	uint64_t early = raw->ev.wait.kernel_hash, hash = raw->ev.sample.stack_hash;
	const struct event_stack *sent = stack_contents(r, hash);
	struct python_groups groups = python_groups_of(sent);
	bool has_python = groups.end != NULL;
	bool has_code = space_has_code(r->space, raw->ev.sample.tgid);
	uint32_t room = has_python || has_code ? RAW_MAX_FRAMES : r->asked.max_depth;
	const struct event_stack *kernel = early ? stack_contents(r, early) : sent;
	struct event_stack *st = with_python(kernel, has_python ? sent : &empty_stack, room);
	struct unwind_walk w = space_walk(r->space, p->image, raw, groups,
					  (uint64_t *)st->addr + st->n_kernel + st->n_python, room);

	r->python_unplaced += sent->n_python && !has_python;
	st->n_user += w.n;
	st->walk_end = w.end;
	st->flags =
		STACK_FRAMES | (st->flags & STACK_PYTHON_CUT) | (w.has_php ? STACK_PHP_UNFIT : 0);
	if (w.has_inline) {
		st->flags |= STACK_INLINE;
		st->tgid = raw->ev.sample.tgid;
	}
	*inside = w.called ? w.called - 1 : 0;
	return st;
}

static struct event_stack *joined(const struct event_stack *kernel, const struct event_stack *user)
{
	struct event_stack *st = with_kernel_part(kernel, user->n_user);

	st->n_user = user->n_user;
	st->n_python = user->n_python;
	st->tgid = user->tgid;
	st->walk_end = user->walk_end;
	st->flags = user->flags;
	memcpy(st->addr + st->n_kernel, user->addr + user->n_kernel,
	       user->n_user * sizeof st->addr[0]);
	return st;
}

/* Retains the stack for later reports of the wait. */
static void keep_open_wait(struct resolver *r, const struct stack_ref *ref, struct event_stack *st)
{
	struct open_wait w = { .tid = ref->sample->tid,
			       .key = ref->wait->going_on,
			       .is_cut = walk_end_marker(st->walk_end) != NULL };

	st->kind = EVENT_STACK;
	w.hash = hash_bytes(st, event_stack_bytes(st)) | 1;
	st->stack_hash = w.hash;
	r->epoch_over |= stack_cache_put(&r->stacks, st);
	open_waits_put(&r->going_on, &w, ref->sample->time_ns);
	if (r->links.copy_again)
		r->links.copy_again(r->links.copy_ctx, w.tid, w.is_cut);
}

uint64_t resolver_open_wait(struct resolver *r, const struct event_wait *ev)
{
	uint32_t tid = ev->sample.tid;
	const struct open_wait *w =
		open_waits_get(&r->going_on, tid, ev->wait.going_on, ev->sample.time_ns);
	bool is_there = w && stack_cache_get(&r->stacks, w->hash);

	if ((!is_there || w->is_cut) && r->links.copy_again)
		r->links.copy_again(r->links.copy_ctx, tid, true);
	return is_there ? w->hash : UINT64_MAX;
}

/* Returns the complete contents of a stack. *inside: number of user frames inside the call that
 * waits for a GPU. *owned must be freed. */
static const struct event_stack *all_contents(struct resolver *r, const struct process *p,
					      const struct stack_ref *ref,
					      struct event_stack **owned, uint32_t *inside)
{
	*owned = NULL;
	*inside = ref->sample->gpu_call ? ref->sample->gpu_call - 1 : 0;
	if (ref->raw) {
		*owned = walked(r, p, ref->raw, inside);
		if (ref->wait && ref->wait->going_on)
			keep_open_wait(r, ref, *owned);
		return *owned;
	}
	const struct event_stack *st = stack_contents(r, ref->sample->stack_hash);
	if (ref->wait && ref->wait->kernel_hash)
		return *owned = joined(stack_contents(r, ref->wait->kernel_hash), st);
	return st;
}

/* Returns what the frame at distance n from the leaf is. */
static enum gpu_inside inside_at(const struct resolver *r, size_t n)
{
	uint64_t frame = n < r->stack.n ? r->stack.v[r->stack.n - 1 - n] : JIT_ADDRESS;
	const uint32_t *inside = frame & JIT_ADDRESS ? NULL : map_get(&r->inside_frames, frame);

	return inside ? (enum gpu_inside) * inside : GPU_INSIDE_NONE;
}

/* Of a row of such frames at the leaf, leaves the outermost one. */
static void drop_row(struct resolver *r, enum gpu_inside inside)
{
	while (inside_at(r, 0) == inside && inside_at(r, 1) == inside)
		r->stack.n--;
}

/* A launch ends in the function that the program called: drops the frames below it. */
static void drop_teller(struct resolver *r)
{
	while (inside_at(r, 0) == GPU_INSIDE_TELLER)
		r->stack.n--;
	drop_row(r, GPU_INSIDE_CALL);
}

/* Drops what a call that waits for a GPU does inside: it is the driver's business, in the kernel,
 * too. If the walk did not reach the call, the whole user part is retained. */
static void drop_inside(struct resolver *r, const struct event_stack *st, uint32_t inside)
{
	uint32_t n = inside + (r->asked.no_kernel ? 0 : st->n_kernel);

	if (r->stack.n)
		r->stack.n -= n < r->stack.n ? n : r->stack.n - 1;
}

/* --- locks ------------------------------------------------------------------------------------ */

/* To be freed. */
static struct event_stack *without_kernel_part(const struct event_stack *st)
{
	return joined(&empty_stack, st);
}

/* Pushes the thread that held the lock, as it unlocked it, and the lock as the leaf. */
static void push_lock(struct resolver *r, const struct process *p, const struct wait_info *w,
		      uint64_t now_ns)
{
	bool unlocked = w->lock.how & LOCK_UNLOCKED;
	struct buf name = { 0 };

	if (unlocked)
		buf_addf(&name, STATE_HELD_BY "%.*s]", EVENT_COMM_LEN, w->waker_comm);
	else
		buf_adds(&name, w->lock.how & LOCK_PENDING ? STATE_STILL_HELD_MARKER
							   : STATE_NO_HOLDER_MARKER);
	resolver_push_marker(r, buf_cstr(&name));
	if (unlocked) {
		struct event_stack *holder = without_kernel_part(stack_contents(r, w->waker_hash));

		push_waker_stack(r, w, holder, now_ns);
		free(holder);
	}
	buf_clear(&name);
	lock_name(&name, &r->objects, p, w);
	resolver_push_marker(r, buf_cstr(&name));
	buf_done(&name);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Returns whether the next sample with this hash has the same stack. */
static bool can_keep(const struct resolver *r, const struct stack_ref *ref,
		     const struct event_stack *st)
{
	if (ref->raw || st == &lost_stack || r->has_pending_names)
		return false;
	return !ref->wait || !(ref->is_lock ? ref->wait->lock.how & LOCK_UNLOCKED
					    : shows_waker_stack(r, ref->wait));
}

/* Pushes the markers at the leaf of a wait. */
static void push_end(struct resolver *r, const struct process *p, const struct stack_ref *ref,
		     const struct event_stack *st)
{
	uint64_t now_ns = ref->sample->time_ns;

	if (ref->is_lock) {
		push_lock(r, p, ref->wait, now_ns);
		return;
	}
	if (ref->part != ACCOUNT_NONE)
		push_state(r, st, ref->part);
	if (ref->wait && ref->part != ACCOUNT_SCHED_WAIT)
		push_waker(r, ref->wait, now_ns);
}

bool resolver_stack(struct resolver *r, struct process *p, const struct stack_ref *ref,
		    struct resolved_stack *out)
{
	uint64_t hash = ref_hash(r, ref), now_ns = ref->sample->time_ns;
	const struct resolved_stack *known = ref->raw ? NULL : known_stack(r, p, hash);
	struct event_stack *owned;
	bool has_jit = false;
	uint32_t inside;

	if (known) {
		*out = *known;
		return true;
	}
	const struct event_stack *st = all_contents(r, p, ref, &owned, &inside);
	if (!ref->raw)
		resolver_check_leaf(r, p, st, now_ns);
	vec_clear(&r->stack);
	r->has_pending_names = false;
	struct event_stack *user = ref->is_lock ? without_kernel_part(st) : NULL;
	out->end = resolver_push_stack(r, p, user ? user : st, now_ns, &has_jit);
	free(user);
	if (ref->is_launch)
		drop_teller(r);
	if (ref->is_runtime)
		drop_row(r, GPU_INSIDE_RUNTIME);
	if (ref->called)
		resolver_push_function(r, ref->called);
	if (is_folded(ref))
		drop_inside(r, st, inside);
	push_end(r, p, ref, st);
	bool keeps = can_keep(r, ref, st);
	uint64_t image = st->flags & STACK_PORTABLE ? 0 : image_id(p);
	free(owned);
	if (has_jit)
		return false;
	*out = intern_stack(r, out->end);
	if (keeps)
		stack_cache_keep(&r->stacks, image, hash, out);
	return true;
}

uint32_t resolver_stack_now(struct resolver *r, struct process *p, const struct stack_ref *ref,
			    enum walk_end *end)
{
	struct resolved_stack stack;
	bool is_whole = resolver_stack(r, p, ref, &stack);

	*end = stack.end;
	return is_whole ? stack.stack : resolver_stack_without_jit(r);
}
