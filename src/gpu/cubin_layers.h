/* gpu/cubin_layers.h: one place of a kernel as the layers of an "AI flame graph", outermost first:
 *
 *     folders of the source file … ; file ; kernel ; device functions, called or inlined … ; mnemonic ; stall reason ; offset
 *
 * Kinds: gpu-source for folders and file, gpu-function for the kernel too, gpu-instruction for mnemonic and offset ("0x1a0"), gpu-stall. */
#ifndef CRESSET_GPU_CUBIN_LAYERS_H
#define CRESSET_GPU_CUBIN_LAYERS_H

#include "gpu/cubin.h"
#include "profile/frame.h"

enum cubin_layer {
	CUBIN_FOLDERS = 1,
	CUBIN_FILE = 2,
	CUBIN_FUNCTIONS = 4,
	CUBIN_MNEMONIC = 8,
	CUBIN_STALL = 16,
	CUBIN_OFFSET = 32,
	CUBIN_ALL_LAYERS = 63,
};

/* file and line: of functions, where they are in their source; else NULL and 0. Strings are valid during the call. */
typedef void cubin_layer_fn(void *ctx, enum frame_kind kind, const char *name, const char *file,
			    uint32_t line);

/* Calls fn for each of the layers (bits of enum cubin_layer) that are known; stall: a name, or NULL. Returns how many there were: 0 when there is
 * no such place. */
uint32_t cubin_layers(struct cubin *c, uint32_t text, uint64_t offset, const char *stall,
		      unsigned layers, cubin_layer_fn *fn, void *ctx);

#endif
