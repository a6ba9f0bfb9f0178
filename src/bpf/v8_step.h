/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/v8_step.h: from a frame of V8's JavaScript to its caller (bpf/v8.h). Compiled for BPF and for
 * user space (unwind/walk.c). Files that include this define, besides the needs of bpf/unwind.h:
 *
 *     int v8_read(w, to, size, address)   memory that is not of the stack; 0 when it worked
 *
 * A leaf may be in code before or after its frame exists, which is known by the instructions; then
 * the function is in rdi, as V8 passes it, or unknown. A builtin may also run in its caller's
 * frame, with its return address at the stack pointer. Handlers of bytecodes run in the frame of
 * the interpreted function.
 *
 * All state is in struct v8_walk, which is memory of a map. All data come from the process: a
 * caller's frame is above its callee's. */
#ifndef CRESSET_BPF_V8_STEP_H
#define CRESSET_BPF_V8_STEP_H

#include "bpf/unwind.h"
#include "bpf/v8.h"

enum {
	V8_ENTRY_BYTES = 32, /* instructions before a function pushes its frame */
	V8_CODE_BYTES = 40,  /* of code from one byte before the pc on */
};

/* Words of a frame, from the bytecode offset up. */
enum v8_slot {
	V8_SLOT_OFFSET,
	V8_SLOT_BYTECODE,
	V8_SLOT_ARGUMENTS,
	V8_SLOT_FUNCTION,
	V8_SLOT_CONTEXT,
	V8_SLOT_FP,
	V8_SLOT_RETURN,
	V8_SLOTS,
};

struct v8_walk {
	struct v8_process process;
	__u64 slots[8]; /* V8_SLOTS of them */
	__u64 shared, name, script, data;
	__u64 return_at; /* of a leaf without a frame; 0: it has one */
	__u64 ra;
	__u16 type;
	__u16 is_builtin;  /* the pc is in a builtin */
	__u16 is_entered;  /* the leaf is before its frame: the function is in rdi */
	__u16 is_function; /* shared and what follows are of a JSFunction */
	__u16 has_slots;
	union {
		__u64 words[8];
		__u8 code[64];
	};
};

static int v8_read(struct walk *w, void *to, __u32 size, __u64 address);

enum v8_stepped { V8_STEPPED = 0, V8_OVER = 1, V8_NOT_MINE = 2 };

static __always_inline int v8_is_builtin(const struct v8_walk *v, __u64 pc)
{
	for (int i = 0; i < V8_MAX_BUILTINS; i++)
		if (pc >= v->process.builtins[i].start && pc < v->process.builtins[i].end)
			return 1;
	return 0;
}

static __always_inline int v8_is_tagged(__u64 word)
{
	return (word & 3) == 1 && word < USER_MAX;
}

/* The word at an offset of the object that was read. */
static __always_inline __u64 v8_word(const struct v8_walk *v, __u16 offset)
{
	return v->words[offset / 8 & 7];
}

/* Reads an object and its type. Returns 0 if it is one. */
static __always_inline int v8_read_object(struct walk *w, struct v8_walk *v, __u64 tagged)
{
	return !v8_is_tagged(tagged) || v8_read(w, v->words, V8_OBJECT_BYTES, tagged - 1) ||
	       !v8_is_tagged(v->words[0]) ||
	       v8_read(w, &v->type, sizeof v->type, v->words[0] - 1 + v->process.map_type);
}

/* Reads a JSFunction's SharedFunctionInfo, and what identifies it. */
static __always_inline void v8_read_function(struct walk *w, struct v8_walk *v, __u64 function)
{
	const struct v8_process *p = &v->process;

	v->is_function = 0;
	v->shared = v->name = v->script = v->data = 0;
	if (v8_read_object(w, v, function) || v->type < p->first_function ||
	    v->type > p->last_function)
		return;
	v->shared = v8_word(v, p->function_shared);
	if (!v8_is_tagged(v->shared) || v8_read(w, v->words, V8_OBJECT_BYTES, v->shared - 1)) {
		v->shared = 0;
		return;
	}
	v->name = v8_word(v, p->shared_name);
	v->script = v8_word(v, p->shared_script);
	v->data = v8_word(v, p->shared_data);
	v->is_function = 1;
}

/* Whether the function that was read is a builtin. */
static __always_inline int v8_runs_builtin(const struct v8_walk *v)
{
	return !(v->data & 1);
}

static __always_inline void v8_append(struct walk *w, struct v8_walk *v, __u32 kind, __u64 place)
{
	w->has_address = w->has_inline = 1;
	if (w->max < w->most)
		w->max++; /* it is one frame */
	append(w, runtime_frame_what(RUNTIME_V8, kind, v->shared ? v->shared - 1 : 0));
	walk_put(w, place);
}

/* --- leaves without a frame ------------------------------------------------------------------- */

/* `push %rbp; mov %rsp,%rbp`. */
#define V8_ENTRY 0xe5894855u

static __always_inline __u32 v8_code32(const struct v8_walk *v, __u32 at)
{
	__u64 low = v->words[at / 8 & 7] >> at % 8 * 8;

	return at % 8 > 4 ? low | v->words[(at / 8 + 1) & 7] << (8 - at % 8) * 8 : low;
}

/* After `pop %rbp`: at `ret`, or in `cmp $N,%rcx; jg; ret $N`. */
static __always_inline int v8_is_left(const struct v8_walk *v)
{
	const __u8 *c = v->code + 1;

	return c[0] == 0xc3 || c[0] == 0xc2 ||
	       (v->code[0] == 0x5d && c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xf9) ||
	       (c[0] == 0x7f && c[2] == 0xc2);
}

/* Finds where the return address is, if the code has no frame here by its instructions: before and
 * in the middle of `push %rbp; mov %rsp,%rbp`, and after `pop %rbp`. */
static __always_inline void v8_find_return(struct walk *w, struct v8_walk *v)
{
	const __u8 *c = v->code + 1;

	v->return_at = v->is_entered = 0;
	if (v8_read(w, v->words, V8_CODE_BYTES, w->ip - 1))
		return;
	if (v8_is_left(v)) {
		v->return_at = w->sp;
		return;
	}
	if (v8_code32(v, 0) == V8_ENTRY) {
		v->return_at = w->sp + 8;
		v->is_entered = 1;
		return;
	}
	for (int i = 1; i <= V8_ENTRY_BYTES; i++)
		if (v8_code32(v, i) == V8_ENTRY)
			STORE(v->is_entered, 1);
	if (LOAD(v->is_entered)) {
		v->return_at = w->sp;
		return;
	}
	/* `push %rsi; push %rdi` of a frame that is not complete. */
	v->is_entered = (c[0] == 0x56 && w->fp == w->sp) || (c[0] == 0x57 && w->fp == w->sp + 8);
}

static __always_inline int v8_go(struct walk *w, __u64 ip, __u64 sp, __u64 fp)
{
	w->exact = 0;
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->bx_at = BX_LOST;
	w->by_rule = 1; /* code outside of all mappings is new, and not a wrong step */
	w->by_table++;
	return V8_STEPPED;
}

/* A builtin is shown as native code. */
static __always_inline int v8_append_native(struct walk *w, __u64 pc)
{
	if (walk_find(w, pc) || !w->map.object)
		return 1;
	append(w, (__u64)w->map.object << FRAME_OFFSET_BITS | (pc - w->map.start + w->map.pgoff));
	return 0;
}

/* Whether the leaf returns to code that has a frame; a builtin: to compiled code. */
static __always_inline int v8_is_called(struct walk *w, struct v8_walk *v)
{
	return !walk_read(w, &v->ra, sizeof v->ra, v->return_at) && is_return_address(w, v->ra) &&
	       (!v->is_builtin || !w->map.object);
}

static __always_inline int v8_without_frame(struct walk *w, struct v8_walk *v)
{
	if (!v->is_builtin)
		v8_append(w, v, V8_COMPILED,
			  v8_compiled_place(v8_stamp(v->name, v->script), w->ip));
	else if (v8_append_native(w, w->ip))
		return V8_NOT_MINE;
	return v8_go(w, v->ra, v->return_at + 8, w->fp);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Where the bytecode of an interpreted function is; 0: unknown. A leaf may also be in code that a
 * compiled function calls. */
static __always_inline __u32 v8_bytecode_offset(struct walk *w, struct v8_walk *v, int is_leaf)
{
	if ((__u32)v->slots[V8_SLOT_OFFSET])
		return 0;
	if (is_leaf && (v8_read_object(w, v, v->slots[V8_SLOT_BYTECODE]) ||
			v->type != v->process.type_bytecode))
		return 0;
	return v->slots[V8_SLOT_OFFSET] >> 32;
}

/* The frame at the frame pointer, and its function. */
static __always_inline int v8_read_frame(struct walk *w, struct v8_walk *v)
{
	__u64 function = 0;
	int is_read = w->fp >= w->sp && !(w->fp & 7) && w->fp < USER_MAX &&
		      !walk_read(w, v->slots, V8_SLOTS * 8, w->fp - 40);

	if (v->is_entered && (!v->is_builtin || !v->return_at))
		read_register(w, 5, &function);
	else if (is_read && (v->is_builtin || !v->return_at) &&
		 v8_is_tagged(v->slots[V8_SLOT_CONTEXT]))
		function = v->slots[V8_SLOT_FUNCTION];
	v8_read_function(w, v, function);
	return is_read;
}

/* Appends the current frame and steps to its caller, if it is one of JavaScript. */
static __always_inline int v8_step(struct walk *w, struct v8_walk *v)
{
	__u64 pc = walk_pc(w);
	int is_leaf = w->exact;

	v->is_builtin = v8_is_builtin(v, pc);
	v->is_entered = v->return_at = 0;
	if (!v->is_builtin && (pc < w->map.start || pc >= w->map.end) && walk_find(w, pc))
		return V8_NOT_MINE;
	if (!v->is_builtin && w->map.object)
		return V8_NOT_MINE;
	if (w->n + 2 > w->max)
		return walk_over(w, WALK_DEPTH);
	if (is_leaf)
		v8_find_return(w, v);
	v->has_slots = v8_read_frame(w, v);
	/* A builtin without a frame, or a handler of a bytecode, which returns to a builtin. */
	if (is_leaf && v->is_builtin && !v->return_at && v->is_function && !v8_runs_builtin(v))
		v->return_at = w->sp;
	if (v->return_at) {
		if (v8_is_called(w, v))
			return v8_without_frame(w, v);
		if (!v->is_builtin)
			return V8_NOT_MINE;
	}
	if (!v->has_slots || !v->is_function)
		return V8_NOT_MINE;
	if (v->is_builtin) {
		__u32 offset = v8_bytecode_offset(w, v, is_leaf);

		v8_append(w, v, V8_IN_BUILTIN,
			  runtime_frame_place(v8_stamp(v->name, v->script), offset));
	} else {
		v8_append(w, v, V8_COMPILED, v8_compiled_place(v8_stamp(v->name, v->script), pc));
	}
	return v8_go(w, v->slots[V8_SLOT_RETURN], w->fp + 16, v->slots[V8_SLOT_FP]);
}

#endif
