/* collect/gpu/gpu_survey.h: lists the programs on this machine that have the library that measures
 * GPU time, the agents that read it, and the programs whose GPU libraries have probes. */
#ifndef CRESSET_COLLECT_GPU_GPU_SURVEY_H
#define CRESSET_COLLECT_GPU_GPU_SURVEY_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_program {
	uint32_t pid;
	/* the process that also has its ring mapped; 0: none among readable ones */
	uint32_t reader;
	bool uses_gpu; /* has a GPU library mapped */
	bool has_library;
	uint64_t ring; /* its inode; 0: none */
	char name[16];
};
struct gpu_survey {
	VEC(struct gpu_program) all; /* those with the library or a GPU library, by pid */
	uint32_t unreadable;         /* processes whose mappings may not be read */
};

/* library: name of its file, or of the memfd that it was attached from. */
void gpu_survey(const char *library, struct gpu_survey *out);
void gpu_survey_done(struct gpu_survey *s); /* a zeroed one is fine */

/* Counts the places of GPU libraries in this process that could have a probe, and the ones that
 * have one: a byte differs from the file. Both are 0 if it uses no GPU library. Returns false if
 * its memory or the files cannot be read. */
bool gpu_probed(uint32_t pid, uint32_t *places, uint32_t *probed);

#endif
