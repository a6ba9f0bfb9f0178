/* gpu/device_code.h: what runs on a device, by whoever made it: each kind of code is one row of device_code_kinds[], and nothing but its own files knows
 * the vendor.
 *
 *     open       an image of it
 *     find       a function by the name that samples have
 *     layers     what stands at an offset in it
 *     stall      the vendor's name of a reason, in words
 *
 * Images come from programs of any user. One thread at a time. */
#ifndef CRESSET_GPU_DEVICE_CODE_H
#define CRESSET_GPU_DEVICE_CODE_H

#include "base/err.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEVICE_STALL_MAX = 64 };

/* file and line: of functions, where they are in their source; else NULL and 0. Strings are valid during the call. */
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
	/* The name in words; NULL: it is none of the vendor's. *not_issued: no other warp of its scheduler went on then, either. */
	const char *(*stall)(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued);
};
/* NULL behind the last. */
extern const struct device_code_kind *const device_code_kinds[];

struct device_code;

/* Takes the image, which comes from malloc, and frees it with the code, or at once when it is none: -ENOEXEC, -ENODATA, -E2BIG. */
int device_code_open(void *image, size_t size, struct device_code **out, struct err *err);
void device_code_close(struct device_code *c); /* NULL is fine */

/* Calls fn for what stands at an offset of a function, outermost first: folders and file of the source, functions, instruction, stall, offset. Returns
 * how many there were: 0 when there is no such place. */
uint32_t device_code_layers(struct device_code *c, const char *function, uint64_t offset,
			    const char *stall, device_layer_fn *fn, void *ctx);

/* What no vendor knows stays as it is, cut to size. */
const char *device_stall_name(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued);

#endif
