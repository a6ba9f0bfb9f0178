/* collect/gpu_code_fit.h: which images of device code, of many files, fit what was sampled.
 *
 * Samples name code by a number of the vendor's tool alone, which nobody else can compute: an image fits that has all functions which were sampled under one number, each
 * larger than the offsets in it. */
#ifndef CRESSET_COLLECT_GPU_CODE_FIT_H
#define CRESSET_COLLECT_GPU_CODE_FIT_H

#include "collect/gpu_code_index.h"
#include "gpu/device_code.h"

enum {
	GPU_CODE_FITTING = 32, /* images that have the functions; with more it is not known which */
	GPU_CODE_ALIKE = 8,    /* different ones that are opened and compared */
};

/* A function that was sampled, with the largest offset. */
struct gpu_code_wanted {
	const char *function;
	uint64_t hash; /* gpu_code_hash() */
	uint64_t offset;
};
struct gpu_code_fitting {
	const struct gpu_code_index *index;
	uint32_t image;
};
struct gpu_code_fitting_images { /* zeroed but for until_ns = none */
	struct gpu_code_fitting v[GPU_CODE_FITTING];
	uint32_t n;
	bool is_full;      /* there are more */
	uint64_t until_ns; /* of clock_thread_ns(): what is not known by then is not known */
};
/* Adds the images of a file that fit; n is at least 1. */
void gpu_code_fit_in(const struct gpu_code_index *x, const struct gpu_code_wanted *w, size_t n,
		     struct gpu_code_fitting_images *out);

/* Images that fit, each a different one; of several each is as likely. */
struct gpu_code_found { /* zeroed = none */
	struct device_code *code[GPU_CODE_ALIKE];
	uint32_t n;
	uint64_t bytes;
};
/* Opens them, of at most max_bytes in all. All or none: where one is not to be had, or there are too many, *out is empty. */
void gpu_code_fit_open(const struct gpu_code_fitting_images *fit, uint64_t max_bytes,
		       struct gpu_code_found *out);
/* Closes those that do not have all of these, too. */
void gpu_code_found_keep(struct gpu_code_found *f, const struct gpu_code_wanted *w, size_t n);
void gpu_code_found_done(struct gpu_code_found *f);

#endif
