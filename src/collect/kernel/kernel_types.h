/* collect/kernel/kernel_types.h: everything in a kernel that the programs of src/bpf look up by
 * name, one row each: structure fields, tracepoints, functions, and the helpers and map types that
 * are newer than 5.10; and what is lost where one is missing.
 *
 *     struct kernel_verdict v;
 *     kernel_types_check(btf, &v);
 *     if (v.lost & KERNEL_GROUP(GROUP_WAITS))
 *             the first lack whose lost has that bit reports why: "this kernel has no
 *             task_struct.sched_info.run_delay: no off-cpu, …"
 *     kernel_types_has(&v, "sched_exit_tp")
 *
 * libbpf relocates the programs by the same names when it loads them; its messages on failure mean
 * little to users. It adapts the size of direct loads of unsigned integers and pointers. It does
 * not adapt loads of signed integers (the program does not load), nor reads by
 * bpf_probe_read_kernel: those silently read as many bytes as the field has in bpf/kernel.h.
 *
 * BTF shows what a kernel could have, not what it allows: it may still refuse a helper.
 *
 * tests/unit/collect/kernel/t_kernel_types.c keeps the table and the programs in step. */
#ifndef CRESSET_COLLECT_KERNEL_KERNEL_TYPES_H
#define CRESSET_COLLECT_KERNEL_KERNEL_TYPES_H

#include "collect/kernel/missing.h"
#include "collect/kernel/sampler_opts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* Sets of groups. KERNEL_BASE: the programs that every recording needs. */
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

/* The type that a field is read as. */
enum kernel_value {
	KERNEL_NO_VALUE,
	KERNEL_U16,
	KERNEL_U32,
	KERNEL_S32,
	KERNEL_U64,
	KERNEL_S64,
	KERNEL_POINTER,
	KERNEL_COMM, /* its first 16 bytes */
};

/* How programs access a field: bits. */
enum kernel_access {
	KERNEL_LOADED = 1,    /* by a load instruction, which libbpf adapts */
	KERNEL_COPIED = 2,    /* copied from its address: the size must match */
	KERNEL_ASKED_FOR = 4, /* bpf_core_field_exists */
};

struct kernel_type_row {
	enum kernel_type_kind kind;
	const char *name;
	enum kernel_value value;
	unsigned access;
	/* A tracepoint's first arguments, one letter each: t: task_struct *, r: pt_regs *, i:
	 * integer. */
	const char *args;
	uint32_t users;    /* groups whose programs use it */
	uint32_t lost;     /* groups that cannot be recorded without it */
	const char *since; /* the first kernel that has it; NULL: all from 5.10 on */
	/* Names of rows. instead_of: needed only where that row is missing, whose groups are then
	 * not lost. only_with: needed only where that row is found, which programs check. */
	const char *instead_of, *only_with;
	const char *without; /* what changes without it; NULL: described by lost alone */
};
/* Ends with a row without a name. Rows named by instead_of and only_with come before the rows that
 * name them. */
extern const struct kernel_type_row kernel_type_rows[];
enum { KERNEL_TYPE_ROWS_MAX = 96 };

struct kernel_lack {
	const struct kernel_type_row *row;
	uint32_t lost; /* as row.lost; 0 where another row replaces it */
	char text[240]; /* one line: "this kernel has no …: no off-cpu, sched-wait, wall and …" */
};
struct kernel_verdict {
	uint32_t lost; /* by all lacks; KERNEL_BASE implies all groups, waits imply wakers */
	size_t n;
	struct kernel_lack lacks[KERNEL_TYPE_ROWS_MAX]; /* in table order */
};

/* btf NULL: a kernel without type information: everything is lost, with one lack as the reason.
 * btf may be any that libbpf has parsed: its contents are not trusted. */
void kernel_types_check(const struct btf *btf, struct kernel_verdict *out);

/* name: as in the table; returns false for a name that is not in it. */
bool kernel_types_has(const struct kernel_verdict *v, const char *name);

#endif
