/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/runtime_frame.h: a frame of a language runtime in a stack: two words that only the runtime
 * can name. Shared by BPF and user space.
 *
 *     first    0 1 0 0 | runtime, 4 bits | kind, 8 bits | address, 48 bits
 *     second   stamp, 32 bits | offset, 32 bits
 *
 * Bit 63 of the first is FRAME_ADDRESS (bpf/space.h), bit 61 distinguishes marks (bpf/cpython.h).
 * The second may have any value. Frames of a runtime's own stack are first in the user part
 * (event_stack's n_python); frames of code that it has made are inline among native frames, where
 * the walk met them, in a stack with STACK_INLINE. Each runtime defines kind, stamp and offset. */
#ifndef CRESSET_BPF_RUNTIME_FRAME_H
#define CRESSET_BPF_RUNTIME_FRAME_H

#include <linux/types.h>

/* Code of a process. */
struct code_range {
	__u64 start, end;
};

enum { LOOP_PARTS_MAX = 4 }; /* parts into which the compiler splits an interpreter's loop */

/* Numbers of runtimes, which are their indices in runtimes[] (runtime/runtime.h). */
enum runtime_number {
	RUNTIME_CPYTHON = 0,
	RUNTIME_HOTSPOT = 1,
	RUNTIME_V8 = 2,
	RUNTIME_PHP = 3,
	RUNTIME_NUMBERS
};

#define RUNTIME_FRAME         (1ull << 62)
#define RUNTIME_IS_MARK       (1ull << 61)
#define RUNTIME_ADDRESS       ((1ull << 48) - 1)
#define RUNTIME_NUMBER_SHIFT  56
#define RUNTIME_KIND_SHIFT    48
#define RUNTIME_NUMBER_OF(w)  ((w) >> RUNTIME_NUMBER_SHIFT & 15)
#define RUNTIME_KIND_OF(w)    ((w) >> RUNTIME_KIND_SHIFT & 255)
#define RUNTIME_ADDRESS_OF(w) ((w)&RUNTIME_ADDRESS)
#define RUNTIME_STAMP_OF(w)   ((__u32)((w) >> 32))
#define RUNTIME_OFFSET_OF(w)  ((__u32)(w))

static inline __u64 runtime_frame_what(__u32 runtime, __u32 kind, __u64 address)
{
	return RUNTIME_FRAME | (__u64)runtime << RUNTIME_NUMBER_SHIFT |
	       (__u64)kind << RUNTIME_KIND_SHIFT | (address & RUNTIME_ADDRESS);
}

static inline __u64 runtime_frame_place(__u32 stamp, __u32 offset)
{
	return (__u64)stamp << 32 | offset;
}

/* Whether the word is the first of a frame. */
static inline int is_runtime_frame(__u64 word)
{
	return (word >> 61) == 2;
}

#endif
