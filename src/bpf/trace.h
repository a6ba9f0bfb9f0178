/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/trace.h: where a process stores the span that each of its threads is working for
 * (OpenTelemetry's thread context, OTEP 4947), as found by user space
 * (collect/process/thread_context.h). Shared by BPF and user space.
 *
 * The process exports a thread-local pointer, which the dynamic linker placed
 *
 *     TRACE_STATIC   at the thread pointer + offset
 *     TRACE_GLIBC    at the block of its module + offset; the thread pointer's second word leads to
 *                    the vector of blocks: { u64 block, u64 } by module; of [-1] and [0] the first
 *                    word is how many there are, and their generation
 *     TRACE_MUSL     the same, the vector being u64 block by module, and how many there are in [0]
 *
 * The pointer is NULL or points to a struct thread_record. */
#ifndef CRESSET_BPF_TRACE_H
#define CRESSET_BPF_TRACE_H

#include <linux/types.h>

/* limit: processes whose spans are read, a share per user */
enum { TRACE_MAX_PROCESSES = 4096 };

enum trace_place { TRACE_STATIC = 1, TRACE_GLIBC, TRACE_MUSL };

struct trace_recipe {
	__u32 place; /* enum trace_place */
	__u32 module;
	__s64 offset;
	/* The vector's generation that first includes the module. 0: unknown. Then a thread that
	 * has not used the library since another one with the same module number was closed still
	 * has the block of the closed one. */
	__u64 generation;
	/* A word of the library that the dynamic linker wrote: when it has changed, the library was
	 * unloaded. 0: part of the program itself, which stays loaded. */
	__u64 proof_at, proof;
};

/* As written by the process, in the order valid = 0, the rest, valid = 1; or it moves the pointer
 * from one record to another. Only the thread itself writes, so a program that interrupts it sees
 * either the old or the new record. */
struct thread_record {
	__u8 trace[16], span[8];
	__u8 valid; /* 1; any other value is invalid */
	__u8 flags;
	__u16 attributes_bytes; /* of the attributes that follow */
};
_Static_assert(sizeof(struct thread_record) == 28, "thread_record has no padding");

#endif
