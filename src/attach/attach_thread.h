/* attach/attach_thread.h: which thread of a process can be stopped and made to call pthread_create.
 *
 * It must be parked in a system call, and hold no lock of malloc or of the loader. The call shows
 * most of it: no thread polls in the middle of malloc. Its stack shows the rest: a thread is unsafe
 * if any word from the stack pointer to the end of the mapping could be a return address into
 * malloc or the loader, or into code that signal handlers return to. Unlike an unwinder, this
 * cannot miss a frame. It may find stale words, but those cost us a thread, not the process. */
#ifndef CRESSET_ATTACH_ATTACH_THREAD_H
#define CRESSET_ATTACH_ATTACH_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_symbols;
struct gpu_attach_opts;
struct gpu_attach_view;

/* Returns the name of a call in which a thread may be stopped; NULL: it is no such call. */
const char *attach_parking_call(int nr);

struct attach_place { /* where a thread is */
	int nr;
	uint64_t arg0, sp, pc;
};
/* stack_end: the end of the mapping that sp is in. */
bool attach_place_is_safe(uint32_t pid, const struct attach_place *p, uint64_t stack_end,
			  const struct attach_symbols *symbols);
/* Returns the end of the mapping that has the address; 0: none. */
uint64_t attach_stack_end(uint32_t pid, const struct gpu_attach_view *view, uint64_t sp);

/* Returns whether ptrace can stop it and make it do system calls: it is not stopped, not in a disk
 * wait, not frozen by its cgroup, and, unless overridden, its system calls are not filtered
 * (seccomp is per thread). False when it is gone. */
bool attach_can_call(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts);

/* Lists the threads, at most max. */
size_t attach_threads(uint32_t pid, uint32_t *tids, size_t max);

struct attach_thread {
	uint32_t tid;
	char name[16];
	struct attach_place place;
	uint64_t stack_end;
};
struct attach_choice {
	uint32_t threads, parked;  /* examined; and safe */
	uint32_t kept_out;         /* in such a call, but filtered, frozen or uninterruptible */
	struct attach_thread best; /* valid if parked */
};
/* skip: a thread that turned out to be unusable, or 0. Returns 0, or -ESRCH. */
int attach_choose(uint32_t pid, const struct gpu_attach_opts *opts,
		  const struct attach_symbols *symbols, uint32_t skip, struct attach_choice *out);

#endif
