/* cmd/gpu_library.h: where the library is that goes into GPU programs. */
#ifndef CRESSET_CMD_GPU_LIBRARY_H
#define CRESSET_CMD_GPU_LIBRARY_H

#include "base/err.h"

enum { GPU_LIBRARY_PATH_MAX = 1024 };

/* Beside this program, as it is built, or where it is installed to. -ENOENT when it is at neither place. */
int gpu_library_path(const char *name, char path[GPU_LIBRARY_PATH_MAX], struct err *err);

/* For a program that is started from here on: the variable that has it load the library, unless it is set already. */
int gpu_library_inject(struct err *err);

#endif
