/* gpu/attach_load.h: what is done with the new thread in the process: its descriptor is filled, it loads the library, and goes. Nothing is stopped or traced. */
#ifndef CRESSET_GPU_ATTACH_LOAD_H
#define CRESSET_GPU_ATTACH_LOAD_H

#ifdef __x86_64__

#include "gpu/attach_call.h"

struct attach_load {
	int pidfd, memory; /* memory: where the words are */
	bool is_written;   /* the library is a file that has its bytes already */
	const void *image;
	size_t size;
	uint64_t limit_ns;
};
/* 0: loaded; -EIO: dlopen says no, err has its words; -ETIMEDOUT: it is still at it; -errno. */
int attach_load(const struct attach_load *l, struct err *err);

#endif
#endif
