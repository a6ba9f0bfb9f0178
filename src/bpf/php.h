/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/php.h: PHP in a process as user space describes it to the walker. Shared by BPF and user
 * space (runtime/php.c).
 *
 *     executor_globals.current_execute_data → execute_data ─prev→ execute_data …
 *     execute_data → zend_function, written in PHP (an op_array) or in C
 *
 * A call of the loop, execute_ex, runs a group of frames: up to the one with TOP, which C code has
 * called; functions in C also have frames, and end no group. The JIT's code runs on the stack frame
 * of the loop's call. */
#ifndef CRESSET_BPF_PHP_H
#define CRESSET_BPF_PHP_H

#include "bpf/runtime_frame.h"

#include <linux/types.h>

enum { PHP_MAX_PROCESSES = 16384 };

/* --- a frame in a stack ----------------------------------------------------------------------- */

/* address: a function's first instruction, or the zend_function in C. stamp: php_stamp_of
 * (bpf/php_walk.h). */
enum php_frame {
	PHP_USER = 1,     /* offset: its line */
	PHP_INTERNAL = 2, /* of C; offset 0 */
};

/* --- structures in memory --------------------------------------------------------------------- */

/* Offsets in bytes that are the same from PHP 7.4 to 8.4 (Zend/zend_compile.h, zend_execute.h). */
enum {
	PHP_FRAME_OPLINE = 0, /* execute_data; pointers, and This.u1.type_info, u32 */
	PHP_FRAME_FUNC = 24,
	PHP_FRAME_INFO = 40,
	PHP_FRAME_PREV = 48,
	PHP_FRAME_BYTES = 56,
	PHP_FUNC_TYPE = 0,   /* zend_function; u8 */
	PHP_FUNC_NAME = 8,   /* zend_string, NULL: the code of a file */
	PHP_FUNC_SCOPE = 16, /* zend_class_entry, or NULL */
	PHP_OP_BYTES = 32,   /* zend_op */
	PHP_OP_LINE = 24,    /* u32 */
	PHP_STRING_HASH = 8, /* zend_string; u64, as the next */
	PHP_STRING_LENGTH = 16,
	PHP_STRING_BYTES = 24,
	PHP_CLASS_NAME = 8, /* zend_class_entry; zend_string */
};
#define PHP_INFO_TOP (1u << 17)
enum { PHP_TYPE_INTERNAL = 1, PHP_TYPE_USER = 2, PHP_TYPE_EVAL = 4 };

/* A function of C is read up to PHP_FUNC_HEAD; an op_array up to PHP_FUNC_BYTES: the offsets in
 * php_process are between them. */
enum { PHP_FUNC_HEAD = 24, PHP_FUNC_BYTES = 192 };

/* --- a process -------------------------------------------------------------------------------- */

/* The same in a fork, at the same addresses. */
struct php_process {
	__u64 current; /* address of the pointer to the innermost execute_data */
	struct code_range loop[LOOP_PARTS_MAX]; /* unused ones: 0, 0 */
	/* For code of the JIT: an address in the loop with the same stack frame, and the bytes from
	 * the stack pointer, or the frame pointer, to above the return address. 0: such code is
	 * native code without a name. */
	__u64 body;
	__u32 body_cfa;
	/* In an op_array; offsets in bytes. */
	__u16 func_last;    /* u32: number of instructions */
	__u16 func_opcodes; /* pointer to the first one */
	__u16 func_file;    /* zend_string */
	__u16 func_lines;   /* u32 each: start and end */
	__u32 is_by_fp;     /* body_cfa is from the frame pointer */
};
_Static_assert(sizeof(struct php_process) == 32 + LOOP_PARTS_MAX * 16,
	       "php_process has no padding");

#endif
