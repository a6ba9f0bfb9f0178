// tier: test
/* A kernel's missing features are reported with their cost: for kernels made from the table of collect/kernel/kernel_types.c, without one row or with
 * a field of another size; for the running kernel's types with one name changed; and for types that are truncated, garbage or endless. */
#include "kernel_verdict.h"
#include "made_kernel.h"
#include "rand.h"

#include <bpf/libbpf.h>
#include <unistd.h>

/* --- a kernel made of the table ---------------------------------------------------------------- */

static void judge(const struct made_change *is, struct kernel_verdict *v)
{
	struct btf *btf = make_kernel(is);

	kernel_types_check(btf, v);
	check_words(v);
	btf__free(btf);
}

START_TEST(nothing_is_missed_where_all_is_there)
{
	struct kernel_verdict v;

	judge(&(struct made_change){ 0 }, &v);
	show_verdict("all of the table", &v);
	ck_assert_uint_eq(v.n, 0);
	ck_assert_uint_eq(v.lost, 0);
	ck_assert(kernel_types_has(&v, "sched_exit_tp"));
	ck_assert(!kernel_types_has(&v, "no such row"));
}
END_TEST

static const struct kernel_type_row *replacement(const struct kernel_type_row *of)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		if (r->instead_of && !strcmp(r->instead_of, of->name))
			return r;
	return NULL;
}

/* With its dependents: an argument with its tracepoint. */
START_TEST(each_row_is_missed_and_has_its_cost)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const struct kernel_lack *l;
		struct kernel_verdict v;

		judge(&(struct made_change){ .missing = r->name }, &v);
		l = lack_named(&v, r->name);
		if (r->instead_of) {
			ck_assert_msg(!v.n, "%s is missed, though %s is there", r->name,
				      r->instead_of);
			continue;
		}
		ck_assert_msg(l != NULL, "%s is not missed", r->name);
		ck_assert(!kernel_types_has(&v, r->name));
		ck_assert_msg((l->lost & r->lost) == (replacement(r) ? 0 : r->lost), "%s", l->text);
		ck_assert_msg(
			l->lost || strstr(l->text, replacement(r) && !r->without ? "" : r->without),
			"%s", l->text);
		for (size_t i = 0; i < v.n; i++)
			ck_assert_msg(&v.lacks[i] == l || !strncmp(v.lacks[i].row->name, r->name,
								   strlen(r->name)),
				      "without %s: %s", r->name, v.lacks[i].text);
	}
}
END_TEST

/* 7.3 made task_struct.on_cpu a byte. */
START_TEST(sizes_are_compared)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		bool is_unsigned =
			r->value == KERNEL_U16 || r->value == KERNEL_U32 || r->value == KERNEL_U64;
		bool adapts = is_unsigned && !(r->access & KERNEL_COPIED);
		struct kernel_verdict v;

		if (r->value == KERNEL_NO_VALUE || r->instead_of)
			continue;
		judge(&(struct made_change){ .resized = r->name, .bytes = 1 }, &v);
		ck_assert_msg(!lack_named(&v, r->name) == adapts, "%s of one byte", r->name);
		ck_assert_msg(adapts || strstr(v.lacks[0].text, "this kernel's "), "%s",
			      v.lacks[0].text);
		judge(&(struct made_change){ .resized = r->name, .bytes = 1, .is_signed = true },
		      &v);
		ck_assert_msg(lack_named(&v, r->name) != NULL, "%s of one signed byte", r->name);
	}
}
END_TEST

/* --- bad input --------------------------------------------------------------------------------- */

START_TEST(no_types_at_all)
{
	struct kernel_verdict v;
	struct btf *empty = btf__new_empty();

	kernel_types_check(NULL, &v);
	check_words(&v);
	ck_assert_uint_eq(v.n, 1);
	ck_assert_uint_eq(v.lost, KERNEL_ALL);
	ck_assert_str_eq(v.lacks[0].text,
			 "this kernel has no type information (BTF): no recording");
	ck_assert(!kernel_types_has(&v, "task_struct.pid"));
	kernel_types_check(empty, &v);
	check_words(&v);
	ck_assert_uint_eq(v.lost, KERNEL_ALL);
	btf__free(empty);
}
END_TEST

/* libbpf refuses them, or they are judged. */
static bool judge_bytes(const void *data, size_t len)
{
	struct btf *btf = btf__new(data, len);
	struct kernel_verdict v;

	if (!btf)
		return false;
	kernel_types_check(btf, &v);
	check_words(&v);
	btf__free(btf);
	return true;
}

START_TEST(types_that_are_cut)
{
	struct btf *btf = make_kernel(&(struct made_change){ 0 });
	__u32 len;
	const char *data = btf__raw_data(btf, &len);

	libbpf_set_print(NULL);
	for (__u32 n = 0; n < len; n++) {
		char *cut = malloc(n ? n : 1); /* so that a sanitizer sees a read beyond it */

		memcpy(cut, data, n);
		ck_assert_msg(!judge_bytes(cut, n), "%u of %u bytes", n, len);
		free(cut);
	}
	ck_assert(judge_bytes(data, len));
	btf__free(btf);
}
END_TEST

START_TEST(types_that_are_garbage)
{
	enum { ROUNDS = 20000, LEN = 4096 };
	struct btf *btf = make_kernel(&(struct made_change){ 0 });
	struct rng rng = { 42 };
	__u32 len;
	const char *data = btf__raw_data(btf, &len);
	char *copy = malloc(len), random[LEN];
	int judged = 0;

	libbpf_set_print(NULL);
	for (int i = 0; i < LEN; i++)
		random[i] = (char)rng_next(&rng);
	ck_assert(!judge_bytes(random, LEN));
	for (int i = 0; i < ROUNDS; i++) {
		memcpy(copy, data, len);
		for (uint64_t n = 1 + rng_below(&rng, 4); n; n--)
			copy[rng_below(&rng, len)] = (char)rng_next(&rng);
		judged += judge_bytes(copy, len);
	}
	printf("# %d of %d were taken by libbpf\n", judged, ROUNDS);
	ck_assert_int_gt(judged, ROUNDS / 10);
	free(copy);
	btf__free(btf);
}
END_TEST

/* Structures that contain themselves, types that are aliases of themselves. */
START_TEST(types_that_never_end)
{
	struct btf *btf = btf__new_empty();
	int next = btf__type_cnt(btf);

	ck_assert_int_eq(btf__add_struct(btf, "task_struct", 8), next);
	for (int i = 0; i < 8; i++)
		btf__add_field(btf, "", next, 0, 0);
	next = btf__type_cnt(btf);
	ck_assert_int_eq(btf__add_typedef(btf, "btf_trace_sched_switch", next), next);
	next = btf__type_cnt(btf);
	ck_assert_int_eq(btf__add_const(btf, next), next);
	btf__add_struct(btf, "mm_struct", 8);
	btf__add_field(btf, "map_count", next, 0, 0);
	struct kernel_verdict v;
	kernel_types_check(btf, &v);
	check_words(&v);
	ck_assert_uint_eq(v.lost, KERNEL_ALL);
	btf__free(btf);
}
END_TEST

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* The running kernel's types, with one name changed: the verdict is that of a kernel without it. */
static void rename_in_kernel(const char *string, const char *row, uint32_t lost, const char *words)
{
	struct btf *real = btf__parse(KERNEL_BTF, NULL);
	size_t name_len = strlen(string) + 2;
	char name[80];
	__u32 len;
	struct kernel_verdict v;

	ck_assert_ptr_nonnull(real);
	memcpy(name, "", 1);
	memcpy(name + 1, string, name_len - 1);
	const char *data = btf__raw_data(real, &len);
	char *copy = malloc(len);
	memcpy(copy, data, len);
	char *at = memmem(copy, len, name, name_len);
	if (!at) {
		printf("# the running kernel has no %s\n", string);
		goto out;
	}
	at[name_len - 2] ^= 1;
	struct btf *btf = btf__new(copy, len);
	ck_assert_ptr_nonnull(btf);
	kernel_types_check(btf, &v);
	check_words(&v);
	const struct kernel_lack *l = lack_named(&v, row);
	ck_assert_msg(l != NULL, "%s", row);
	printf("# %s\n", l->text);
	ck_assert_uint_eq(l->lost, lost);
	ck_assert_str_eq(l->text, words);
	btf__free(btf);
out:
	free(copy);
	btf__free(real);
}

START_TEST(names_that_changed)
{
	const uint32_t waits = KERNEL_GROUP(GROUP_WAITS) | KERNEL_GROUP(GROUP_WAKERS);

	if (access(KERNEL_BTF, R_OK))
		T_SKIP("no " KERNEL_BTF);
	rename_in_kernel("btf_trace_sched_switch", "sched_switch", waits,
			 "this kernel has no tracepoint sched_switch: no off-cpu, sched-wait, wall "
			 "and lock");
	rename_in_kernel("btf_trace_sched_waking", "sched_waking", KERNEL_GROUP(GROUP_WAKERS),
			 "this kernel has no tracepoint sched_waking: no wakers and locks");
	rename_in_kernel("btf_trace_sched_process_exec", "sched_process_exec", KERNEL_ALL,
			 "this kernel has no tracepoint sched_process_exec: no recording");
	rename_in_kernel("run_delay", "task_struct.sched_info.run_delay", waits,
			 "this kernel has no task_struct.sched_info.run_delay: no off-cpu, "
			 "sched-wait, wall and lock");
	rename_in_kernel("map_count", "mm_struct.map_count", KERNEL_ALL,
			 "this kernel has no mm_struct.map_count: no recording");
	rename_in_kernel("BPF_FUNC_get_attach_cookie", "bpf_get_attach_cookie",
			 KERNEL_GROUP(GROUP_GPU),
			 "this kernel has no helper bpf_get_attach_cookie (since Linux 5.15): no "
			 "GPU events");
	rename_in_kernel("btf_trace_irq_work_entry", "irq_work_entry", 0,
			 "this kernel has no tracepoint irq_work_entry: a waking in such an "
			 "interrupt counts as the interrupted thread's");
}
END_TEST

UNIT_MAIN("kernel_lacks", nothing_is_missed_where_all_is_there, each_row_is_missed_and_has_its_cost,
	  sizes_are_compared, no_types_at_all, types_that_are_cut, types_that_are_garbage,
	  types_that_never_end, names_that_changed)
