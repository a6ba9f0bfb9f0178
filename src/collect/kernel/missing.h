/* collect/kernel/missing.h: describes what a recording lacks because this kernel refused a part of
 * it, or because something is newer than what Cresset knows. */
#ifndef CRESSET_COLLECT_KERNEL_MISSING_H
#define CRESSET_COLLECT_KERNEL_MISSING_H

struct err;

/* A part of a recording that a kernel may refuse separately. */
enum collect_group {
	GROUP_WALKER = 0,
	GROUP_RUNTIMES,
	GROUP_WAITS,
	GROUP_WAKERS,
	GROUP_GPU,
	GROUP_FAULTS,
	GROUP_PYTHONS, /* not of the kernel: interpreters that the walker does not know */
	COLLECT_GROUPS,
};
/* A group that was requested but is not recorded, and why. */
struct collect_missing {
	enum collect_group group;
	/* One line: "the kernel's verifier refuses off_sys_exit: R2 min value is outside …",
	 * "this kernel has no task_struct.sched_info". */
	char why[200];
};

struct collect_feature {
	const char *name; /* in metrics and JSON: "waits" */
	const char *lost; /* "no waits are recorded" */
};
extern const struct collect_feature collect_features[COLLECT_GROUPS];

/* Sets err to "no waits are recorded: WHY", with a hint on what to do. */
void collect_missing_words(const struct collect_missing *m, struct err *err);

#endif
