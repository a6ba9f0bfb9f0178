/* attach/attach_thread.h: which thread of a process can be stopped and made to call pthread_create.
 *
 * It must hold no lock of malloc or of the loader. Two kinds of thread are considered:
 *
 *     parked      in a system call that shows most of it: no thread polls in the middle of malloc.
 *                 Its stack shows the rest. No word of it from the stack pointer to the end of the
 *                 mapping may be a return address into malloc or the loader, or into code that
 *                 signal handlers return to. Words may be stale, so a thread with such a word is
 *                 stopped, and its frames decide (attach/attach_frames.h). If the frames do not
 *                 end, the words stand. A thread without such a word is taken first.
 *     running     outside the C library, the loader and restartable sequences, by its frames alone
 *
 * If the program contains an allocator, its inner functions have no known names, and frames are
 * examined first: one of its functions, or a frame that calls one, makes the thread unsafe. */
#ifndef CRESSET_ATTACH_ATTACH_THREAD_H
#define CRESSET_ATTACH_ATTACH_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_frames;
struct attach_symbols;
struct gpu_attach_opts;
struct gpu_attach_view;

/* Returns the name of a call in which a thread may be stopped; NULL: it is no such call. */
const char *attach_parking_call(int nr);

struct attach_place { /* where a thread is */
	int nr;
	uint64_t arg0, sp, pc;
};
enum attach_stack_words {
	ATTACH_NOT_PARKED, /* in no such call, or in a futex of an unknown lock */
	ATTACH_WORDS_SPEAK_AGAINST,
	ATTACH_WORDS_CLEAR,
};
/* Looks at the words of its stack. stack_end: the end of the mapping that sp is in. */
enum attach_stack_words attach_place_words(uint32_t pid, const struct attach_place *p,
					   uint64_t stack_end,
					   const struct attach_symbols *symbols);
/* Decides about a stopped thread. regs: as struct pt_regs. */
bool attach_parked_is_safe(uint32_t pid, const struct attach_place *p, uint64_t stack_end,
			   const uint64_t *regs, struct attach_frames *frames,
			   const struct attach_symbols *symbols);
/* The same for a thread in no system call. thread_pointer: its fs base. */
bool attach_running_is_safe(uint32_t pid, uint32_t tid, const uint64_t *regs,
			    uint64_t thread_pointer, struct attach_frames *frames,
			    const struct attach_symbols *symbols);
/* Returns the end of the mapping that has the address; 0: none. */
uint64_t attach_stack_end(uint32_t pid, const struct gpu_attach_view *view, uint64_t sp);

/* Returns whether ptrace can stop it and make it do system calls: it is not stopped, not in a disk
 * wait, not frozen by its cgroup, and, unless overridden, its system calls are not filtered
 * (seccomp is per thread). False when it is gone. */
bool attach_can_call(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts);

/* Returns whether it can be stopped outside a system call: it is ready to run, and can make
 * calls. */
bool attach_may_run(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts);

/* Lists the threads, at most max. */
size_t attach_threads(uint32_t pid, uint32_t *tids, size_t max);

struct attach_thread {
	uint32_t tid;
	char name[16];
	struct attach_place place;
	uint64_t stack_end;
	enum attach_stack_words words;
};
struct attach_choice {
	uint32_t threads, parked;  /* examined; and safe, or to be decided by its frames */
	uint32_t kept_out;         /* in such a call, but filtered, frozen or uninterruptible */
	struct attach_thread best; /* valid if parked */
};
/* skip: a thread that turned out to be unusable, or 0. Returns 0, or -ESRCH. */
int attach_choose(uint32_t pid, const struct gpu_attach_opts *opts,
		  const struct attach_symbols *symbols, uint32_t skip, struct attach_choice *out);

#endif
