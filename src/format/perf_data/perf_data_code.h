/* format/perf_data/perf_data_code.h: names of generated code, each from the perf map of its time.
 *
 * A perf map is known by a pid only, and its content has no times. A pid has several programs, one
 * after the other, if it runs another by exec, or is used again:
 *
 *     programs of the pid    ── a shell ──┬──── a ────────┬──── b ─────
 *     the map was written                       ▲ names of a, and none of b
 *
 * A map names the code of the program that ran when it was last written. Samples and files have
 * different clocks, so this is known up to an error (struct pd_wall). Only programs that mapped
 * memory for code can have written a map. A single one has the map, unless that is certainly older.
 * If there are several, the one has it that certainly ran when it was written, otherwise none has.
 * Frames without a name are counted if their pid has a map, but not their program.
 *
 * All programs of a pid are known at the end only. Until then a frame is a number with PD_LATER,
 * also a stack with such frames, and their samples wait. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_CODE_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_CODE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct format_here;
struct pd_info;

/* limit: programs with perf maps; later ones' code has no names */
enum { PD_MAX_PROGRAMS = 1 << 22 };
#define PD_LATER (1u << 31)

/* Times on the samples' clock; 0: the program ran before the first record, or had not ended. */
struct pd_program {
	uint32_t pid, before, after; /* of this pid: index + 1, 0: none */
	uint64_t begun_ns, ended_ns;
	bool has_code;
};
struct pd_place {
	uint32_t program;
	uint64_t addr;
};
struct pd_code { /* zeroed = empty, for no machine */
	const struct format_here *here;
	VEC(struct pd_program) programs;
	struct map by_pid; /* the last program */
	VEC(struct pd_place) places;
	struct map by_place;
	struct stack_table stacks;
	VEC(struct sample) held;
	uint64_t unnamed; /* frames that were counted */
};

void pd_code_init(struct pd_code *c, const struct format_here *here);
void pd_code_done(struct pd_code *c);

/* The process starts another program, or ends. */
void pd_code_begin(struct pd_code *c, uint32_t pid, uint64_t time_ns);
void pd_code_end(struct pd_code *c, uint32_t pid, uint64_t time_ns);
/* The process mapped memory for code. */
void pd_code_mapped(struct pd_code *c, uint32_t pid);

/* Returns a frame of generated code with PD_LATER; UINT32_MAX if the pid has no map here, or at the
 * limit. is_before: its program is the one before the last. */
uint32_t pd_code_frame(struct pd_code *c, uint32_t pid, bool is_before, uint64_t addr);
/* Returns a stack with PD_LATER. Some of its frames, root first, have it as well. */
uint32_t pd_code_stack(struct pd_code *c, const uint32_t *frames, uint32_t n);
void pd_code_hold(struct pd_code *c, const struct sample *s);

/* Bounds of the wall clock minus the clock of the samples; INT64_MIN, INT64_MAX: unknown.
 *
 * perf record -k records it. Otherwise the file was written after its last sample, and created
 * before the first one unless it is a copy; and a recording of this boot has almost the clock
 * CLOCK_MONOTONIC. */
struct pd_wall {
	int64_t lo, hi;
};
struct pd_wall pd_wall_of(const struct pd_info *info, const struct format_here *here,
			  uint64_t first_ns, uint64_t last_ns);

/* Returns the name of a place, or NULL. Counts it if the map is not that of its program. */
const char *pd_code_name(struct pd_code *c, const struct pd_wall *w, uint32_t place);

#endif
