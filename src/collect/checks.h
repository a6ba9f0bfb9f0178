/* collect/checks.h: what the files of doctor's checks share. Only checks*.c include it. */
#ifndef CRESSET_COLLECT_CHECKS_H
#define CRESSET_COLLECT_CHECKS_H

#include "collect/collect.h"
#include "collect/refusal.h"

/* What one row looks at. */
struct check_input {
	const struct collect_opts *kernel; /* as of collect_checks */
	struct refusal_facts facts;
};

void check_say(struct check *c, enum check_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void check_remedy(struct check *c, const char *text);

/* checks_allowed.c: what this machine and who started this process may forbid. */
void check_lockdown(const struct check_input *in, struct check *c);
void check_security_modules(const struct check_input *in, struct check *c);
void check_seccomp(const struct check_input *in, struct check *c);
void check_perf_events(const struct check_input *in, struct check *c);
void check_locked_memory(const struct check_input *in, struct check *c);
void check_memory_cgroup(const struct check_input *in, struct check *c);

#endif
