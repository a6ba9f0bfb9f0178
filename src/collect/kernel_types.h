/* collect/kernel_types.h: everything in a kernel that the programs of src/bpf need to find by its name, one row each: fields of structures,
 * tracepoints, functions, and the helpers and map types that are newer than 5.10; what each costs where it is missing.
 *
 *     struct kernel_verdict v;
 *     kernel_types_check(btf, &v);
 *     if (v.lost & KERNEL_GROUP(GROUP_WAITS))
 *             the first lack whose lost has that bit says why: "this kernel has no task_struct.sched_info.run_delay: no off-cpu, …"
 *     kernel_types_has(&v, "sched_exit_tp")
 *
 * libbpf relocates the programs by the same names when it loads them, and says nothing that a user understands when it cannot. It adapts the
 * size of direct loads of unsigned integers and of pointers. It does not adapt that of signed ones (the program does not load), nor of reads by
 * bpf_probe_read_kernel: those take as many bytes as the field had in bpf/kernel.h, without a word.
 *
 * BTF tells what a kernel could have, not what it allows: a helper may be refused all the same.
 *
 * tests/unit/t_kernel_types.c keeps the table and the programs in step. */
#ifndef CRESSET_COLLECT_KERNEL_TYPES_H
#define CRESSET_COLLECT_KERNEL_TYPES_H

#include "collect/collect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* Sets of groups. KERNEL_BASE: the programs without which nothing is recorded. */
#define KERNEL_GROUP(group) (1u << (group))
#define KERNEL_BASE         KERNEL_GROUP(COLLECT_GROUPS)
#define KERNEL_ALL          (2 * KERNEL_BASE - 1)

enum kernel_type_kind {
	KERNEL_FIELD,      /* "task_struct.sched_info.run_delay" */
	KERNEL_TRACEPOINT, /* "sched_switch"; "sched_switch.prev_state": one of its arguments */
	KERNEL_FUNCTION,   /* "bpf_iter_task" */
	KERNEL_HELPER,     /* "bpf_loop" */
	KERNEL_MAP_TYPE,   /* "BPF_MAP_TYPE_TASK_STORAGE" */
};

/* What a field is read as. */
enum kernel_value {
	KERNEL_NO_VALUE,
	KERNEL_U32,
	KERNEL_S32,
	KERNEL_U64,
	KERNEL_S64,
	KERNEL_POINTER,
	KERNEL_COMM, /* the first 16 bytes of it */
};

/* How programs get at a field: bits. */
enum kernel_access {
	KERNEL_LOADED = 1,    /* by an instruction, which libbpf adapts */
	KERNEL_COPIED = 2,    /* from its address: the size must be the same */
	KERNEL_ASKED_FOR = 4, /* bpf_core_field_exists */
};

struct kernel_type_row {
	enum kernel_type_kind kind;
	const char *name;
	enum kernel_value value;
	unsigned access;
	/* Of a tracepoint: its first arguments, one letter each: t a task_struct *, r a pt_regs *, i an integer. */
	const char *args;
	uint32_t users;    /* groups whose programs have it */
	uint32_t lost;     /* groups that cannot be recorded without it */
	const char *since; /* the first kernel that has it; NULL: all from 5.10 on */
	/* Names of rows: needed only where that one is missing, whose groups are not lost then; or only where that one is found, which programs ask
	 * for. */
	const char *instead_of, *only_with;
	const char *without; /* what is different without it; NULL: what is lost says all */
};
/* Ends with a row without a name. Rows that instead_of and only_with name stand before those that name them. */
extern const struct kernel_type_row kernel_type_rows[];
enum { KERNEL_TYPE_ROWS_MAX = 96 };

struct kernel_lack {
	const struct kernel_type_row *row;
	uint32_t lost;  /* of row; 0 where another row does instead */
	char text[240]; /* one line: "this kernel has no …: no off-cpu, sched-wait and wall" */
};
struct kernel_verdict {
	uint32_t lost; /* by all lacks; with KERNEL_BASE all groups, with waits also wakers */
	size_t n;
	struct kernel_lack lacks[KERNEL_TYPE_ROWS_MAX]; /* in the table's order */
};

/* btf NULL: a kernel without type information; everything is lost, and the only lack says so. btf may be any that libbpf has read: nothing
 * in it is trusted. */
void kernel_types_check(const struct btf *btf, struct kernel_verdict *out);

/* name: as in the table. False also for a name that is not in it. */
bool kernel_types_has(const struct kernel_verdict *v, const char *name);

#endif
