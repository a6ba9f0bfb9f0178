/* Looks up each row in the kernel's BTF, and reports rows that are missing or different. */
#include "collect/kernel/kernel_types.h"

#include <bpf/btf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- the table -------------------------------------------------------------------------------- */

enum {
	BASE = KERNEL_BASE,
	WALKER = KERNEL_GROUP(GROUP_WALKER),
	RUNTIMES = KERNEL_GROUP(GROUP_RUNTIMES),
	WAITS = KERNEL_GROUP(GROUP_WAITS),
	WAKERS = KERNEL_GROUP(GROUP_WAKERS),
	GPU = KERNEL_GROUP(GROUP_GPU),
	FAULTS = KERNEL_GROUP(GROUP_FAULTS),

	LOADED = KERNEL_LOADED,
	COPIED = KERNEL_COPIED,
	ASKED = KERNEL_ASKED_FOR,
};

#define FIELD(name_, value_, access_, users_, lost_, ...) \
	{ \
		.kind = KERNEL_FIELD, .name = name_, .value = KERNEL_##value_, .access = access_, \
		.users = users_, .lost = lost_, __VA_ARGS__ \
	}
#define OTHER(kind_, name_, users_, lost_, ...) \
	{ \
		.kind = KERNEL_##kind_, .name = name_, .users = users_, .lost = lost_, __VA_ARGS__ \
	}
#define TRACEPOINT(name_, args_, users_, lost_, ...) \
	OTHER(TRACEPOINT, name_, users_, lost_, .args = args_, __VA_ARGS__)
/* Entry and exit of one kind of interrupt. */
#define INTERRUPT(name_, args_) \
	TRACEPOINT(name_, args_, WAKERS, 0, \
		   .without = "a waking in such an interrupt counts as the interrupted thread's")

const struct kernel_type_row kernel_type_rows[] = {
	/* clang-format off */
	/* A task. 7.3 made on_cpu a u8; pid and tgid are signed in the kernel. */
	FIELD("task_struct.__state",    U32,     LOADED | ASKED,  WAITS, WAITS, .since = "5.14",
	      .without = "task_struct.state is read"),
	FIELD("task_struct.state",      S64,     LOADED,          WAITS, WAITS,
	      .instead_of = "task_struct.__state"),
	FIELD("task_struct.flags",      U32,     LOADED | COPIED,
	      BASE | WAITS | WAKERS | FAULTS, BASE),
	FIELD("task_struct.on_cpu",     U32,     LOADED,          WAITS, WAITS),
	FIELD("task_struct.pid",        U32,     LOADED | COPIED,
	      BASE | WAITS | WAKERS | GPU | FAULTS, BASE),
	FIELD("task_struct.tgid",       U32,     LOADED | COPIED,
	      BASE | WAITS | WAKERS | FAULTS, BASE),
	FIELD("task_struct.comm",       COMM,    COPIED,
	      WAITS | WAKERS | FAULTS, WAITS | FAULTS),
	FIELD("task_struct.mm",         POINTER, LOADED | COPIED,
	      BASE | WAITS | WAKERS | GPU | FAULTS, BASE),
	FIELD("task_struct.signal",     POINTER, COPIED,          BASE, BASE),
	FIELD("task_struct.pagefault_disabled", U32, COPIED,      FAULTS, FAULTS),
	FIELD("task_struct.nvcsw",      U64,     COPIED,          GPU, GPU),
	FIELD("task_struct.thread.fsbase", U64,  COPIED, /* x86-64 */
	      BASE | WAITS | WAKERS | GPU | FAULTS, BASE),
	FIELD("signal_struct.live.counter", U32, COPIED,          BASE, BASE),
	FIELD("task_struct.real_cred",  POINTER, COPIED,
	      BASE | WAITS | FAULTS | GPU, BASE),
	FIELD("cred.euid.val",          U32,     COPIED,
	      BASE | WAITS | FAULTS | GPU, BASE),

	/* Its memory. xol_area: CONFIG_UPROBES. */
	FIELD("mm_struct.map_count",    S32,     COPIED,
	      BASE | WAITS | WAKERS | GPU | FAULTS, BASE),
	FIELD("mm_struct.start_code",   U64,     COPIED,
	      BASE | WAITS | WAKERS | FAULTS, BASE),
	FIELD("mm_struct.start_stack",  U64,     COPIED,
	      BASE | WAITS | GPU | FAULTS, BASE),
	FIELD("mm_struct.exe_file",     POINTER, COPIED,          BASE, BASE),
	FIELD("file.f_inode",           POINTER, COPIED,          BASE | WAITS, BASE),
	FIELD("inode.i_mode",           U16,     COPIED,          WAITS, WAITS),
	FIELD("inode.i_sb",             POINTER, COPIED,          BASE | WAITS, BASE),
	FIELD("inode.i_ino",            U64,     COPIED,          BASE, BASE),
	FIELD("inode.i_generation",     U32,     COPIED,          BASE, BASE),
	FIELD("super_block.s_dev",      U32,     COPIED,          BASE, BASE),
	FIELD("super_block.s_magic",    U64,     COPIED,          WAITS, WAITS),
	FIELD("super_block.s_bdev",     POINTER, COPIED,          WAITS, WAITS),
	FIELD("vm_area_struct.vm_end",  U64,     COPIED,          WAITS, WAITS),
	FIELD("vm_area_struct.vm_ops",  POINTER, COPIED,          WAITS, WAITS),
	FIELD("vm_area_struct.vm_file", POINTER, COPIED,          WAITS, WAITS),
	/* CONFIG_USERFAULTFD */
	FIELD("vm_area_struct.vm_userfaultfd_ctx.ctx", POINTER, COPIED | ASKED, WAITS, 0,
	      .without = "no memory waits for a process that handles its page faults"),
	FIELD("xol_area.vaddr",         U64,     COPIED | ASKED,
	      BASE | WAITS | WAKERS | GPU | FAULTS, 0,
	      .without = "stacks of threads on their way back from a call of a GPU's library "
			 "end there"),
	FIELD("mm_struct.uprobes_state.xol_area", POINTER, COPIED,
	      BASE | WAITS | WAKERS | GPU | FAULTS, BASE, .only_with = "xol_area.vaddr"),

	/* Its registers: x86-64. */
	FIELD("pt_regs.r11",            U64,     LOADED,          WAITS, WAITS),
	FIELD("pt_regs.cx",             U64,     LOADED,          WAITS, WAITS),
	FIELD("pt_regs.ip",             U64,     LOADED,          WAITS, WAITS),
	FIELD("pt_regs.flags",          U64,     LOADED,          WAITS, WAITS),

	/* The scheduler. sched_info: CONFIG_SCHED_INFO; cfs_rq: CONFIG_FAIR_GROUP_SCHED. */
	FIELD("task_struct.sched_info.run_delay",    U64, LOADED, WAITS | WAKERS, WAITS),
	FIELD("task_struct.sched_info.last_arrival", U64, LOADED | COPIED | ASKED,
	      BASE | WAITS | WAKERS, WAITS),
	FIELD("task_struct.sched_info.last_queued",  U64, LOADED, WAITS, WAITS),
	FIELD("task_struct.se.cfs_rq",  POINTER, LOADED | COPIED | ASKED, BASE | WAITS, 0,
	      .without = "time in the queue of a CPU is known once a thread has left it"),
	FIELD("cfs_rq.rq",              POINTER, LOADED | COPIED, BASE | WAITS, WAITS,
	      .only_with = "task_struct.se.cfs_rq"),
	FIELD("rq.clock",               U64,     LOADED | COPIED, BASE | WAITS, WAITS,
	      .only_with = "task_struct.se.cfs_rq"),
	FIELD("rq.rq_cpu_time",         U64,     COPIED | ASKED,  BASE, 0, /* CONFIG_SCHEDSTATS */
	      .without = "samples are not taken by cycles, but by cpu-clock"),

	FIELD("task_struct.se.sched_delayed", U32, LOADED | ASKED, WAITS, 0, .since = "6.12",
	      .without = "threads that sleep are in no queue"),

	/* Its control group: CONFIG_CGROUPS. */
	FIELD("task_struct.cgroups",    POINTER, LOADED | COPIED,
	      WAITS | WAKERS | FAULTS, WAITS | FAULTS),
	FIELD("css_set.dfl_cgrp",       POINTER, LOADED | COPIED,
	      WAITS | WAKERS | FAULTS, WAITS | FAULTS),
	FIELD("cgroup.kn",              POINTER, COPIED,
	      WAITS | WAKERS | FAULTS, WAITS | FAULTS),
	FIELD("cgroup.self.parent",     POINTER, COPIED,          WAITS | WAKERS, WAITS),
	FIELD("kernfs_node.id",         U64,     COPIED,
	      WAITS | WAKERS | FAULTS, WAITS | FAULTS),

	/* Iterators. */
	FIELD("bpf_iter__task.meta",    POINTER, LOADED,          WAITS, WAITS),
	FIELD("bpf_iter__task.task",    POINTER, LOADED,          WAITS, WAITS),
	FIELD("bpf_iter_meta.seq",      POINTER, LOADED,          WAITS, WAITS),
	OTHER(FUNCTION, "bpf_iter_task", WAITS, WAITS),

	/* Tracepoints. The first kernels of 5.18-rc passed prev_state as the second argument. */
	TRACEPOINT("sched_process_fork", "tt",   BASE | WAITS, BASE),
	TRACEPOINT("sched_process_exec", "ti",   BASE | WAITS, BASE),
	TRACEPOINT("sched_process_exit", "t",    BASE | WAITS | GPU, BASE),
	TRACEPOINT("task_rename",        "t",    BASE, BASE),
	TRACEPOINT("sched_switch",       "itt",  WAITS, WAITS),
	TRACEPOINT("sched_switch.prev_state", "itti", WAITS, 0, .since = "5.18",
		   .without = "the state of a thread is read from its task_struct"),
	TRACEPOINT("sched_migrate_task", "t",    WAITS, 0,
		   .only_with = "task_struct.se.sched_delayed",
		   .without = "threads that are moved while they sleep are shown as ready"),
	TRACEPOINT("sched_exit_tp",      "",     WAITS, WAITS, .since = "6.16",
		   .without = "stacks of waits are taken at the end of system calls"),
	TRACEPOINT("sys_exit",           "r",    WAITS, WAITS, .instead_of = "sched_exit_tp"),
	TRACEPOINT("sched_waking",       "t",    WAKERS, WAKERS),
	TRACEPOINT("page_fault_user",    "i",    FAULTS, FAULTS),
	TRACEPOINT("page_fault_kernel",  "i",    FAULTS, FAULTS),
	INTERRUPT("irq_handler_entry", "i"),
	INTERRUPT("irq_handler_exit", "i"),
	INTERRUPT("softirq_entry", "i"),
	INTERRUPT("softirq_exit", "i"),
	INTERRUPT("local_timer_entry", "i"), /* x86, as are the ones that follow */
	INTERRUPT("local_timer_exit", "i"),
	INTERRUPT("call_function_single_entry", "i"),
	INTERRUPT("call_function_single_exit", "i"),
	INTERRUPT("irq_work_entry", "i"),
	INTERRUPT("irq_work_exit", "i"),

	/* Helpers and maps. */
	OTHER(HELPER, "bpf_task_storage_get", WAITS | WAKERS | GPU, 0, .since = "5.11",
	      .without = "thread times are stored in hash tables"),
	OTHER(MAP_TYPE, "BPF_MAP_TYPE_TASK_STORAGE", WAITS | WAKERS | GPU, 0, .since = "5.11",
	      .without = "thread times are stored in hash tables"),
	OTHER(HELPER, "bpf_get_current_task_btf",
	      BASE | WAITS | WAKERS | GPU | FAULTS, 0, .since = "5.11",
	      .without = "waits without a recorded switch have no stack"),
	OTHER(HELPER, "bpf_task_pt_regs",
	      BASE | WAITS | WAKERS | FAULTS, WALKER | WAITS | FAULTS, .since = "5.15",
	      .without = "registers are read from the top of the kernel's stack"),
	FIELD("task_struct.stack",      POINTER, COPIED,          BASE | WAITS | WAKERS | FAULTS,
	      WALKER | WAITS | FAULTS, .instead_of = "bpf_task_pt_regs"),
	OTHER(HELPER, "bpf_get_attach_cookie", GPU, GPU, .since = "5.15"),
	OTHER(HELPER, "bpf_loop", BASE | WAITS, 0, .since = "5.17",
	      .without = "pending waits have kernel stacks only"),
	OTHER(HELPER, "bpf_find_vma", WAITS, 0, .since = "5.17",
	      .without = "pending waits have kernel stacks only"),
	OTHER(HELPER, "bpf_copy_from_user_task", WAITS, 0, .since = "5.18",
	      .without = "pending waits have kernel stacks only"),
	{ .name = NULL },
	/* clang-format on */
};
_Static_assert(sizeof kernel_type_rows / sizeof *kernel_type_rows - 1 < KERNEL_TYPE_ROWS_MAX,
	       "a verdict can hold every row");

/* --- looking up a row in a kernel's types ----------------------------------------------------- */

/* Bounds for types that refer to each other in a circle, or to themselves. */
enum { MOST_REFERENCES = 32, MOST_NESTED = 8, MOST_MEMBERS = 1 << 16 };

struct search {
	const struct btf *btf;
	int members_left; /* members that the search may still look at */
};

static const char *name_of(const struct btf *btf, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);

	return name ? name : "";
}

/* Returns the next type of this name after the type `after`; 0: none. */
static __u32 next_type(const struct btf *btf, __u32 after,
		       bool (*is_kind)(const struct btf_type *t), const char *name)
{
	for (__u32 id = after + 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (t && is_kind(t) && !strcmp(name_of(btf, t), name))
			return id;
	}
	return 0;
}

static bool is_structure(const struct btf_type *t)
{
	return btf_is_composite(t);
}

static bool is_typedef(const struct btf_type *t)
{
	return btf_is_typedef(t);
}

static bool is_function(const struct btf_type *t)
{
	return btf_is_func(t);
}

static bool is_enum(const struct btf_type *t)
{
	return btf_is_any_enum(t);
}

/* Skips typedefs and qualifiers; NULL: void, or no type. */
static const struct btf_type *plain_type(const struct btf *btf, __u32 id)
{
	for (int i = 0; i < MOST_REFERENCES; i++) {
		const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;

		if (!t || !(btf_is_mod(t) || btf_is_typedef(t)))
			return t;
		id = t->type;
	}
	return NULL;
}

/* Returns the type of a member, also of one in an anonymous structure; 0: none. Bit fields count as
 * none: programs cannot load them. */
static __u32 member_type(struct search *s, const struct btf_type *t, const char *name, size_t len,
			 int depth)
{
	const struct btf_member *m;

	if (!t || !btf_is_composite(t) || depth > MOST_NESTED)
		return 0;
	m = btf_members(t);
	for (int i = 0; i < btf_vlen(t) && s->members_left > 0; i++, s->members_left--) {
		const char *its = btf__name_by_offset(s->btf, m[i].name_off);
		__u32 found = 0;

		if (!its || !*its)
			found = member_type(s, plain_type(s->btf, m[i].type), name, len, depth + 1);
		else if (!strncmp(its, name, len) && !its[len] && !btf_member_bitfield_size(t, i))
			found = m[i].type;
		if (found)
			return found;
	}
	return 0;
}

/* Returns the type of a structure's field: "sched_info.run_delay". */
static __u32 field_type(const struct btf *btf, __u32 id, const char *path)
{
	struct search s = { btf, MOST_MEMBERS };

	for (;;) {
		size_t len = strcspn(path, ".");

		id = member_type(&s, plain_type(btf, id), path, len, 0);
		if (!id || !path[len])
			return id;
		path += len + 1;
	}
}

/* --- comparing it with what programs read ----------------------------------------------------- */

/* How a field differs from what the programs read; "": it does not. */
struct difference {
	char text[80];
};

static void differs(struct difference *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void differs(struct difference *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->text, sizeof d->text, fmt, ap);
	va_end(ap);
}

static bool is_signed(enum kernel_value v)
{
	return v == KERNEL_S32 || v == KERNEL_S64;
}

static unsigned size_of(enum kernel_value v)
{
	return v == KERNEL_U16 ? 2 : v == KERNEL_U32 || v == KERNEL_S32 ? 4 : 8;
}

/* Returns whether libbpf adapts the instruction's size to that of the kernel's integer. */
static bool adapts(const struct kernel_type_row *row, const struct btf_type *t)
{
	return !(row->access & KERNEL_COPIED) && !is_signed(row->value) &&
	       !(btf_int_encoding(t) & BTF_INT_SIGNED) &&
	       (t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8);
}

static void compare_int(const struct kernel_type_row *row, const struct btf_type *t,
			struct difference *d)
{
	unsigned wanted = size_of(row->value);

	if (!btf_is_int(t) || btf_int_offset(t))
		differs(d, "is not an integer");
	else if (t->size != wanted && !adapts(row, t))
		differs(d, "has %u byte%s instead of %u", t->size, t->size == 1 ? "" : "s", wanted);
}

static void compare_field(const struct btf *btf, const struct kernel_type_row *row, __u32 id,
			  struct difference *d)
{
	const struct btf_type *t = plain_type(btf, id);
	enum { COMM_BYTES = 16 };

	if (!t)
		differs(d, "has no known type");
	else if (row->value == KERNEL_COMM &&
		 (!btf_is_array(t) || btf__resolve_size(btf, id) < COMM_BYTES))
		differs(d, "is not an array of 16 bytes");
	else if (row->value == KERNEL_POINTER && !btf_is_ptr(t))
		differs(d, "is not a pointer");
	else if (row->value != KERNEL_COMM && row->value != KERNEL_POINTER)
		compare_int(row, t, d);
}

/* Returns false if the field does not exist. */
static bool find_field(const struct btf *btf, const struct kernel_type_row *row,
		       struct difference *d)
{
	size_t len = strcspn(row->name, ".");
	char structure[64];

	snprintf(structure, sizeof structure, "%.*s", (int)len, row->name);
	for (__u32 id = 0; (id = next_type(btf, id, is_structure, structure));) {
		__u32 field = field_type(btf, id, row->name + len + 1);

		if (!field)
			continue;
		compare_field(btf, row, field, d);
		return true;
	}
	return false;
}

static bool points_to(const struct btf *btf, const struct btf_type *t, const char *structure)
{
	const struct btf_type *to = btf_is_ptr(t) ? plain_type(btf, t->type) : NULL;

	return to && btf_is_struct(to) && !strcmp(name_of(btf, to), structure);
}

static bool is_argument(const struct btf *btf, __u32 id, char letter)
{
	const struct btf_type *t = plain_type(btf, id);

	if (!t)
		return false;
	if (letter == 'i')
		return btf_is_int(t) || btf_is_any_enum(t);
	return points_to(btf, t, letter == 't' ? "task_struct" : "pt_regs");
}

/* A tracepoint's typedef is a pointer to a function, whose first parameter is tracing's own and
 * whose others are the arguments. */
static bool find_tracepoint(const struct btf *btf, const struct kernel_type_row *row,
			    struct difference *d)
{
	const char *argument = strchr(row->name, '.');
	size_t n = strlen(row->args);
	char name[80];

	snprintf(name, sizeof name, "btf_trace_%.*s", (int)strcspn(row->name, "."), row->name);
	__u32 id = next_type(btf, 0, is_typedef, name);
	const struct btf_type *t = id ? plain_type(btf, id) : NULL;
	t = t && btf_is_ptr(t) ? plain_type(btf, t->type) : NULL;
	if (!id || (argument && t && btf_is_func_proto(t) && btf_vlen(t) < n + 1))
		return false;
	if (!t || !btf_is_func_proto(t)) {
		differs(d, "is not a function");
		return true;
	}
	for (size_t i = 0; i < n; i++)
		if (i + 1 >= btf_vlen(t) ||
		    !is_argument(btf, btf_params(t)[i + 1].type, row->args[i]))
			differs(d, "has other arguments");
	return true;
}

static bool has_enumerator(const struct btf *btf, const char *type, const char *name)
{
	__u32 id = next_type(btf, 0, is_enum, type);
	const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		__u32 at = btf_is_enum(t) ? btf_enum(t)[i].name_off : btf_enum64(t)[i].name_off;
		const char *its = btf__name_by_offset(btf, at);

		if (its && !strcmp(its, name))
			return true;
	}
	return false;
}

static bool find(const struct btf *btf, const struct kernel_type_row *row, struct difference *d)
{
	char helper[64];

	switch (row->kind) {
	case KERNEL_FIELD:
		return find_field(btf, row, d);
	case KERNEL_TRACEPOINT:
		return find_tracepoint(btf, row, d);
	case KERNEL_FUNCTION:
		return next_type(btf, 0, is_function, row->name) != 0;
	case KERNEL_HELPER:
		snprintf(helper, sizeof helper, "BPF_FUNC_%s", row->name + strlen("bpf_"));
		return has_enumerator(btf, "bpf_func_id", helper);
	case KERNEL_MAP_TYPE:
		return has_enumerator(btf, "bpf_map_type", row->name);
	}
	return false;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Adds the groups that depend on the lost ones. */
static uint32_t with_dependents(uint32_t lost)
{
	if (lost & BASE)
		return KERNEL_ALL;
	return lost & WAITS ? lost | WAKERS : lost;
}

static void say(struct kernel_lack *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct kernel_lack *l, const char *fmt, ...)
{
	size_t len = strlen(l->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->text + len, sizeof l->text - len, fmt, ap);
	va_end(ap);
}

static void say_lost(struct kernel_lack *l)
{
	static const struct {
		uint32_t group, within;
		const char *words;
	} features[] = {
		{ BASE, 0, "no recording" },
		{ WALKER, BASE, "no stacks of code without frame pointers" },
		{ RUNTIMES, BASE, "no Python frames" },
		{ WAITS, BASE, "no off-cpu, sched-wait, wall and lock" },
		{ WAKERS, BASE | WAITS, "no wakers and locks" },
		{ GPU, BASE, "no GPU events" },
		{ FAULTS, BASE, "no page-fault and rss" },
	};
	const char *before = ": ";

	for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
		if (!(l->lost & features[i].group) || l->lost & features[i].within)
			continue;
		say(l, "%s%s", before, features[i].words);
		before = ", ";
	}
}

static void say_lack(struct kernel_lack *l, const struct difference *d)
{
	static const char *const kinds[] = {
		[KERNEL_FIELD] = "",
		[KERNEL_TRACEPOINT] = "tracepoint ",
		[KERNEL_FUNCTION] = "function ",
		[KERNEL_HELPER] = "helper ",
		[KERNEL_MAP_TYPE] = "map type ",
	};
	const struct kernel_type_row *row = l->row;

	if (*d->text)
		say(l, "this kernel's %s%s %s", kinds[row->kind], row->name, d->text);
	else
		say(l, "this kernel has no %s%s", kinds[row->kind], row->name);
	if (!*d->text && row->since)
		say(l, " (since Linux %s)", row->since);
	if (l->lost)
		say_lost(l);
	else if (row->without)
		say(l, ": %s", row->without);
}

/* --- the verdict ------------------------------------------------------------------------------ */

static const struct kernel_lack *lack_of(const struct kernel_verdict *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->lacks[i].row->name, name))
			return &v->lacks[i];
	return NULL;
}

static void add_lack(struct kernel_verdict *v, const struct kernel_type_row *row, uint32_t lost,
		     const struct difference *d)
{
	struct kernel_lack *l = &v->lacks[v->n++];

	*l = (struct kernel_lack){ .row = row, .lost = with_dependents(lost) };
	say_lack(l, d);
}

#define NO_TYPES "type information (BTF)"

/* Returns whether another row replaces this one. */
static bool is_replaced(const struct btf *btf, const char *name)
{
	for (const struct kernel_type_row *row = kernel_type_rows; row->name; row++) {
		struct difference d = { "" };

		if (row->instead_of && !strcmp(row->instead_of, name) && find(btf, row, &d) &&
		    !*d.text)
			return true;
	}
	return false;
}

/* Rows that a row depends on come before it. */
static bool is_needed(const struct kernel_verdict *v, const struct kernel_type_row *row)
{
	return !(row->instead_of && !lack_of(v, row->instead_of)) &&
	       !(row->only_with && lack_of(v, row->only_with));
}

void kernel_types_check(const struct btf *btf, struct kernel_verdict *out)
{
	static const struct kernel_type_row no_types = { .name = NO_TYPES,
							 .users = BASE,
							 .lost = BASE };
	struct difference d = { "" };

	out->n = 0;
	out->lost = 0;
	if (!btf)
		add_lack(out, &no_types, BASE, &d);
	for (const struct kernel_type_row *row = kernel_type_rows; btf && row->name; row++) {
		d.text[0] = 0;
		if (!is_needed(out, row) || (find(btf, row, &d) && !*d.text))
			continue;
		add_lack(out, row, is_replaced(btf, row->name) ? 0 : row->lost, &d);
	}
	for (size_t i = 0; i < out->n; i++)
		out->lost |= out->lacks[i].lost;
}

bool kernel_types_has(const struct kernel_verdict *v, const char *name)
{
	if (lack_of(v, name) || lack_of(v, NO_TYPES))
		return false;
	for (const struct kernel_type_row *row = kernel_type_rows; row->name; row++)
		if (!strcmp(row->name, name))
			return true;
	return false;
}
