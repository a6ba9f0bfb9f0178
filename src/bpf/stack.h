/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/stack.h: stacks: walked, hashed, and sent once; or, where the walker does not know the code
 * yet, sent as a copy of the stack's memory. */
#ifndef CRESSET_BPF_STACK_H
#define CRESSET_BPF_STACK_H

#include "bpf/cpython_place.h"
#include "bpf/php_walk.h"
#include "bpf/runtime_walk.h"
#include "bpf/unwind.h"

/* --- tasks whose user stack is gone ----------------------------------------------------------- */

/* An exec that has released the old memory and does not run the new program yet. */
static __always_inline int is_in_exec(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return mm && !BPF_CORE_READ(mm, start_code);
}

/* Returns why the task has no user stack, although it ran a program: WALK_EXEC, or WALK_EXIT, which
 * has released its memory. 0: it has one, or never had. */
static __always_inline __u32 end_without_memory(struct task_struct *task)
{
	__u32 flags = BPF_CORE_READ(task, flags);

	if (flags & TASK_PF_NO_USER)
		return 0;
	if (!BPF_CORE_READ(task, mm))
		return flags & TASK_PF_EXITING ? WALK_EXIT : 0;
	return is_in_exec(task) ? WALK_EXEC : 0;
}

/* --- what the walk needs ---------------------------------------------------------------------- */

static __always_inline struct scratch *scratch_of(struct walk *w)
{
	return (void *)w - offsetof(struct scratch, walk);
}

static __always_inline int walk_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	struct scratch *s = scratch_of(w);

	if (bpf_probe_read_user(to, size, (const void *)address))
		return 1;
	if (size % 8 == 0)
		for (__u32 i = 0; i < size / 8; i++)
			((__u64 *)to)[i] = patched(s, address + 8 * i, ((__u64 *)to)[i]);
	return 0;
}

/* A word of the stack. */
static __always_inline int walk_word(struct walk *w, __u64 address, __u64 *out)
{
	struct scratch *s = scratch_of(w);
	__u64 at = address - s->window_at;

	if (at > WINDOW - 8 || !s->has_window) {
		s->has_window = !bpf_probe_read_user(s->window, WINDOW, (const void *)address);
		if (!s->has_window)
			return 1;
		s->window_at = address;
		at = 0;
	}
	*out = patched(s, address, *(__u64 *)((void *)s->window + at));
	return 0;
}

static __always_inline int walk_find(struct walk *w, __u64 address)
{
	struct space_block_key key = { .image = w->image };
	const struct space_mapping *m;
	struct space_block *b;

	if (!w->n_maps)
		return 1;
	if (w->n_maps > SPACE_BLOCK_MAPS) {
		key.block = SPACE_INDEX;
		b = bpf_map_lookup_elem(&blocks, &key);
		if (!b)
			return 1;
		key.block = search_index(w, b, address);
	}
	b = bpf_map_lookup_elem(&blocks, &key);
	if (!b)
		return 1;
	m = search_maps(w, b, address);
	if (address < m->start || address >= m->end)
		return 1;
	w->map = *m;
	return 0;
}

static __always_inline struct space_table *walk_table(struct walk *w, __u32 index)
{
	(void)w;
	return bpf_map_lookup_elem(&tables, &index);
}

static __always_inline const void *walk_chunk(struct walk *w, __u32 chunk)
{
	__u32 segment = chunk / UNWIND_SEGMENT_CHUNKS, at = chunk % UNWIND_SEGMENT_CHUNKS;
	void *inner = bpf_map_lookup_elem(&segments, &segment);

	(void)w;
	return inner ? bpf_map_lookup_elem(inner, &at) : 0;
}

/* The sampler has its own, since it can interrupt a walk. */
static __always_inline struct known_frames *known_of(const struct scratch *s)
{
	__u32 which = s->index != SCRATCH_SAMPLE;

	return bpf_map_lookup_elem(&known, &which);
}

static __always_inline struct known_frame *walk_known(struct walk *w, __u32 i)
{
	struct known_frames *k = known_of(scratch_of(w));

	return k ? &k->frames[i & (KNOWN_FRAMES - 1)] : 0;
}

static __always_inline void walk_put(struct walk *w, __u64 frame)
{
	struct scratch *s = scratch_of(w);
	__u64 at = s->head.n_kernel + s->head.n_python + w->n;

	asm volatile("" : "+r"(at));
	if (at < SCRATCH_ADDRS)
		s->addr[at] = frame;
	s->user_hash = mix(s->user_hash, frame);
	w->n++;
}

/* A global function: the verifier checks it once, not in every state that the fast path ends in. */
__weak int walk_any_frame(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s ? walk_frame(&s->walk) : 1;
}

/* Walks one frame. Returns nonzero when the walk is over. */
static __always_inline int walk_step(struct scratch *s, struct known_frames *known)
{
	struct walk *w = &s->walk;
	__u64 pc = walk_pc(w), sp = w->sp;
	__u32 at = known_index(w, pc) & (KNOWN_FRAMES - 1);

	if (w->has_code & 1u << RUNTIME_PHP) {
		int stepped = php_frames(s->index, known->frames[at].pc == pc &&
							   known->frames[at].image == w->image);

		if (stepped != PHP_NOT_MINE)
			return stepped == PHP_OVER;
		pc = walk_pc(w);
		at = known_index(w, pc) & (KNOWN_FRAMES - 1);
	}
	STORE(s->step_pc, pc);
	STORE(s->step_sp, sp);
	if (sp && sp == s->call_sp) /* the frames so far belong to the call and its callees */
		s->gpu_call = w->n;
	if (walk_known_frame(w, &known->frames[at])) {
		int stepped = HOTSPOT_NOT_MINE;

		if (w->has_code & 1u << RUNTIME_HOTSPOT)
			stepped = hotspot_frame(s->index);
		if (w->has_code & 1u << RUNTIME_V8 && stepped == HOTSPOT_NOT_MINE)
			stepped = v8_frame(s->index);
		if (stepped == HOTSPOT_OVER ||
		    (stepped == HOTSPOT_NOT_MINE && walk_any_frame(s->index)))
			return 1;
	}
	if (s->python)
		python_place(s->index, LOAD(s->step_pc), LOAD(s->step_sp));
	return 0;
}

/* How a program goes from frame to frame: by bpf_loop (5.17), so that the verifier checks only one
 * step, or by global functions that take some frames at a time, on all kernels. */
enum walk_way { WALK_BY_PARTS, WALK_BY_LOOP };

/* Frames per call of walk_some_frames. */
enum { FRAMES_AT_ONCE = 8 };
__weak int walk_some_frames(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct known_frames *known = s ? known_of(s) : 0;

	if (!s || !known)
		return 1;
	for (int i = 0; i < FRAMES_AT_ONCE; i++)
		if (walk_step(s, known))
			return 1;
	return 0;
}

/* Checked every 64 frames. A global function: verified once, not in each round of the loop. */
__weak int walk_is_late(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s && bpf_ktime_get_ns() > s->walk_until_ns && walk_over(&s->walk, WALK_TIME);
}

__weak int walk_frames(__u32 index)
{
	for (int i = 1; i < SCRATCH_USER / FRAMES_AT_ONCE + 2; i++)
		if (walk_some_frames(index) || (i % 8 == 0 && walk_is_late(index)))
			break;
	return 0;
}

struct walk_ref {
	struct scratch *s;
	struct known_frames *known;
};

static long walk_step_of(__u32 i, void *ctx)
{
	struct walk_ref *ref = ctx;

	if (walk_step(ref->s, ref->known))
		return 1;
	return i % 64 == 63 && walk_is_late(ref->s->index);
}

__weak int walk_frames_by_loop(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct walk_ref ref = { s, s ? known_of(s) : 0 };

	if (s && ref.known)
		bpf_loop(SCRATCH_USER + FRAMES_AT_ONCE, walk_step_of, &ref, 0);
	return 0;
}

/* User addresses from the kernel's helper, which cannot say why its walk ended. */
static __always_inline void walk_by_helper(void *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, &s->addr[s->head.n_kernel & 255], WALK_MAX_KERNEL * 8,
				   BPF_F_USER_STACK);

	if (bytes <= 0)
		return;
	s->head.n_user = ((__u64)bytes / 8) & 255;
	s->head.walk_end = s->head.n_user >= max_user ? WALK_DEPTH : WALK_COMPLETE;
}

/* Collects the Python frames, which are first. Returns nonzero if there are more. */
static __always_inline int begin_python(struct scratch *s, const struct space_process *p,
					__u32 tgid, __u64 now_ns, const enum walk_way way)
{
	int is_cut;

	s->python = 0;
	s->head.n_python = 0;
	if (!p || !(p->runtimes & 1u << RUNTIME_CPYTHON))
		return 0;
	is_cut = way == WALK_BY_LOOP ? python_collect_by_loop(s->index, tgid, now_ns)
				     : python_collect(s->index, tgid, now_ns);
	if (!s->head.n_python)
		return is_cut;
	s->head.tgid = tgid;
	if (max_user >= WALK_MAX_USER)
		s->walk.max = SCRATCH_USER - LOAD(s->head.n_python);
	return is_cut;
}

/* Prepares for frames of code that runtimes have made. They take two words each. */
static __always_inline void begin_code(struct scratch *s, const struct space_process *p, __u32 tgid)
{
	struct walk *w = &s->walk;
	__u32 most = SCRATCH_USER - 2 - LOAD(s->head.n_python);

	w->most = 0;
	w->has_code = 0;
	if (p && p->runtimes & 1u << RUNTIME_HOTSPOT && hotspot_begin(s->index, tgid))
		w->has_code |= 1u << RUNTIME_HOTSPOT;
	if (p && p->runtimes & 1u << RUNTIME_V8 && v8_begin(s->index, tgid))
		w->has_code |= 1u << RUNTIME_V8;
	if (p && p->runtimes & 1u << RUNTIME_PHP && php_begin(s->index, tgid))
		w->has_code |= 1u << RUNTIME_PHP;
	if (w->has_code & 1u << RUNTIME_PHP) /* its functions are sent for each process */
		s->user_hash = mix(s->user_hash, tgid);
	if (!w->has_code)
		return;
	if (max_user >= WALK_MAX_USER)
		w->max = most;
	else
		w->most = most;
}

/* A call with a probe at its return comes back through the first slot of the process's page for
 * probe code (the other slots hold probed instructions). That slot saves three registers and gets
 * the place to continue from the kernel. The walk starts at that address. */
enum { PROBE_SLOT_BYTES = 128 };
static __always_inline void leave_probes_page(struct scratch *s)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 sp = s->walk.regs[PT_SP], page;

	if ((!s->patched_at && !s->back_at) ||
	    !bpf_core_field_exists(((struct xol_area *)0)->vaddr))
		return;
	page = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	if (!page || s->walk.regs[PT_IP] - page >= PROBE_SLOT_BYTES)
		return;
	for (int saved = 0; saved <= 3; saved++) {
		__u64 back_sp = sp + saved * 8, to = patched(s, back_sp - 8, 0);

		if (back_sp - 8 == s->back_at && !to)
			to = s->back_word;
		if (to) {
			s->walk.regs[PT_IP] = to;
			s->walk.regs[PT_SP] = back_sp;
			return;
		}
	}
}

/* The process has a new image: mappings of the old one may have disappeared during the walk. */
static __always_inline int has_new_image(__u32 tgid, __u64 image)
{
	const struct space_process *p = bpf_map_lookup_elem(&processes, &tgid);

	return !p || p->image != image;
}

/* Whether the image is likely to have all mappings of the current process. */
static __always_inline int is_settled(struct space_process *p, __u64 now_ns)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 count = (__u32)BPF_CORE_READ(task, mm, map_count);

	if (p->count != count) {
		p->count = count;
		p->counted_ns = now_ns;
	}
	return now_ns - p->sent_ns > SPACE_SETTLED_NS && now_ns - p->counted_ns > SPACE_SETTLED_NS;
}

static __always_inline void walk_by_rules(struct scratch *s, __u32 tgid, __u64 now_ns,
					  const enum walk_way way)
{
	struct walk *w = &s->walk;
	struct space_process *p = use_tables ? bpf_map_lookup_elem(&processes, &tgid) : 0;
	int is_cut, has_room = p ? p->n_maps != SPACE_NO_ROOM : !processes_full;

	leave_probes_page(s);
	if (s->walk.regs[PT_SP] == s->call_sp) /* it has returned; its probe has not fired yet */
		no_call(s);
	w->use_tables = use_tables && has_room;
	w->max = max_user;
	w->image = p && has_room ? p->image : 0;
	w->n_maps = p && has_room ? p->n_maps : 0;
	s->walk_until_ns = bpf_ktime_get_ns() + max_walk_ns;
	s->has_window = 0;
	s->user_hash = HASH_SEED;
	w->settled = p && is_settled(p, now_ns);
	is_cut = begin_python(s, p, tgid, now_ns, way);
	begin_code(s, p, tgid);
	walk_begin(w);
	if (w->regs[PT_CS] == X86_USER32_CS) {
		append(w, FRAME_ADDRESS | w->ip);
		w->end = WALK_32BIT;
	} else if (way == WALK_BY_LOOP) {
		walk_frames_by_loop(s->index);
	} else {
		walk_frames(s->index);
	}
	if (use_tables && !has_room)
		w->end = WALK_NO_ROOM;
	else if (w->image && (w->end == WALK_ASTRAY || w->end == WALK_NO_FP) &&
		 has_new_image(tgid, w->image))
		w->end = WALK_NOT_LOADED;
	add(COUNT_BY_TABLE, w->by_table);
	add(COUNT_BY_FP, w->by_fp);
	s->head.n_user = s->head.n_python + w->n;
	s->head.walk_end = w->end;
	if (w->has_inline)
		s->head.tgid = tgid;
	s->head.flags = STACK_FRAMES | (is_cut ? STACK_PYTHON_CUT : 0) |
			(w->has_inline ? STACK_INLINE : 0) |
			(w->has_address || s->head.n_python ? 0 : STACK_PORTABLE);
	if (w->has_code & 1u << RUNTIME_PHP)
		s->head.flags |= php_flags(s->index) & (STACK_PHP_CUT | STACK_PHP_UNFIT);
}

/* The hash before the first address. Our own walk has already hashed its user part. both: whether
 * the user's part is hashed after the kernel's. */
static __always_inline __u64 hash_begin(const struct scratch *s, int both)
{
	__u64 shape = (__u64)s->head.n_kernel << 48 | (__u64)s->head.n_user << 32 |
		      s->head.walk_end << 16 | s->head.syscall << 7 | s->head.flags;

	return mix(shape, both || !s->head.n_user ? HASH_SEED : s->user_hash);
}

static __always_inline __u32 hash_end(struct scratch *s, __u64 hash)
{
	s->head.stack_hash = hash ? hash : 1;
	return (__u32)LOAD(s->head.n_kernel) + LOAD(s->head.n_user);
}

/* Computes the stack's hash, without addresses of a user part that is not hashed yet, and returns
 * its number of addresses. */
static __always_inline __u32 hash_words(struct scratch *s)
{
	__u64 hash = hash_begin(s, 0);

	/* Loaded again in each round: the verifier must not derive the count from a loop that
	 * ended. */
	for (__u32 i = 0; i < WALK_MAX_KERNEL; i++) {
		if (i >= LOAD(s->head.n_kernel))
			break;
		hash = mix(hash, s->addr[i]);
	}
	return hash_end(s, hash);
}

/* Hashes some words from the first on, up to the end. Returns nonzero when that is reached. A
 * global function: verified once. */
enum { WORDS_AT_ONCE = 16 };
__weak int hash_some_words(__u32 index, __u32 first, __u32 end)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	if (!s)
		return 1;
	for (__u32 i = 0; i < WORDS_AT_ONCE; i++) {
		__u64 at = first + i;

		asm volatile("" : "+r"(at));
		if (at >= end || at >= SCRATCH_ADDRS)
			return 1;
		s->head.stack_hash = mix(s->head.stack_hash, s->addr[at]);
	}
	return 0;
}

/* hash_words for a scratch by its index. most: the limit for the addresses still to hash:
 * WALK_MAX_KERNEL for the kernel's part, twice that for both parts. */
__weak int hash_scratch(__u32 index, __u32 most)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	const int both = most > WALK_MAX_KERNEL;
	__u32 end;

	if (!s)
		return 0;
	end = LOAD(s->head.n_kernel) + (both ? LOAD(s->head.n_user) : 0);
	s->head.stack_hash = hash_begin(s, both);
	for (__u32 i = 0; i < 2 * WALK_MAX_KERNEL; i += WORDS_AT_ONCE)
		if (hash_some_words(index, i, end < most ? end : most))
			break;
	return hash_end(s, s->head.stack_hash);
}

static __always_inline __u32 hash_stack(struct scratch *s, __u32 most)
{
	return (__u32)hash_scratch(s->index, most) & 0xffff;
}

/* Names are read from the memory of the process, which may exit at any moment. So the reader is
 * woken early, but at most once per PYTHON_WAKE_NS. */
#define PYTHON_WAKE_NS 20000000ull
static __always_inline __u64 python_wake(struct scratch *s)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - s->python_woke_ns < PYTHON_WAKE_NS)
		return BPF_RB_NO_WAKEUP;
	s->python_woke_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Sends the contents unless this CPU has already sent them. A refused stack stays unmarked and is
 * tried again with its next sample. */
static __always_inline void send_stack(struct scratch *s, __u32 n, const enum sender from)
{
	__u32 slot =
		(s->head.stack_hash & (SEEN_OF_ONE - 1)) + (from == FROM_SAMPLER ? 0 : SEEN_OF_ONE);
	__u64 *mark = bpf_map_lookup_elem(&seen, &slot);
	__u64 want = s->head.stack_hash ^ (seen_epoch << 48);
	__u64 bytes = sizeof s->head + (__u64)n * 8;

	if (use_runtimes && s->walk.has_code & 1u << RUNTIME_PHP)
		php_send(s, from);
	/* Checked in the register that the helper gets: the verifier of 6.1 does not carry a bound
	 * from one copy to another. */
	asm volatile("" : "+r"(bytes));
	if (!mark || *mark == want || bytes > sizeof s->head + SCRATCH_ADDRS * 8)
		return;
	if (bpf_ringbuf_output(ring_of(from), s, bytes,
			       s->head.n_python || s->head.flags & STACK_INLINE
				       ? python_wake(s)
				       : BPF_RB_NO_WAKEUP)) {
		count(COUNT_STACK_RING_FULL);
		return;
	}
	*mark = want;
	count(COUNT_STACKS);
}

/* Returns flags that wake the reader if the ring holds at least wake_bytes / of. */
static __always_inline __u64 wake_flags(const enum sender from, __u32 of)
{
	return bpf_ringbuf_query(ring_of(from), BPF_RB_AVAIL_DATA) >= wake_bytes_of(from) / of
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* A ring that refuses an event although it has space was locked by the sampler on another CPU: an
 * NMI does not wait for the lock. */
static __always_inline int ring_has_room(const enum sender from, __u64 bytes)
{
	return bpf_ringbuf_query(ring_of(from), BPF_RB_AVAIL_DATA) + bytes + BPF_RINGBUF_HDR_SZ <=
	       bpf_ringbuf_query(ring_of(from), BPF_RB_RING_SIZE);
}

/* --- a sample with its stack ------------------------------------------------------------------ */

/* Copies take at most RAW_SPEND_NS of a second on each CPU: some hundred of them, more than the
 * default rate has samples. None are sent while the ring is half full: other samples need the
 * room. */
enum { RAW_SPEND_NS = 50000000 };
enum { RAW_PIECE = 2048, RAW_PART = 512, RAW_PAGE = 4096 };
enum { RAW_SMALL = 2 << 10, RAW_MIDDLE = 8 << 10, RAW_LARGE = 16 << 10 };
/* Above the place where a program's main thread begins are its arguments. A step reads no more of
 * them than this. */
enum { RAW_ABOVE = 256 };

static __always_inline int raw_refused(struct scratch *s, const enum counter why, __u32 end)
{
	count(why);
	s->no_copy = end;
	return 0;
}

static __always_inline int raw_allowed(struct scratch *s, __u64 now_ns, const enum sender from)
{
	if (now_ns - s->raw_since_ns > 1000000000) {
		s->raw_since_ns = now_ns;
		s->raw_spent_ns = 0;
	}
	if (bpf_ringbuf_query(ring_of(from), BPF_RB_AVAIL_DATA) >= wake_bytes_of(from))
		return raw_refused(s, COUNT_RAW_NO_ROOM, WALK_NO_COPY_ROOM);
	if (s->raw_spent_ns > RAW_SPEND_NS)
		return raw_refused(s, COUNT_RAW_NO_TIME, WALK_NO_COPY_TIME);
	return 1;
}

/* How much of the stack there is to copy: up to where the main thread began. Other threads' stacks
 * have no end that is known here. */
static __always_inline __u32 raw_wanted(const struct walk *w)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 bytes = BPF_CORE_READ(task, mm, start_stack) + RAW_ABOVE - w->regs[PT_SP];

	return bytes < RAW_MAX_STACK ? bytes : RAW_MAX_STACK;
}

/* Whether a stack of more than this many bytes can be read. */
static __always_inline int is_deeper(const struct walk *w, __u32 bytes)
{
	__u64 word;

	return !bpf_probe_read_user(&word, sizeof word, (void *)(w->regs[PT_SP] + bytes));
}

/* The second sample of a process without mappings wakes the reader, which has not read what it maps
 * yet: the next ones need no copy. Most processes that are as new end before they have two. */
#define RAW_WAKE_NS 20000000ull
static __always_inline __u64 raw_wake(struct scratch *s, __u32 tgid, __u64 now_ns,
				      const enum sender from)
{
	int is_second = !s->walk.missing && s->raw_tgid == tgid;

	s->raw_tgid = tgid;
	if (!is_second || now_ns - s->raw_woke_ns < RAW_WAKE_NS)
		return wake_flags(from, 4);
	s->raw_woke_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/* Puts the original return address into the copy of a stack. */
static __always_inline void patch_copy(struct event_raw *raw, __u64 address, __u64 sp, __u64 word,
				       const __u32 room)
{
	__u64 at = address - sp;

	if (address && at <= room - 8)
		__builtin_memcpy(raw->stack + at, &word, 8);
}

static __always_inline void patch_copies(struct event_raw *raw, const struct scratch *s, __u64 sp,
					 const __u32 room)
{
	patch_copy(raw, s->patched_at, sp, s->patched_word, room);
	patch_copy(raw, s->inner_at, sp, s->inner_word, room);
}

/* Copies a piece of the stack in parts, since some of it cannot be read: it crosses the end of the
 * stack, or a page that was never touched. Unreadable parts stay zeros. No part has a branch of its
 * own, which the verifier would follow both ways. */
static __always_inline void copy_parts(struct event_raw *raw, __u32 at, __u64 sp)
{
	__u64 bytes = raw->stack_bytes;

	for (__u32 part = 0; part < RAW_PIECE; part += RAW_PART) {
		__s64 rc = bpf_probe_read_user(raw->stack + at + part, RAW_PART,
					       (void *)(sp + at + part));
		__u64 is_bad = rc >> 63; /* all ones or none */

		asm volatile("" : "+r"(is_bad));
		bytes = (bytes & is_bad) | ((at + part + RAW_PART) & ~is_bad);
	}
	raw->stack_bytes = bytes;
}

/* room is a constant, as the ring requires. */
static __always_inline int send_raw(struct scratch *s, const __u32 room, const enum sender from)
{
	struct event_raw *raw = bpf_ringbuf_reserve(ring_of(from), sizeof *raw + room, 0);
	struct walk *w = &s->walk;
	__u64 sp = w->regs[PT_SP];

	if (!raw)
		return 0;
	raw->ev = s->out_wait;
	raw->ev.sample.kind = EVENT_RAW;
	raw->table = w->missing;
	raw->call_sp = s->call_sp;
	raw->ev.sample.gpu_call = raw->call_sp != 0;
	__builtin_memcpy(raw->regs, w->regs, sizeof raw->regs);
	raw->stack_bytes = 0;
	for (__u32 at = 0; at < room; at += RAW_PIECE) {
		if (at >= LOAD(s->raw_bytes))
			break;
		if (bpf_probe_read_user(raw->stack + at, RAW_PIECE, (void *)(sp + at)))
			copy_parts(raw, at, sp);
		else
			raw->stack_bytes = at + RAW_PIECE;
	}
	patch_copies(raw, s, sp, room);
	bpf_ringbuf_submit(raw,
			   raw_wake(s, s->out_wait.sample.tgid, s->out_wait.sample.time_ns, from));
	count(COUNT_SAMPLES);
	count(COUNT_RAW);
	return 1;
}

/* Sends it with the smallest constant room that holds the stack: the ring is half full after few of
 * the largest. */
static __always_inline int send_fitting(struct scratch *s, const enum sender from)
{
	struct walk *w = &s->walk;
	__u32 bytes = raw_wanted(w);

	STORE(s->raw_bytes, bytes);
	if (bytes > RAW_LARGE && is_deeper(w, RAW_LARGE))
		return send_raw(s, RAW_MAX_STACK, from);
	if (bytes > RAW_MIDDLE && is_deeper(w, RAW_MIDDLE))
		return send_raw(s, RAW_LARGE, from);
	if (bytes > RAW_SMALL && is_deeper(w, RAW_SMALL))
		return send_raw(s, RAW_MIDDLE, from);
	return send_raw(s, RAW_SMALL, from);
}

static __always_inline int send_with_stack(struct scratch *s, const enum sender from)
{
	__u64 begun_ns = bpf_ktime_get_ns();
	int is_sent;

	if (!raw_allowed(s, begun_ns, from))
		return 0;
	is_sent = send_fitting(s, from);
	if (!is_sent)
		raw_refused(s, COUNT_RAW_NO_ROOM, WALK_NO_COPY_ROOM);
	s->raw_spent_ns += bpf_ktime_get_ns() - begun_ns;
	return is_sent;
}

/* Send the event in out_wait with the copy of its stack. They return 0 if it has to be sent
 * without. Global functions: verified once. */
__weak int send_sample_raw(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s && send_with_stack(s, FROM_SAMPLER);
}

__weak int send_other_raw(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s && send_with_stack(s, FROM_OTHERS);
}

/* Prepares the part that is sent as a normal stack: the kernel part, and Python frames with groups
 * instead of places. Returns the number of words. */
static __always_inline __u32 hash_without_user(struct scratch *s, __u32 n_python)
{
	struct python_walk *p = bpf_map_lookup_elem(&python_walks, &s->index);

	s->head.n_user = s->head.n_python = 0;
	s->head.walk_end = WALK_NO_USER;
	if (n_python && p) {
		s->head.n_python = n_python;
		python_use_groups(s, p);
	}
	return hash_stack(s, WALK_MAX_KERNEL);
}

/* Sends the event in out_wait with the copy of its stack. Returns 0, with the stack unchanged, if
 * it has to be sent without. */
static __always_inline int sample_raw(struct scratch *s, const enum sender from,
				      const enum walk_way way)
{
	const __u32 n_user = s->head.n_user, n_python = s->head.n_python;
	const __u64 user_hash = s->user_hash;
	__u32 n = hash_without_user(s, n_python);

	s->out_wait.sample.stack_hash = n ? s->head.stack_hash : 0;
	if (from == FROM_SAMPLER ? send_sample_raw(s->index) : send_other_raw(s->index)) {
		if (n_python && way == WALK_BY_LOOP)
			python_write_groups_by_loop(s->index);
		else if (n_python)
			python_write_groups(s->index);
		if (n)
			send_stack(s, n, from);
		return 1;
	}
	s->head.flags &= ~STACK_PYTHON_GROUPS;
	s->head.n_user = n_user;
	s->head.n_python = n_python;
	s->head.walk_end = s->no_copy;
	s->user_hash = user_hash;
	return 0;
}

#endif
