/* gpu/inject/calls.h: the calls that put work on a GPU or end a context, by CUPTI's numbers (which
 * never change): those of the runtime, and those of the driver, which programs also call directly.
 * A runtime call and the driver call nested in it have the same correlation id. */
#ifndef CRESSET_GPU_INJECT_CALLS_H
#define CRESSET_GPU_INJECT_CALLS_H

#include <stdint.h>

/* cudaLaunchKernel, …ExC, …Cooperative…, cudaGraphLaunch; cuLaunchKernel, …Ex, …Cooperative…,
 * cuGraphLaunch; and their per-thread stream variants. */
static const uint16_t launch_calls_runtime[] = { 211, 214, 430, 431, 269, 270, 272, 311, 312 };
static const uint16_t launch_calls_driver[] = { 307, 442, 652, 653, 477, 478, 480, 514, 515 };

/* The ones that launch a graph. */
static const uint16_t graph_calls_runtime[] = { 311, 312 };
static const uint16_t graph_calls_driver[] = { 514, 515 };

/* cudaMemcpy…, cudaMemset… */
static const uint16_t copy_calls_runtime[] = {
	31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  41,  42,  43,  44,  45,  46,  47,
	48,  49,  50,  51,  52,  142, 143, 144, 145, 160, 161, 162, 163, 215, 216, 217, 218,
	219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234, 235,
	236, 243, 244, 245, 246, 249, 250, 482, 483, 484, 485, 509, 510, 511, 512,
};
/* cuMemcpy…, cuMemset… of the versions in use since CUDA 4. */
static const uint16_t copy_calls_driver[] = {
	248, 249, 250, 251, 252, 253, 254, 276, 277, 278, 279, 280, 281, 282, 283, 284, 285,
	286, 287, 288, 289, 290, 291, 292, 293, 305, 306, 318, 319, 320, 321, 216, 218, 220,
	222, 224, 226, 397, 398, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410,
	411, 412, 413, 414, 415, 416, 418, 419, 420, 421, 422, 423, 424, 425, 426, 427, 428,
	429, 430, 431, 432, 433, 776, 777, 778, 779, 796, 797, 798, 799,
};

/* Calls that end a context, and with it the records that CUPTI has not handed over: cudaThreadExit,
 * cudaDeviceReset; cuCtxDestroy, cuDevicePrimaryCtxRelease, …Reset. */
static const uint16_t ending_calls_runtime[] = { 123, 164 };
static const uint16_t ending_calls_driver[] = { 11, 322, 387, 389, 544, 545 };

#endif
