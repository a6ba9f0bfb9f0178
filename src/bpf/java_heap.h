/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/java_heap.h: layout of a HotSpot process, for the probe on its sampler of allocations.
 * Shared by BPF and user space (runtime/hotspot_sampler.c finds it).
 *
 * A thread has a TLAB, memory that only it allocates from, and its sampler after it. The sampler is
 * called when the TLAB is used up, when it reaches the next sample, and for each object outside of
 * TLABs. */
#ifndef CRESSET_BPF_JAVA_HEAP_H
#define CRESSET_BPF_JAVA_HEAP_H

#include <linux/types.h>

/* The functions, of C++: from 11 to 24, and from 25 on. */
#define JAVA_SAMPLER_CHECK  "_ZN17ThreadHeapSampler18check_for_samplingEP7oopDescmm"
#define JAVA_SAMPLER_SAMPLE "_ZN17ThreadHeapSampler6sampleEP7oopDescPP12HeapWordImpl"

enum {
	/* limit: Java programs with sampled allocations; fewer than the switch may set on */
	JAVA_HEAPS_MAX = 192,
	JAVA_INTERVAL = 512 << 10, /* HotSpot's, unless an agent has set another one */
	/* limit: threads of Java with sampled allocations; others have rougher weights */
	JAVA_THREADS_MAX = 65536,
};

/* How an object names its class, and where an array has its length. */
enum java_header {
	JAVA_HEADER_WIDE,   /* an address at 8, the length at 16 */
	JAVA_HEADER_NARROW, /* 32 bits at 8, the length at 12 */
	JAVA_HEADER_SHORT,  /* the upper 22 bits of the first word, the length at 8 */
};
enum { JAVA_SHORT_SHIFT = 42 };

struct java_heap {
	__u64 class_base;  /* of classes that are named by a number */
	__u32 class_shift; /* … times 2^class_shift */
	__u32 header;      /* enum java_header */
	__u32 interval;    /* mean distance of samples in bytes; 0: each object */
	__u32 tlab_below;  /* bytes from a thread's TLAB to its sampler */
	/* Offsets in a TLAB: its start, where the next object goes, its end; and how many bytes it
	 * has counted up to the next sample, or the end (0: this version does not). */
	__u16 tlab_start, tlab_top, tlab_end, tlab_since;
	__u16 class_layout; /* of the field of a class that has the size of its objects */
	__u16 reserved;
	__u32 thinned; /* one sample in 2^thinned is sent */
};
_Static_assert(sizeof(struct java_heap) == 40, "java_heap has no padding");

#endif
