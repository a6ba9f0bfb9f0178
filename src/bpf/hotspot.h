/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/hotspot.h: HotSpot in a process as user space describes it to the walker: where its code is,
 * and the layout of the headers before that code. Shared by BPF and user space (runtime/hotspot*.c
 * finds all of it in the tables that libjvm exports).
 *
 *     pc → range → segment map: hops back to the segment where its block starts
 *        → block = HeapBlock, then a CodeBlob: name, frame size, start of its code, …
 *
 * What a frame is, by the blob of its pc:
 *
 *     nmethod, native nmethod       frame of a known size: return address at its top, the caller's
 *                                   frame pointer below
 *     Interpreter                   by frame pointer; Method, bytecode pointer and the caller's
 *                                   stack pointer in slots below it
 *     stubs with a frame size       as an nmethod
 *     others                        by frame pointer; adapters, and a leaf without a frame: the
 *                                   return address is at the stack pointer */
#ifndef CRESSET_BPF_HOTSPOT_H
#define CRESSET_BPF_HOTSPOT_H

#include "bpf/runtime_frame.h"

#include <linux/types.h>

enum {
	HOTSPOT_MAX_PROCESSES = 16384,
	HOTSPOT_MAX_LAYOUTS = 64,    /* per collector: one for each build of libjvm */
	HOTSPOT_MAX_RANGES = 4,      /* code heaps of a process; HotSpot has 1 or 3 */
	HOTSPOT_BLOB_BYTES = 512,    /* of a blob that are read */
	HOTSPOT_MAX_HOPS = 24,       /* in a segment map; 254 segments each */
	HOTSPOT_MAX_FRAME = 1 << 20, /* bytes of a frame */
};

/* --- a frame in a stack ----------------------------------------------------------------------- */

enum hotspot_frame {
	/* address: Method; offset: bytecode index; stamp: low half of its ConstMethod's address */
	HOTSPOT_INTERPRETED = 1,
	/* address: the blob; offset: pc - start of its code; stamp: compile id. Native wrappers
	 * ("native nmethod") included. */
	HOTSPOT_COMPILED = 2,      /* pc is a return address */
	HOTSPOT_COMPILED_LEAF = 3, /* pc is an instruction */
	/* Any other blob: a stub, an adapter, the interpreter outside of a frame. stamp 0. */
	HOTSPOT_STUB = 4,
};

/* --- layouts ---------------------------------------------------------------------------------- */

enum hotspot_flags {
	/* blob_code is an int: the code's distance from the blob. Otherwise a pointer. */
	HOTSPOT_CODE_BY_OFFSET = 1,
	/* blob_frame_complete is 16 bits wide; else 32. Both are signed. */
	HOTSPOT_COMPLETE_IS_SHORT = 2,
	/* nmethod_deopt is an int: the handler's distance from the blob. Otherwise a pointer. */
	HOTSPOT_DEOPT_BY_OFFSET = 4,
};

/* Offsets in bytes. A blob's fields lie within its first HOTSPOT_BLOB_BYTES. */
struct hotspot_layout {
	__u16 version; /* feature release: 8 … 27 */
	__u16 flags;   /* enum hotspot_flags */

	__u16 block_header; /* bytes of a HeapBlock before its blob: sizeof(HeapBlock) */

	/* CodeBlob */
	__u16 blob_name;           /* const char * */
	__u16 blob_code;           /* start of the code */
	__u16 blob_frame_size;     /* int: words, the return address included */
	__u16 blob_frame_complete; /* bytes from the start of the code; < 0: never */
	/* nmethod */
	__u16 nmethod_compile_id; /* int */
	__u16 nmethod_deopt;      /* deopt handler; 0: not in this version */
	__u16 nmethod_orig_pc;    /* int: where in the frame, from sp, the replaced pc is */

	/* Slots of an interpreted frame, from the frame pointer. */
	__s16 frame_method, frame_bcp, frame_sender_sp;

	__u16 method_const;    /* Method → ConstMethod * */
	__u16 const_code;      /* where its bytecode starts: sizeof(ConstMethod) */
	__u16 const_code_size; /* u16: bytes of bytecode */

	/* Bytes of a ContinuationEntry: the saved frame pointer and return address follow it.
	 * 0: unknown, or no virtual threads. */
	__u16 entry_bytes;
	__u16 reserved;
};
_Static_assert(sizeof(struct hotspot_layout) == 36, "hotspot_layout has no padding");

/* --- a process -------------------------------------------------------------------------------- */

/* A code heap, up to the end of its reserved memory: growth changes nothing. */
struct hotspot_range {
	__u64 start, end;   /* end 0: unused row */
	__u64 segmap;       /* a byte for each segment */
	__u32 log2_segment; /* bytes of a segment */
	__u32 reserved;
};

/* The same in a fork, at the same addresses. */
struct hotspot_process {
	struct hotspot_range ranges[HOTSPOT_MAX_RANGES];
	__u64 interpreter_start, interpreter_end; /* its code */
	__u64 interpreter;                        /* its blob */
	__u32 layout;                             /* index of its struct hotspot_layout */
	__u32 n_ranges;
};
_Static_assert(sizeof(struct hotspot_process) == 32 + HOTSPOT_MAX_RANGES * 32,
	       "hotspot_process has no padding");

#endif
