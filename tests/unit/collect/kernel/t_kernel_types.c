// tier: test
/* The table of what BPF programs need of a kernel (collect/kernel/kernel_types.c): it matches the programs that each clang compiles, and these can be
 * relocated against the types of each available kernel, as libbpf does it. */
#include "base/fs.h"
#include "collect/kernel/types_part.h"
#include "core_relocations.h"
#include "kernel_verdict.h"
#include "may_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>

static const char *const clangs[] = { "14", "19" };
static const char *const sources[] = { "sample", "gpu" };
#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
enum { CLANGS = 2, SOURCES = 2, OBJECTS = CLANGS * SOURCES };

/* The newest of 5.10. Later ones are rows of the table. */
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
	if (!strncmp(name, "fault_", 6))
		return KERNEL_GROUP(GROUP_FAULTS);
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

/* The use of each row by the programs. */
struct used {
	unsigned access;
	uint32_t users;
};

static struct used *used_row(struct used *used, const char *name, const char *who)
{
	const struct kernel_type_row *r = row_named(name);

	ck_assert_msg(r != NULL, "%s has %s, which is no row of collect/kernel/kernel_types.c", who,
		      name);
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
	if (btf_is_int(t) && size == 2 && !is_signed)
		return KERNEL_U16;
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

static void use_imports(const struct core_object *o, struct used *used)
{
	for (size_t i = 0; i < o->n_imports; i++) {
		const struct core_import *import = &o->imports[i];

		used_row(used, import->name, import->in->name)->users |= import->in->users;
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

/* Which programs use a map does not matter. */
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

/* An argument's row is used by programs that use its tracepoint. */
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
			use_imports(o, used);
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

/* Programs do not need it on this kernel, according to the table. */
static bool is_needless(const struct kernel_type_row *r, const struct kernel_verdict *v)
{
	return (r->instead_of && !lack_named(v, r->instead_of)) ||
	       (r->only_with && lack_named(v, r->only_with));
}

/* Each field of an object is at its offset, or is known to be optional. found: rows whose fields are missing. */
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

static bool has_string(const struct btf *btf, const char *prefix, const char *name)
{
	char string[96] = "";
	__u32 size;
	const void *data = btf__raw_data(btf, &size);
	int len = snprintf(string + 1, sizeof string - 1, "%s%s", prefix, name);

	return memmem(data, size, string, len + 2) != NULL;
}

/* Rows other than fields: the name is among the names of the kernel's types, or it is missing. */
static void check_names(const struct btf *btf, const char *kernel, const struct kernel_verdict *v)
{
	static const char *const prefixes[] = { [KERNEL_TRACEPOINT] = "btf_trace_",
						[KERNEL_FUNCTION] = "",
						[KERNEL_HELPER] = "BPF_FUNC_",
						[KERNEL_MAP_TYPE] = "" };

	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++) {
		const char *name = r->kind == KERNEL_HELPER ? r->name + strlen("bpf_") : r->name;
		const struct kernel_lack *l = lack_named(v, r->name);

		if (r->kind == KERNEL_FIELD || strchr(r->name, '.') || is_needless(r, v))
			continue;
		ck_assert_msg(has_string(btf, prefixes[r->kind], name) == !l, "%s: %s: %s", kernel,
			      r->name, l ? "it is there" : "it is not there");
		ck_assert_msg(!l || !l->lost || r->kind >= KERNEL_HELPER, "%s: %s", kernel,
			      l->text);
	}
}

static void check_kernel(const char *path, const char *kernel)
{
	struct btf *btf = btf__parse(path, NULL);
	bool missed[KERNEL_TYPE_ROWS_MAX] = { false };
	struct kernel_verdict v;

	ck_assert_msg(btf != NULL, "%s", path);
	kernel_types_check(btf, &v);
	show_verdict(kernel, &v);
	check_words(&v);
	check_names(btf, kernel, &v);
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
	if (access(KERNEL_BTF, R_OK))
		T_SKIP("no " KERNEL_BTF);
	check_kernel(KERNEL_BTF, "running kernel");
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

/* Relocated by libbpf; no map is created, so none of the programs loads. */
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

/* Relocations in programs only: libbpf puts functions into the programs that call them. */
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

START_TEST(relocations_equal_libbpf)
{
	glob_t files;
	int n = 0;

	T_NEEDS_BPF();
	if (access(KERNEL_BTF, R_OK))
		T_SKIP("no " KERNEL_BTF);
	libbpf_set_print(NULL);
	other_kernels(&files);
	for (int i = 0; i < OBJECTS; i++) {
		n += compare_object(i, KERNEL_BTF);
		for (size_t k = 0; k < files.gl_pathc; k++)
			n += compare_object(i, files.gl_pathv[k]);
	}
	printf("# %d relocations, of %zu kernels\n", n, files.gl_pathc + 1);
	ck_assert_int_gt(n, 100);
	globfree(&files);
}
END_TEST

/* --- a part of the types ------------------------------------------------------------------------ */

static struct btf *part_of(const char *path, char *file, size_t size)
{
	struct btf *whole = btf__parse(path, NULL), *part;
	__u32 len, whole_len;

	ck_assert_msg(whole != NULL, "%s", path);
	part = types_part_make(whole);
	ck_assert_ptr_nonnull(part);
	const void *data = btf__raw_data(part, &len);
	btf__raw_data(whole, &whole_len);
	printf("# %s: %u of %u types, %u of %u bytes\n", path, btf__type_cnt(part),
	       btf__type_cnt(whole), len, whole_len);
	ck_assert_uint_lt(len, whole_len / 4);
	int fd = memfd_create("part", MFD_CLOEXEC);
	ck_assert_int_eq(write(fd, data, len), len);
	snprintf(file, size, "/proc/self/fd/%d", fd);
	btf__free(whole);
	return part;
}

static void same_verdict(const char *path, const struct btf *part)
{
	struct btf *whole = btf__parse(path, NULL);
	struct kernel_verdict a, b;

	kernel_types_check(whole, &a);
	kernel_types_check(part, &b);
	ck_assert_uint_eq(a.lost, b.lost);
	ck_assert_uint_eq(a.n, b.n);
	for (size_t i = 0; i < a.n; i++)
		ck_assert_str_eq(a.lacks[i].text, b.lacks[i].text);
	btf__free(whole);
}

/* Every instruction of every program. */
static int same_programs(int i, const char *path, const char *part)
{
	struct bpf_object *a = relocated(i, path), *b = relocated(i, part);
	struct bpf_program *p;
	int n = 0;

	bpf_object__for_each_program(p, a)
	{
		struct bpf_program *q = bpf_object__find_program_by_name(b, bpf_program__name(p));

		ck_assert_uint_eq(bpf_program__insn_cnt(p), bpf_program__insn_cnt(q));
		ck_assert_mem_eq(bpf_program__insns(p), bpf_program__insns(q),
				 bpf_program__insn_cnt(p) * sizeof(struct bpf_insn));
		n += bpf_program__insn_cnt(p);
	}
	bpf_object__close(a);
	bpf_object__close(b);
	return n;
}

static void part_fits(const char *path)
{
	char file[64];
	struct btf *part = part_of(path, file, sizeof file);
	int n = 0;

	same_verdict(path, part);
	for (int i = 0; i < OBJECTS; i++)
		n += same_programs(i, path, file);
	ck_assert_int_gt(n, 1000);
	btf__free(part);
	close(atoi(strrchr(file, '/') + 1));
}

START_TEST(a_part_of_the_types_is_enough)
{
	glob_t files;

	T_NEEDS_BPF();
	if (access(KERNEL_BTF, R_OK))
		T_SKIP("no " KERNEL_BTF);
	libbpf_set_print(NULL);
	part_fits(KERNEL_BTF);
	other_kernels(&files);
	for (size_t k = 0; k < files.gl_pathc; k++)
		part_fits(files.gl_pathv[k]);
	globfree(&files);
}
END_TEST

/* The cache directory has the part after the first time; a damaged one is made again. */
START_TEST(the_part_is_stored)
{
	char dir[] = "/tmp/types-XXXXXX", command[128];
	struct types_part t;
	struct buf first = { 0 }, second = { 0 };

	if (access(KERNEL_BTF, R_OK) || access("/sys/kernel/notes", R_OK))
		T_SKIP("no " KERNEL_BTF " or /sys/kernel/notes");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (int i = 0; i < 3; i++) {
		struct buf *b = i ? &second : &first;

		types_part_open(&t, dir);
		ck_assert_str_ne(t.path, "");
		buf_clear(b);
		ck_assert_int_eq(fs_read_at(AT_FDCWD, t.path, 1 << 24, b, NULL), 0);
		ck_assert_uint_eq(first.len, b->len);
		ck_assert_mem_eq(first.data, b->data, b->len);
		types_part_close(&t);
		ck_assert_str_eq(t.path, "");
		snprintf(command, sizeof command,
			 i ? "test -f %s/kernel-types/*/*"
			   : "printf x | dd of=$(echo %s/kernel-types/*/*) bs=1 seek=500 "
			     "conv=notrunc status=none",
			 dir);
		ck_assert_int_eq(system(command), 0);
	}
	snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
	buf_done(&first);
	buf_done(&second);
}
END_TEST

/* Types of earlier kernels do not accumulate. */
START_TEST(old_parts_go)
{
	char dir[] = "/tmp/types-XXXXXX", command[256];
	struct types_part t;

	if (access(KERNEL_BTF, R_OK) || access("/sys/kernel/notes", R_OK))
		T_SKIP("no " KERNEL_BTF " or /sys/kernel/notes");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(command, sizeof command,
		 "cd %s && mkdir -p -m 700 kernel-types/ab && head -c 5000000 /dev/zero "
		 ">kernel-types/ab/old && "
		 "touch -d 2001-01-01 kernel-types/ab/old",
		 dir);
	ck_assert_int_eq(system(command), 0);
	types_part_open(&t, dir);
	ck_assert_str_ne(t.path, "");
	types_part_close(&t);
	snprintf(command, sizeof command, "cd %s/kernel-types && ! test -e ab/old && test -f */*",
		 dir);
	ck_assert_int_eq(system(command), 0);
	snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

UNIT_MAIN("kernel_types", table_is_what_programs_use, rows_are_in_order,
	  programs_fit_the_running_kernel, programs_fit_other_kernels, relocations_equal_libbpf,
	  a_part_of_the_types_is_enough, the_part_is_stored, old_parts_go)
