/* cmd/doctor_gpu.h: doctor's lines about GPUs: one where there are none. */
#ifndef CRESSET_CMD_DOCTOR_GPU_H
#define CRESSET_CMD_DOCTOR_GPU_H

#include "collect/collect.h"

enum { DOCTOR_GPU_CHECKS = 4 };
size_t doctor_gpu(struct check *out, size_t max); /* how many; 0 when there is no room for all */

#endif
