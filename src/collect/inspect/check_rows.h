/* collect/inspect/check_rows.h: shared by the files of doctor's checks. Only checks*.c and their
 * test include it. */
#ifndef CRESSET_COLLECT_INSPECT_CHECK_ROWS_H
#define CRESSET_COLLECT_INSPECT_CHECK_ROWS_H

#include "collect/kernel/check.h"
#include "collect/kernel/refusal.h"

/* Input of a check. */
struct check_input {
	const struct kernel_opts *kernel; /* as passed to collect_checks */
	struct refusal_facts facts;
};

void check_say(struct check *c, enum check_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void check_remedy(struct check *c, const char *text);

/* Returns whether Linux of this release waits up to 250 ms, with interrupts off, for the lock of a
 * BPF ring that an NMI found held by its own CPU: since the locks of 6.15; fixed in late releases
 * of 6.17 and 6.18, whose numbers differ by distributor. NULL: no; otherwise a description. */
const char *check_ring_freeze(const char *release);

/* checks_allowed.c: the parts that this machine, or the parent of this process, may forbid. */
void check_lockdown(const struct check_input *in, struct check *c);
void check_security_modules(const struct check_input *in, struct check *c);
void check_seccomp(const struct check_input *in, struct check *c);
void check_perf_events(const struct check_input *in, struct check *c);
void check_locked_memory(const struct check_input *in, struct check *c);
void check_memory_cgroup(const struct check_input *in, struct check *c);

#endif
