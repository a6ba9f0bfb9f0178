/* gpu/code/device_code.h: code that runs on a device of any vendor: each kind of code is one row of
 * device_code_kinds[], and only its own files know the vendor.
 *
 *     open       opens an image
 *     find       finds a function by its name in samples
 *     layers     describes an offset in it
 *     stall      gives the vendor's name of a reason in words
 *
 * Images come from programs of any user. One thread at a time. */
#ifndef CRESSET_GPU_CODE_DEVICE_CODE_H
#define CRESSET_GPU_CODE_DEVICE_CODE_H

#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { DEVICE_STALL_MAX = 64 };

/* file and line: for functions, their place in the source; else NULL and 0. Strings are valid
 * during the call. */
typedef void device_layer_fn(void *ctx, enum frame_kind kind, const char *name, const char *file,
			     uint32_t line);

struct device_code_kind {
	const char *vendor;
	/* The image must stay until close. */
	int (*open)(const void *image, size_t size, void **out, struct err *err);
	void (*close)(void *code);
	bool (*find)(const void *code, const char *function, uint32_t *text);
	/* As device_code_layers. */
	uint32_t (*layers)(void *code, uint32_t text, uint64_t offset, const char *stall,
			   device_layer_fn *fn, void *ctx);
	/* The name in words; NULL: not one of the vendor's. *not_issued: no other warp of the
	 * scheduler issued then, either. */
	const char *(*stall)(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued);
};
/* NULL-terminated. */
extern const struct device_code_kind *const device_code_kinds[];
/* NVIDIA: cubins (gpu/code/cubin.h) and the stall reasons of CUPTI. */
extern const struct device_code_kind cuda_code;

struct device_code;

/* Takes the image, which comes from malloc, and frees it with the code, or immediately on an error:
 * -ENOEXEC, -ENODATA, -E2BIG. */
int device_code_open(void *image, size_t size, struct device_code **out, struct err *err);
void device_code_close(struct device_code *c); /* NULL is fine */

/* Calls fn for the layers at an offset of a function, outermost first: directories and file of the
 * source, functions, instruction, stall, offset. Returns the number of layers: 0 if there is no
 * such place. */
uint32_t device_code_layers(struct device_code *c, const char *function, uint64_t offset,
			    const char *stall, device_layer_fn *fn, void *ctx);

/* A reason that no vendor knows stays as it is, truncated. */
const char *device_stall_name(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued);

#endif
