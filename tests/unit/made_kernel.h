/* tests/unit/made_kernel.h: types of a kernel that has each row of collect/kernel/kernel_types.c, or all but one, or one with another size. Every
 * second field is in an unnamed union. */
#ifndef CRESSET_TESTS_MADE_KERNEL_H
#define CRESSET_TESTS_MADE_KERNEL_H

#include "unit.h"

#include "collect/kernel/kernel_types.h"

#include <bpf/btf.h>

/* The difference from the table. Zeroed: none. */
struct made_change {
	const char *missing; /* row */
	const char *resized; /* row of a field */
	int bytes;           /* its size then */
	bool is_signed;
};

struct made {
	struct btf *btf;
	const struct made_change *is;
	int u[9], s[9]; /* integers by their size */
	int pointer, comm;
};

static inline int made_value_type(const struct made *m, const struct kernel_type_row *r)
{
	if (m->is->resized && !strcmp(r->name, m->is->resized))
		return m->is->is_signed ? m->s[m->is->bytes] : m->u[m->is->bytes];
	switch (r->value) {
	case KERNEL_U16:
		return m->u[2];
	case KERNEL_U32:
		return m->u[4];
	case KERNEL_S32:
		return m->s[4];
	case KERNEL_U64:
		return m->u[8];
	case KERNEL_S64:
		return m->s[8];
	case KERNEL_POINTER:
		return m->pointer;
	default:
		return m->comm;
	}
}

static inline bool made_has_row(const struct made *m, const struct kernel_type_row *r)
{
	return !m->is->missing || strcmp(r->name, m->is->missing) != 0;
}

/* The structure with the fields whose names begin with prefix; every second member is in an unnamed union. */
static inline int made_structure(struct made *m, const char *prefix, size_t len)
{
	enum { MAX_MEMBERS = 32, SPACING = 16 };
	const char *names[MAX_MEMBERS];
	size_t lens[MAX_MEMBERS];
	int types[MAX_MEMBERS], n = 0;
	char name[64];

	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const char *member = r->name + len + 1;
		bool is_known = false;

		if (r->kind != KERNEL_FIELD || strncmp(r->name, prefix, len) ||
		    r->name[len] != '.' || !made_has_row(m, r))
			continue;
		size_t member_len = strcspn(member, ".");
		for (int i = 0; i < n; i++)
			is_known |= lens[i] == member_len && !memcmp(names[i], member, member_len);
		if (is_known)
			continue;
		ck_assert_int_lt(n, MAX_MEMBERS);
		names[n] = member;
		lens[n] = member_len;
		types[n++] = member[member_len]
				     ? made_structure(m, r->name,
						      (size_t)(member + member_len - r->name))
				     : made_value_type(m, r);
	}
	for (int i = 1; i < n; i += 2) {
		snprintf(name, sizeof name, "%.*s", (int)lens[i], names[i]);
		int is = btf__add_union(m->btf, "", SPACING);
		ck_assert_int_eq(btf__add_field(m->btf, name, types[i], 0, 0), 0);
		types[i] = is;
		lens[i] = 0;
	}
	snprintf(name, sizeof name, "%.*s",
		 strchr(prefix, '.') && strchr(prefix, '.') < prefix + len ? 0 : (int)len, prefix);
	int id = btf__add_struct(m->btf, name, n * SPACING);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%.*s", (int)lens[i], names[i]);
		ck_assert_int_eq(btf__add_field(m->btf, name, types[i], i * SPACING * 8, 0), 0);
	}
	return id;
}

static inline void made_structures(struct made *m)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		char name[64];
		size_t len = strcspn(r->name, ".");

		snprintf(name, sizeof name, "%.*s", (int)len, r->name);
		if (r->kind == KERNEL_FIELD &&
		    btf__find_by_name_kind(m->btf, name, BTF_KIND_STRUCT) < 0)
			made_structure(m, r->name, len);
	}
}

static inline int made_pointer_to(struct made *m, const char *structure)
{
	return btf__add_ptr(m->btf, btf__find_by_name_kind(m->btf, structure, BTF_KIND_STRUCT));
}

/* The longest list of arguments in all rows that name it. */
static inline void made_tracepoint(struct made *m, const char *name)
{
	int task = made_pointer_to(m, "task_struct"), regs = made_pointer_to(m, "pt_regs");
	const char *args = "";
	char type[80];

	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		if (r->kind == KERNEL_TRACEPOINT && made_has_row(m, r) &&
		    strcspn(r->name, ".") == strlen(name) &&
		    !strncmp(r->name, name, strlen(name)) && strlen(r->args) > strlen(args))
			args = r->args;
	int proto = btf__add_func_proto(m->btf, 0);
	btf__add_func_param(m->btf, "data", m->pointer);
	for (const char *a = args; *a; a++)
		btf__add_func_param(m->btf, "arg", *a == 't' ? task : *a == 'r' ? regs : m->s[4]);
	snprintf(type, sizeof type, "btf_trace_%s", name);
	ck_assert_int_gt(btf__add_typedef(m->btf, type, btf__add_ptr(m->btf, proto)), 0);
}

static inline void made_enums(struct made *m, enum kernel_type_kind kind, const char *type)
{
	char name[80];
	int n = 0;

	btf__add_enum(m->btf, type, 4);
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		if (r->kind != kind || !made_has_row(m, r))
			continue;
		snprintf(name, sizeof name, "%s%s", kind == KERNEL_HELPER ? "BPF_FUNC_" : "",
			 r->name + (kind == KERNEL_HELPER ? 4 : 0));
		btf__add_enum_value(m->btf, name, n++);
	}
}

/* Free it with btf__free. */
static inline struct btf *make_kernel(const struct made_change *is)
{
	struct made m = { .btf = btf__new_empty(), .is = is };

	for (int bytes = 1; bytes <= 8; bytes *= 2) {
		char name[16];

		snprintf(name, sizeof name, "u%d", bytes * 8);
		m.u[bytes] = btf__add_int(m.btf, name, bytes, 0);
		name[0] = 's';
		m.s[bytes] = btf__add_int(m.btf, name, bytes, BTF_INT_SIGNED);
	}
	m.pointer = btf__add_ptr(m.btf, 0);
	m.comm = btf__add_array(m.btf, m.u[4], m.s[1], 16);
	made_structures(&m);
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		if (r->kind == KERNEL_TRACEPOINT && !strchr(r->name, '.') && made_has_row(&m, r))
			made_tracepoint(&m, r->name);
		if (r->kind == KERNEL_FUNCTION && made_has_row(&m, r))
			btf__add_func(m.btf, r->name, BTF_FUNC_GLOBAL,
				      btf__add_func_proto(m.btf, 0));
	}
	made_enums(&m, KERNEL_HELPER, "bpf_func_id");
	made_enums(&m, KERNEL_MAP_TYPE, "bpf_map_type");
	return m.btf;
}

#endif
