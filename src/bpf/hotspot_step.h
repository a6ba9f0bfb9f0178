/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/hotspot_step.h: from a frame of HotSpot's code to its caller (bpf/hotspot.h). Compiled for
 * BPF and for user space (unwind/walk.c). Files that include this define, besides the needs of
 * bpf/unwind.h:
 *
 *     int hotspot_read(w, to, size, address)   memory that is not of the stack; 0 when it worked
 *
 * The code has no rules. A frame is known by the blob of its pc and by the frame size there; in the
 * first and last instructions of a function, which a leaf may be at, by these instructions.
 *
 * All state is in struct hotspot_walk, which is memory of a map: programs have little stack space,
 * and the verifier does not follow its values. All data come from the process: loops are
 * bounded, and a caller's frame is above its callee's. */
#ifndef CRESSET_BPF_HOTSPOT_STEP_H
#define CRESSET_BPF_HOTSPOT_STEP_H

#include "bpf/hotspot.h"
#include "bpf/unwind.h"

enum {
	HOTSPOT_CODE_BEFORE = 8, /* bytes of code before the pc, and from it, that are read */
	HOTSPOT_CODE_AFTER = 56,
	HOTSPOT_SLOTS_BELOW = 64, /* bytes of an interpreted frame below its frame pointer */
	HOTSPOT_SLOTS = 10,       /* words of it: up to the return address */
	HOTSPOT_PARAMETERS = 4, /* most words before the entry of a continuation: enter() has two */
};

struct hotspot_walk {
	struct hotspot_process process;
	struct hotspot_layout layout;
	__u32 is_leaf;
	__u64 pc;    /* as walk_pc */
	__u64 blob;  /* its address */
	__u64 begin; /* of its code */
	__u64 name;  /* the first 8 bytes */
	__u64 at;    /* of a search */
	__u64 sp;    /* as in the callee's */
	__s32 frame_bytes, complete;
	__u8 hops, is_near;
	__u16 code_size;
	__u32 shift;
	union {
		__u8 bytes[HOTSPOT_BLOB_BYTES];
		__u8 code[HOTSPOT_CODE_BEFORE + HOTSPOT_CODE_AFTER];
		__u64 words[HOTSPOT_PARAMETERS + 1];
	};
	__u64 slots[16]; /* HOTSPOT_SLOTS of them */
};

static int hotspot_read(struct walk *w, void *to, __u32 size, __u64 address);

enum hotspot_stepped { HOTSPOT_STEPPED = 0, HOTSPOT_OVER = 1, HOTSPOT_NOT_MINE = 2 };

/* --- places in the heap ----------------------------------------------------------------------- */

/* Returns the code heap with the address, NULL if none has. */
static __always_inline const struct hotspot_range *hotspot_range_of(const struct hotspot_walk *h,
								    __u64 address)
{
	for (int i = 0; i < HOTSPOT_MAX_RANGES; i++)
		if (address >= h->process.ranges[i].start && address < h->process.ranges[i].end)
			return &h->process.ranges[i];
	return 0;
}

static __always_inline int hotspot_is_code(const struct hotspot_walk *h, __u64 address)
{
	return hotspot_range_of(h, address) != 0;
}

static __always_inline __u64 hotspot_u64(const struct hotspot_walk *h, __u32 at)
{
	return *(const __u64 *)(h->bytes + (at & (HOTSPOT_BLOB_BYTES - 8)));
}

static __always_inline __s32 hotspot_s32(const struct hotspot_walk *h, __u32 at)
{
	return *(const __s32 *)(h->bytes + (at & (HOTSPOT_BLOB_BYTES - 4)));
}

static __always_inline __s32 hotspot_s16(const struct hotspot_walk *h, __u32 at)
{
	return *(const __s16 *)(h->bytes + (at & (HOTSPOT_BLOB_BYTES - 2)));
}

/* Finds the blob of the pc. A segment's byte is the distance to the start of its block: 0: here,
 * 255: it is free. */
static __always_inline int hotspot_find_blob(struct walk *w, struct hotspot_walk *h,
					     const struct hotspot_range *range)
{
	__u32 shift = LOAD(range->log2_segment) & 31;

	STORE(h->at, (h->pc - range->start) >> shift);
	for (int i = 0; i < HOTSPOT_MAX_HOPS; i++) {
		__u64 at = LOAD(h->at);

		if (hotspot_read(w, &h->hops, 1, range->segmap + at) || h->hops == 255 ||
		    h->hops > at)
			return 1;
		if (!h->hops) {
			h->blob = range->start + (at << shift) + h->layout.block_header;
			return h->blob > h->pc;
		}
		STORE(h->at, at - h->hops);
	}
	return 1;
}

/* Reads the first bytes of the blob. A small one may be the last so far, with the page after it not
 * in memory yet. */
static __always_inline int hotspot_read_bytes(struct walk *w, struct hotspot_walk *h)
{
	__u32 in_page = 4096 - (h->blob & 4095);

	if (!hotspot_read(w, h->bytes, sizeof h->bytes, h->blob))
		return 0;
	return in_page >= sizeof h->bytes ||
	       hotspot_read(w, h->bytes, in_page & (sizeof h->bytes - 1), h->blob);
}

/* Reads the header of the blob. */
static __always_inline int hotspot_read_blob(struct walk *w, struct hotspot_walk *h)
{
	const struct hotspot_layout *l = &h->layout;

	if (hotspot_read_bytes(w, h) ||
	    hotspot_read(w, &h->name, sizeof h->name, hotspot_u64(h, l->blob_name)))
		return 1;
	h->begin = l->flags & HOTSPOT_CODE_BY_OFFSET ? h->blob + hotspot_s32(h, l->blob_code)
						     : hotspot_u64(h, l->blob_code);
	h->frame_bytes = hotspot_s32(h, l->blob_frame_size) * 8;
	h->complete = l->flags & HOTSPOT_COMPLETE_IS_SHORT ? hotspot_s16(h, l->blob_frame_complete)
							   : hotspot_s32(h, l->blob_frame_complete);
	return 0;
}

/* The first 8 bytes of a blob's name. */
#define HOTSPOT_NAME(a, b, c, d, e, f, g, h) \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define HOTSPOT_NMETHOD         HOTSPOT_NAME('n', 'm', 'e', 't', 'h', 'o', 'd', 0)
#define HOTSPOT_NATIVE          HOTSPOT_NAME('n', 'a', 't', 'i', 'v', 'e', ' ', 'n')
/* "StubRoutines (continuation stubs)" in 21, "(continuationstubs)" in 25. */
#define HOTSPOT_STUBS           HOTSPOT_NAME('S', 't', 'u', 'b', 'R', 'o', 'u', 't')
#define HOTSPOT_CONTINUATION    HOTSPOT_NAME('c', 'o', 'n', 't', 'i', 'n', 'u', 'a')
#define HOTSPOT_CONTINUATION_AT 14

/* --- steps ------------------------------------------------------------------------------------ */

static __always_inline void hotspot_append(struct walk *w, __u32 kind, __u64 address, __u32 stamp,
					   __u32 offset)
{
	w->has_address = w->has_inline = 1;
	if (w->max < w->most)
		w->max++; /* it is one frame */
	append(w, runtime_frame_what(RUNTIME_HOTSPOT, kind, address));
	walk_put(w, runtime_frame_place(stamp, offset));
}

/* To a caller with stack pointer sp. */
static __always_inline int hotspot_return(struct walk *w, __u64 ra, __u64 sp, __u64 fp)
{
	if (sp <= w->sp || sp - w->sp > HOTSPOT_MAX_FRAME || (sp & 7) || !ra)
		return walk_over(w, WALK_ASTRAY);
	w->ip = ra;
	w->sp = sp;
	w->fp = fp;
	w->bx_at = BX_LOST;
	w->exact = 0;
	w->by_rule = 1;
	w->by_table++;
	return HOTSPOT_STEPPED;
}

/* The return address is right below the caller's stack pointer, and the frame pointer below that,
 * unless it is still in its register. */
static __always_inline int hotspot_return_below(struct walk *w, __u64 sp, int is_fp_saved)
{
	__u64 pair[2];

	if (walk_read(w, pair, sizeof pair, sp - sizeof pair))
		return walk_over(w, WALK_UNREADABLE);
	return hotspot_return(w, pair[1], sp, is_fp_saved ? pair[0] : w->fp);
}

/* --- the first and last instructions of compiled code ----------------------------------------- */

enum hotspot_frame_state {
	HOTSPOT_WHOLE,    /* of the size in the blob */
	HOTSPOT_FP_KEPT,  /* … with the frame pointer not saved yet */
	HOTSPOT_ONLY_RA,  /* the return address is at the stack pointer */
	HOTSPOT_RA_AND_FP /* … above the caller's frame pointer */
};

/* Bytes of the instruction at the pc. */
#define CODE(i)           (h->code[HOTSPOT_CODE_BEFORE + (i)])
#define IS_CODE2(i, a, b) (CODE(i) == (a) && CODE((i) + 1) == (b))

/* ret, or a poll of the safepoint and ret:
 *
 *     cmp N(%r15),%rsp; ja …; ret                          from 17 on
 *     mov N(%r15),%r10; test %eax,(%r10); ret              up to 16
 *     test %eax,N(%rip); ret                               8 */
static __always_inline int hotspot_is_behind_frame(const struct hotspot_walk *h)
{
	if (CODE(0) == 0xc3 || CODE(0) == 0xc2)
		return 1;
	if (IS_CODE2(0, 0x49, 0x3b))
		return (CODE(2) == 0xa7 && IS_CODE2(7, 0x0f, 0x87) && CODE(13) == 0xc3) ||
		       (CODE(2) == 0x67 && IS_CODE2(4, 0x0f, 0x87) && CODE(10) == 0xc3);
	if (IS_CODE2(0, 0x0f, 0x87) || IS_CODE2(0, 0x85, 0x05))
		return CODE(6) == 0xc3;
	if (IS_CODE2(0, 0x4d, 0x8b))
		return CODE(2) == 0x97 && IS_CODE2(7, 0x41, 0x85) && CODE(10) == 0xc3;
	return IS_CODE2(0, 0x41, 0x85) && CODE(2) == 0x02 && CODE(3) == 0xc3;
}

/* Whether push %rbp, perhaps with mov %rsp,%rbp, is right before that byte. */
static __always_inline int hotspot_is_pushed(const struct hotspot_walk *h, __u32 at)
{
	const __u8 *b = h->code + (at & 63);

	if (at < 4 || at >= sizeof h->code)
		return 0;
	return b[-1] == 0x55 ||
	       (b[-4] == 0x55 && b[-3] == 0x48 &&
		((b[-2] == 0x8b && b[-1] == 0xec) || (b[-2] == 0x89 && b[-1] == 0xe5)));
}

/* Before the frame is complete: [push %rbp;] [mov %rsp,%rbp;] sub $N,%rsp; [mov %rbp,N(%rsp);] …
 * left: bytes until then. */
static __always_inline enum hotspot_frame_state hotspot_begins(struct hotspot_walk *h, __s32 left)
{
	STORE(h->shift, 0);
	for (__u32 i = HOTSPOT_CODE_BEFORE; i < sizeof h->code - 2; i++) {
		if ((__s32)i - HOTSPOT_CODE_BEFORE >= left)
			break;
		if (h->code[i] == 0x48 && (h->code[i + 1] == 0x83 || h->code[i + 1] == 0x81) &&
		    h->code[i + 2] == 0xec) {
			STORE(h->shift, i);
			break;
		}
	}
	__u32 sub = LOAD(h->shift);
	if (!sub) {
		if (left > HOTSPOT_CODE_AFTER - 2)
			return HOTSPOT_ONLY_RA;
		return IS_CODE2(0, 0x48, 0x89) && (CODE(2) == 0x6c || CODE(2) == 0xac) &&
				       CODE(3) == 0x24
			       ? HOTSPOT_FP_KEPT
			       : HOTSPOT_WHOLE;
	}
	if (sub > HOTSPOT_CODE_BEFORE && hotspot_is_pushed(h, sub))
		if (h->code[(sub - 1) & 63] == 0x55 || sub >= HOTSPOT_CODE_BEFORE + 4)
			return HOTSPOT_ONLY_RA;
	return hotspot_is_pushed(h, HOTSPOT_CODE_BEFORE) ? HOTSPOT_RA_AND_FP : HOTSPOT_ONLY_RA;
}

static __always_inline enum hotspot_frame_state hotspot_state(struct walk *w,
							      struct hotspot_walk *h)
{
	__s32 offset = h->pc - h->begin;

	if (hotspot_read(w, h->code, sizeof h->code, h->pc - HOTSPOT_CODE_BEFORE))
		return HOTSPOT_WHOLE;
	if (CODE(0) == 0x5d) /* pop %rbp */
		return HOTSPOT_RA_AND_FP;
	if (hotspot_is_behind_frame(h))
		return HOTSPOT_ONLY_RA;
	if (h->complete < 0 || offset >= h->complete)
		return HOTSPOT_WHOLE;
	return hotspot_begins(h, h->complete - offset);
}

static __always_inline int hotspot_leave(struct walk *w, struct hotspot_walk *h)
{
	enum hotspot_frame_state state = h->is_leaf ? hotspot_state(w, h) : HOTSPOT_WHOLE;

	if (state == HOTSPOT_ONLY_RA)
		return hotspot_return_below(w, w->sp + 8, 0);
	if (state == HOTSPOT_RA_AND_FP)
		return hotspot_return_below(w, w->sp + 16, 1);
	return hotspot_return_below(w, w->sp + h->frame_bytes, state == HOTSPOT_WHOLE);
}

/* --- kinds of frames -------------------------------------------------------------------------- */

/* A deoptimized frame returns to a handler; a slot of the frame has the real address. */
static __always_inline void hotspot_undo_deopt(struct walk *w, struct hotspot_walk *h)
{
	const struct hotspot_layout *l = &h->layout;
	__u64 handler, real;

	if (h->is_leaf || !l->nmethod_deopt)
		return;
	handler = l->flags & HOTSPOT_DEOPT_BY_OFFSET ? h->blob + hotspot_s32(h, l->nmethod_deopt)
						     : hotspot_u64(h, l->nmethod_deopt);
	if (w->ip == handler &&
	    !walk_read(w, &real, sizeof real, w->sp + hotspot_s32(h, l->nmethod_orig_pc)))
		w->ip = real;
}

static __always_inline int hotspot_compiled(struct walk *w, struct hotspot_walk *h)
{
	hotspot_undo_deopt(w, h);
	hotspot_append(w, h->is_leaf ? HOTSPOT_COMPILED_LEAF : HOTSPOT_COMPILED, h->blob,
		       hotspot_s32(h, h->layout.nmethod_compile_id), w->ip - h->begin);
	return hotspot_leave(w, h);
}

/* Whether the frame is that of a stub of virtual threads. */
static __always_inline int hotspot_is_continuation(struct walk *w, struct hotspot_walk *h)
{
	__u64 name = hotspot_u64(h, h->layout.blob_name), rest;

	return !h->is_leaf && h->layout.entry_bytes && h->name == HOTSPOT_STUBS &&
	       !hotspot_read(w, &rest, sizeof rest, name + HOTSPOT_CONTINUATION_AT) &&
	       rest == HOTSPOT_CONTINUATION;
}

/* The frames of a virtual thread return to a stub. Above them is the entry of its continuation,
 * followed by the carrier's frame pointer and return address. The entry is at the stack pointer,
 * unless parameters are there. The outermost frame has them on the stack, or had them when it was
 * interpreted. The words may include the stub's address again. */
static __always_inline int hotspot_to_carrier(struct walk *w, struct hotspot_walk *h)
{
	__u64 at = w->sp + h->layout.entry_bytes;

	if (walk_read(w, h->words, sizeof h->words, at))
		return walk_over(w, WALK_UNREADABLE);
	for (int i = 0; i < HOTSPOT_PARAMETERS; i++)
		if (h->words[i + 1] != w->ip && hotspot_is_code(h, h->words[i + 1]))
			return hotspot_return(w, h->words[i + 1], at + i * 8 + 16, h->words[i]);
	return step_by_fp(w);
}

/* Code with a frame pointer, or, if the pc is a leaf's, without a frame. */
static __always_inline int hotspot_by_fp(struct walk *w, struct hotspot_walk *h)
{
	__u64 words[2];

	if (!h->is_leaf)
		return step_by_fp(w);
	if (!hotspot_read(w, h->code, sizeof h->code, h->pc - HOTSPOT_CODE_BEFORE)) {
		if (CODE(0) == 0x55 || CODE(0) == 0xc3)
			return hotspot_return_below(w, w->sp + 8, 0);
		if (CODE(0) == 0x5d || CODE(-1) == 0x55)
			return hotspot_return_below(w, w->sp + 16, 1);
	}
	if (w->fp >= w->sp && w->fp - w->sp < 4096 && !(w->fp & 7) &&
	    !walk_read(w, words, sizeof words, w->fp) && hotspot_is_code(h, words[1]))
		return hotspot_return(w, words[1], w->fp + 16, words[0]);
	if (walk_read(w, words, sizeof words, w->sp))
		return walk_over(w, WALK_UNREADABLE);
	if (hotspot_is_code(h, words[0]))
		return hotspot_return(w, words[0], w->sp + 8, w->fp);
	if (hotspot_is_code(h, words[1]))
		return hotspot_return(w, words[1], w->sp + 16, words[0]);
	return step_by_fp(w);
}

static __always_inline int hotspot_stub(struct walk *w, struct hotspot_walk *h)
{
	hotspot_append(w, HOTSPOT_STUB, h->blob, 0, w->ip - h->begin);
	if (hotspot_is_continuation(w, h))
		return hotspot_to_carrier(w, h);
	return h->frame_bytes > 0 ? hotspot_leave(w, h) : hotspot_by_fp(w, h);
}

/* --- interpreted frames ----------------------------------------------------------------------- */

/* A slot, by its distance from the frame pointer. */
static __always_inline __u64 hotspot_slot(const struct hotspot_walk *h, __s32 from_fp)
{
	return h->slots[(__u32)(HOTSPOT_SLOTS_BELOW + from_fp) >> 3 & 15];
}

/* Whether the frame pointer is that of an interpreted frame: its bytecode pointer is within the
 * code of its method. A native method has no bytecode: its pointer is 0 or, if the VM was called
 * from the frame, as to link the method at its first call, the place where bytecode would start.
 * Stores the addresses of its ConstMethod (at) and of its bytecode. */
static __always_inline int hotspot_is_interpreted(struct walk *w, struct hotspot_walk *h)
{
	const struct hotspot_layout *l = &h->layout;
	__u64 method, bcp;

	if (w->fp <= w->sp || w->fp - w->sp > HOTSPOT_MAX_FRAME || (w->fp & 7) ||
	    walk_read(w, h->slots, HOTSPOT_SLOTS * 8, w->fp - HOTSPOT_SLOTS_BELOW))
		return 0;
	method = hotspot_slot(h, l->frame_method);
	bcp = hotspot_slot(h, l->frame_bcp);
	if (hotspot_read(w, &h->at, sizeof h->at, method + l->method_const) ||
	    hotspot_read(w, &h->code_size, sizeof h->code_size, h->at + l->const_code_size))
		return 0;
	h->begin = h->at + l->const_code;
	return !bcp || bcp == h->begin || bcp - h->begin < h->code_size;
}

/* The bytecode index. A leaf has its bytecode pointer in r13, and an older one in the slot. */
static __always_inline __u32 hotspot_bytecode_index(struct walk *w, struct hotspot_walk *h)
{
	__u64 bcp = hotspot_slot(h, h->layout.frame_bcp), r13;

	if (bcp && h->is_leaf && !read_register(w, 13, &r13) && r13 - h->begin < h->code_size)
		bcp = r13;
	return bcp ? bcp - h->begin : 0;
}

static __always_inline int hotspot_interpreted(struct walk *w, struct hotspot_walk *h)
{
	__u64 sender;

	if (!hotspot_is_interpreted(w, h)) {
		hotspot_append(w, HOTSPOT_STUB, h->process.interpreter, 0,
			       w->ip - h->process.interpreter_start);
		return hotspot_by_fp(w, h);
	}
	hotspot_append(w, HOTSPOT_INTERPRETED, hotspot_slot(h, h->layout.frame_method),
		       (__u32)h->at, hotspot_bytecode_index(w, h));
	/* Adapters extend the frame of a compiled caller: the slot has its own stack pointer. */
	sender = hotspot_slot(h, h->layout.frame_sender_sp);
	if (sender < w->fp + 16 || sender - w->fp > HOTSPOT_MAX_FRAME || (sender & 7))
		sender = w->fp + 16;
	return hotspot_return(w, hotspot_slot(h, 8), sender, hotspot_slot(h, 0));
}

/* --- a frame ---------------------------------------------------------------------------------- */

/* Appends the current frame and steps to its caller, if it is HotSpot's. */
static __always_inline int hotspot_step(struct walk *w, struct hotspot_walk *h)
{
	const struct hotspot_range *range;

	h->pc = walk_pc(w);
	h->is_leaf = w->exact;
	range = hotspot_range_of(h, h->pc);
	if (!range)
		return HOTSPOT_NOT_MINE;
	if (w->n + 2 > w->max)
		return walk_over(w, WALK_DEPTH);
	if (h->pc - h->process.interpreter_start <
	    h->process.interpreter_end - h->process.interpreter_start)
		return hotspot_interpreted(w, h);
	if (hotspot_find_blob(w, h, range) || hotspot_read_blob(w, h))
		return HOTSPOT_NOT_MINE;
	return h->name == HOTSPOT_NMETHOD || h->name == HOTSPOT_NATIVE ? hotspot_compiled(w, h)
								       : hotspot_stub(w, h);
}

#undef CODE
#undef IS_CODE2

#endif
