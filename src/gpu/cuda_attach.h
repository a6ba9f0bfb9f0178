/* gpu/cuda_attach.h: what is attached to programs that use CUDA. */
#ifndef CRESSET_GPU_CUDA_ATTACH_H
#define CRESSET_GPU_CUDA_ATTACH_H

#include "gpu/attach.h"

extern const struct gpu_attach_library cuda_attach_library;

/* The variable that names the library to a program that starts. */
#define CUDA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"

#endif
