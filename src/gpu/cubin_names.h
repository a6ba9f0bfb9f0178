/* gpu/cubin_names.h: the functions of a cubin by name alone, at a hundredth of what opening it (gpu/cubin.h) costs: for looking through thousands. */
#ifndef CRESSET_GPU_CUBIN_NAMES_H
#define CRESSET_GPU_CUBIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* linkage: valid during the call. size: of its text. */
typedef void cubin_name_fn(void *ctx, const char *linkage, uint64_t size);

/* Calls fn for each text, in the order of the file. False: it is no cubin. Any bytes will do. */
bool cubin_names(const void *image, size_t size, cubin_name_fn *fn, void *ctx);

#endif
