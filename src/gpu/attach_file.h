/* gpu/attach_file.h: where memory without a name cannot be run, the bytes lie in a file in /tmp of the process, which is removed as soon as it is open there. */
#ifndef CRESSET_GPU_ATTACH_FILE_H
#define CRESSET_GPU_ATTACH_FILE_H

#include "base/err.h"

#include <stdint.h>

struct attach_file {
	int fd, dir;    /* the folder it is in */
	char path[120]; /* as the process sees it */
};

/* A new, empty one, of the process's user. 0, and to be dropped; -errno with words. */
int attach_file_make(uint32_t pid, const char *name, struct attach_file *f, struct err *err);
/* Removes its name, and closes. */
void attach_file_drop(struct attach_file *f);

#endif
