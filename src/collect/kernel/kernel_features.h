/* collect/kernel/kernel_features.h: optional kernel features that the programs of bpf/ can use, and
 * the groups of programs that this kernel cannot run. Each is detected from the kernel's types
 * (collect/kernel/kernel_types.h) or by a trial, never from the kernel's version: distributions
 * backport. The version next to each feature is the first that had it. */
#ifndef CRESSET_COLLECT_KERNEL_KERNEL_FEATURES_H
#define CRESSET_COLLECT_KERNEL_KERNEL_FEATURES_H

#include "collect/kernel/missing.h"
#include "collect/kernel/sampler_opts.h"

#include <stdbool.h>
#include <stdint.h>

enum kernel_feature {
	FEATURE_CURRENT_TASK = 1 << 0,   /* bpf_get_current_task_btf: 5.11 */
	FEATURE_TASK_STORAGE = 1 << 1,   /* 5.11 */
	FEATURE_TASK_REGS = 1 << 2,      /* bpf_task_pt_regs: 5.15 */
	FEATURE_ATTACH_COOKIE = 1 << 3,  /* bpf_get_attach_cookie: 5.15 */
	FEATURE_COPY_FROM_TASK = 1 << 4, /* bpf_copy_from_user_task, in sleepable iterators: 5.18 */
	FEATURE_PREV_STATE = 1 << 5,     /* sched_switch passes the state: 5.18 */
	FEATURE_GROWING_TABLES = 1 << 6, /* sampling programs may use hash tables that grow: 6.1 */
	FEATURE_UPROBE_MULTI = 1 << 7,   /* many probes with one link: 6.6 */
	FEATURE_SCHED_EXIT = 1 << 8,     /* sched_exit_tp: 6.16 */
	FEATURE_IRQ_EVENTS = 1 << 9,     /* tracepoints of interrupts that every machine has */
	FEATURE_X86_VECTORS = 1 << 10,   /* and of the ones that x86 has */
	FEATURE_SLEEPERS_MOVE =
		1 << 11, /* sleeping threads may still be queued, and move to another queue: 6.12 */
	FEATURE_BUSY_TIME = 1 << 12, /* how long a CPU's tasks have run: CONFIG_SCHEDSTATS */
	FEATURE_LOOP = 1 << 13,      /* bpf_loop: 5.17 */
};

struct kernel_features {
	uint32_t has; /* bits of enum kernel_feature */
	/* Why a group cannot be recorded here; "": no reason known. The last entry: why nothing can
	 * be recorded. */
	char why_not[COLLECT_GROUPS + 1][200];
};

/* btf_file: replaces the running kernel's types; NULL: use those. without: feature bits to treat as
 * absent (tests). */
void kernel_features_find(const char *btf_file, uint32_t without, struct kernel_features *out);

#endif
