// tier: test
/* ELF symbols of real files: the same as readelf, objdump and llvm-symbolizer report. */
#include "base/err.h"
#include "shell.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/symbol.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#define ELF_DIR "tests/golden/elf/"

static struct symbol_source *open_fd(int fd)
{
	struct symbol_source *s;
	struct err err = { 0 };
	int rc = symbol_open_elf(fd, NULL, NULL, &s, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return s;
}

/* --- witnesses ------------------------------------------------------------------------------------------------------- */

struct segment {
	uint64_t offset, vaddr, size;
};
struct function {
	uint64_t vaddr, size;
	char *name;
};
struct object { /* as readelf sees it */
	struct segment segments[16];
	size_t n_segments, n, cap;
	struct function *v; /* functions of .symtab, else of .dynsym, by address */
};

static int function_compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static void object_segments(struct object *o, const char *path)
{
	char *text = shell("readelf -lW %s", path), *save;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct segment s;
		if (sscanf(l, " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64, &s.offset, &s.vaddr,
			   &s.size) == 3)
			o->segments[o->n_segments++] = s;
	}
	free(text);
}

/* Lines "  12: 0000000000001139    43 FUNC    GLOBAL DEFAULT   14 name@VERSION". */
static void object_functions(struct object *o, const char *path)
{
	char *text = shell("readelf -sW %s", path), *save, *symtab = strstr(text, "'.symtab'");
	for (char *l = strtok_r(symtab ? symtab : text, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save)) {
		struct function f;
		char size[32], type[16], section[16], name[4096];
		if (sscanf(l, " %*d: %" SCNx64 " %31s %15s %*s %*s %15s %4095[^\n]", &f.vaddr, size,
			   type, section, name) != 5 ||
		    (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0) ||
		    !isdigit((unsigned char)section[0]))
			continue;
		f.size = strtoull(size, NULL, 0);
		f.name = strndup(name, strcspn(name, "@"));
		if (o->n == o->cap)
			o->v = realloc(o->v, (o->cap = o->cap * 2 + 64) * sizeof *o->v);
		o->v[o->n++] = f;
	}
	free(text);
	qsort(o->v, o->n, sizeof *o->v, function_compare);
}

static void object_read(struct object *o, const char *path)
{
	*o = (struct object){ 0 };
	object_segments(o, path);
	object_functions(o, path);
}

static void object_done(struct object *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->v[i].name);
	free(o->v);
}

static bool object_offset(const struct object *o, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < o->n_segments; i++) {
		const struct segment *s = &o->segments[i];
		*offset = s->offset + (vaddr - s->vaddr);
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	}
	return false;
}

/* The start of the innermost function that covers vaddr, by trying all that start before it. */
static uint64_t object_innermost(const struct object *o, size_t from, uint64_t vaddr)
{
	while (from + 1 < o->n && o->v[from + 1].vaddr <= vaddr)
		from++;
	for (size_t i = from + 1; i-- > 0;)
		if (vaddr - o->v[i].vaddr < o->v[i].size)
			return o->v[i].vaddr;
	return 0;
}

static bool object_has(const struct object *o, uint64_t vaddr, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].vaddr == vaddr && strcmp(o->v[i].name, name) == 0)
			return true;
	return false;
}

/* At the first, a middle and the last byte of every function. */
static size_t compare_with_readelf(const char *path)
{
	struct object o;
	int fd = file_open(path);
	struct symbol_source *s = open_fd(fd);
	size_t compared = 0;
	object_read(&o, path);
	for (size_t i = 0; i < o.n; i++) {
		const struct function *f = &o.v[i];
		uint64_t at[] = { f->vaddr, f->vaddr + f->size / 2, f->vaddr + f->size - 1 };
		for (int k = 0; k < 3 && f->size; k++) {
			struct symbol sym;
			uint64_t offset, start, wanted = object_innermost(&o, i, at[k]);
			if (!object_offset(&o, at[k], &offset))
				continue;
			ck_assert_msg(symbol_lookup(s, offset, &sym), "%s: %s+%#" PRIx64, path,
				      f->name, at[k] - f->vaddr);
			ck_assert(object_offset(&o, wanted, &start));
			ck_assert_uint_eq(sym.start, start);
			ck_assert_msg(object_has(&o, wanted, sym.linkage),
				      "%s: %s is not at %#" PRIx64, path, sym.linkage, wanted);
			compared++;
		}
	}
	object_done(&o);
	symbol_close(s);
	close(fd);
	return compared;
}

START_TEST(agrees_with_readelf)
{
	char self[32], *libc = shell("gcc -print-file-name=libc.so.6");
	snprintf(self, sizeof self, "/proc/%d/exe", getpid());
	libc[strcspn(libc, "\n")] = '\0';
	ck_assert_uint_gt(compare_with_readelf(libc), 2000);
	ck_assert_uint_gt(compare_with_readelf("/bin/bash"), 1000);
	ck_assert_uint_gt(compare_with_readelf(self), 300);
	ck_assert_uint_gt(compare_with_readelf(ELF_DIR "go-1.22.12"), 4000);
	free(libc);
}
END_TEST

/* "0000000000001030 <printf@plt>:" */
static size_t compare_plt_with_objdump(const char *path)
{
	struct object o = { 0 };
	object_segments(&o, path);
	int fd = file_open(path);
	struct symbol_source *s = open_fd(fd);
	char *text = shell("objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>&1 || true", path),
	     *save;
	size_t compared = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		uint64_t vaddr, offset;
		char name[256];
		struct symbol sym;
		/* "*ABS*+…" are stubs without a symbol; "…@plt-0x10" is the common entry before the first. */
		if (sscanf(l, "%" SCNx64 " <%255[^>]>", &vaddr, name) != 2 || name[0] == '*' ||
		    !strstr(name, "@plt") || strstr(name, "@plt-"))
			continue;
		ck_assert(object_offset(&o, vaddr, &offset));
		ck_assert_msg(symbol_lookup(s, offset + 1, &sym), "%s: %s", path, name);
		ck_assert_str_eq(sym.linkage, name);
		ck_assert_uint_eq(sym.start, offset);
		compared++;
	}
	free(text);
	symbol_close(s);
	close(fd);
	return compared;
}

START_TEST(stubs_agree_with_objdump)
{
	ck_assert_uint_eq(compare_plt_with_objdump(ELF_DIR "gnu_exe"), 2); /* .plt.sec, .plt.got */
	ck_assert_uint_eq(compare_plt_with_objdump(ELF_DIR "exe_linux_64"), 3); /* lazy .plt */
#ifdef __x86_64__
	ck_assert_uint_gt(compare_plt_with_objdump("/bin/bash"), 50);
#endif
}
END_TEST

/* Rows on which llvm-symbolizer and addr2line agree in full; of a chain of inlined functions, the outermost one has the symbol. */
static size_t compare_with_tsv(const char *name)
{
	char path[256];
	struct object o = { 0 };
	snprintf(path, sizeof path, ELF_DIR "%s", name);
	object_segments(&o, path);
	int fd = file_open(path);
	struct symbol_source *s = open_fd(fd);
	char *text = shell("cat " ELF_DIR "expected/%s.symbolized.tsv", name), *save;
	size_t compared = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *address = l, *agreement = strchr(l, '\t');
		char *chain = agreement ? strchr(agreement + 1, '\t') : NULL;
		if (!chain || strncmp(agreement, "\tfull\t", 6) != 0)
			continue;
		*strchrnul(++chain, '\t') = '\0';
		char *caller;
		while ((caller = strstr(chain, " < ")))
			chain = caller + 3;
		*strrchr(chain, '@') = '\0';
		if ((caller = strstr(chain, ".abi0"))) /* the same function in every build */
			*caller = '\0';
		uint64_t offset;
		struct symbol sym;
		ck_assert(object_offset(&o, strtoull(address, NULL, 16), &offset));
		ck_assert_msg(symbol_lookup(s, offset, &sym), "%s: %s %s", name, address, chain);
		ck_assert_str_eq(sym.name, chain);
		compared++;
	}
	free(text);
	symbol_close(s);
	close(fd);
	return compared;
}

START_TEST(agrees_with_symbolizers)
{
	ck_assert_uint_eq(compare_with_tsv("basic-cpp-no-fp-with-debuginfo"), 319);
	ck_assert_uint_eq(compare_with_tsv("go-1.22.12"), 813);
	ck_assert_uint_eq(compare_with_tsv("main_cpp_clang_03_with_inlined_3s"), 531);
	ck_assert_uint_eq(compare_with_tsv("otel-inline-aarch64"), 73);
}
END_TEST

START_TEST(known_functions)
{
	struct symbol sym;
	int fd = file_open(ELF_DIR "basic-cpp-no-fp-with-debuginfo");
	struct symbol_source *s = open_fd(fd);
	ck_assert(symbol_lookup(s, 0x1125, &sym)); /* 0x401125 */
	ck_assert_str_eq(sym.name, "top2()");
	ck_assert_str_eq(sym.linkage, "_Z4top2v");
	ck_assert_ptr_null(sym.module);
	ck_assert_str_eq(s->origin, ".symtab");
	ck_assert(!symbol_lookup(s, 0, &sym));
	ck_assert(!symbol_lookup(s, UINT64_MAX, &sym));
	symbol_close(s);
	close(fd);
}
END_TEST

/* --- build ids ------------------------------------------------------------------------------------------------------- */

static char *build_id_of(const char *path, char hex[129])
{
	uint8_t id[64];
	int fd = file_open(path), n = elf_build_id(fd, id, sizeof id);
	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	hex[2 * n] = '\0';
	close(fd);
	return hex;
}

START_TEST(build_ids)
{
	char hex[129];
	static const char wanted[] = "463bf6f201611ff6bda58b492c39760bdf91c64c";
	ck_assert_str_eq(build_id_of(ELF_DIR "gnu_exe", hex), wanted);
	ck_assert_str_eq(build_id_of(ELF_DIR "gnu_exe_without_sections", hex), wanted);
	ck_assert_mem_eq(build_id_of(ELF_DIR "basic-cpp-no-fp-with-debuginfo", hex), "126cf12e", 8);
	ck_assert_str_eq(build_id_of(ELF_DIR "go_exe.debug", hex), ""); /* Go's own id is not one */
	char *note = shell("readelf -n /bin/bash | sed -n 's/ *Build ID: //p'");
	note[strcspn(note, "\n")] = '\0';
	ck_assert_str_eq(build_id_of("/bin/bash", hex), note);
	free(note);

	uint8_t id[4];
	int fd = file_open(ELF_DIR "gnu_exe");
	ck_assert_int_eq(elf_build_id(fd, id, sizeof id), 4); /* cut, not overrun */
	ck_assert_mem_eq(id, "\x46\x3b\xf6\xf2", 4);
	close(fd);
	fd = file_open(ELF_DIR "malformed_elf");
	ck_assert_int_eq(elf_build_id(fd, id, sizeof id), -ENOEXEC);
	close(fd);
}
END_TEST

START_TEST(notes_by_name)
{
	uint8_t tag[32], id[20], same[20];
	int fd = file_open("/bin/bash");
	ck_assert_int_eq(elf_note(fd, "GNU", 1, tag, sizeof tag), 16); /* NT_GNU_ABI_TAG */
	ck_assert_mem_eq(tag, "\0\0\0\0", 4);                          /* Linux */
	ck_assert_int_eq(elf_note(fd, "GNU", 3, id, sizeof id),
			 elf_build_id(fd, same, sizeof same));
	ck_assert_mem_eq(id, same, sizeof id);
	ck_assert_int_eq(elf_note(fd, "GN", 1, tag, sizeof tag), 0);
	ck_assert_int_eq(elf_note(fd, "GNU", 99, tag, sizeof tag), 0);
	close(fd);
}
END_TEST

START_TEST(own_build_id)
{
	uint8_t own[64];
	char hex[129], want[129];
	size_t n = elf_own_build_id(own, sizeof own);
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", own[i]);
	ck_assert_uint_gt(n, 0);
	ck_assert_str_eq(hex, build_id_of("/proc/self/exe", want));
	ck_assert_uint_eq(elf_own_build_id(own, 3), 3);
}
END_TEST

static void read_symbols(int fd, bool holds, struct elf_symbols *out)
{
	struct elf_file f;
	struct elf_layout layout = { 0 };
	struct elf_table table;

	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&layout, &f, NULL), 0);
	ck_assert(elf_table_of_section(&f, SHT_DYNSYM, &table));
	ck_assert_int_gt(elf_symbols_add_table(out, &f, &table, &layout, NULL), 0);
	if (holds)
		elf_symbols_hold_names(out);
	elf_symbols_finish(out, &layout);
	elf_layout_done(&layout);
	elf_file_close(&f);
}

START_TEST(names_in_memory_equal_the_file)
{
	struct elf_symbols read = { 0 }, held = { 0 };
	Dl_info libc;
	char name[256], other[256];

	ck_assert_int_ne(dladdr((void *)(uintptr_t)getenv, &libc), 0);
	int fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	read_symbols(fd, false, &read);
	read_symbols(fd, true, &held);
	ck_assert_ptr_nonnull(held.names.v[0].image);
	ck_assert_uint_gt(read.v.n, 100);
	ck_assert_uint_eq(read.v.n, held.v.n);
	ck_assert_uint_gt(read.aliases.n, 10); /* compared when they are needed */
	ck_assert_uint_eq(held.aliases.n, 0);
	for (size_t i = 0; i < read.v.n; i++) {
		uint32_t best = elf_symbols_best_name(&read, &read.v.v[i]);

		ck_assert_uint_gt(elf_symbols_name(&read, best, name, sizeof name), 0);
		elf_symbols_name(&held, held.v.v[i].name, other, sizeof other);
		ck_assert_str_eq(name, other);
		ck_assert_uint_eq(read.v.v[i].size, held.v.v[i].size);
	}
	elf_symbols_done(&read);
	elf_symbols_done(&held);
	close(fd);
}
END_TEST

UNIT_MAIN("elf", names_in_memory_equal_the_file, known_functions, agrees_with_readelf,
	  stubs_agree_with_objdump, agrees_with_symbolizers, build_ids, notes_by_name, own_build_id)
