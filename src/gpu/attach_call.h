/* gpu/attach_call.h: the steps in the stopped thread, which end with a new thread in the process and the old one as it was. */
#ifndef CRESSET_GPU_ATTACH_CALL_H
#define CRESSET_GPU_ATTACH_CALL_H

#ifdef __x86_64__

#include "gpu/attach_code.h"
#include "gpu/attach_stop.h"
#include "gpu/attach_symbols.h"

struct attach_call {
	const struct attach_symbols *symbols;
	int pidfd;
	const char *file; /* instead of a memfd: a path as the process sees it; NULL: a memfd */
	const char *
		library; /* what the new thread opens: the path of another file, or the name of its memfd */
	uint64_t limit_ns;
	bool is_patient; /* waits for the loader's lock, however long somebody holds it */
	/* What came of it. */
	int fd;            /* of the memory, ours; -1: there is none */
	uint64_t base;     /* where it is mapped there */
	bool has_thread;   /* the new one runs */
	bool stays_mapped; /* it was given up */
	bool is_left;      /* the thread was let go in the middle, and finishes by itself */
	bool no_exec;      /* memfds cannot be run there: try by file */
	int create_rc;     /* of pthread_create */
	unsigned flags;    /* of memfd_create there */
};

/* s is stopped, and not traced any more afterwards, whatever comes. 0; -EACCES: see no_exec; -EAGAIN: the loader is
 * at work just now, try again; -ETIMEDOUT: given up, the thread finishes by itself; -EFAULT: pthread_create crashed, and the thread was taken out of it: its locks
 * may be held; -ENOMEM: pthread_create failed, or mmap; -ESRCH. */
int attach_call(struct attach_call *c, struct attach_stop *s, struct err *err);

/* The words as they are now, every text ended. 0 or -errno. */
int attach_words_read(int fd, struct attach_words *out);

#endif
#endif
