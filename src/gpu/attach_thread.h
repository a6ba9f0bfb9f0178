/* gpu/attach_thread.h: which thread of a process can be stopped and made to call pthread_create.
 *
 * It must be parked in a system call, and hold no lock of malloc or of the loader. The call says the most: nobody polls in the middle of malloc. The rest says
 * its stack: every word from the stack pointer to the end of the mapping that could be a return address into malloc or the loader, or into code that handlers
 * of signals return to, makes the thread unsafe. No unwinder can miss a frame that way: what it has too much are words that were left over, and those
 * cost us a thread, not the process. */
#ifndef CRESSET_GPU_ATTACH_THREAD_H
#define CRESSET_GPU_ATTACH_THREAD_H

#include "gpu/attach_symbols.h"

/* The name of a call in which a thread may be stopped; NULL: of no such call. */
const char *attach_parking_call(int nr);

struct attach_place { /* where a thread is */
	int nr;
	uint64_t arg0, sp, pc;
};
/* With stack_end: the end of the mapping that sp is in. */
bool attach_place_is_safe(uint32_t pid, const struct attach_place *p, uint64_t stack_end,
			  const struct attach_symbols *symbols);
/* The end of the mapping that has the address; 0: none has. */
uint64_t attach_stack_end(uint32_t pid, const struct gpu_attach_view *view, uint64_t sp);

/* Whether ptrace can stop it and have it do system calls: it is not stopped, not in a disk's wait, not frozen by its cgroup, and unless that is forced its system calls are
 * not filtered (seccomp is each thread's own). False when it is gone. */
bool attach_can_call(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts);

/* The threads there are, at most max. */
size_t attach_threads(uint32_t pid, uint32_t *tids, size_t max);

struct attach_thread {
	uint32_t tid;
	char name[16];
	struct attach_place place;
	uint64_t stack_end;
};
struct attach_choice {
	uint32_t threads, parked; /* looked at, and safe */
	uint32_t kept_out; /* in one of the calls, but filtered, frozen or not to be interrupted */
	struct attach_thread best; /* when parked */
};
/* skip: a thread that turned out to be of no use, or 0. 0, or -ESRCH. */
int attach_choose(uint32_t pid, const struct gpu_attach_opts *opts,
		  const struct attach_symbols *symbols, uint32_t skip, struct attach_choice *out);

#endif
