/* gpu/ring_look.h: a GPU program's ring seen from outside, without taking it; and given back, and asked for again.
 *
 *     ring_look       what it says of itself, also while an agent reads it
 *     ring_detach     the library closes its window, gives the ring's memory and descriptor back, and sleeps
 *     ring_reattach   it makes a new one; nothing of the program is stopped for that */
#ifndef CRESSET_GPU_RING_LOOK_H
#define CRESSET_GPU_RING_LOOK_H

#include "gpu/ring_read.h"

#define RING_ANSWER_NS 5000000000ull /* the library has that long to do what it is asked */

struct ring_look {
	bool detached;
	bool has_agent; /* one that lives */
	bool is_asked_back;
	struct ring_state_now now; /* times are of this process's clock */
};

/* -ENOENT when it has none, -EPROTO when that is malformed or not ready, or why it may not be looked at. Needs what
 * reading the process's maps needs. */
int ring_look(pid_t pid, uint64_t now_ns, struct ring_look *out, struct err *err);

/* The same of a memfd, which stays the caller's: a ring, or what is left of one; by the program's clock. */
int ring_look_fd(int fd, uint32_t owner, bool stub, uint64_t now_ns, struct ring_look *out,
		 struct err *err);

/* Both wait for at most RING_ANSWER_NS: -ETIMEDOUT when the library does not answer, -ENOMEM when it has no memory or no
 * descriptor for that, -EALREADY when there is nothing to do, -EBUSY when another agent reads it; else as
 * ring_open. */
int ring_detach(pid_t pid, struct err *err);
int ring_reattach(pid_t pid, struct err *err);

#endif
