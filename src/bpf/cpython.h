/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/cpython.h: CPython in a process as user space describes it to the walker: its interpreters,
 * the layout of its structures, and the code of the interpreter's loop. Shared by BPF and user
 * space (runtime/cpython_*.h finds all of it).
 *
 *     tgid → cpython_process → head_at → interpreter → threads ─next→ …    matched by thread_id,
 *                                                                         the thread's fs base
 *     thread → [cframe →] frame ─previous→ frame …                         one layout for each
 *                                                                         minor version
 *
 * A thread has a state in each interpreter whose code it runs. Up to 3.12 an interpreter made by
 * Python code (_xxsubinterpreters) has a single state, with the id of the thread that made it,
 * whichever thread runs it.
 *
 * How Python frames are placed among the native ones:
 *
 *     up to 3.10   each call of the loop has one frame: a native frame whose code lies in one of
 *                  the loops' ranges is the next Python frame
 *     3.11         the loop's call has the cframe on its stack; its frames are those from
 *                  cframe.current_frame up to and including the one whose entry byte is set; then
 *                  cframe.previous
 *     from 3.12    the same with the entry frame, which is not a Python frame, and lies on the
 *                  loop's stack itself */
#ifndef CRESSET_BPF_CPYTHON_H
#define CRESSET_BPF_CPYTHON_H

#include "bpf/runtime_frame.h"

#include <linux/types.h>

enum {
	CPYTHON_MAX_LAYOUTS = 64, /* per collector; 3.6 to 3.15 are ten */
	CPYTHON_MAX_RUNTIMES = 4, /* limit: libpythons in one process */
	CPYTHON_MAX_FRAME = 128,  /* bytes of a frame that are read */
	CPYTHON_MAX_STAMP = 12,   /* words of a code object that its stamp covers */
};

/* --- a Python frame in a stack: two words ----------------------------------------------------- */

/* As in bpf/runtime_frame.h, of runtime 0 and kind 0: the first has the address of the code object,
 * the second its stamp and the instruction. */
#define CPYTHON_FRAME   RUNTIME_FRAME
#define CPYTHON_ADDRESS RUNTIME_ADDRESS
static inline __u64 cpython_frame_code(__u64 code)
{
	return runtime_frame_what(RUNTIME_CPYTHON, 0, code);
}
/* offset: in bytes, from the first instruction; -1 for a frame that has not started. */
static inline __u64 cpython_frame_place(__u32 stamp, __u32 offset)
{
	return runtime_frame_place(stamp, offset);
}

/* A mark among the native frames of such a stack: the native frame before it, on the leaf's side,
 * is the call of the loop that runs these n Python frames. */
#define CPYTHON_IS_MARK              RUNTIME_IS_MARK
#define CPYTHON_MARK(first, n)       (CPYTHON_FRAME | CPYTHON_IS_MARK | (__u64)(first) << 16 | (n))
#define CPYTHON_MARK_FIRST(w)        ((w) >> 16 & 0xffff)
#define CPYTHON_MARK_N(w)            ((w)&0xffff)
/* Up to 3.10 only the order shows which frame a call runs. n is 0 for calls beyond the last
 * frame. */
#define CPYTHON_BY_ORDER             (1ull << 60)
#define CPYTHON_ORDER_MARK(first, n) (CPYTHON_MARK(first, n) | CPYTHON_BY_ORDER)

enum {
	PYTHON_MAX_PROCESSES = 16384,
	PYTHON_MAX_FRAMES = 1200, /* limit: Python frames in a stack */
};

/* A group of frames without a place yet: its mark, and the address that the loop's call has on its
 * stack. Address 0: each frame has a separate call, whose code is in one of the ranges that
 * follow (struct code_range, LOOP_PARTS_MAX of them). */
enum {
	CPYTHON_GROUP_WORDS = 2,
	CPYTHON_LOOP_GROUP_WORDS = CPYTHON_GROUP_WORDS + 2 * LOOP_PARTS_MAX,
};

/* --- structures in memory --------------------------------------------------------------------- */

enum cpython_flags {
	CPYTHON_FRAME_OBJECTS = 1,  /* up to 3.10 */
	CPYTHON_CFRAME = 2,         /* 3.11, 3.12: thread → cframe → frame */
	CPYTHON_ENTRY_IS_FRAME = 4, /* 3.11: the entry frame is a Python frame */
	/* from 3.14: the CPYTHON_TAG bits of frame_code are not part of the address */
	CPYTHON_TAGGED = 8,
	CPYTHON_UNITS = 16, /* 3.10: frame_instr counts instructions, of 2 bytes */
};
#define CPYTHON_TAG 3ull

/* Offsets in bytes. Pointers unless noted. */
struct cpython_layout {
	__u16 version; /* major << 8 | minor */
	__u16 flags;   /* enum cpython_flags */

	/* interpreter, thread */
	__u16 interp_next, interp_threads; /* the first of its threads */
	__u16 thread_next, thread_id;      /* unsigned long: the value of pthread_self */
	__u16 thread_frame;                /* the innermost frame, or the cframe */
	__u16 cframe_frame, cframe_previous;

	/* frame, all within its first frame_bytes */
	__u16 frame_bytes; /* <= CPYTHON_MAX_FRAME */
	__u16 frame_code, frame_previous;
	/* The instruction: up to 3.10 an int, counted from the first instruction (bytes;
	 * CPYTHON_UNITS); from 3.11 a pointer into the code object. */
	__u16 frame_instr;
	/* From 3.11: a byte; a value of entry_from or more marks the entry frame. */
	__u16 frame_entry, entry_from;
	/* 3.9: a byte; 0 when no call runs the frame. Offset 0: the version has none. */
	__u16 frame_executing;

	/* code object */
	__u16 code_instr;            /* from 3.11: where its instructions start */
	__u16 stamp_at, stamp_words; /* <= CPYTHON_MAX_STAMP */

	/* Used by user space only from here on. 0: the version has none. */
	__u16 frame_owner; /* byte */
	__u16 code_name, code_qualname, code_file, code_lines;
	__u16 code_first_line;   /* int */
	__u16 code_first_traced; /* int, in instructions: a frame before it is incomplete */
	__u16 bytes_size, bytes_data;
	__u16 str_length, str_state, str_ascii,
		str_compact; /* where the text of ASCII and of other strings starts */
	__u16 type;          /* of any object: its type */
	__u16 thread_interp;
};
_Static_assert(sizeof(struct cpython_layout) == 68, "cpython_layout has no padding");

/* Distinguishes a code object from a later one at the same address: a hash of words that never
 * change. */
static inline __u32 cpython_stamp(const __u64 *words, __u32 n)
{
	__u64 h = 0xc2b2ae3d27d4eb4full;

	for (__u32 i = 0; i < CPYTHON_MAX_STAMP; i++) {
		if (i >= n)
			break;
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h >> 32;
}

/* --- a process -------------------------------------------------------------------------------- */

/* One libpython, or a program that contains it. Addresses are in the process. */
struct cpython_runtime {
	__u64 head_at; /* a pointer to the first interpreter; 0: unused row */
	/* Up to 3.10. */
	struct code_range loops[LOOP_PARTS_MAX]; /* unused ones: 0, 0 */
	__u32 layout;                            /* index of its struct cpython_layout */
	__u32 n_loops;
};

/* Unchanged by a fork: the child has the same at the same addresses. */
struct cpython_process {
	__u32 n;
	__u32 reserved;
	struct cpython_runtime runtimes[CPYTHON_MAX_RUNTIMES];
};
_Static_assert(sizeof(struct cpython_process) == 8 + CPYTHON_MAX_RUNTIMES * 80,
	       "cpython_process has no padding");

#endif
