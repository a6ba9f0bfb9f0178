/* gpu/cuda_file.h: the row of NVIDIA's in device_file_kinds[] (gpu/device_file.h): fat binaries. */
#ifndef CRESSET_GPU_CUDA_FILE_H
#define CRESSET_GPU_CUDA_FILE_H

#include "gpu/device_file.h"

extern const struct device_file_kind cuda_file;

#endif
