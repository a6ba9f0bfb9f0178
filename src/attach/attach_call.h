/* attach/attach_call.h: the steps in the stopped thread, after which there is a new thread in the
 * process and the old one is restored.
 *
 * Before that, its call and the process's identity (start time, file, memory by a descriptor of
 * /proc/PID/mem) are checked again. Only faults and SIGSTOP reach the stopped thread. It and the
 * attaching process run at SCHED_FIFO 1. If another thread has the loader's lock, another moment
 * is tried, for half of the time for finding a thread. A system call of ours has no timeout; a
 * frozen process, or mmap under a held lock, makes no progress. */
#ifndef CRESSET_ATTACH_ATTACH_CALL_H
#define CRESSET_ATTACH_ATTACH_CALL_H

#ifdef __x86_64__

#include "attach/attach_stop.h"

struct attach_words;
struct err;

struct attach_call {
	const struct attach_symbols *symbols;
	int pidfd;
	const char *file; /* used instead of a memfd: a path in the process; NULL: a memfd */
	/* what the new thread opens: the path of another file, or the name of its memfd */
	const char *library;
	uint64_t limit_ns;
	bool is_patient; /* wait for the loader's lock, however long another thread holds it */
	/* Results. */
	int fd;            /* of the memory, ours; -1: none */
	uint64_t base;     /* address of the memory in the process */
	bool has_thread;   /* the new thread runs */
	bool stays_mapped; /* given up: the memory stays mapped */
	bool is_left;      /* the thread was released in the middle, and finishes on its own */
	bool no_exec;      /* memfds cannot be executed there: try by file */
	int create_rc;     /* of pthread_create */
	unsigned flags;    /* of the memfd_create there */
};

/* s is stopped, and is no longer traced afterwards, whatever the result. Returns 0; -EACCES: see
 * no_exec; -EAGAIN: the loader is busy, try again; -ETIMEDOUT: given up, the thread finishes by
 * itself; -EFAULT: pthread_create crashed, and the thread was taken out of it: its locks may be
 * held; -ENOMEM: pthread_create or mmap failed; -ESRCH. */
int attach_call(struct attach_call *c, struct attach_stop *s, struct err *err);

/* Reads the current words, with every text NUL-terminated. Returns 0 or -errno. */
int attach_words_read(int fd, struct attach_words *out);

#endif
#endif
