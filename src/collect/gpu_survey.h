/* collect/gpu_survey.h: which programs of this machine have the library that measures GPU time, who reads it, and
 * which have probes in the libraries of a GPU. */
#ifndef CRESSET_COLLECT_GPU_SURVEY_H
#define CRESSET_COLLECT_GPU_SURVEY_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_program {
	uint32_t pid;
	uint32_t
		reader; /* the process that has its ring mapped, too; 0: none that could be looked at */
	bool uses_gpu; /* has a library of a GPU mapped */
	bool has_library;
	uint64_t ring; /* its inode; 0: none */
	char name[16];
};
struct gpu_survey {
	VEC(struct gpu_program) all; /* that have the library or use a GPU, by pid */
	uint32_t unreadable;         /* processes whose mappings may not be read */
};

/* library: the name of its file, or of the memfd that it was attached from. */
void gpu_survey(const char *library, struct gpu_survey *out);
void gpu_survey_done(struct gpu_survey *s); /* a zeroed one is fine */

/* How many places of GPU libraries in this process could have a probe, and have one: another byte stands there than in
 * the file. Both 0 when it uses none. False when its memory or the files may not be read. */
bool gpu_probed(uint32_t pid, uint32_t *places, uint32_t *probed);

#endif
