/* collect/heap/heap_opts.h: options and statistics of allocations of programs. */
#ifndef CRESSET_COLLECT_HEAP_HEAP_OPTS_H
#define CRESSET_COLLECT_HEAP_HEAP_OPTS_H

#include "collect/gpu/gpu_opts.h"
#include "collect/proc/series_hook.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_opts {
	/* The library that a command started from here loads; NULL: none. The caller's. */
	const char *library;
	/* Always on: which of the programs with the library sample; apply NULL: none. */
	struct series_hook takes;
	/* Go programs with a profile that is off: it is switched on in all, or (always on) if the
	 * hook takes the program; apply NULL: none. */
	bool switches_all;
	struct series_hook switches;
	/* Always on: processes that live when an interval ends, and ends of processes. May be
	 * NULL. */
	void (*program)(void *ctx, enum gpu_program_news what, uint32_t pid, uint32_t parent);
	void *program_ctx;
};

struct heap_stats {
	uint32_t programs; /* with opened memory */
	uint32_t slots;    /* of all of them, at the last look: that lead to the library */
	uint32_t slots_foreign;
	uint64_t samples, dropped; /* dropped: no row was free */
	uint64_t wrong;            /* rows that cannot be */
	uint64_t mean_bytes;       /* the largest */
	/* Programs of Go with a profile that was read, and their stacks. */
	uint32_t go_programs, go_stacks;
	/* … and with waits for mutexes. */
	uint32_t go_lock_programs, go_lock_stacks;
	/* Programs of Java that sampled, and samples of all of them, without lost ones. */
	uint32_t java_programs;
	uint64_t java_samples;
	char problem[160]; /* the first one; "": none */
	char lock_problem[160];
};

#endif
