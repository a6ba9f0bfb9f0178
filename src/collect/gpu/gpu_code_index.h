/* collect/gpu/gpu_code_index.h: which image of a file with device code (gpu/code/device_file.h) has
 * a function: a hash of each function, 16 bytes, of the images that one model of devices runs.
 * Built by reading every one of these images; read-only afterwards. */
#ifndef CRESSET_COLLECT_GPU_GPU_CODE_INDEX_H
#define CRESSET_COLLECT_GPU_GPU_CODE_INDEX_H

#include "base/vec.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
	/* limit: functions of a file with code; others are not found */
	GPU_CODE_FUNCTIONS = 1 << 20,
	/* CPU time, for one file; libcublasLt takes 0.4 s. */
	GPU_CODE_FILE_MS = 20000, /* limit: CPU time to search one file */
};

struct gpu_code_function {
	uint64_t hash;
	uint32_t image, size; /* of its code */
};
struct gpu_code_index {
	int fd; /* owned */
	uint32_t model;
	struct device_file *file;
	VEC(struct gpu_code_function) functions; /* sorted by hash and image */
	uint64_t unread;                         /* containers and images */
};

/* Takes over fd on success; returns NULL if the file has no device code. */
struct gpu_code_index *gpu_code_index_open(int fd, uint32_t model);
/* Reads the images, once. When stop becomes true the rest stays unread. */
void gpu_code_index_read(struct gpu_code_index *x, const atomic_bool *stop);
void gpu_code_index_free(struct gpu_code_index *x); /* NULL is fine */

uint64_t gpu_code_hash(const char *function);
/* Returns the function with that hash in the first image from this number on that has it; NULL:
 * none. */
const struct gpu_code_function *gpu_code_index_find(const struct gpu_code_index *x, uint64_t hash,
						    uint32_t image);

#endif
