/* collect/resolve/wait_reason.h: why a thread is blocked, from the functions on its kernel stack
 * and its system call.
 *
 * Kernel functions are identified by address: those in the table are looked up once in
 * /proc/kallsyms, which is read as a stream and not retained. If it hides addresses, only the
 * number of the system call is used. */
#ifndef CRESSET_COLLECT_RESOLVE_WAIT_REASON_H
#define CRESSET_COLLECT_RESOLVE_WAIT_REASON_H

#include "base/vec.h"
#include "profile/state.h"

#include <stdint.h>

struct event_stack;

struct wait_place {
	uint64_t start, end;
	uint32_t rule;
};
struct wait_reasons {                  /* zeroed = empty: by system call only */
	VEC(struct wait_place) places; /* by start */
};

/* Reads text like /proc/kallsyms, in the same order by address. */
void wait_reasons_read(struct wait_reasons *r, const char *path);
void wait_reasons_done(struct wait_reasons *r);

/* Returns the reason for the stack of a wait: its kernel part, leaf first, and its system call. */
enum wait_reason wait_reason_of(const struct wait_reasons *r, const struct event_stack *st);

#endif
