/* collect/wait_reason.h: why a thread is blocked, from where it stands in the kernel and from its system call.
 *
 * Kernel functions are told apart by their addresses: those in the table are looked up once in /proc/kallsyms, which is read as a
 * stream and not kept. Where it hides them only the number of the system call is left. */
#ifndef CRESSET_COLLECT_WAIT_REASON_H
#define CRESSET_COLLECT_WAIT_REASON_H

#include "base/vec.h"
#include "bpf/event.h"
#include "profile/state.h"

#include <stdint.h>

struct wait_place {
	uint64_t start, end;
	uint32_t rule;
};
struct wait_reasons {                  /* zeroed = empty: by system call only */
	VEC(struct wait_place) places; /* by start */
};

/* Reads text like /proc/kallsyms, sorted by address as that is. */
void wait_reasons_read(struct wait_reasons *r, const char *path);
void wait_reasons_done(struct wait_reasons *r);

/* Of the stack of a wait: its kernel part, leaf first, and its system call. */
enum wait_reason wait_reason_of(const struct wait_reasons *r, const struct event_stack *st);

#endif
