/* collect/gpu/gpu_stall_code.h: device code of programs whose stalls are sampled. Images with
 * samples are copied while the program's ring is there, and opened when a sample is named. Images
 * of one program say nothing about another's, even with the same number. Code that a program did
 * not hand over, because it was loaded before, is searched in the program's files
 * (collect/gpu/gpu_code_files.h). */
#ifndef CRESSET_COLLECT_GPU_GPU_STALL_CODE_H
#define CRESSET_COLLECT_GPU_GPU_STALL_CODE_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/gpu/gpu_code_fit.h"
#include "gpu/code/device_code.h"
#include "gpu/ring/ring_read.h"

enum {
	GPU_STALL_MODULES = 1 << 14,      /* limit: device code images of sampled kernels */
	GPU_STALL_CODE_BYTES = 256 << 20, /* limit: bytes of all these images */
};
#define GPU_STALL_NO_MODULE UINT32_MAX

struct gpu_stall_module {
	uint64_t crc;
	uint32_t pid, model;                 /* model: of its device; 0: unknown */
	bool is_sampled, is_placed, is_done; /* is_done: copied, or cannot be */
	bool is_wanted;                      /* search in files */
	bool is_refuted;                     /* an image fitted until more was sampled */
	struct ring_module place;
	void *image; /* until it is opened */
	uint64_t size;
	struct device_code *code;
	struct gpu_code_found found;           /* in files */
	VEC(struct gpu_code_wanted) functions; /* sampled since the last flush */
};
struct gpu_stall_code { /* zeroed = empty */
	VEC(struct gpu_stall_module) modules;
	struct map index;
	struct gpu_code_files *files; /* NULL until needed */
	uint64_t bytes, copied, in_files;
	bool is_pending; /* there may be images to copy, or memory with them */
};
void gpu_stall_code_done(struct gpu_stall_code *c);

/* Returns the module of a sample; GPU_STALL_NO_MODULE: too many modules. */
uint32_t gpu_stall_code_sampled(struct gpu_stall_code *c, uint32_t pid, uint64_t crc,
				uint32_t model);
void gpu_stall_code_placed(struct gpu_stall_code *c, uint32_t pid, const struct ring_module *m);
/* Drops the modules of processes that have ended. The others get new numbers, so callers must not
 * keep any. */
void gpu_stall_code_forget_ended(struct gpu_stall_code *c);
/* Copies the needed images of a program. */
void gpu_stall_code_read(struct gpu_stall_code *c, uint32_t pid, struct ring_reader *ring);
/* Before samples are named: call need for each place of a module that was not handed over, then
 * search. function must stay valid until then. wait: for files that are being searched. */
void gpu_stall_code_need(struct gpu_stall_code *c, uint32_t module, const char *function,
			 uint64_t offset);
void gpu_stall_code_search(struct gpu_stall_code *c, bool wait);
/* As device_code_layers. Also returns 0 if its code is not available: it was not retained, is in no
 * file, or several images fit that differ at this place (*is_unclear). */
uint32_t gpu_stall_code_layers(struct gpu_stall_code *c, uint32_t module, const char *function,
			       uint64_t offset, const char *stall, device_layer_fn *fn, void *ctx,
			       bool *is_unclear);
/* Pieces of files with device code that could not be read. */
uint64_t gpu_stall_code_unread(const struct gpu_stall_code *c);

#endif
