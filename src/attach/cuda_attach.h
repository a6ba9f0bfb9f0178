/* attach/cuda_attach.h: the library that is attached to programs that use CUDA. */
#ifndef CRESSET_ATTACH_CUDA_ATTACH_H
#define CRESSET_ATTACH_CUDA_ATTACH_H

#include "attach/attach.h"

extern const struct gpu_attach_library cuda_attach_library;

/* Environment variable with the library's path, for a program that starts. */
#define CUDA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"

#endif
