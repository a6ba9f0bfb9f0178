/* collect/gpu_code_index.h: which image of a file with device code (gpu/device_file.h) has a function: of the images that one model of devices runs, each function's
 * hash, 16 bytes. Made by looking into every one of them; read-only from then on. */
#ifndef CRESSET_COLLECT_GPU_CODE_INDEX_H
#define CRESSET_COLLECT_GPU_CODE_INDEX_H

#include "base/vec.h"
#include "gpu/device_file.h"

#include <stdatomic.h>

enum {
	GPU_CODE_FUNCTIONS = 1 << 20, /* of a file; further ones are not found */
	/* Of the processor's time, for one file; libcublasLt takes 0.4 s. */
	GPU_CODE_FILE_MS = 20000,
};

struct gpu_code_function {
	uint64_t hash;
	uint32_t image, size; /* of its code */
};
struct gpu_code_index {
	int fd; /* its own */
	uint32_t model;
	struct device_file *file;
	VEC(struct gpu_code_function) functions; /* by hash and image */
	uint64_t unread;                         /* containers and images */
};

/* fd becomes the index's when there is one, NULL when the file has no device code. */
struct gpu_code_index *gpu_code_index_open(int fd, uint32_t model);
/* Looks into the images, once. When stop becomes true the rest stays unread. */
void gpu_code_index_read(struct gpu_code_index *x, const atomic_bool *stop);
void gpu_code_index_free(struct gpu_code_index *x); /* NULL is fine */

uint64_t gpu_code_hash(const char *function);
/* The function of that hash in the first image from this number on that has it; NULL: none has. */
const struct gpu_code_function *gpu_code_index_find(const struct gpu_code_index *x, uint64_t hash,
						    uint32_t image);

#endif
