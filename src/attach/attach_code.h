/* attach/attach_code.h: code that runs in the process: a page of code, a page of words next to it,
 * room for vector registers, and a stack.
 *
 *     0        code            read and execute, private
 *     4096     struct attach_words      ┐
 *     8192     vector registers, 16 KiB │ read and write, shared with us by the descriptor
 *     24576    a stack, 64 KiB          ┘
 *
 * The stopped thread enters at 0, makes the rest writable, calls pthread_create, sets `done` and
 * parks. The tracer then restores its registers. If no tracer does within 2.5 s, the thread
 * restores them itself, from words.regs. The new thread opens a descriptor, waits until it is
 * filled, loads it, unmaps all of this and ends. If it is not filled within 10 s, it ends without
 * loading.
 *
 * We only pread and pwrite the words, because the process could truncate a mapping of ours. The
 * words that we read may be anything. */
#ifndef CRESSET_ATTACH_ATTACH_CODE_H
#define CRESSET_ATTACH_ATTACH_CODE_H

#include <stddef.h>
#include <stdint.h>

enum {
	ATTACH_WORDS = 4096,
	ATTACH_VECTORS = 8192,
	ATTACH_STACK = ATTACH_VECTORS + 16384,
	ATTACH_BYTES = ATTACH_STACK + 65536,
};

/* The order of words.regs. */
enum attach_reg {
	ATTACH_RAX,
	ATTACH_RBX,
	ATTACH_RCX,
	ATTACH_RDX,
	ATTACH_RSI,
	ATTACH_RDI,
	ATTACH_RBP,
	ATTACH_RSP,
	ATTACH_R8,
	ATTACH_R9,
	ATTACH_R10,
	ATTACH_R11,
	ATTACH_R12,
	ATTACH_R13,
	ATTACH_R14,
	ATTACH_R15,
	ATTACH_RIP,
	ATTACH_FLAGS,
	ATTACH_REGS,
};

struct attach_words {
	/* Functions in the process; dlerror may be 0. */
	uint64_t pthread_create, pthread_detach, dlopen, dlerror, munmap, errno_location;
	uint64_t thread;      /* pthread_t of the new one */
	uint64_t mask;        /* signals that the stopped thread blocks */
	uint64_t thread_mask; /* signals that the new thread blocks */
	uint64_t regs[ATTACH_REGS];
	int32_t create_rc;            /* of pthread_create */
	int32_t done;                 /* pthread_create has returned */
	int32_t stage;                /* of the new thread: enum attach_stage */
	int32_t go;                   /* 1: load; 2: end without loading */
	int32_t fd;                   /* the descriptor it opened, or -errno */
	uint32_t tid;                 /* of the new thread, in its own namespace */
	uint64_t open_nr, open_flags; /* how to open it: memfd_create or open of `name` */
	uint64_t handle;              /* what dlopen returned */
	uint64_t saved_errno;
	char name[128];
	char path[64]; /* for dlopen */
	char error[256];
	uint8_t sched[64]; /* struct sched_attr of the stopped thread, original */
	/* if the word it points to is not 0, pthread_create is not called: create_rc is -EAGAIN */
	uint64_t loader_lock;
};
enum attach_stage { ATTACH_STARTING, ATTACH_OPENED, ATTACH_FINISHED };

_Static_assert(offsetof(struct attach_words, thread) == 48, "the code knows it by its number");
_Static_assert(offsetof(struct attach_words, regs) == 72, "as above");
_Static_assert(offsetof(struct attach_words, create_rc) == 216, "as above");
_Static_assert(offsetof(struct attach_words, open_nr) == 240, "as above");
_Static_assert(offsetof(struct attach_words, saved_errno) == 264, "as above");
_Static_assert(offsetof(struct attach_words, name) == 272, "as above");
_Static_assert(offsetof(struct attach_words, path) == 400, "as above");
_Static_assert(offsetof(struct attach_words, error) == 464, "as above");
_Static_assert(offsetof(struct attach_words, sched) == 720, "as above");
_Static_assert(offsetof(struct attach_words, loader_lock) == 784, "as above");

extern const uint8_t attach_code[ATTACH_WORDS] __attribute__((visibility("hidden")));
/* Positions in the code: from attach_code_park on the stopped thread waits or restores itself, and
 * has nothing else to do; attach_code_thread is the start of the new thread's part. */
extern const uint8_t attach_code_park[] __attribute__((visibility("hidden")));
extern const uint8_t attach_code_thread[] __attribute__((visibility("hidden")));

#endif
