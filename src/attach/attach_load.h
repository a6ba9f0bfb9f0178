/* attach/attach_load.h: the work with the new thread in the process: its descriptor is filled, it
 * loads the library, and ends. Nothing is stopped or traced. */
#ifndef CRESSET_ATTACH_ATTACH_LOAD_H
#define CRESSET_ATTACH_ATTACH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#ifdef __x86_64__

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
