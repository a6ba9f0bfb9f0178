/* profile/state.h: what a thread was doing in a sample, told by a marker frame at the leaf of its stack.
 *
 *     main;read_file;pread64;[blocked: disk I/O]            it waited, and for what
 *     main;work;[sched-wait]                                it was ready to run, but had no CPU
 *     main;train;cudaDeviceSynchronize;[waiting for GPU]    it was in a call that waits for a GPU, on the CPU or not
 *     main;read_file;[off-CPU]                              it waited; the file it was read from does not say for what
 *     [off-CPU below 1ms]                                   waits too short for a stack, all together
 *     [on-CPU, not sampled]                                 time on the CPU of a thread that no sample met
 *     main;work                                             none of them: what the type says; on the CPU in `wall` and `cpu`
 *
 * What ended a wait (--wakers) may follow behind the marker. */
#ifndef CRESSET_PROFILE_STATE_H
#define CRESSET_PROFILE_STATE_H

#include "profile/profile.h"

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

/* Why a thread is blocked: the words in the brackets, as in "[blocked: futex/lock]". */
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
#define STATE_ON_MARKER         "[on-CPU, not sampled]"
#define STATE_OFF_MARKER        "[off-CPU, not sampled]"
#define STATE_OFF_CPU_MARKER    "[off-CPU]"
#define STATE_WOKEN_BY          "[woken by: " /* behind a marker: what ended the wait, "bash (12)]" */

/* Of a marker frame's name. */
enum thread_state state_of_marker(const char *name, size_t len);
/* What is behind "blocked: " in it (not ended by NUL), NULL without that. */
const char *state_reason(const char *name, size_t len, size_t *reason_len);

/* Of a marker of waits that were added up because they are short ("[off-CPU below 1ms]"): how long one of them can be; 0 of others. */
uint64_t state_below_ns(const char *name, size_t len);

/* What a sample of this type (by name) was doing whose stack has no marker. */
enum thread_state state_of_type(const char *type_name);

struct stack_state {
	enum thread_state state;
	uint32_t reason; /* string; 0: none */
};
/* Of the marker that is nearest to the leaf. */
struct stack_state state_of_stack(struct profile *p, uint32_t stack);

#endif
