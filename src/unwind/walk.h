/* unwind/walk.h: the walker of bpf/unwind.h in user space: over a copy of a stack, or over a stopped process. */
#ifndef CRESSET_UNWIND_WALK_H
#define CRESSET_UNWIND_WALK_H

#include "bpf/event.h"
#include "bpf/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is walked. Each gets ctx. */
struct unwind_source {
	void *ctx;
	/* Memory of the process; false when it cannot be read. */
	bool (*read)(void *ctx, void *to, size_t size, uint64_t address);
	/* The executable mapping that has the address; false when none has. */
	bool (*find)(void *ctx, uint64_t address, struct space_mapping *out);
	/* As in the kernel: the table of that index and the chunks it lies in; NULL when there is none. */
	struct space_table *(*table)(void *ctx, uint32_t index);
	const void *(*chunk)(void *ctx, uint32_t chunk);
	/* What walks of the same mappings and tables have found so far; NULL: nothing is kept. */
	struct known_frame *known;
	/* What else has its place behind the frame whose code is at pc and whose stack is from sp to cfa: a word; 0: nothing. May be NULL. */
	uint64_t (*behind)(void *ctx, uint64_t pc, uint64_t sp, uint64_t cfa);
	uint64_t call_sp; /* a caller's stack pointer; 0: none is looked for */
};

/* To be freed with free. */
struct known_frame *unwind_known_new(void);

struct unwind_walk {
	enum walk_end end;
	uint32_t n;               /* frames, leaf first, as bpf/space.h has them */
	uint32_t missing;         /* the table that was not there, of WALK_NOT_LOADED */
	uint32_t by_table, by_fp; /* steps */
	uint32_t
		called; /* so many frames are below the one whose stack pointer is call_sp; 0: it was not met */
};

/* Walks from the registers (struct pt_regs, bpf/event.h) on; at most max frames. */
struct unwind_walk unwind_walk(const struct unwind_source *source,
			       const uint64_t regs[PT_REGS_WORDS], uint64_t *frames, uint32_t max);

#endif
