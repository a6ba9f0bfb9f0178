/* attach/attach_symbols.h: functions of a process's C library, and code that a thread must not be
 * in when it is stopped. Read from the files that the process has mapped. */
#ifndef CRESSET_ATTACH_ATTACH_SYMBOLS_H
#define CRESSET_ATTACH_ATTACH_SYMBOLS_H

#include "base/vec.h"

#include <stdint.h>

struct err;
struct gpu_attach_view;

enum attach_range_kind {
	ATTACH_NO_CALL_FROM, /* no return address into it: malloc, the loader */
	ATTACH_NO_WORD,      /* not even that address itself: signal handlers return to it */
	ATTACH_WAITS,        /* pthread_cond_wait and similar */
};
struct attach_range {
	uint64_t start, end;
	enum attach_range_kind kind;
};
/* Code in which a thread waits when its tracer is killed. */
struct attach_shelter {
	uint64_t system_call, loop; /* "syscall; ret" and "pop %rsp; ret" */
};
struct attach_symbols { /* zeroed = empty; addresses are those in the process */
	uint64_t pthread_create, pthread_detach, dlopen, dlerror, munmap, errno_location;
	/* lock of the loader that pthread_create takes: a word that is 0 while it is free; 0: not
	 * found */
	uint64_t loader_lock;
	struct attach_shelter shelter; /* code for attach_stop.h */
	VEC(struct attach_range) ranges;
	VEC(struct attach_range) libc; /* all code of the C library */
	/* Functions of an allocator that is neither the C library's nor a separate library, such
	 * as one in the program. Its code has no ranges besides these functions. */
	VEC(uint64_t) allocators;
};

/* Returns 0; -ENOTSUP: the C library is unknown or lacks what is needed; -errno. */
int attach_symbols_find(uint32_t pid, const struct gpu_attach_view *view,
			struct attach_symbols *out, struct err *err);
void attach_symbols_done(struct attach_symbols *s);

#endif
