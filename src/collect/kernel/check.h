/* collect/kernel/check.h: one check of doctor and its result. */
#ifndef CRESSET_COLLECT_KERNEL_CHECK_H
#define CRESSET_COLLECT_KERNEL_CHECK_H

enum check_state { CHECK_OK, CHECK_LIMITED, CHECK_MISSING };
struct check {
	const char *name; /* "BPF programs", "kernel symbols", "hardware counters" … */
	enum check_state state;
	char detail[240], remedy[300];
};

#endif
