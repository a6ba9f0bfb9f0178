/* gpu/cuda_code.h: NVIDIA's row of gpu/device_code.h: cubins (gpu/cubin.h), CUPTI's stall reasons (gpu/cuda_stall.h). */
#ifndef CRESSET_GPU_CUDA_CODE_H
#define CRESSET_GPU_CUDA_CODE_H

#include "gpu/device_code.h"

extern const struct device_code_kind cuda_code;

#endif
