/* collect/kernel_features.h: what the running kernel has of what programs of bpf/ can use but need not, and which groups of programs it has
 * nothing for. Each is found by looking, at the kernel's types (collect/kernel_types.h) or by a trial, never by the kernel's version:
 * distributions backport. The version beside each is where it came from. */
#ifndef CRESSET_COLLECT_KERNEL_FEATURES_H
#define CRESSET_COLLECT_KERNEL_FEATURES_H

#include "collect/collect.h"

#include <stdbool.h>
#include <stdint.h>

enum kernel_feature {
	FEATURE_CURRENT_TASK = 1 << 0,   /* bpf_get_current_task_btf: 5.11 */
	FEATURE_TASK_STORAGE = 1 << 1,   /* 5.11 */
	FEATURE_TASK_REGS = 1 << 2,      /* bpf_task_pt_regs: 5.15 */
	FEATURE_ATTACH_COOKIE = 1 << 3,  /* bpf_get_attach_cookie: 5.15 */
	FEATURE_COPY_FROM_TASK = 1 << 4, /* bpf_copy_from_user_task, in sleepable iterators: 5.18 */
	FEATURE_PREV_STATE = 1 << 5,     /* sched_switch tells the state: 5.18 */
	FEATURE_GROWING_TABLES = 1 << 6, /* hash tables of sampling programs that grow: 6.1 */
	FEATURE_UPROBE_MULTI = 1 << 7,   /* many probes by one link: 6.6 */
	FEATURE_SCHED_EXIT = 1 << 8,     /* sched_exit_tp: 6.16 */
	FEATURE_IRQ_EVENTS = 1 << 9,     /* tracepoints of interrupts that every machine has */
	FEATURE_X86_VECTORS = 1 << 10,   /* and of those that x86 has */
	FEATURE_SLEEPERS_MOVE =
		1 << 11, /* threads that sleep may be in a queue yet, and move to another: 6.12 */
	FEATURE_BUSY_TIME = 1 << 12, /* how long the tasks of a CPU have run: CONFIG_SCHEDSTATS */
};

struct kernel_features {
	uint32_t has; /* bits of enum kernel_feature */
	/* Why a group cannot be recorded here; "": nothing is known against it. The last one: nothing can. */
	char why_not[COLLECT_GROUPS + 1][200];
};

/* btf_file: in place of the running kernel's types; NULL: those. without: bits that are taken as absent (tests). */
void kernel_features_find(const char *btf_file, uint32_t without, struct kernel_features *out);

#endif
