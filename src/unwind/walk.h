/* unwind/walk.h: the walker of bpf/unwind.h in user space: over a copy of a stack, or over a
 * stopped process. */
#ifndef CRESSET_UNWIND_WALK_H
#define CRESSET_UNWIND_WALK_H

#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot_layout;
struct hotspot_process;
struct php_process;
struct space_mapping;
struct v8_process;

/* Access to the walked process. All functions get ctx. */
struct unwind_source {
	void *ctx;
	/* Reads memory of the process; returns false if it cannot be read. */
	bool (*read)(void *ctx, void *to, size_t size, uint64_t address);
	/* Finds the executable mapping of an address; returns false if none exists. */
	bool (*find)(void *ctx, uint64_t address, struct space_mapping *out);
	/* As in the kernel: the table of that index and its chunks; NULL if none exists. */
	struct space_table *(*table)(void *ctx, uint32_t index);
	const void *(*chunk)(void *ctx, uint32_t chunk);
	/* Cache shared by walks over the same mappings and tables; NULL: no cache. */
	struct known_frame *known;
	/* Returns a word to insert after the frame whose code is at pc and whose stack is from sp
	 * to cfa; 0: none. May be NULL. */
	uint64_t (*behind)(void *ctx, uint64_t pc, uint64_t sp, uint64_t cfa);
	uint64_t call_sp; /* a caller's stack pointer to look for; 0: none */
	/* HotSpot and V8 in the process: their frames are two words each; NULL: none. Then
	 * read_memory reads memory outside of the stack. */
	const struct hotspot_process *hotspot;
	const struct hotspot_layout *hotspot_layout;
	const struct v8_process *v8;
	const struct php_process *php; /* PHP in the process: its frames are left out; or NULL */
	bool (*read_memory)(void *ctx, void *to, size_t size, uint64_t address);
};

/* To be freed with free. */
struct known_frame *unwind_known_new(void);

struct unwind_walk {
	enum walk_end end;
	uint32_t n;               /* frames, leaf first, as in bpf/space.h */
	uint32_t missing;         /* the missing table, for WALK_NOT_LOADED */
	uint32_t by_table, by_fp; /* steps */
	/* number of frames below the one whose stack pointer is call_sp; 0: it was not met */
	uint32_t called;
	bool has_inline; /* there are frames of two words (bpf/runtime_frame.h) */
	bool has_php;    /* there are calls of PHP's loop */
};

/* Walks from the registers (struct pt_regs, bpf/event.h) on; stores at most max frames. */
struct unwind_walk unwind_walk(const struct unwind_source *source,
			       const uint64_t regs[PT_REGS_WORDS], uint64_t *frames, uint32_t max);

#endif
