/* The BPF objects, built by each supported clang, load with every filter in every way under the budget of verified instructions. They
 * are built before ($BUILD/unit/bpf-14, bpf-19), so this also runs where there is no compiler. */
#define UNIT_TIMEOUT_S 600 /* a machine that is emulated takes minutes */
#include "unit.h"

#include "bpf/event.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

enum { MAX_VERIFIED = 200000 };

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

/* Ways of the kernel side that need knobs to be reached: what a knob switches off is not verified. */
static const struct way {
	const char *name;
	__u32 at_sys_exit, use_task_storage, use_loop;
} ways[] = {
	{ "sched_exit_tp", 0, 1, 1 },
	{ "sys_exit", 1, 1, 1 },
	{ "hash tables", 1, 0, 1 },
	{ "no loop", 1, 0, 0 },
};
enum { WAYS = sizeof ways / sizeof *ways };

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

		ck_assert_int_eq(bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len), 0);
		printf("# %-8s filter %u %-13s %-26s %6u verified instructions, %u bytes jited\n",
		       clang, filter, way, bpf_program__name(p), info.verified_insns,
		       info.jited_prog_len);
		ck_assert_uint_gt(info.verified_insns, 0);
		ck_assert_uint_lt(info.verified_insns, MAX_VERIFIED);
	}
	bpf_object__close(obj);
}

static void check_object(const char *path, const char *clang, __u32 filter, const struct way *way)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);

	ck_assert_ptr_nonnull(obj);
	set_knob(obj, "filter", filter);
	set_knob(obj, "want_waits", WAIT_OFF_CPU | WAIT_SCHED | WAIT_STOPPED_PART);
	set_knob(obj, "want_waker_stacks", 1);
	set_knob(obj, "want_wakers", 1);
	set_knob(obj, "at_sys_exit", way->at_sys_exit);
	set_knob(obj, "use_task_storage", way->use_task_storage);
	set_knob(obj, "use_loop", way->use_loop);
	set_knob(obj, "has_gpu", 1);
	check_programs(obj, clang, filter, way->name);
}

/* bpf/gpu.bpf.c, with the kernel's walk, too. */
static void check_gpu(const char *path, const char *clang, __u32 filter, __u32 plain)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);

	ck_assert_ptr_nonnull(obj);
	set_knob(obj, "filter", filter);
	set_knob(obj, "gpu_plain_walk", plain);
	set_knob(obj, "gpu_has_times", 1);
	set_knob(obj, "use_task_storage", filter != FILTER_TID);
	check_programs(obj, clang, filter, plain ? "gpu, plain" : "gpu");
}

static void check_clang(const char *version)
{
	const char *build = getenv("BUILD");
	char clang[32], path[256], gpu[256];

	if (geteuid())
		T_SKIP("loading BPF programs needs root");
	snprintf(clang, sizeof clang, "clang-%s", version);
	snprintf(path, sizeof path, "%s/unit/bpf-%s/sample.bpf.o", build ? build : "build",
		 version);
	snprintf(gpu, sizeof gpu, "%s/unit/bpf-%s/gpu.bpf.o", build ? build : "build", version);
	for (__u32 filter = FILTER_ALL; filter <= FILTER_CGROUP; filter++) {
		for (int way = 0; way < WAYS; way++)
			check_object(path, clang, filter, &ways[way]);
		check_gpu(gpu, clang, filter, 0);
		check_gpu(gpu, clang, filter, 1);
	}
}

START_TEST(clang_14)
{
	check_clang("14");
}
END_TEST

START_TEST(clang_19)
{
	check_clang("19");
}
END_TEST

UNIT_MAIN("bpf", clang_14, clang_19)
