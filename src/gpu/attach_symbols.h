/* gpu/attach_symbols.h: functions of a process's C library, and the code that a thread must not be in when it is stopped. Read from the files that
 * the process has mapped. */
#ifndef CRESSET_GPU_ATTACH_SYMBOLS_H
#define CRESSET_GPU_ATTACH_SYMBOLS_H

#include "base/err.h"
#include "base/vec.h"
#include "gpu/attach.h"
#include "gpu/attach_shelter.h"

enum attach_range_kind {
	ATTACH_NO_CALL_FROM, /* a return address into it: malloc, the loader */
	ATTACH_NO_WORD,      /* not even that address itself: where signal handlers return to */
	ATTACH_WAITS,        /* pthread_cond_wait and the like */
};
struct attach_range {
	uint64_t start, end;
	enum attach_range_kind kind;
};
struct attach_symbols { /* zeroed = empty; addresses are those in the process */
	uint64_t pthread_create, pthread_detach, dlopen, dlerror, munmap, errno_location;
	uint64_t
		loader_lock; /* of the loader's, that pthread_create takes: a word that is 0 while it is free; 0: not found */
	struct attach_shelter shelter; /* its code for attach_stop.h */
	VEC(struct attach_range) ranges;
};

/* 0; -ENOTSUP: a C library without what is needed, or none that is known; -errno. */
int attach_symbols_find(uint32_t pid, const struct gpu_attach_view *view,
			struct attach_symbols *out, struct err *err);
void attach_symbols_done(struct attach_symbols *s);

#endif
