// tier: test
/* The forms of unwind information in files: every kind of rule, packed or missing sections, other machines; on objects made for it. */
#include "frames_witness.h"
#include "shell.h"
#include "unit.h"

#include "base/err.h"
#include "unwind/table.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static struct unwind_table table_of(const char *path)
{
	struct unwind_table t = { 0 };
	struct err err = { 0 };
	int fd = file_open(path);
	ck_assert_msg(unwind_table_build(fd, &t, &err) == 0, "%s: %s", path, err.text);
	close(fd);
	return t;
}

/* The file offset of a symbol. */
static uint64_t offset_of(const char *path, const char *symbol)
{
	char *text = shell("nm '%s' | awk '$3 == \"%s\" { print $1 }'", path, symbol);
	uint64_t vaddr = strtoull(text, NULL, 16), offset = 0;
	struct elf_file f;
	struct elf_layout l = { 0 };
	int fd = file_open(path);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&l, &f, NULL), 0);
	ck_assert(elf_layout_offset(&l, vaddr, &offset));
	elf_layout_done(&l);
	elf_file_close(&f);
	close(fd);
	free(text);
	return offset;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* --- rules ----------------------------------------------------------------------------------------- */

enum { RAX = 0, RDI = 5, RBP = 6, RSP = 7, R10 = 10 };
#define PLACE(kind, reg) (UNWIND_##kind << 5 | (reg))

static const struct {
	const char *says; /* after .cfi_startproc, before a nop */
	struct unwind_rule rule;
} rules[] = {
	{ "", { .cfa = PLACE(REG, RSP), .cfa_offset = 8, .ra = PLACE(CFA, 0), .ra_offset = -8 } },
	{ ".cfi_def_cfa 6, 16; .cfi_offset 6, -16",
	  { .cfa = PLACE(REG, RBP),
	    .cfa_offset = 16,
	    .fp = PLACE(CFA, 0),
	    .fp_offset = -16,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	{ ".cfi_def_cfa 10, 0", /* during stack realignment */
	  { .cfa = PLACE(REG, R10), .ra = PLACE(CFA, 0), .ra_offset = -8 } },
	/* PLT stubs push the number of their function at byte 11, those for control-flow enforcement at byte 10. */
	{ ".cfi_escape 15, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22",
	  { .cfa = PLACE(PLT, RSP),
	    .cfa_offset = 8,
	    .cfa_add = 11,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	{ ".cfi_escape 15, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22",
	  { .cfa = PLACE(PLT, RSP),
	    .cfa_offset = 8,
	    .cfa_add = 10,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	/* A realigned stack: the CFA lies in memory, and the frame pointer where the register points. */
	{ ".cfi_escape 15, 3, 0x76, 0x78, 6; .cfi_escape 16, 6, 2, 0x76, 0",
	  { .cfa = PLACE(DEREF, RBP),
	    .cfa_offset = -8,
	    .fp = PLACE(DEREF, RBP),
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	{ ".cfi_escape 15, 6, 0x77, 0x98, 4, 6, 0x23, 56",
	  { .cfa = PLACE(DEREF, RSP),
	    .cfa_offset = 536,
	    .cfa_add = 56,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	/* Back to a register: with the offset from before the expression. */
	{ ".cfi_def_cfa_offset 56; .cfi_escape 15, 3, 0x77, 16, 6; .cfi_def_cfa_register 7",
	  { .cfa = PLACE(REG, RSP), .cfa_offset = 56, .ra = PLACE(CFA, 0), .ra_offset = -8 } },
	{ ".cfi_escape 15, 3, 0x77, 16, 6; .cfi_def_cfa_offset 40; .cfi_def_cfa_register 0",
	  { .cfa = PLACE(REG, RAX), .cfa_offset = 40, .ra = PLACE(CFA, 0), .ra_offset = -8 } },
	{ ".cfi_register 16, 5", /* vfork */
	  { .cfa = PLACE(REG, RSP), .cfa_offset = 8, .ra = PLACE(REG, RDI) } },
	{ ".cfi_undefined 16", /* _start */
	  { .cfa = PLACE(REG, RSP), .cfa_offset = 8, .ra = PLACE(UNDEFINED, 0) } },
	{ ".cfi_undefined 6",
	  { .cfa = PLACE(REG, RSP),
	    .cfa_offset = 8,
	    .fp = PLACE(UNDEFINED, 0),
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	{ ".cfi_signal_frame; .cfi_escape 15, 4, 0x77, 0xa0, 1, 6",
	  { .cfa = PLACE(DEREF, RSP),
	    .cfa_offset = 160,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8,
	    .flags = UNWIND_SIGNAL } },
	{ ".cfi_escape 0x2f, 6, 2", /* GNU_negative_offset_extended */
	  { .cfa = PLACE(REG, RSP),
	    .cfa_offset = 8,
	    .fp = PLACE(CFA, 0),
	    .fp_offset = 16,
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	/* An expression that no rule can express; a value given by an expression; a value that is the CFA. */
	{ ".cfi_escape 15, 3, 0x77, 8, 0x1f", { .cfa = PLACE(OTHER, 0) } },
	{ ".cfi_escape 22, 6, 2, 0x76, 0",
	  { .cfa = PLACE(REG, RSP),
	    .cfa_offset = 8,
	    .fp = PLACE(OTHER, 0),
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
	{ ".cfi_val_offset 6, -16",
	  { .cfa = PLACE(REG, RSP),
	    .cfa_offset = 8,
	    .fp = PLACE(OTHER, 0),
	    .ra = PLACE(CFA, 0),
	    .ra_offset = -8 } },
};
enum { N_RULES = sizeof rules / sizeof *rules };

START_TEST(every_rule)
{
	char dir[32], path[64], name[16];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/rules", dir);
	struct buf text = { 0 };
	buf_adds(&text, ".globl _start\n_start:\n");
	for (int i = 0; i < N_RULES; i++)
		buf_addf(&text, ".p2align 4\nf%d: .cfi_startproc\n%s\nnop\n.cfi_endproc\n", i,
			 rules[i].says);
	write_file(dir, "rules.s", buf_cstr(&text));
	shell_do("cd %s && as -o rules.o rules.s && ld -o rules rules.o", dir);
	struct unwind_table t = table_of(path);
	for (int i = 0; i < N_RULES; i++) {
		snprintf(name, sizeof name, "f%d", i);
		const struct unwind_rule *r = unwind_table_find(&t, offset_of(path, name));
		ck_assert_msg(r && memcmp(r, &rules[i].rule, sizeof *r) == 0, "%s", rules[i].says);
	}
	struct frames_sum sum = { 0 };
	char what[256];
	ck_assert_msg(frames_compare(path, READELF_FRAMES, &sum, what) == 0 && !*what, "%s", what);
	ck_assert_uint_eq(sum.other_cfa, 1);
	ck_assert_uint_eq(sum.other_fp, 2);
	unwind_table_done(&t);
	buf_done(&text);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* --- sections -------------------------------------------------------------------------------------- */

static const char program[] = "int f(int n) { volatile char a[n + 1]; a[0] = 1; return a[0]; }\n"
			      "int main(void) { return f(3); }\n";

static void same_tables(const char *a, const char *b)
{
	struct unwind_table x = table_of(a), y = table_of(b);
	ck_assert_uint_eq(x.image.len, y.image.len);
	ck_assert_mem_eq(x.image.data, y.image.data, x.image.len);
	unwind_table_done(&x);
	unwind_table_done(&y);
}

/* Compiled without .eh_frame: the linker adds that of the startup code, and .debug_frame has the rest; compressed in each way. */
START_TEST(debug_frame)
{
	static const char *const packings[] = { "zlib", "zlib-gnu", "zstd" };
	char dir[32], plain[64], packed[64];
	temp_dir(dir);
	write_file(dir, "a.c", program);
	snprintf(plain, sizeof plain, "%s/plain", dir);
	shell_do("cd %s && gcc -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables a.c -o "
		 "plain",
		 dir);
	struct unwind_table t = table_of(plain);
	ck_assert_ptr_nonnull(unwind_table_find(&t, offset_of(plain, "main")));
	ck_assert_ptr_nonnull(unwind_table_find(&t, offset_of(plain, "f")));
	const struct unwind_rule *start = unwind_table_find(&t, offset_of(plain, "_start") + 4);
	ck_assert(start && UNWIND_KIND(start->ra) == UNWIND_UNDEFINED);
	unwind_table_done(&t);
	for (int i = 0; i < 3; i++) {
		snprintf(packed, sizeof packed, "%s/%s", dir, packings[i]);
		shell_do("cd %s && objcopy --compress-debug-sections=%s plain %s", dir, packings[i],
			 packings[i]);
		same_tables(plain, packed);
	}
	shell_do("rm -rf %s", dir);
}
END_TEST

static void *bytes_of(const char *path, size_t *size)
{
	struct stat st;
	int fd = file_open(path);
	ck_assert_int_eq(fstat(fd, &st), 0);
	char *data = malloc(st.st_size);
	ck_assert_int_eq(pread(fd, data, st.st_size, 0), st.st_size);
	close(fd);
	*size = st.st_size;
	return data;
}

/* A copy cut off behind the last segment, as sstrip does it. */
static int copy_without_sections(const char *path)
{
	size_t size, end = 0;
	char *data = bytes_of(path, &size);
	Elf64_Ehdr *h = (Elf64_Ehdr *)data;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(data + h->e_phoff);
	for (int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_filesz > end)
			end = p[i].p_offset + p[i].p_filesz;
	h->e_shoff = h->e_shnum = h->e_shstrndx = 0;
	int fd = file_of(data, end);
	free(data);
	return fd;
}

/* C++ has other data behind .eh_frame. */
START_TEST(no_sections)
{
	char *list = shell("echo /bin/bash; /sbin/ldconfig -p | awk '$1 == \"libstdc++.so.6\" { "
			   "print $NF; exit }'");
	for (char *save, *path = strtok_r(list, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save)) {
		struct unwind_table t, whole = table_of(path);
		int fd = copy_without_sections(path);
		ck_assert_int_eq(unwind_table_build(fd, &t, NULL), 0);
		ck_assert_uint_eq(t.skipped, whole.skipped);
		ck_assert_uint_eq(t.image.len, whole.image.len);
		ck_assert_mem_eq(t.image.data, whole.image.data, t.image.len);
		close(fd);
		unwind_table_done(&t);
		unwind_table_done(&whole);
	}
	free(list);
}
END_TEST

/* Truncated anywhere: a table of what is left, or a reason. */
START_TEST(cut_files)
{
	size_t size;
	char *data = bytes_of("tests/golden/elf/gnu_exe", &size);
	for (size_t cut = 0; cut < size; cut += 61) {
		struct unwind_table t = { 0 };
		struct err err = { 0 };
		int fd = file_of(data, cut);
		if (unwind_table_build(fd, &t, &err))
			ck_assert(err.code && *err.text);
		unwind_table_done(&t);
		close(fd);
	}
	free(data);
}
END_TEST

/* --- other machines -------------------------------------------------------------------------------- */

START_TEST(other_machines)
{
	static const struct {
		int at, value;
	} changes[] = {
		{ EI_DATA, ELFDATA2MSB },
		{ offsetof(Elf64_Ehdr, e_machine), EM_386 },
		{ offsetof(Elf64_Ehdr, e_machine), EM_RISCV },
	};
	size_t size;
	char *data = bytes_of("tests/golden/elf/gnu_exe", &size);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct unwind_table t = { 0 };
		char was = data[changes[i].at];
		data[changes[i].at] = changes[i].value;
		int fd = file_of(data, size);
		int rc = unwind_table_build(fd, &t, NULL);
		ck_assert(rc == -ENOTSUP || rc == -ENOEXEC || rc == -ENODATA);
		ck_assert_ptr_null(t.image.data);
		data[changes[i].at] = was;
		close(fd);
	}
	free(data);
	/* A real 32-bit one. */
	char dir[32], path[64];
	struct unwind_table t = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x", dir);
	write_file(dir, "x.s", ".globl _start\n_start: .cfi_startproc\nnop\n.cfi_endproc\n");
	shell_do("cd %s && as --32 -o x.o x.s && ld -m elf_i386 -o x x.o", dir);
	int fd = file_open(path);
	ck_assert_int_eq(unwind_table_build(fd, &t, NULL), -ENOTSUP);
	close(fd);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* Return addresses in the link register, signed from the first instruction on. */
START_TEST(arm64)
{
	char dir[32], path[64], what[256];
	struct frames_sum sum = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/arm", dir);
	write_file(dir, "a.c",
		   "int g(int);\nint leaf(int n) { return n + 1; }\n"
		   "int f(int n) { char a[n + 1]; return g((int)(long)a) + 1; }\n"
		   "int h(int n) { return g(n) + g(n + 1); }\n");
	shell_do("cd %s && clang-14 --target=aarch64-linux-gnu -O2 -funwind-tables -fPIC -nostdlib "
		 "-shared "
		 "-mbranch-protection=pac-ret -fuse-ld=lld a.c -o arm",
		 dir);
	ck_assert_msg(frames_compare(path, READELF_FRAMES, &sum, what) == 0 && !*what, "%s", what);
	ck_assert_uint_eq(sum.fdes, 3);
	struct unwind_table t = table_of(path);
	uint64_t h = offset_of(path, "h");
	const struct unwind_rule *leaf = unwind_table_find(&t, offset_of(path, "leaf"));
	const struct unwind_rule *first = unwind_table_find(&t, h);
	const struct unwind_rule *second = unwind_table_find(&t, h + 4);
	ck_assert(leaf && leaf->cfa == PLACE(REG, 31) && leaf->cfa_offset == 0);
	ck_assert(leaf->ra == PLACE(REG, 30) && !(leaf->flags & UNWIND_RA_SIGNED));
	ck_assert(first && first->ra == PLACE(REG, 30) && !(first->flags & UNWIND_RA_SIGNED));
	ck_assert(second && second->flags & UNWIND_RA_SIGNED);
	unwind_table_done(&t);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* --- signal frames --------------------------------------------------------------------------------- */

/* For C libraries that do not describe their restorer: looked up by its own bytes, and by the byte before. */
START_TEST(restorer)
{
	static const struct unwind_rule want = { .cfa = PLACE(DEREF, RSP),
						 .cfa_offset = 160,
						 .fp = PLACE(DEREF, RSP),
						 .fp_offset = 120,
						 .ra = PLACE(DEREF, RSP),
						 .ra_offset = 168,
						 .flags = UNWIND_SIGNAL };
	static const char *const sources[] = {
		/* no call frame information */
		".globl _start\n_start: nop\nr: mov $15, %rax\nsyscall\nnop\n",
		/* of others only */
		".globl _start\n_start: .cfi_startproc\nret\n.cfi_endproc\nnop\nr: mov $15, "
		"%rax\nsyscall\n",
		/* of a function like all others */
		".globl _start\n_start: nop\nr: .cfi_startproc\nmov $15, "
		"%rax\nsyscall\n.cfi_endproc\n",
	};
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		char dir[32], path[64];
		temp_dir(dir);
		snprintf(path, sizeof path, "%s/r", dir);
		write_file(dir, "r.s", sources[i]);
		shell_do("cd %s && as -o r.o r.s && ld -static -o r r.o", dir);
		struct unwind_table t = table_of(path);
		uint64_t at = offset_of(path, "r");
		for (uint64_t k = at - 1; k < at + 9; k++) {
			const struct unwind_rule *r = unwind_table_find(&t, k);
			ck_assert(r && memcmp(r, &want, sizeof want) == 0);
		}
		ck_assert_uint_eq(UNWIND_KIND(unwind_table_find(&t, at + 9)->cfa), UNWIND_GAP);
		unwind_table_done(&t);
		shell_do("rm -rf %s", dir);
	}
}
END_TEST

/* glibc describes its own: nothing is added, and the rule means the same. */
START_TEST(restorer_of_glibc)
{
	char dir[32], path[64];
	struct unwind_rule want = { .cfa = PLACE(DEREF, RSP),
				    .cfa_offset = 160,
				    .fp = PLACE(DEREF, RSP),
				    .fp_offset = 120,
				    .ra = PLACE(DEREF, RSP),
				    .ra_offset = 168,
				    .flags = UNWIND_SIGNAL };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/a", dir);
	write_file(
		dir, "a.c",
		"#include <signal.h>\nint main(void) { return signal(1, SIG_IGN) == SIG_ERR; }\n");
	shell_do("cd %s && gcc -static a.c -o a", dir);
	struct unwind_table t = table_of(path);
	const struct unwind_rule *r = unwind_table_find(&t, offset_of(path, "__restore_rt"));
	ck_assert(r && memcmp(r, &want, sizeof want) == 0);
	unwind_table_done(&t);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* The kernel's own library, from this process. */
START_TEST(vdso)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	char path[64], what[256];
	struct frames_sum sum = { 0 };
	if (!image)
		T_SKIP("this kernel maps no vDSO");
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
	int fd = file_of(image, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
	ck_assert_msg(frames_compare(path, READELF_FRAMES, &sum, what) == 0 && !*what, "%s", what);
	ck_assert_uint_ge(sum.table_rows, 10);
	close(fd);
}
END_TEST

UNIT_MAIN("unwind_forms", every_rule, debug_frame, no_sections, cut_files, other_machines, arm64,
	  restorer, restorer_of_glibc, vdso)
