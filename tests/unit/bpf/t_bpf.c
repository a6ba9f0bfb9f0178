// tier: test
// tier: live CRESSET_CLANG=19
// parts: 2
/* The BPF objects, built by each supported clang, load with every filter in every variant, within the budget of verified instructions. They are built
 * before ($BUILD/unit/bpf-14, bpf-19), so this also runs without a compiler. CRESSET_CLANG: 14 (default: that of the build), 19 or all. */
#include "may_bpf.h"
#include "unit.h"

#include "bpf/event.h"
#include "collect/kernel/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

/* Every recording waits for its sampler. */
enum { MAX_VERIFIED = 200000, MAX_VERIFIED_SAMPLER = 64000, MAX_VERIFIED_BEFORE_5_17 = 110000 };

static unsigned most_verified(const char *program)
{
	return strcmp(program, "sample_walk") == 0               ? MAX_VERIFIED_SAMPLER
	       : strcmp(program, "sample_walk_before_5_17") == 0 ? MAX_VERIFIED_BEFORE_5_17
								 : MAX_VERIFIED;
}

/* Sets a u32 knob in .rodata by its name, found through the object's BTF. */
static void set_knob(struct bpf_object *obj, const char *name, __u32 value)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".rodata");
	struct btf *btf = bpf_object__btf(obj);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *t = btf__type_by_id(btf, section);
	const struct btf_var_secinfo *var = btf_var_secinfos(t);
	size_t size;
	char *data = (char *)bpf_map__initial_value(map, &size);

	for (int i = 0; i < btf_vlen(t); i++, var++) {
		const char *var_name =
			btf__name_by_offset(btf, btf__type_by_id(btf, var->type)->name_off);

		if (strcmp(var_name, name) == 0) {
			memcpy(data + var->offset, &value, sizeof value);
			return;
		}
	}
	ck_abort_msg("no knob %s", name);
}

/* Variants of the kernel side that are reached only with knobs: code that a knob disables is not verified. Each lists the features it needs. */
static const struct way {
	const char *name;
	uint32_t needs, without;
} ways[] = {
	{ "sched_exit_tp", FEATURE_SCHED_EXIT, 0 },
	{ "sys_exit", FEATURE_TASK_STORAGE | FEATURE_TASK_REGS, FEATURE_SCHED_EXIT },
	{ "hash tables", FEATURE_TASK_REGS, FEATURE_SCHED_EXIT | FEATURE_TASK_STORAGE },
	{ "as 5.14", FEATURE_TASK_STORAGE, FEATURE_SCHED_EXIT | FEATURE_TASK_REGS },
	{ "as 5.10", 0,
	  FEATURE_SCHED_EXIT | FEATURE_TASK_STORAGE | FEATURE_TASK_REGS | FEATURE_CURRENT_TASK |
		  FEATURE_GROWING_TABLES },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Programs that not every kernel supports, by the start of their names. */
static const struct {
	const char *begins;
	uint32_t needs;
} places[] = {
	{ "off_switched", FEATURE_SCHED_EXIT },   { "off_switch_before_5_18", 0 },
	{ "off_migrate", FEATURE_SLEEPERS_MOVE }, { "off_switch", FEATURE_PREV_STATE },
	{ "threads_report_before_5_18", 0 },      { "threads_report", FEATURE_COPY_FROM_TASK },
	{ "sample_walk_before_5_17", 0 },         { "sample_walk", FEATURE_LOOP },
	{ "irq_handler_", FEATURE_IRQ_EVENTS },   { "softirq_", FEATURE_IRQ_EVENTS },
	{ "local_timer_", FEATURE_X86_VECTORS },  { "call_function_single_", FEATURE_X86_VECTORS },
	{ "irq_work_", FEATURE_X86_VECTORS },
};

static void choose_programs(struct bpf_object *obj, uint32_t has)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, obj)
	{
		for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
			if (strncmp(bpf_program__name(p), places[i].begins,
				    strlen(places[i].begins)))
				continue;
			bpf_program__set_autoload(p, (has & places[i].needs) == places[i].needs);
			break;
		}
	}
}

/* As in collect/kernel/sampler_load.c. */
static void choose_maps(struct bpf_object *obj, uint32_t has)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
	{
		enum bpf_map_type type = bpf_map__type(map);

		if (type == BPF_MAP_TYPE_TASK_STORAGE)
			bpf_map__set_autocreate(map, has & FEATURE_TASK_STORAGE);
		if (type != BPF_MAP_TYPE_HASH || has & FEATURE_GROWING_TABLES)
			continue;
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC);
		if (bpf_map__max_entries(map) > 1024)
			bpf_map__set_max_entries(map, 1024);
	}
}

static void choose(struct bpf_object *obj, uint32_t has)
{
	set_knob(obj, "use_task_storage", (has & FEATURE_TASK_STORAGE) != 0);
	set_knob(obj, "has_task_pt_regs", (has & FEATURE_TASK_REGS) != 0);
	set_knob(obj, "has_current_task_btf", (has & FEATURE_CURRENT_TASK) != 0);
	choose_programs(obj, has);
	choose_maps(obj, has);
}

/* Loads it, and closes it. */
static void check_programs(struct bpf_object *obj, const char *clang, __u32 filter, const char *way)
{
	struct bpf_program *p;

	ck_assert_msg(bpf_object__load(obj) == 0, "%s, filter %u, %s: does not load", clang, filter,
		      way);
	bpf_object__for_each_program(p, obj)
	{
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof info;

		if (!bpf_program__autoload(p))
			continue;
		ck_assert_int_eq(bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len), 0);
		printf("# %-8s filter %u %-13s %-26s %6u verified instructions, %u bytes jited\n",
		       clang, filter, way, bpf_program__name(p), info.verified_insns,
		       info.jited_prog_len);
		if (!info.verified_insns)
			continue; /* reported since Linux 5.16 */
		ck_assert_msg(info.verified_insns < most_verified(bpf_program__name(p)),
			      "%s, filter %u, %s: %s takes %u verified instructions", clang, filter,
			      way, bpf_program__name(p), info.verified_insns);
	}
	bpf_object__close(obj);
}

static void check_object(const char *path, const char *clang, __u32 filter, const struct way *way)
{
	struct kernel_features kernel;
	struct bpf_object *obj;

	kernel_features_find(NULL, way->without, &kernel);
	if ((kernel.has & way->needs) != way->needs) {
		printf("# %-8s filter %u %-13s is not of this kernel\n", clang, filter, way->name);
		return;
	}
	obj = bpf_object__open_file(path, NULL);
	ck_assert_ptr_nonnull(obj);
	set_knob(obj, "filter", filter);
	set_knob(obj, "want_waits", WAIT_OFF_CPU | WAIT_SCHED | WAIT_STOPPED_PART);
	set_knob(obj, "want_waker_stacks", 1);
	set_knob(obj, "want_wakers", 1);
	set_knob(obj, "want_locks", 1);
	set_knob(obj, "at_sys_exit", !(kernel.has & FEATURE_SCHED_EXIT));
	set_knob(obj, "has_windows", 1);
	set_knob(obj, "has_gpu", 1);
	choose(obj, kernel.has);
	check_programs(obj, clang, filter, way->name);
}

/* Returns this kernel's types with the busy time of CPUs, also if it does not count that: another field of the queue gets its name then. The caller
 * frees it; NULL: there is none. */
static char *types_with_busy_time(void)
{
	static const char is[] = "rq_cpu_time", instead[] = "clock_pelt_idle";
	char *path = strdup("/tmp/cresset-types-XXXXXX");
	struct kernel_features kernel;
	__u32 len;

	kernel_features_find(NULL, 0, &kernel);
	if (kernel.has & FEATURE_BUSY_TIME) {
		free(path);
		return strdup("/sys/kernel/btf/vmlinux");
	}
	struct btf *btf = btf__load_vmlinux_btf();
	char *types = (char *)btf__raw_data(btf, &len);
	char *name = memmem(types, len, instead, sizeof instead);
	int fd = name ? mkstemp(path) : -1;
	if (name)
		memcpy(name, is, sizeof is);
	if (fd < 0 || write(fd, types, len) != (ssize_t)len)
		path[0] = 0;
	close(fd);
	btf__free(btf);
	return path;
}

/* Ticks of cycles are weighed (bpf/cycle_clock.h). */
static void check_cycles(const char *path, const char *clang)
{
	char *types = types_with_busy_time();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct kernel_features kernel;
	struct bpf_program *p;

	if (!types[0]) {
		printf("# %-8s cycles: nothing in this kernel's types to try them with\n", clang);
		free(types);
		return;
	}
	kernel_features_find(NULL, 0, &kernel);
	struct bpf_object *obj = bpf_object__open_file(path, &opts);
	ck_assert_ptr_nonnull(obj);
	set_knob(obj, "by_cycles", 1);
	choose(obj, kernel.has);
	bpf_object__for_each_program(p, obj) if (strncmp(bpf_program__name(p), "sample_", 7))
		bpf_program__set_autoload(p, false);
	check_programs(obj, clang, FILTER_ALL, "cycles");
	if (strncmp(types, "/tmp/", 5) == 0)
		unlink(types);
	free(types);
}

/* bpf/gpu.bpf.c, with and without task storage. */
static void check_gpu(const char *path, const char *clang, __u32 filter)
{
	struct kernel_features kernel;
	struct bpf_object *obj;

	kernel_features_find(NULL, filter == FILTER_TID ? FEATURE_TASK_STORAGE : 0, &kernel);
	if (!(kernel.has & FEATURE_ATTACH_COOKIE)) {
		printf("# %-8s gpu is not of this kernel: no cookies of probes\n", clang);
		return;
	}
	obj = bpf_object__open_file(path, NULL);
	ck_assert_ptr_nonnull(obj);
	set_knob(obj, "filter", filter);
	set_knob(obj, "gpu_has_times", 1);
	choose(obj, kernel.has);
	check_programs(obj, clang, filter, "gpu");
}

/* Every filter in every variant takes minutes on an emulated machine. With CRESSET_BRIEF each variant has one filter. */
static bool is_chosen(__u32 filter, __u32 way)
{
	return !getenv("CRESSET_BRIEF") || way % (FILTER_CGROUP + 1) == filter;
}

/* The BPF objects of a compiler. */
struct objects {
	char clang[16], sample[256], gpu[256];
};

static struct objects find_objects(const char *version)
{
	const char *build = getenv("BUILD");
	struct objects o;

	build = build ? build : "build";
	snprintf(o.clang, sizeof o.clang, "clang-%s", version);
	snprintf(o.sample, sizeof o.sample, "%s/unit/bpf-%s/sample.bpf.o", build, version);
	snprintf(o.gpu, sizeof o.gpu, "%s/unit/bpf-%s/gpu.bpf.o", build, version);
	return o;
}

static void check_filters(const struct objects *o, __u32 first, __u32 last)
{
	for (__u32 filter = first; filter <= last; filter++) {
		for (int way = 0; way < WAYS; way++)
			if (is_chosen(filter, way))
				check_object(o->sample, o->clang, filter, &ways[way]);
		if (is_chosen(filter, FILTER_ALL) || is_chosen(filter, FILTER_TID))
			check_gpu(o->gpu, o->clang, filter);
	}
}

static void check_wide_filters(const struct objects *o)
{
	check_cycles(o->sample, o->clang);
	check_filters(o, FILTER_ALL, FILTER_TGID);
}

static void check_narrow_filters(const struct objects *o)
{
	check_filters(o, FILTER_TID, FILTER_CGROUP);
}

static void for_each_clang(void (*check)(const struct objects *))
{
	static const char *const versions[] = { "14", "19" };
	const char *chosen = getenv("CRESSET_CLANG");

	T_NEEDS_BPF();
	chosen = chosen ? chosen : versions[0];
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		struct objects o = find_objects(versions[i]);

		if (strcmp(chosen, "all") == 0 || strcmp(chosen, versions[i]) == 0)
			check(&o);
	}
}

START_TEST(wide_filters)
{
	for_each_clang(check_wide_filters);
}
END_TEST

START_TEST(narrow_filters)
{
	for_each_clang(check_narrow_filters);
}
END_TEST

UNIT_MAIN("bpf", wide_filters, narrow_filters)
