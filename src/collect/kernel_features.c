#include "collect/kernel_features.h"

#include "collect/gpu_link.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- in the kernel's types -------------------------------------------------------------------------------------------- */

static const struct btf_type *tracepoint(const struct btf *btf, const char *name)
{
	char type[64];

	snprintf(type, sizeof type, "btf_trace_%s", name);
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	return id > 0 ? btf__type_by_id(btf, id) : NULL;
}

/* The number of a tracepoint's arguments. */
static int n_args(const struct btf *btf, const char *name)
{
	const struct btf_type *t = tracepoint(btf, name);

	for (int depth = 0; t && depth < 4 && !btf_is_func_proto(t); depth++)
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0;
}

static bool has_sched_exit(const struct btf *btf)
{
	return tracepoint(btf, "sched_exit_tp");
}

static bool has_prev_state(const struct btf *btf)
{
	return n_args(btf, "sched_switch") >= 4;
}

static bool has_interrupts(const struct btf *btf)
{
	static const char *const names[] = { "irq_handler", "softirq", "local_timer",
					     "call_function_single", "irq_work" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char entry[48];

		snprintf(entry, sizeof entry, "%s_entry", names[i]);
		if (!tracepoint(btf, entry))
			return false;
	}
	return true;
}

/* --- by a trial ------------------------------------------------------------------------------------------------------- */

static bool has_task_storage(const struct btf *btf)
{
	(void)btf;
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
}

/* Whether a sampling program may use a table that is not allocated beforehand. */
static bool has_growing_tables(const struct btf *btf)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "cresset_trial", 4, 4, 1, &opts);
	const struct bpf_insn program[] = {
		{ BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map },
		{ 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};

	(void)btf;
	if (map < 0)
		return false;
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "cresset_trial", "GPL", program,
			       sizeof program / sizeof *program, NULL);
	close(map);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_uprobe_multi(const struct btf *btf)
{
	(void)btf;
	return gpu_link_has_multi();
}

/* --- all -------------------------------------------------------------------------------------------------------------- */

/* A row is there when the kernel knows the helper, where one is named, and the function says so, where there is one. A helper's number in
 * enum bpf_func_id is proof that it is there; a function of its name need not be. */
static const struct {
	enum kernel_feature feature;
	const char *helper;
	bool (*has)(const struct btf *btf);
} features[] = {
	{ FEATURE_CURRENT_TASK, "BPF_FUNC_get_current_task_btf", NULL },
	/* 5.11 and 5.12 have the map, but for other programs or with flaws: the helper beside is of 5.13. */
	{ FEATURE_TASK_STORAGE, "BPF_FUNC_for_each_map_elem", has_task_storage },
	{ FEATURE_TASK_REGS, "BPF_FUNC_task_pt_regs", NULL },
	{ FEATURE_ATTACH_COOKIE, "BPF_FUNC_get_attach_cookie", NULL },
	{ FEATURE_COPY_FROM_TASK, "BPF_FUNC_copy_from_user_task", NULL },
	{ FEATURE_PREV_STATE, NULL, has_prev_state },
	{ FEATURE_GROWING_TABLES, NULL, has_growing_tables },
	{ FEATURE_UPROBE_MULTI, NULL, has_uprobe_multi },
	{ FEATURE_SCHED_EXIT, NULL, has_sched_exit },
	{ FEATURE_INTERRUPTS, NULL, has_interrupts },
};
/* What a feature cannot be used without. */
static const struct {
	enum kernel_feature feature, needs;
} needs[] = {
	{ FEATURE_TASK_STORAGE, FEATURE_CURRENT_TASK },
	{ FEATURE_TASK_REGS, FEATURE_CURRENT_TASK },
};

static bool has_helper(const struct btf *btf, const struct btf_type *helpers, const char *name)
{
	const struct btf_enum *e = btf_enum(helpers);

	for (int i = 0; i < btf_vlen(helpers); i++)
		if (strcmp(btf__name_by_offset(btf, e[i].name_off), name) == 0)
			return true;
	return false;
}

static uint32_t find(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *helpers = id > 0 ? btf__type_by_id(btf, id) : NULL;
	uint32_t has = 0;

	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if ((!features[i].helper ||
		     (helpers && has_helper(btf, helpers, features[i].helper))) &&
		    (!features[i].has || features[i].has(btf)))
			has |= features[i].feature;
	return has;
}

void kernel_features_find(const char *btf_file, uint32_t without, struct kernel_features *out)
{
	struct btf *btf = btf_file ? btf__parse(btf_file, NULL) : btf__load_vmlinux_btf();

	*out = (struct kernel_features){ .is_btf_own = access("/sys/kernel/btf/vmlinux", R_OK) == 0 };
	if (!btf)
		return;
	out->has_waits = out->is_btf_own && tracepoint(btf, "sched_switch");
	out->has = find(btf) & ~without;
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (!(out->has & needs[i].needs))
			out->has &= ~needs[i].feature;
	btf__free(btf);
}
