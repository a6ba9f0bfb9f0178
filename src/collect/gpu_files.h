/* collect/gpu_files.h: files of GPUs' libraries that no process has to have mapped yet. */
#ifndef CRESSET_COLLECT_GPU_FILES_H
#define CRESSET_COLLECT_GPU_FILES_H

#include "base/err.h"

/* Those that a program which is started from here would find: in LD_LIBRARY_PATH and in the usual folders. fd stays the callee's. */
void gpu_files_expected(void (*found)(void *ctx, const char *name, int fd), void *ctx);

/* Whether this machine has one, there or mapped by a process, in which launches can be probed. 0, or -EOPNOTSUPP and what is missing. */
int gpu_files_check(struct err *err);

#endif
