/* The table of what BPF programs need of a kernel (collect/kernel_types.c): it says the same as the programs that each clang compiles; these
 * can be relocated by the types of each kernel there is, as libbpf does it; and what a kernel lacks is said, whatever its types look like. */
#define UNIT_TIMEOUT_S 300
#include "core_relocations.h"
#include "rand.h"

#include "collect/kernel_types.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glob.h>

static const char *const clangs[] = { "14", "19" };
static const char *const sources[] = { "sample", "gpu" };
enum { CLANGS = 2, SOURCES = 2, OBJECTS = CLANGS * SOURCES };

/* The newest of 5.10. Those that come after are rows of the table. */
enum { LAST_HELPER = BPF_FUNC_redirect_peer, LAST_MAP_TYPE = BPF_MAP_TYPE_INODE_STORAGE };

static void object_path(int i, char *to, size_t size)
{
	const char *build = getenv("BUILD");

	snprintf(to, size, "%s/unit/bpf-%s/%s.bpf.o", build ? build : "build", clangs[i / SOURCES],
		 sources[i % SOURCES]);
}

/* --- which programs are whose ------------------------------------------------------------------ */

static uint32_t sample_group(const char *section, const char *name)
{
	static const char *const wakers[] = { "irq_", "softirq_", "local_timer_", "call_function_",
					      "off_waking" };

	(void)section;
	for (size_t i = 0; i < sizeof wakers / sizeof *wakers; i++)
		if (!strncmp(name, wakers[i], strlen(wakers[i])))
			return KERNEL_GROUP(GROUP_WAKERS);
	if (!strncmp(name, "off_", 4) || !strncmp(name, "threads_", 8))
		return KERNEL_GROUP(GROUP_WAITS);
	return KERNEL_BASE;
}

static uint32_t gpu_group(const char *section, const char *name)
{
	(void)section, (void)name;
	return KERNEL_GROUP(GROUP_GPU);
}

static struct core_object *object_open(int i)
{
	struct core_object *o = malloc(sizeof *o);
	char path[256];

	object_path(i, path, sizeof path);
	core_open(o, path, i % SOURCES ? gpu_group : sample_group);
	return o;
}

static void object_close(struct core_object *o)
{
	core_close(o);
	free(o);
}

/* --- the table and the programs ---------------------------------------------------------------- */

static const struct kernel_type_row *row_named(const char *name)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

/* What the programs do, for each row of the table. */
struct used {
	unsigned access;
	uint32_t users;
};

static struct used *used_row(struct used *used, const char *name, const char *who)
{
	const struct kernel_type_row *r = row_named(name);

	ck_assert_msg(r != NULL, "%s has %s, which is no row of collect/kernel_types.c", who, name);
	return &used[r - kernel_type_rows];
}

static enum kernel_value value_of(const struct core_object *o, const struct core_field *f)
{
	__u32 id = f->type;
	const struct btf_type *t = core_plain(o->btf, &id);
	bool is_signed = btf_is_int(t) && !core_is_unsigned(t);
	long size = btf__resolve_size(o->btf, id);

	if (btf_is_ptr(t))
		return KERNEL_POINTER;
	if (btf_is_array(t) && size == 16)
		return KERNEL_COMM;
	if (btf_is_int(t) && size == 4)
		return is_signed ? KERNEL_S32 : KERNEL_U32;
	if (btf_is_int(t) && size == 8)
		return is_signed ? KERNEL_S64 : KERNEL_U64;
	return KERNEL_NO_VALUE;
}

static unsigned access_of(const struct core_field *f)
{
	if (f->kind == BPF_CORE_FIELD_EXISTS)
		return KERNEL_ASKED_FOR;
	ck_assert_msg(f->kind == BPF_CORE_FIELD_BYTE_OFFSET, "%s: relocation of kind %d", f->name,
		      f->kind);
	return BPF_CLASS(f->insn.code) == BPF_LDX ? KERNEL_LOADED : KERNEL_COPIED;
}

static void use_fields(const struct core_object *o, struct used *used)
{
	for (size_t i = 0; i < o->n_fields; i++) {
		const struct core_field *f = &o->fields[i];
		struct used *u = used_row(used, f->name, f->in->name);
		const struct kernel_type_row *r = &kernel_type_rows[u - used];

		ck_assert_msg(r->value == value_of(o, f),
			      "%s reads %s as value %d, the table says %d", f->in->name, f->name,
			      value_of(o, f), r->value);
		ck_assert_msg(r->access & access_of(f), "%s has access %u to %s, the table says %u",
			      f->in->name, access_of(f), f->name, r->access);
		u->access |= access_of(f);
		u->users |= f->in->users;
	}
}

static void use_calls(const struct core_object *o, struct used *used)
{
	static const char *const names[] = {
#define HELPER_NAME(name) [BPF_FUNC_##name] = "bpf_" #name
		__BPF_FUNC_MAPPER(HELPER_NAME)
	};
	enum { HELPERS = sizeof names / sizeof *names };

	for (size_t i = 0; i < o->n_calls; i++) {
		int helper = o->calls[i].helper;

		if (helper <= LAST_HELPER)
			continue;
		ck_assert_msg(helper < HELPERS, "helper %d is newer than these headers", helper);
		used_row(used, names[helper], o->calls[i].in->name)->users |= o->calls[i].in->users;
	}
}

/* Tracepoints and iterators, from the names of sections: tp_btf/sched_switch, raw_tp/sched_process_fork, iter.s/task. */
static void use_sections(const struct core_object *o, struct used *used)
{
	for (size_t i = 0; i < o->n_functions; i++) {
		const struct core_function *f = &o->functions[i];
		const char *what = strchr(f->section, '/');
		char iterator[128];

		if (!f->is_program || !what)
			continue;
		snprintf(iterator, sizeof iterator, "bpf_iter_%s", what + 1);
		if (!strncmp(f->section, "iter", 4))
			used_row(used, iterator, f->name)->users |= f->users;
		else if (!strncmp(f->section, "tp_btf/", 7) || !strncmp(f->section, "raw_tp/", 7))
			used_row(used, what + 1, f->name)->users |= f->users;
		else
			ck_abort_msg("%s is in %s: teach this test", f->name, f->section);
	}
}

/* Which programs have a map is not looked at. */
static void use_maps(int i, struct used *used)
{
	char path[256];
	struct bpf_map *map;

	object_path(i, path, sizeof path);
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	ck_assert_ptr_nonnull(obj);
	bpf_object__for_each_map(map, obj)
	{
		char name[64];

		if ((int)bpf_map__type(map) <= LAST_MAP_TYPE)
			continue;
		snprintf(name, sizeof name, "BPF_MAP_TYPE_%s",
			 libbpf_bpf_map_type_str(bpf_map__type(map)));
		for (char *c = name; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c;
		struct used *u = used_row(used, name, bpf_map__name(map));
		u->users = kernel_type_rows[u - used].users;
	}
	bpf_object__close(obj);
}

/* An argument's row is used by those that use its tracepoint. */
static void use_arguments(struct used *used)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const char *dot = strchr(r->name, '.');
		char tracepoint[64];

		if (r->kind != KERNEL_TRACEPOINT || !dot)
			continue;
		snprintf(tracepoint, sizeof tracepoint, "%.*s", (int)(dot - r->name), r->name);
		used[r - kernel_type_rows] = *used_row(used, tracepoint, r->name);
	}
}

START_TEST(table_is_what_programs_use)
{
	for (int clang = 0; clang < CLANGS; clang++) {
		struct used used[KERNEL_TYPE_ROWS_MAX] = { { 0 } };

		for (int i = clang * SOURCES; i < (clang + 1) * SOURCES; i++) {
			struct core_object *o = object_open(i);

			use_fields(o, used);
			use_calls(o, used);
			use_sections(o, used);
			use_maps(i, used);
			object_close(o);
		}
		use_arguments(used);
		for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
			const struct used *u = &used[r - kernel_type_rows];

			ck_assert_msg(u->users, "clang-%s: no program uses %s", clangs[clang],
				      r->name);
			ck_assert_msg(u->users == r->users,
				      "clang-%s: groups that use %s: %#x, the table says %#x",
				      clangs[clang], r->name, u->users, r->users);
			ck_assert_msg(u->access == r->access,
				      "clang-%s: access to %s: %u, the table says %u",
				      clangs[clang], r->name, u->access, r->access);
		}
	}
}
END_TEST

START_TEST(rows_are_in_order)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const struct kernel_type_row *first = row_named(r->name),
					     *before = r->instead_of  ? row_named(r->instead_of)
						       : r->only_with ? row_named(r->only_with)
								      : NULL;

		ck_assert_msg(first == r, "%s is there twice", r->name);
		if (r->instead_of || r->only_with)
			ck_assert_msg(before && before < r,
				      "%s: what it depends on stands before it", r->name);
		if (r->only_with)
			ck_assert_msg(before->access & KERNEL_ASKED_FOR,
				      "no program asks for %s, which %s depends on", r->only_with,
				      r->name);
		ck_assert_msg(r->lost || r->without, "%s: nothing is said of what is missed",
			      r->name);
		if (r->kind == KERNEL_FIELD && !r->lost)
			ck_assert_msg(r->access & KERNEL_ASKED_FOR,
				      "no program can do without %s: none asks for it", r->name);
	}
}
END_TEST

/* --- kernels ----------------------------------------------------------------------------------- */

static const struct kernel_lack *lack_named(const struct kernel_verdict *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->lacks[i].row->name, name))
			return &v->lacks[i];
	return NULL;
}

static void show(const char *kernel, const struct kernel_verdict *v)
{
	for (size_t i = 0; i < v->n; i++)
		printf("# %s: %s\n", kernel, v->lacks[i].text);
	if (!v->n)
		printf("# %s: has all of it\n", kernel);
}

/* True of every verdict. */
static void check_words(const struct kernel_verdict *v)
{
	uint32_t lost = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct kernel_lack *l = &v->lacks[i];

		lost |= l->lost;
		ck_assert_msg(!strncmp(l->text, "this kernel", 11), "%s", l->text);
		ck_assert_ptr_nonnull(strstr(l->text, l->row->name));
		ck_assert_msg(!l->lost || strstr(l->text, ": no "), "%s", l->text);
		ck_assert_msg(strlen(l->text) < sizeof l->text - 1, "cut: %s", l->text);
	}
	ck_assert_uint_eq(lost, v->lost);
}

/* Programs do not need it on this kernel, as the table says. */
static bool is_needless(const struct kernel_type_row *r, const struct kernel_verdict *v)
{
	return (r->instead_of && !lack_named(v, r->instead_of)) ||
	       (r->only_with && lack_named(v, r->only_with));
}

/* Each field of an object is where it is read, or is known to be optional. found: rows whose fields are missed. */
static void check_fields(const struct core_object *o, const struct btf *btf, const char *kernel,
			 const struct kernel_verdict *v, bool *missed)
{
	for (size_t i = 0; i < o->n_fields; i++) {
		const struct core_field *f = &o->fields[i];
		const struct kernel_type_row *r = row_named(f->name);
		const struct kernel_lack *l = lack_named(v, f->name);
		struct core_place p;

		if (core_find(btf, f->name, &p) && core_reads_right(o, f, btf, &p))
			continue;
		missed[r - kernel_type_rows] = true;
		if (is_needless(r, v))
			continue;
		ck_assert_msg(l != NULL, "%s: %s cannot read %s, and the verdict does not say so",
			      kernel, f->in->name, f->name);
		ck_assert_msg(!l->lost, "%s: %s: %s", kernel, f->in->name, l->text);
	}
}

static void check_kernel(const char *path, const char *kernel)
{
	struct btf *btf = btf__parse(path, NULL);
	bool missed[KERNEL_TYPE_ROWS_MAX] = { false };
	struct kernel_verdict v;

	ck_assert_msg(btf != NULL, "%s", path);
	kernel_types_check(btf, &v);
	show(kernel, &v);
	check_words(&v);
	for (int i = 0; i < OBJECTS; i++) {
		struct core_object *o = object_open(i);

		check_fields(o, btf, kernel, &v, missed);
		object_close(o);
	}
	for (size_t i = 0; i < v.n; i++)
		ck_assert_msg(v.lacks[i].row->kind != KERNEL_FIELD ||
				      missed[v.lacks[i].row - kernel_type_rows],
			      "%s: %s: but the programs can read it", kernel, v.lacks[i].text);
	btf__free(btf);
}

/* Files with the types of other kernels. */
static void other_kernels(glob_t *files)
{
	const char *dir = getenv("CRESSET_BTF_DIR");
	char pattern[512];

	snprintf(pattern, sizeof pattern, "%s/*", dir ? dir : "build/btf");
	if (glob(pattern, 0, NULL, files))
		files->gl_pathc = 0;
}
#define NO_OTHER_KERNELS "no types of other kernels in build/btf or $CRESSET_BTF_DIR"

START_TEST(programs_fit_the_running_kernel)
{
	check_kernel("/sys/kernel/btf/vmlinux", "this kernel");
}
END_TEST

START_TEST(programs_fit_other_kernels)
{
	glob_t files;

	other_kernels(&files);
	if (!files.gl_pathc)
		T_SKIP(NO_OTHER_KERNELS);
	for (size_t i = 0; i < files.gl_pathc; i++)
		check_kernel(files.gl_pathv[i], strrchr(files.gl_pathv[i], '/') + 1);
	globfree(&files);
}
END_TEST

/* --- the same as libbpf ------------------------------------------------------------------------ */

/* Relocated by libbpf; no map is made and, as the programs have none, none of them loads. */
static struct bpf_object *relocated(int i, const char *kernel_types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = kernel_types);
	char path[256];
	struct bpf_map *map;

	object_path(i, path, sizeof path);
	struct bpf_object *obj = bpf_object__open_file(path, &opts);
	ck_assert_ptr_nonnull(obj);
	bpf_object__for_each_map(map, obj) bpf_map__set_autocreate(map, false);
	ck_assert_int_ne(bpf_object__load(obj), 0);
	return obj;
}

static bool is_poisoned(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->imm >= 0xbad2310;
}

static bool is_load_of(const struct bpf_insn *insn, const struct btf *btf,
		       const struct core_place *p)
{
	static const int bytes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8
	};

	return insn->off == p->bits / 8 &&
	       bytes[BPF_SIZE(insn->code) >> 3] == btf__resolve_size(btf, p->type);
}

static void compare_insn(const struct core_object *o, const struct core_field *f,
			 const struct bpf_insn *insn, const struct btf *btf, const char *kernel)
{
	struct core_place p;
	bool found = core_find(btf, f->name, &p), is_right;

	if (f->kind == BPF_CORE_FIELD_EXISTS)
		is_right = insn->imm == found;
	else if (BPF_CLASS(f->insn.code) == BPF_LDX)
		is_right = found && core_reads_right(o, f, btf, &p) ? is_load_of(insn, btf, &p)
								    : is_poisoned(insn);
	else
		is_right = found ? insn->imm == p.bits / 8 : is_poisoned(insn);
	ck_assert_msg(is_right, "%s: %s: %s: libbpf relocates it otherwise: code %#x off %d imm %d",
		      kernel, f->in->name, f->name, insn->code, insn->off, insn->imm);
}

/* Those in programs themselves: libbpf has functions in the programs that call them. */
static int compare_object(int i, const char *path)
{
	struct core_object *o = object_open(i);
	struct bpf_object *obj = relocated(i, path);
	struct btf *btf = btf__parse(path, NULL);
	int n = 0;

	for (size_t k = 0; k < o->n_fields; k++) {
		const struct core_field *f = &o->fields[k];

		if (!f->in->is_program)
			continue;
		struct bpf_program *prog = bpf_object__find_program_by_name(obj, f->in->name);
		ck_assert_uint_lt(f->insn_at, bpf_program__insn_cnt(prog));
		compare_insn(o, f, &bpf_program__insns(prog)[f->insn_at], btf, path);
		n++;
	}
	btf__free(btf);
	bpf_object__close(obj);
	object_close(o);
	return n;
}

START_TEST(relocations_are_those_of_libbpf)
{
	glob_t files;
	int n = 0;

	if (geteuid())
		T_SKIP("libbpf relocates nothing without the right to load programs");
	libbpf_set_print(NULL);
	other_kernels(&files);
	for (int i = 0; i < OBJECTS; i++) {
		n += compare_object(i, "/sys/kernel/btf/vmlinux");
		for (size_t k = 0; k < files.gl_pathc; k++)
			n += compare_object(i, files.gl_pathv[k]);
	}
	printf("# %d relocations, of %zu kernels\n", n, files.gl_pathc + 1);
	ck_assert_int_gt(n, 100);
	globfree(&files);
}
END_TEST

/* --- a kernel made of the table ---------------------------------------------------------------- */

/* What of it is otherwise. */
struct otherwise {
	const char *missing; /* row */
	const char *resized; /* row of a field */
	int bytes;           /* that it has then */
	bool is_signed;
};

struct made {
	struct btf *btf;
	const struct otherwise *is;
	int u[9], s[9]; /* integers by their size */
	int pointer, comm;
};

static int value_type(const struct made *m, const struct kernel_type_row *r)
{
	if (m->is->resized && !strcmp(r->name, m->is->resized))
		return m->is->is_signed ? m->s[m->is->bytes] : m->u[m->is->bytes];
	switch (r->value) {
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

static bool is_made(const struct made *m, const struct kernel_type_row *r)
{
	return !m->is->missing || strcmp(r->name, m->is->missing) != 0;
}

/* The structure of the fields whose names begin with this one; every second member is inside a union without a name. */
static int make_structure(struct made *m, const char *prefix, size_t len)
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
		    r->name[len] != '.' || !is_made(m, r))
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
				     ? make_structure(m, r->name,
						      (size_t)(member + member_len - r->name))
				     : value_type(m, r);
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

static void make_structures(struct made *m)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		char name[64];
		size_t len = strcspn(r->name, ".");

		snprintf(name, sizeof name, "%.*s", (int)len, r->name);
		if (r->kind == KERNEL_FIELD &&
		    btf__find_by_name_kind(m->btf, name, BTF_KIND_STRUCT) < 0)
			make_structure(m, r->name, len);
	}
}

static int pointer_to(struct made *m, const char *structure)
{
	return btf__add_ptr(m->btf, btf__find_by_name_kind(m->btf, structure, BTF_KIND_STRUCT));
}

/* Of all rows that name it the longest list of arguments. */
static void make_tracepoint(struct made *m, const char *name)
{
	int task = pointer_to(m, "task_struct"), regs = pointer_to(m, "pt_regs");
	const char *args = "";
	char type[80];

	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		if (r->kind == KERNEL_TRACEPOINT && is_made(m, r) &&
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

static void make_enums(struct made *m, enum kernel_type_kind kind, const char *type)
{
	char name[80];
	int n = 0;

	btf__add_enum(m->btf, type, 4);
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		if (r->kind != kind || !is_made(m, r))
			continue;
		snprintf(name, sizeof name, "%s%s", kind == KERNEL_HELPER ? "BPF_FUNC_" : "",
			 r->name + (kind == KERNEL_HELPER ? 4 : 0));
		btf__add_enum_value(m->btf, name, n++);
	}
}

static struct btf *make_kernel(const struct otherwise *is)
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
	make_structures(&m);
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		if (r->kind == KERNEL_TRACEPOINT && !strchr(r->name, '.') && is_made(&m, r))
			make_tracepoint(&m, r->name);
		if (r->kind == KERNEL_FUNCTION && is_made(&m, r))
			btf__add_func(m.btf, r->name, BTF_FUNC_GLOBAL,
				      btf__add_func_proto(m.btf, 0));
	}
	make_enums(&m, KERNEL_HELPER, "bpf_func_id");
	make_enums(&m, KERNEL_MAP_TYPE, "bpf_map_type");
	return m.btf;
}

static void judge(const struct otherwise *is, struct kernel_verdict *v)
{
	struct btf *btf = make_kernel(is);

	kernel_types_check(btf, v);
	check_words(v);
	btf__free(btf);
}

START_TEST(nothing_is_missed_where_all_is_there)
{
	struct kernel_verdict v;

	judge(&(struct otherwise){ 0 }, &v);
	show("all of the table", &v);
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

/* With what else goes with it: an argument with its tracepoint. */
START_TEST(each_row_is_missed_and_costs_what_it_says)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const struct kernel_lack *l;
		struct kernel_verdict v;

		judge(&(struct otherwise){ .missing = r->name }, &v);
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
		bool is_unsigned = r->value == KERNEL_U32 || r->value == KERNEL_U64;
		bool adapts = is_unsigned && !(r->access & KERNEL_COPIED);
		struct kernel_verdict v;

		if (r->value == KERNEL_NO_VALUE || r->instead_of)
			continue;
		judge(&(struct otherwise){ .resized = r->name, .bytes = 1 }, &v);
		ck_assert_msg(!lack_named(&v, r->name) == adapts, "%s of one byte", r->name);
		ck_assert_msg(adapts || strstr(v.lacks[0].text, "this kernel's "), "%s",
			      v.lacks[0].text);
		judge(&(struct otherwise){ .resized = r->name, .bytes = 1, .is_signed = true }, &v);
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
	struct btf *btf = make_kernel(&(struct otherwise){ 0 });
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
	struct btf *btf = make_kernel(&(struct otherwise){ 0 });
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

/* Structures that are inside themselves, types that are other names of themselves. */
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

/* The running kernel's, with one name changed: the verdict is that of a kernel without it. */
static void rename_in_kernel(const char *string, const char *row, uint32_t lost, const char *words)
{
	struct btf *real = btf__parse("/sys/kernel/btf/vmlinux", NULL);
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
	ck_assert_msg(at != NULL, "%s", string);
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
	free(copy);
	btf__free(real);
}

START_TEST(names_that_changed)
{
	const uint32_t waits = KERNEL_GROUP(GROUP_WAITS) | KERNEL_GROUP(GROUP_WAKERS);

	rename_in_kernel("btf_trace_sched_switch", "sched_switch", waits,
			 "this kernel has no tracepoint sched_switch: no off-cpu, sched-wait and "
			 "wall");
	rename_in_kernel("btf_trace_sched_waking", "sched_waking", KERNEL_GROUP(GROUP_WAKERS),
			 "this kernel has no tracepoint sched_waking: no wakers");
	rename_in_kernel("btf_trace_sched_process_exec", "sched_process_exec", KERNEL_ALL,
			 "this kernel has no tracepoint sched_process_exec: no recording");
	rename_in_kernel("run_delay", "task_struct.sched_info.run_delay", waits,
			 "this kernel has no task_struct.sched_info.run_delay: no off-cpu, "
			 "sched-wait and wall");
	rename_in_kernel("map_count", "mm_struct.map_count", KERNEL_ALL,
			 "this kernel has no mm_struct.map_count: no recording");
	rename_in_kernel("BPF_FUNC_get_attach_cookie", "bpf_get_attach_cookie",
			 KERNEL_GROUP(GROUP_GPU),
			 "this kernel has no helper bpf_get_attach_cookie (since Linux 5.15): no "
			 "events of GPUs");
	rename_in_kernel("btf_trace_irq_work_entry", "irq_work_entry", 0,
			 "this kernel has no tracepoint irq_work_entry: a waking in such an "
			 "interrupt counts as the interrupted thread's");
}
END_TEST

UNIT_MAIN("kernel_types", table_is_what_programs_use, rows_are_in_order,
	  programs_fit_the_running_kernel, programs_fit_other_kernels,
	  relocations_are_those_of_libbpf, nothing_is_missed_where_all_is_there,
	  each_row_is_missed_and_costs_what_it_says, sizes_are_compared, no_types_at_all,
	  types_that_are_cut, types_that_are_garbage, types_that_never_end, names_that_changed)
