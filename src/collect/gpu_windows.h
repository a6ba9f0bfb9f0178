/* collect/gpu_windows.h: windows of one program from time to time, under a budget (gpu/window.h): asked for through its ring, closed by its
 * library, which says what they have cost. */
#ifndef CRESSET_COLLECT_GPU_WINDOWS_H
#define CRESSET_COLLECT_GPU_WINDOWS_H

#include "gpu/ring_read.h"
#include "gpu/window.h"

#include <stdbool.h>
#include <stdint.h>

enum { GPU_WINDOWS_LATE_S = 2 };            /* a library that has not answered then does not */
#define GPU_WINDOWS_AGAIN_NS 10000000000ull /* after one that could not be opened */

struct gpu_windows {
	struct window governor;
	uint64_t at_ns, until_ns; /* the next one, or that which was asked for … */
	uint64_t asked_ns;        /* … then; 0: none was */
	uint64_t reading_ns; /* that reading its records has cost so far: the caller's to add to */
	bool is_given_up;    /* none will open */
};

/* before: what was spent by others is not counted. */
void gpu_windows_init(struct gpu_windows *w, double budget, uint32_t seed,
		      const struct ring_state_now *before, uint64_t now_ns);
/* Ends the one that is over, asks for the next one when that is due. now: the ring's state, before its records were read; want: bits of RING_WANT_*. */
void gpu_windows_run(struct gpu_windows *w, struct ring_reader *ring,
		     const struct ring_state_now *now, uint32_t want, uint32_t stacks_per_s,
		     uint64_t now_ns);

#endif
