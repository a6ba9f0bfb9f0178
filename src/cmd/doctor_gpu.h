/* cmd/doctor_gpu.h: doctor's line about GPUs. */
#ifndef CRESSET_CMD_DOCTOR_GPU_H
#define CRESSET_CMD_DOCTOR_GPU_H

#include "collect/collect.h"

void doctor_gpu(struct check *out);

#endif
