/* collect/gpu_stall_code.h: the device code of programs whose stalls are sampled: its images are copied while their ring is there, those only that samples are in,
 * and opened when a sample is named. Images of one program say nothing of another's, whatever number they have. */
#ifndef CRESSET_COLLECT_GPU_STALL_CODE_H
#define CRESSET_COLLECT_GPU_STALL_CODE_H

#include "base/hash.h"
#include "base/vec.h"
#include "gpu/ring_read.h"

enum {
	GPU_STALL_MODULES = 1 << 14,
	GPU_STALL_CODE_BYTES = 256 << 20, /* of images, all together */
};
#define GPU_STALL_NO_MODULE UINT32_MAX

struct device_code;

struct gpu_stall_module {
	uint64_t crc;
	uint32_t pid;
	bool is_sampled, is_placed, is_done; /* done: copied, or cannot be */
	struct ring_module place;
	void *image; /* until it is opened */
	uint64_t size;
	struct device_code *code;
};
struct gpu_stall_code { /* zeroed = empty */
	VEC(struct gpu_stall_module) modules;
	struct map index;
	uint64_t bytes, copied;
	bool is_pending; /* there may be images to copy, or memory with them */
};
void gpu_stall_code_done(struct gpu_stall_code *c);

/* The module in which a sample is; GPU_STALL_NO_MODULE: there are too many. */
uint32_t gpu_stall_code_sampled(struct gpu_stall_code *c, uint32_t pid, uint64_t crc);
void gpu_stall_code_placed(struct gpu_stall_code *c, uint32_t pid, const struct ring_module *m);
/* Those of processes that have ended go; others get new numbers, so that nobody may have any. */
void gpu_stall_code_forget_ended(struct gpu_stall_code *c);
/* Copies what is needed of a program's. */
void gpu_stall_code_read(struct gpu_stall_code *c, uint32_t pid, struct ring_reader *ring);
/* NULL: it was loaded before, was not kept, or is none. */
struct device_code *gpu_stall_code_get(struct gpu_stall_code *c, uint32_t module);

#endif
