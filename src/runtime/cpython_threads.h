/* runtime/cpython_threads.h: _PyRuntime → interpreters → threads → frames, in the memory of a process that goes on running: lists may be cut
 * short or lead astray at any time. Each is followed for a bounded number of steps. */
#ifndef CRESSET_RUNTIME_CPYTHON_THREADS_H
#define CRESSET_RUNTIME_CPYTHON_THREADS_H

#include "bpf/cpython.h"
#include "runtime/runtime.h"

enum { CPYTHON_MAX_INTERPRETERS = 1024, CPYTHON_MAX_THREADS = 65536 };

struct cpython_thread {
	uint64_t state, interp;
	uint64_t id; /* its thread pointer; 0: of no thread yet */
};
/* Threads of all interpreters, at most max. */
size_t cpython_threads(const struct cpython_layout *l, uint64_t head_at,
		       const struct runtime_memory *memory, struct cpython_thread *out, size_t max);

/* Whether the layout fits the process: a thread of it that leads back to its interpreter, and whose id is a thread pointer. 0; -EAGAIN: there
 * is no thread yet; -ENOTSUP: there are, and none fits. */
int cpython_threads_check(const struct cpython_layout *l, uint64_t head_at,
			  const struct runtime_memory *memory);

/* The words of a frame in a stack, as the walker in bpf/ puts them. */
struct cpython_frame {
	uint64_t words[2];
};
/* Of a thread state, innermost first; frames that are not complete are among them. */
size_t cpython_frames(const struct cpython_layout *l, uint64_t state,
		      const struct runtime_memory *memory, struct cpython_frame *out, size_t max);

#endif
