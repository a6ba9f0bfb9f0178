/* Detects features, and the groups of programs that this kernel cannot run. */
#include "collect/kernel/kernel_features.h"

#include "base/mem.h"
#include "collect/kernel/kernel_types.h"
#include "collect/worker/probe_link.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- detected by a trial ---------------------------------------------------------------------- */

/* Returns whether a sampling program may use a hash table that is not preallocated. */
static bool has_growing_tables(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "cresset_trial", 4, 4, 1, &opts);
	const struct bpf_insn program[] = {
		{ BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map },
		{ 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	if (map < 0)
		return false;
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "cresset_trial", "GPL", program,
			       sizeof program / sizeof *program, NULL);
	close(map);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* --- all -------------------------------------------------------------------------------------- */

enum { NAMES_MAX = 6 };
/* A feature is there if the kernel's types have all the names, and the trial, if any, succeeds. */
static const struct {
	enum kernel_feature feature;
	const char *names[NAMES_MAX + 1];
	bool (*trial)(void);
} features[] = {
	{ FEATURE_CURRENT_TASK, { "bpf_get_current_task_btf" }, NULL },
	{ FEATURE_TASK_STORAGE, { "bpf_task_storage_get", "BPF_MAP_TYPE_TASK_STORAGE" }, NULL },
	{ FEATURE_TASK_REGS, { "bpf_task_pt_regs" }, NULL },
	{ FEATURE_ATTACH_COOKIE, { "bpf_get_attach_cookie" }, NULL },
	{ FEATURE_LOOP, { "bpf_loop" }, NULL },
	{ FEATURE_COPY_FROM_TASK, { "bpf_copy_from_user_task", "bpf_loop" }, NULL },
	{ FEATURE_PREV_STATE, { "sched_switch.prev_state" }, NULL },
	{ FEATURE_GROWING_TABLES, { NULL }, has_growing_tables },
	{ FEATURE_UPROBE_MULTI, { NULL }, probe_link_has_multi },
	{ FEATURE_SCHED_EXIT, { "sched_exit_tp" }, NULL },
	{ FEATURE_SLEEPERS_MOVE, { "task_struct.se.sched_delayed", "sched_migrate_task" }, NULL },
	{ FEATURE_BUSY_TIME,
	  { "rq.rq_cpu_time", "task_struct.se.cfs_rq", "task_struct.sched_info.last_arrival" },
	  NULL },
	{ FEATURE_IRQ_EVENTS,
	  { "irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit" },
	  NULL },
	{ FEATURE_X86_VECTORS,
	  { "local_timer_entry", "local_timer_exit", "call_function_single_entry",
	    "call_function_single_exit", "irq_work_entry", "irq_work_exit" },
	  NULL },
};
/* Features that cannot be used without another one. */
static const struct {
	enum kernel_feature feature, needs;
} needs[] = {
	{ FEATURE_TASK_STORAGE, FEATURE_CURRENT_TASK },
	{ FEATURE_TASK_REGS, FEATURE_CURRENT_TASK },
};

static bool has_names(const struct kernel_verdict *types, const char *const *names)
{
	while (*names && kernel_types_has(types, *names))
		names++;
	return !*names;
}

static uint32_t find(const struct kernel_verdict *types, uint32_t without)
{
	uint32_t has = 0;

	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (!(without & features[i].feature) && has_names(types, features[i].names) &&
		    (!features[i].trial || features[i].trial()))
			has |= features[i].feature;
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (!(has & needs[i].needs))
			has &= ~needs[i].feature;
	return has;
}

/* Finds the first thing that each group lacks. */
static void find_lacks(const struct kernel_verdict *types, struct kernel_features *out)
{
	for (size_t i = types->n; i-- > 0;)
		for (int g = 0; g <= COLLECT_GROUPS; g++)
			if (types->lacks[i].lost & (1u << g))
				snprintf(out->why_not[g], sizeof out->why_not[g], "%.199s",
					 types->lacks[i].text);
}

void kernel_features_find(const char *btf_file, uint32_t without, struct kernel_features *out)
{
	struct btf *btf = btf_file ? btf__parse(btf_file, NULL) : btf__load_vmlinux_btf();
	struct kernel_verdict *types = xcalloc(1, sizeof *types);

	*out = (struct kernel_features){ 0 };
	kernel_types_check(btf, types);
	out->has = find(types, without);
	find_lacks(types, out);
	if (access("/sys/kernel/btf/vmlinux", R_OK)) { /* the programs of these attach to it */
		snprintf(out->why_not[GROUP_WAITS], sizeof out->why_not[GROUP_WAITS],
			 "this kernel does not publish its types (/sys/kernel/btf/vmlinux)");
		snprintf(out->why_not[GROUP_FAULTS], sizeof out->why_not[GROUP_FAULTS], "%s",
			 out->why_not[GROUP_WAITS]);
	}
	free(types);
	btf__free(btf);
}
