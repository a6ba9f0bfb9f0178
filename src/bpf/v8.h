/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/v8.h: V8 in a process as user space describes it to the walker: where its builtins are, and
 * the offsets that lead from a frame to a function. Shared by BPF and user space (runtime/v8.c).
 *
 * All code of V8 has a frame pointer, and below it, in a frame of JavaScript:
 *
 *     -8   context                tagged; a small integer in any other frame
 *     -16  JSFunction  →  SharedFunctionInfo { name or ScopeInfo, Script, … }
 *     -32  bytecode array         of interpreted and baseline code
 *     -40  bytecode offset        a small integer, from the array's own start
 *
 * Interpreted functions run in builtins, which are code of the file; compiled ones in memory
 * without a file. Closures of a function share its SharedFunctionInfo, which rarely moves. The slot
 * holds a function only if the object's map has the type of one: the frame may not be complete. */
#ifndef CRESSET_BPF_V8_H
#define CRESSET_BPF_V8_H

#include "bpf/runtime_frame.h"

#include <linux/types.h>

enum {
	V8_MAX_PROCESSES = 16384,
	V8_MAX_BUILTINS = 4, /* mappings of the builtins: V8 maps them once more near its code */
};

/* --- a frame in a stack ----------------------------------------------------------------------- */

/* address: SharedFunctionInfo, untagged. */
enum v8_frame {
	/* stamp: v8_stamp; offset: bytecode offset, as in the frame; 0: unknown. For a builtin that
	 * is written for JavaScript the offset has no meaning. */
	V8_IN_BUILTIN = 1,
	/* The second word: 16 bits of v8_stamp, and 48 bits of the pc: a leaf's instruction, or an
	 * address inside the call. */
	V8_COMPILED = 2,
};
#define V8_PC_BITS 48

/* Of a SharedFunctionInfo: changes when another one takes its place. */
static inline __u32 v8_stamp(__u64 name, __u64 script)
{
	__u64 mixed = (name ^ script << 29 ^ script >> 35) * 0x9e3779b97f4a7c15ull;

	return mixed >> 32;
}

static inline __u64 v8_compiled_place(__u32 stamp, __u64 pc)
{
	return (__u64)stamp << V8_PC_BITS | (pc & ((1ull << V8_PC_BITS) - 1));
}

/* --- a process -------------------------------------------------------------------------------- */

/* The same in a fork, at the same addresses. Offsets in bytes, from addresses without a tag. */
struct v8_process {
	struct code_range builtins[V8_MAX_BUILTINS]; /* end 0: unused row */
	__u16 map_type;                              /* Map → type of its objects */
	__u16 function_shared;                       /* JSFunction → SharedFunctionInfo */
	__u16 first_function, last_function;         /* types of JSFunctions */
	/* In SharedFunctionInfo; data: a small integer in functions that are builtins. */
	__u16 shared_name, shared_script, shared_data;
	__u16 type_bytecode; /* type of a BytecodeArray */
};
_Static_assert(sizeof(struct v8_process) == 16 + V8_MAX_BUILTINS * 16, "v8_process has no padding");

/* A JSFunction and a SharedFunctionInfo are read up to here: the offsets above are below it. */
enum { V8_OBJECT_BYTES = 48 };

#endif
