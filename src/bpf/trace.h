/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/trace.h: where a process keeps the span of a trace that a thread of its works for (OpenTelemetry's thread context, OTEP 4947), as
 * user space found out (collect/thread_context.h). Shared by BPF and user space.
 *
 * The process exports a thread-local pointer, which the dynamic linker has placed
 *
 *     TRACE_STATIC   at the thread pointer + offset
 *     TRACE_GLIBC    at the block of its module + offset; the thread pointer's second word leads to the vector of blocks:
 *                    { u64 block, u64 } by module; of [-1] and [0] the first word is how many there are, and their generation
 *     TRACE_MUSL     the same, the vector being u64 block by module, and how many there are in [0]
 *
 * and which is NULL or points to a struct thread_record. */
#ifndef CRESSET_BPF_TRACE_H
#define CRESSET_BPF_TRACE_H

#include <linux/types.h>

enum { TRACE_MAX_PROCESSES = 4096 };

enum trace_place { TRACE_STATIC = 1, TRACE_GLIBC, TRACE_MUSL };

struct trace_recipe {
	__u32 place; /* enum trace_place */
	__u32 module;
	__s64 offset;
	/* From which on the vector has the module. 0: not known; then a thread that has not touched the library since another one with its
	 * number was closed still has that one's block. */
	__u64 generation;
	/* A word of the library's that the dynamic linker has written: when it is not there any more, neither is the library. 0: part of the
	 * program itself, which stays. */
	__u64 proof_at, proof;
};

/* As the process writes it, in the order valid = 0, the rest, valid = 1; or it moves the pointer from one record to another. Only the
 * thread itself writes, so that who interrupts it sees one or the other. */
struct thread_record {
	__u8 trace[16], span[8];
	__u8 valid; /* 1; everything else is not */
	__u8 flags;
	__u16 attributes_bytes; /* they follow */
};
_Static_assert(sizeof(struct thread_record) == 28, "thread_record has no padding");

#endif
