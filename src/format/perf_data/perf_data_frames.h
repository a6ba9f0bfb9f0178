/* format/perf_data/perf_data_frames.h: converts addresses of a perf.data file to frames and stacks
 * of the sink.
 *
 *     a file mapped by a process       {native, mapping(path, build id), address - start + pgoff}
 *     the kernel                       {kernel, [kernel], address without KASLR}, as in the
 *                                      collector (collect/walker/kernel_space.h)
 *     a kernel module                  {kernel, [ext4], address - start}
 *     a BPF program                    {kernel, "bpf_prog_…", binary [bpf]}: by name
 *     code generated at run time       {jit, its name here}, or "[unknown]" in [anon]; known at
 *                                      the end (perf_data_code.c)
 *     anything else                    "[unknown]"
 *
 * In a call chain the first address of each side is exact; later ones are return addresses, minus
 * 1. A user stack saved for unwinding is unwound by format_here. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"
#include "format/perf_data/perf_data_info.h"
#include "profile/frame.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stdint.h>

struct format_here;
struct pd_info;

/* --- perf_data_code.c ---
 *
 * Names of generated code, each from the perf map of its time.
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

/* --- perf_data_frames.c --- */

enum { PD_MAX_OBJECTS = 1 << 20 };

enum pd_object_kind {
	PD_FILE,      /* frames by file offset */
	PD_CODE,      /* memory with code generated at run time */
	PD_KERNEL,    /* frames by address without KASLR */
	PD_MODULE,    /* frames by offset from the start of its code */
	PD_BPF_SYMBOL /* one frame, by name */
};
struct pd_object {
	enum pd_object_kind kind;
	uint32_t name;    /* string of the sink */
	const char *path; /* for PD_FILE; in pd_frames.paths */
	uint64_t identity, inode, generation;
	uint8_t build_id_len, build_id[BUILD_ID_MAX];
	bool shares_build_id; /* with another file: identified by its path */
	uint64_t start;       /* run-time address of [kernel] and modules */
	uint32_t mapping;     /* in the sink; MAPPING_NONE until a frame uses it */
};

struct pd_frames {
	struct sink *sink;
	const struct pd_info *info;
	struct pd_world *world;
	const struct format_here *here; /* may be NULL */
	VEC(struct pd_object) objects;
	struct map object_index;
	struct map by_build_id; /* hash → its first object */
	struct map replaced;    /* identity → whether another file is at its path here */
	struct arena paths;
	struct pd_code code;
	/* The kernel's own code, if known. */
	uint64_t text_start, text_end, text_shift;
	uint32_t text_object;
	VEC(uint32_t) stack; /* being built, leaf first */
	bool has_later;      /* … with frames of pd_code */
};

void pd_frames_init(struct pd_frames *f, struct sink *sink, const struct pd_info *info,
		    struct pd_world *world, const struct format_here *here);
void pd_frames_done(struct pd_frames *f);

/* A record's description of a mapped file; text need not end in NUL. */
struct pd_mapped {
	const char *name;
	size_t name_len;
	const uint8_t *build_id; /* NULL: see the table of build ids */
	uint8_t build_id_len;
	uint64_t identity, inode, generation; /* 0: unknown */
	uint32_t dev_major, dev_minor;        /* of the inode */
};

/* Return the id of an object, adding it if new; UINT32_MAX beyond PD_MAX_OBJECTS. */
uint32_t pd_object_of_file(struct pd_frames *f, const struct pd_mapped *m);
uint32_t pd_object_of_symbol(struct pd_frames *f, const char *name, size_t len);

/* Adds the kernel or a module at [start, end). text: the run-time address of _text. Returns false
 * at a limit. */
bool pd_frames_add_kernel(struct pd_frames *f, const struct pd_mapped *m, uint64_t start,
			  uint64_t end, uint64_t text);

/* Whether an object is memory with code of a process of this host. */
bool pd_frames_has_code(const struct pd_frames *f, uint32_t object);

/* Returns the stack of a sample, or one of pd_code, with PD_LATER. cpumode:
 * PERF_RECORD_MISC_KERNEL …, from the record's header. */
uint32_t pd_frames_stack(struct pd_frames *f, const struct pd_sample *s, unsigned cpumode);

/* Gives the sink the samples that wait, once everything is read. */
void pd_frames_give_held(struct pd_frames *f, const struct pd_wall *w);

#endif
