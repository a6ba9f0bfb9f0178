/* gpu/code/probes.h: the library functions that show what a program does with its GPU, and their
 * places in a given file of such a library. Users of this module know no vendor: each vendor has
 * its rows in a separate file. */
#ifndef CRESSET_GPU_CODE_PROBES_H
#define CRESSET_GPU_CODE_PROBES_H

#include "base/vec.h"
#include "bpf/gpu_event.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct err;

struct gpu_probe {
	const char *symbol;       /* "provider:name" for a probe that is in the code */
	struct gpu_probe_row row; /* without its place */
};
struct gpu_library {
	const char *name; /* the prefix of its file names: "libcuda.so" */
	/* number of first probes that are worth a probe each on a kernel that cannot place many at
	 * once */
	uint32_t important;
	const struct gpu_probe *probes;
	size_t n;
	bool is_static; /* the symbols are in .symtab */
};
/* The library that samples allocations. */
#define MEM_LIBRARY "libcresset-mem.so"

/* NULL-terminated. */
extern const struct gpu_library *const gpu_libraries[];

/* HotSpot, for its sampler of allocations: not one of these, as few JVMs are sampled. */
extern const struct gpu_library java_library;

/* Returns the library that a file belongs to by its name, NULL if none. */
const struct gpu_library *gpu_library_of(const char *path);

/* What the innermost frames are when the library inside the program requests the stack. */
enum gpu_inside {
	GPU_INSIDE_NONE,
	/* our own library and its callers: none of these frames belongs to the program */
	GPU_INSIDE_TELLER,
	/* the function that the program called: the outermost of a row of such frames */
	GPU_INSIDE_CALL,
	/* the same, where the runtime of a language samples allocations */
	GPU_INSIDE_RUNTIME,
};
/* Files, by the prefix of their names; the last row has no name. */
struct gpu_inside_row {
	const char *name;
	enum gpu_inside inside;
};
extern const struct gpu_inside_row gpu_inside_rows[];
enum gpu_inside gpu_inside_of(const char *path);

/* A probe in a file. */
struct gpu_place {
	uint64_t entry_offset; /* of the function, in the file */
	/* where the probe goes, also the one at the return: row.skipped bytes after it */
	uint64_t offset;
	/* for a probe in the code: the offset of its counter of attached tracers; 0: none */
	uint64_t counter;
	struct gpu_probe_row row;
	bool is_stepped; /* the kernel cannot emulate the instruction there */
};
struct gpu_places {
	VEC(struct gpu_place) all;
	uint32_t refused; /* launches that would be single-stepped */
};

/* wanted: bits of enum gpu_what; a function that does none of these gets no place, and the rows
 * have no other bits. Returns 0, or the error if the file cannot be read. */
int gpu_places_find(const struct elf_file *f, const struct gpu_library *library, uint32_t wanted,
		    struct gpu_places *out, struct err *err);
void gpu_places_done(struct gpu_places *p); /* a zeroed one is fine */

#endif
