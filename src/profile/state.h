/* profile/state.h: the state of a thread in a sample, given by a marker frame at the leaf of its
 * stack.
 *
 *     main;read_file;pread64;[blocked: disk I/O]            it waited, with the reason
 *     main;work;[sched-wait]                                it was ready to run, but had no CPU
 *     main;train;cudaDeviceSynchronize;[waiting for GPU]    it was in a call that waits for a GPU,
 *                                                           on the CPU or not
 *     main;read_file;[off-CPU]                              it waited; the input file does not
 *                                                           give the reason
 *     [off-CPU below 1ms]                                   sum of waits too short for a
 *                                                           stack
 *     [on-CPU, not sampled]                                 CPU time of a thread without any
 *                                                           sample
 *     main;work                                             no marker: the type decides; on
 *                                                           the CPU in `wall` and `cpu`
 *
 * The waker (--wakers) may follow the marker. */
#ifndef CRESSET_PROFILE_STATE_H
#define CRESSET_PROFILE_STATE_H

#include <stddef.h>
#include <stdint.h>

struct profile;

enum thread_state {
	STATE_UNSAID = 0,
	STATE_ON_CPU,
	STATE_OFF_CPU,
	STATE_SCHED_WAIT,
	STATE_GPU_WAIT,
	THREAD_STATES
};
extern const char *const
	thread_state_names[THREAD_STATES]; /* "", "on-cpu", "off-cpu", "sched-wait", "gpu-wait" */

/* Why a thread is blocked: the text in the brackets, as in "[blocked: futex/lock]". */
enum wait_reason {
	WAIT_OTHER = 0,
	WAIT_FUTEX,
	WAIT_SLEEP,
	WAIT_POLL,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_DISK,
	WAIT_PAGE_FAULT,
	WAIT_CHILD,
	WAIT_STOPPED, /* by a signal or a tracer; in `wall` only */
	WAIT_REASONS
};
extern const char *const wait_reason_names[WAIT_REASONS]; /* "other", "futex/lock", … */

#define STATE_SCHED_WAIT_MARKER "[sched-wait]"
#define STATE_GPU_WAIT_MARKER   "[waiting for GPU]"
/* The root frame by which samplers of JavaScript say that the event loop waited. */
#define STATE_IDLE_FRAME        "(idle)"
#define STATE_ON_MARKER         "[on-CPU, not sampled]"
#define STATE_OFF_MARKER        "[off-CPU, not sampled]"
#define STATE_OFF_CPU_MARKER    "[off-CPU]"
/* After a marker, followed by the waker: "bash (12)]". */
#define STATE_WOKEN_BY          "[woken by: "
/* In `lock`, after the stack that waits: the thread that unlocked it, with its stack, or the reason
 * why it is not known; then the lock, "[lock: app+0x4040]" or "[lock]". */
#define STATE_LOCK_MARKER       "[lock"
#define STATE_HELD_BY           "[held by: "
#define STATE_STILL_HELD_MARKER "[still held]"
#define STATE_NO_HOLDER_MARKER  "[not unlocked]"
/* In place of the stack that waits: Go's profile has only the one that unlocks. */
#define STATE_GOROUTINES_MARKER "[goroutines]"

/* Returns the state given by a marker frame's name. */
enum thread_state state_of_marker(const char *name, size_t len);
/* Returns the text after "blocked: " in it (without a NUL), or NULL. */
const char *state_reason(const char *name, size_t len, size_t *reason_len);

/* For a marker of a sum of short waits ("[off-CPU below 1ms]"): returns the upper limit of one
 * wait; 0 for others. */
uint64_t state_below_ns(const char *name, size_t len);

/* Returns the state of a sample of this type (by name) whose stack has no marker. */
enum thread_state state_of_type(const char *type_name);
/* Same for a type of p. A `wall` type whose period is wall time too comes from a sampler that looks
 * at running and waiting threads alike: unsaid, unless some stacks of p say that they wait. */
enum thread_state state_of_type_in(const struct profile *p, uint32_t type);

struct stack_state {
	enum thread_state state;
	uint32_t reason; /* string; 0: none */
};
/* Returns the state given by the marker nearest to the leaf. */
struct stack_state state_of_stack(struct profile *p, uint32_t stack);

#endif
