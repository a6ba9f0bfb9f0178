/* gpu/probes.h: which functions of which libraries tell what a program does with its GPU, and where in a given file of such a library they are. No vendor
 * is known to who uses it: each has its rows in a file of its own. */
#ifndef CRESSET_GPU_PROBES_H
#define CRESSET_GPU_PROBES_H

#include "base/vec.h"
#include "bpf/gpu_event.h"
#include "symbol/elf_file.h"

#include <stdbool.h>

struct gpu_probe {
	const char *symbol;       /* "provider:name" of a probe that is in the code */
	struct gpu_probe_row row; /* but for where it is */
};
struct gpu_library {
	const char *name; /* its files begin with it: "libcuda.so" */
	uint32_t
		important; /* so many of the first probes are worth a probe each where the kernel cannot place many at once */
	const struct gpu_probe *probes;
	size_t n;
};
/* NULL behind the last. */
extern const struct gpu_library *const gpu_libraries[];

/* The library that a file of this path is by its name; NULL: none. */
const struct gpu_library *gpu_library_of(const char *path);

/* What stands innermost where the program's stack is told of from inside of it. */
enum gpu_inside {
	GPU_INSIDE_NONE,
	GPU_INSIDE_TELLER, /* our own library, and what calls it: none of these frames is the program's doing */
	GPU_INSIDE_CALL, /* what the program called: of frames in a row the outermost is that function */
};
/* Files, by how they begin; the last one has no name. */
struct gpu_inside_row {
	const char *name;
	enum gpu_inside inside;
};
extern const struct gpu_inside_row gpu_inside_rows[];
enum gpu_inside gpu_inside_of(const char *path);

/* A probe in a file. */
struct gpu_place {
	uint64_t entry_offset; /* of the function, in the file */
	uint64_t
		offset; /* where the probe goes, also that at its return: behind it by row.skipped */
	uint64_t
		counter; /* of a probe in the code: the offset of its count of those who have attached; 0: none */
	struct gpu_probe_row row;
	bool is_stepped; /* the kernel cannot emulate the instruction there */
};
struct gpu_places {
	VEC(struct gpu_place) all;
	uint32_t refused; /* launches that would be single-stepped */
};

/* wanted: bits of enum gpu_what; a function that does none of that has no place, the rows have no others. 0, or why the file cannot be read. */
int gpu_places_find(const struct elf_file *f, const struct gpu_library *library, uint32_t wanted,
		    struct gpu_places *out, struct err *err);
void gpu_places_done(struct gpu_places *p); /* a zeroed one is fine */

#endif
