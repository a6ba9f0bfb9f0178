/* attach/attach_load.h: how the library gets into the process: the work with the new thread there,
 * and files for processes that cannot execute a memfd. */
#ifndef CRESSET_ATTACH_ATTACH_LOAD_H
#define CRESSET_ATTACH_ATTACH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A file in a process's /tmp, for code where memfds cannot be executed. Its name is removed as soon
 * as the process has it open. */
struct attach_file {
	int fd, dir;    /* dir: the directory it is in */
	char path[120]; /* as the process sees it */
};

/* Makes a new, empty file, owned by the process's user. Returns 0, to be dropped; or -errno and
 * err. */
int attach_file_make(uint32_t pid, const char *name, struct attach_file *f, struct err *err);

/* Removes its name, and closes it. */
void attach_file_drop(struct attach_file *f);

#ifdef __x86_64__

/* The work with the new thread in the process: its descriptor is filled, it loads the library, and
 * ends. Nothing is stopped or traced. */
struct attach_load {
	int pidfd, memory; /* memory: where the words are */
	bool is_written;   /* the library is a file that is already written */
	const void *image;
	size_t size;
	uint64_t limit_ns;
};
/* Returns 0: loaded; -EIO: dlopen failed, err has its message; -ETIMEDOUT: it is still loading;
 * -errno. */
int attach_load(const struct attach_load *l, struct err *err);

#endif
#endif
