/* attach/attach_file.h: a file in a process's /tmp, for code where memfds cannot be executed. Its
 * name is removed as soon as the process has it open. */
#ifndef CRESSET_ATTACH_ATTACH_FILE_H
#define CRESSET_ATTACH_ATTACH_FILE_H

#include <stdint.h>

struct err;

struct attach_file {
	int fd, dir;    /* dir: the directory it is in */
	char path[120]; /* as the process sees it */
};

/* Makes a new, empty file, owned by the process's user. Returns 0, to be dropped; or -errno and
 * err. */
int attach_file_make(uint32_t pid, const char *name, struct attach_file *f, struct err *err);

/* Removes its name, and closes it. */
void attach_file_drop(struct attach_file *f);

#endif
