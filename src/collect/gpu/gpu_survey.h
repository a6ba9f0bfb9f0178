/* collect/gpu/gpu_survey.h: lists the programs on this machine that have a library of ours, or
 * could have it, the agents that read it, and the programs with probes in their GPU libraries. */
#ifndef CRESSET_COLLECT_GPU_GPU_SURVEY_H
#define CRESSET_COLLECT_GPU_GPU_SURVEY_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_program {
	uint32_t pid;
	/* the process that also has its shared memory mapped; 0: none among readable ones */
	uint32_t reader;
	bool is_user; /* has what makes the library of use to it */
	bool has_library;
	uint64_t ring; /* inode of its shared memory; 0: none */
	char name[16];
};
/* The memory of a library in a process without it. */
struct gpu_reader {
	uint64_t ino;
	uint32_t pid;
};
struct gpu_survey {
	VEC(struct gpu_program) all; /* those with the library, or use for it, by pid */
	VEC(struct gpu_reader) readers;
	uint32_t unreadable; /* processes whose mappings may not be read */
};

struct gpu_attach_library;
struct gpu_survey_of {
	const struct gpu_attach_library *library;
	const char *memory;                         /* the memfd that it shares with agents */
	bool (*is_used_by)(const char *executable); /* path of a program's mapping */
};
/* For GPU time: programs with a GPU library. For allocations: all programs. */
extern const struct gpu_survey_of survey_cuda, survey_mem;

void gpu_survey(const struct gpu_survey_of *of, struct gpu_survey *out);
void gpu_survey_done(struct gpu_survey *s); /* a zeroed one is fine */

/* Counts the places of GPU libraries in this process that could have a probe, and the ones that
 * have one: a byte differs from the file. Both are 0 if it uses no GPU library. Returns false if
 * its memory or the files cannot be read. */
bool gpu_probed(uint32_t pid, uint32_t *places, uint32_t *probed);

#endif
