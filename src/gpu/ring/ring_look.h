/* gpu/ring/ring_look.h: inspects a GPU program's ring without reading its records; releases it, and
 * requests it again.
 *
 *     ring_look       its state, also while an agent reads it
 *     ring_detach     the library closes its window, releases the ring's memory and descriptor, and
 *                     sleeps
 *     ring_reattach   the library creates a new ring; nothing in the program is stopped for that */
#ifndef CRESSET_GPU_RING_RING_LOOK_H
#define CRESSET_GPU_RING_RING_LOOK_H

#include "gpu/ring/ring_read.h"

struct err;

#define RING_ANSWER_NS 5000000000ull /* time that the library has to handle a request */

struct ring_look {
	bool detached;
	bool has_agent; /* a live one */
	bool is_asked_back;
	struct ring_state_now now; /* times are on this process's clock */
};

/* Returns -ENOENT if it lacks one, -EPROTO if it is malformed or not ready, or the error if it may
 * not be inspected. Needs the permission to read the process's maps. */
int ring_look(pid_t pid, uint64_t now_ns, struct ring_look *out, struct err *err);

/* The same for a memfd, which stays the caller's: a ring or a stub; times are on the program's
 * clock. */
int ring_look_fd(int fd, uint32_t owner, bool stub, uint64_t now_ns, struct ring_look *out,
		 struct err *err);

/* Both wait for at most RING_ANSWER_NS. They return -ETIMEDOUT if the library does not respond,
 * -ENOMEM if it lacks memory or a descriptor, -EALREADY if there is nothing to do, -EBUSY if
 * another agent reads the ring, which has to end first, as the control words do not distinguish two
 * agents; else as ring_open. */
int ring_detach(pid_t pid, struct err *err);
int ring_reattach(pid_t pid, struct err *err);

#endif
