/* collect/gpu_stall_code.h: the device code of programs whose stalls are sampled: its images are copied while their ring is there, those only that samples are in,
 * and opened when a sample is named. Images of one program say nothing of another's, whatever number they have. Of what a program has not handed over, because it was
 * loaded before, the program's files are asked (collect/gpu_code_files.h). */
#ifndef CRESSET_COLLECT_GPU_STALL_CODE_H
#define CRESSET_COLLECT_GPU_STALL_CODE_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/gpu_code_files.h"
#include "gpu/device_code.h"
#include "gpu/ring_read.h"

enum {
	GPU_STALL_MODULES = 1 << 14,
	GPU_STALL_CODE_BYTES = 256 << 20, /* of images, all together */
};
#define GPU_STALL_NO_MODULE UINT32_MAX

struct gpu_stall_module {
	uint64_t crc;
	uint32_t pid, model;                 /* model: of its device; 0: not known */
	bool is_sampled, is_placed, is_done; /* done: copied, or cannot be */
	bool is_wanted;                      /* out of files */
	bool is_refuted;                     /* an image fitted, until more was sampled */
	struct ring_module place;
	void *image; /* until it is opened */
	uint64_t size;
	struct device_code *code;
	struct gpu_code_found found;           /* in files */
	VEC(struct gpu_code_wanted) functions; /* that were sampled, until the flush */
};
struct gpu_stall_code { /* zeroed = empty */
	VEC(struct gpu_stall_module) modules;
	struct map index;
	struct gpu_code_files *files; /* NULL until they are needed */
	uint64_t bytes, copied, in_files;
	bool is_pending; /* there may be images to copy, or memory with them */
};
void gpu_stall_code_done(struct gpu_stall_code *c);

/* The module in which a sample is; GPU_STALL_NO_MODULE: there are too many. */
uint32_t gpu_stall_code_sampled(struct gpu_stall_code *c, uint32_t pid, uint64_t crc,
				uint32_t model);
void gpu_stall_code_placed(struct gpu_stall_code *c, uint32_t pid, const struct ring_module *m);
/* Those of processes that have ended go; others get new numbers, so that nobody may have any. */
void gpu_stall_code_forget_ended(struct gpu_stall_code *c);
/* Copies what is needed of a program's. */
void gpu_stall_code_read(struct gpu_stall_code *c, uint32_t pid, struct ring_reader *ring);
/* Before samples are named: all places of a module that was not handed over, then the search. The function must stay until then. wait: for files that are looked at. */
void gpu_stall_code_need(struct gpu_stall_code *c, uint32_t module, const char *function,
			 uint64_t offset);
void gpu_stall_code_search(struct gpu_stall_code *c, bool wait);
/* As device_code_layers. 0 also where its code is not there: it was not kept, is in no file, or several fit that differ at this place (*is_unclear). */
uint32_t gpu_stall_code_layers(struct gpu_stall_code *c, uint32_t module, const char *function,
			       uint64_t offset, const char *stall, device_layer_fn *fn, void *ctx,
			       bool *is_unclear);
/* Pieces of files with device code that could not be read. */
uint64_t gpu_stall_code_unread(const struct gpu_stall_code *c);

#endif
