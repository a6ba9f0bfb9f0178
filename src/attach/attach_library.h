/* attach/attach_library.h: the libraries that are attached to programs. */
#ifndef CRESSET_ATTACH_ATTACH_LIBRARY_H
#define CRESSET_ATTACH_ATTACH_LIBRARY_H

#include "attach/attach.h"

/* For programs that use CUDA. */
extern const struct gpu_attach_library cuda_attach_library;

/* Environment variable with the library's path, for a program that starts. */
#define CUDA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"

/* Samples allocations. Any program may have it. */
extern const struct gpu_attach_library mem_attach_library;

#endif
