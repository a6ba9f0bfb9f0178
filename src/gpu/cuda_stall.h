/* gpu/cuda_stall.h: why a warp of an NVIDIA GPU did not go on, in short. */
#ifndef CRESSET_GPU_CUDA_STALL_H
#define CRESSET_GPU_CUDA_STALL_H

#include <stdbool.h>

enum { CUDA_STALL_MAX = 64 };

/* CUPTI's name of a stall reason ("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued") as words ("memory (long scoreboard)"); one that is not
 * known keeps what behind the prefix tells it apart, with blanks, cut to size. *not_issued: in a cycle in which no other warp of the scheduler went on,
 * either: such a stall cost time, another may have been hidden. */
const char *cuda_stall_name(const char *cupti, char text[CUDA_STALL_MAX], bool *not_issued);

#endif
