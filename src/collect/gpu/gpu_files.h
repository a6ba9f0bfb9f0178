/* collect/gpu/gpu_files.h: files of GPU libraries, whether or not a process has mapped them. */
#ifndef CRESSET_COLLECT_GPU_GPU_FILES_H
#define CRESSET_COLLECT_GPU_GPU_FILES_H

struct err;

/* Finds the files that a program started from here would load: in LD_LIBRARY_PATH and in the usual
 * directories. fd stays the callee's. */
void gpu_files_expected(void (*found)(void *ctx, const char *name, int fd), void *ctx);

/* Checks for a library on this machine, on disk or mapped by a process, in which launches can be
 * probed. Returns 0, or -EOPNOTSUPP and what is missing. */
int gpu_files_check(struct err *err);

#endif
