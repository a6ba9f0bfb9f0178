/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/stack.h: stacks: walked, hashed, sent once; or sent as a copy of the memory they are in, where the walker does not know enough
 * yet. */
#ifndef CRESSET_BPF_STACK_H
#define CRESSET_BPF_STACK_H

#include "bpf/maps.h"

/* --- what the walk needs -------------------------------------------------------------------------------------------- */

static __always_inline struct scratch *scratch_of(struct walk *w)
{
	return (void *)w - offsetof(struct scratch, walk);
}

static __always_inline int walk_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	(void)w;
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
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
	*out = *(__u64 *)((void *)s->window + at);
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

/* What interrupts a walk has its own. */
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

#define HASH_SEED 0xc2b2ae3d27d4eb4full
static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

static __always_inline void walk_put(struct walk *w, __u64 frame)
{
	struct scratch *s = scratch_of(w);

	s->addr[(s->head.n_kernel + w->n) & (SCRATCH_ADDRS - 1)] = frame;
	s->user_hash = mix(s->user_hash, frame);
	w->n++;
}

/* A global function: the verifier looks at it once, not in every state that the short way ends in. */
__weak int walk_any_frame(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s ? walk_frame(&s->walk) : 1;
}

static long walk_step(__u32 i, void *ctx)
{
	struct scratch_ref *ref = ctx;
	struct walk *w = &ref->s->walk;
	__u32 at = known_index(w, walk_pc(w)) & (KNOWN_FRAMES - 1);

	(void)i;
	return walk_known_frame(w, &ref->known->frames[at]) && walk_any_frame(ref->s->index);
}

/* User addresses by the kernel's helper, which cannot say why it ended. */
static __always_inline void walk_by_helper(void *ctx, struct scratch *s)
{
	long bytes = bpf_get_stack(ctx, &s->addr[s->head.n_kernel & 255], WALK_MAX_KERNEL * 8,
				   BPF_F_USER_STACK);

	if (bytes <= 0)
		return;
	s->head.n_user = ((__u64)bytes / 8) & 255;
	s->head.walk_end = s->head.n_user >= max_user ? WALK_DEPTH : WALK_COMPLETE;
}

/* By our own walk. */
static __always_inline void walk_by_rules(struct scratch *s, __u32 tgid, __u64 now_ns)
{
	struct walk *w = &s->walk;
	struct space_process *p = use_tables ? bpf_map_lookup_elem(&processes, &tgid) : 0;
	struct scratch_ref ref = { s, known_of(s) };

	w->use_tables = use_tables;
	w->max = max_user;
	w->image = p ? p->image : 0;
	w->n_maps = p ? p->n_maps : 0;
	s->has_window = 0;
	s->user_hash = HASH_SEED;
	w->settled = p && now_ns - p->sent_ns > SPACE_SETTLED_NS;
	walk_begin(w);
	if (w->regs[PT_CS] == X86_USER32_CS) {
		append(w, FRAME_ADDRESS | w->ip);
		w->end = WALK_32BIT;
	} else if (ref.known) {
		bpf_loop(WALK_MAX_USER + 1, walk_step, &ref, 0);
	}
	add(COUNT_BY_TABLE, w->by_table);
	add(COUNT_BY_FP, w->by_fp);
	s->head.n_user = w->n;
	s->head.walk_end = w->end;
	s->head.flags = STACK_FRAMES | (w->has_address ? 0 : STACK_PORTABLE);
}

/* Returns the number of its addresses. Our walk has hashed its own user part; most: of how many addresses that is left: those of the kernel
 * (WALK_MAX_KERNEL), or those of both sides (twice that). */
static __always_inline __u32 hash_stack(struct scratch *s, const __u32 most)
{
	__u64 shape = (__u64)s->head.n_kernel << 48 | (__u64)s->head.n_user << 32 |
		      s->head.walk_end << 16 | s->head.syscall << 4 | s->head.flags;
	const int both = most > WALK_MAX_KERNEL;
	__u64 hash = mix(shape, both || !s->head.n_user ? HASH_SEED : s->user_hash);

	/* Read anew each time: the verifier must not conclude from a loop that ended how many there are. */
	for (__u32 i = 0; i < most; i++) {
		if (i >= LOAD(s->head.n_kernel) + (both ? LOAD(s->head.n_user) : 0))
			break;
		hash = mix(hash, s->addr[i]);
	}
	s->head.stack_hash = hash ? hash : 1;
	return (__u32)LOAD(s->head.n_kernel) + LOAD(s->head.n_user);
}

/* Sends the contents unless this CPU has sent them. A refused stack stays unmarked and is tried again with its next sample. */
static __always_inline void send_stack(struct scratch *s, __u32 n)
{
	__u32 slot = s->head.stack_hash & (SEEN_SLOTS - 1);
	__u64 *mark = bpf_map_lookup_elem(&seen, &slot);
	__u64 want = s->head.stack_hash ^ (seen_epoch << 48);
	__u64 bytes = sizeof s->head + (__u64)(n & (SCRATCH_ADDRS - 1)) * 8;

	if (!mark || *mark == want)
		return;
	if (bpf_ringbuf_output(&ring, s, bytes, BPF_RB_NO_WAKEUP)) {
		count(COUNT_STACK_RING_FULL);
		return;
	}
	*mark = want;
	count(COUNT_STACKS);
}

/* of: which part of wake_bytes is enough. */
static __always_inline __u64 wake_flags(__u32 of)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes / of ? BPF_RB_FORCE_WAKEUP
									      : BPF_RB_NO_WAKEUP;
}

/* --- a sample with its stack ----------------------------------------------------------------------------------------- */

/* No more of these a second and CPU are sent, and none when half of the ring is full: other samples need the room. */
enum { RAW_PER_SECOND = 500 };
enum { RAW_PIECE = 512, RAW_SMALL = 2 << 10, RAW_MIDDLE = 8 << 10 };

static __always_inline int raw_allowed(struct scratch *s, __u64 now_ns)
{
	if (now_ns - s->raw_since_ns > 1000000000) {
		s->raw_since_ns = now_ns;
		s->raw_sent = 0;
	}
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes)
		return 0;
	return s->raw_sent++ < RAW_PER_SECOND;
}

/* Whether a stack of more than this many bytes can be read. */
static __always_inline int is_deeper(const struct walk *w, __u32 bytes)
{
	__u64 word;

	return !bpf_probe_read_user(&word, sizeof word, (void *)(w->regs[PT_SP] + bytes));
}

/* room is a constant, as the ring demands. A piece that is not there is zeros: a page that was never touched. */
static __always_inline int send_raw(const struct event_sample *ev, const struct wait_info *wait,
				    struct walk *w, const __u32 room)
{
	struct event_raw *raw = bpf_ringbuf_reserve(&ring, sizeof *raw + room, 0);
	__u64 sp = w->regs[PT_SP];

	if (!raw)
		return 0;
	raw->ev.sample = *ev;
	raw->ev.sample.kind = EVENT_RAW;
	if (wait)
		raw->ev.wait = *wait;
	else
		raw->ev.wait = (struct wait_info){ 0 };
	raw->table = w->missing;
	__builtin_memcpy(raw->regs, w->regs, sizeof raw->regs);
	raw->stack_bytes = 0;
	for (__u32 i = 0; i < room / RAW_PIECE; i++)
		if (!bpf_probe_read_user(raw->stack + i * RAW_PIECE, RAW_PIECE,
					 (void *)(sp + i * RAW_PIECE)))
			raw->stack_bytes = (i + 1) * RAW_PIECE;
	bpf_ringbuf_submit(raw, wake_flags(4));
	count(COUNT_SAMPLES);
	count(COUNT_RAW);
	return 1;
}

static __always_inline int send_with_stack(const struct event_sample *ev,
					   const struct wait_info *wait, struct scratch *s)
{
	struct walk *w = &s->walk;

	if (!raw_allowed(s, ev->time_ns))
		return 0;
	if (is_deeper(w, RAW_MIDDLE) || is_deeper(w, RAW_MAX_STACK / 2))
		return send_raw(ev, wait, w, RAW_MAX_STACK);
	if (is_deeper(w, RAW_SMALL))
		return send_raw(ev, wait, w, RAW_MIDDLE);
	return send_raw(ev, wait, w, RAW_SMALL);
}

/* The kernel part goes its ordinary way. wait is NULL for samples of a CPU. */
static __always_inline int sample_raw(struct event_sample *ev, const struct wait_info *wait,
				      struct scratch *s)
{
	__u16 n_user = s->head.n_user;
	__u32 n;

	s->head.n_user = 0;
	s->head.walk_end = WALK_NO_USER;
	n = hash_stack(s, WALK_MAX_KERNEL);
	ev->stack_hash = n ? s->head.stack_hash : 0;
	if (send_with_stack(ev, wait, s)) {
		if (n)
			send_stack(s, n);
		return 1;
	}
	count(COUNT_RAW_REFUSED);
	s->head.n_user = n_user;
	s->head.walk_end = WALK_NOT_LOADED;
	return 0;
}

#endif
