/* collect/gpu/gpu_code_fit.h: which images of device code, in many files, fit the samples.
 *
 * Samples identify code only by a number of the vendor's tool, which only that tool can compute. An
 * image fits if it has all functions that were sampled under one number, each larger than the
 * offsets in it. */
#ifndef CRESSET_COLLECT_GPU_GPU_CODE_FIT_H
#define CRESSET_COLLECT_GPU_GPU_CODE_FIT_H

#include "base/vec.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- which image of a file with device code (gpu/code/device_file.h) has a function ---
 *
 * A hash of each function, 16 bytes, of the images that one model of devices runs. Built by reading
 * every one of these images; read-only afterwards. */

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

/* --- which images fit --- */

enum {
	/* limit: images with the wanted functions; beyond, no source is known */
	GPU_CODE_FITTING = 32,
	GPU_CODE_ALIKE = 8, /* limit: different images opened and compared */
};

/* A sampled function, with its largest offset. */
struct gpu_code_wanted {
	const char *function;
	uint64_t hash; /* gpu_code_hash() */
	uint64_t offset;
};
struct gpu_code_fitting {
	const struct gpu_code_index *index;
	uint32_t image;
};
struct gpu_code_fitting_images { /* zeroed except for until_ns = none */
	struct gpu_code_fitting v[GPU_CODE_FITTING];
	uint32_t n;
	bool is_full;      /* there are more */
	uint64_t until_ns; /* of clock_thread_ns(): deadline of the search */
};
/* Adds the images of a file that fit; n ≥ 1. */
void gpu_code_fit_in(const struct gpu_code_index *x, const struct gpu_code_wanted *w, size_t n,
		     struct gpu_code_fitting_images *out);

/* Images that fit, without duplicates; each is equally likely. */
struct gpu_code_found { /* zeroed = none */
	struct device_code *code[GPU_CODE_ALIKE];
	uint32_t n;
	uint64_t bytes;
};
/* Opens them, at most max_bytes in all. All or nothing: if one is unavailable, or there are too
 * many, *out is empty. */
void gpu_code_fit_open(const struct gpu_code_fitting_images *fit, uint64_t max_bytes,
		       struct gpu_code_found *out);
/* Closes the ones that lack any of these functions. */
void gpu_code_found_keep(struct gpu_code_found *f, const struct gpu_code_wanted *w, size_t n);
void gpu_code_found_done(struct gpu_code_found *f);

#endif
