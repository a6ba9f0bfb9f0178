// tier: test
/* Which name an address gets, on objects made by the assembler for each rule; and files that are damaged, odd or change while open. */
#include "base/err.h"
#include "rand.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>

#define ELF_DIR "tests/golden/elf/"

/* An executable whose .text is assembled from source (directives only, so for any machine), and the start of .text. */
struct made {
	int fd;
	uint64_t text;
	struct symbol_source *s;
};

static void *bytes_of(int fd, size_t *size)
{
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	char *data = malloc(st.st_size + 1);
	ck_assert_int_eq(pread(fd, data, st.st_size, 0), st.st_size);
	*size = st.st_size;
	return data;
}

static struct made make_with(const char *as, const char *ld, const char *source)
{
	static const char mark[] = "TEXT STARTS HERE";
	char dir[32], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.s", dir);
	FILE *f = fopen(path, "w");
	fprintf(f, ".text\n.globl _start\n_start: .ascii \"%s\"\n.size _start, 16\n%s\n", mark,
		source);
	fclose(f);
	shell_do("cd %s && as %s -o x.o x.s && ld %s --discard-none -o x x.o", dir, as, ld);
	snprintf(path, sizeof path, "%s/x", dir);
	struct made m = { .fd = file_open(path) };
	size_t size;
	char *data = bytes_of(m.fd, &size), *at = memmem(data, size, mark, strlen(mark));
	ck_assert_ptr_nonnull(at);
	m.text = at - data;
	free(data);
	shell_do("rm -r %s", dir);
	struct err err = { 0 };
	ck_assert_msg(symbol_open_elf(m.fd, NULL, NULL, &m.s, &err) == 0, "%s", err.text);
	return m;
}

static struct made make(const char *source)
{
	return make_with("--keep-locals", "", source);
}

static void unmake(struct made *m)
{
	symbol_close(m->s);
	close(m->fd);
}

/* The name at an offset of .text, "" if there is none. */
static const char *at(struct made *m, uint64_t offset)
{
	struct symbol sym;
	return symbol_lookup(m->s, m->text + offset, &sym) ? sym.linkage : "";
}

#define FUNCTION(binding, name, body) \
	binding " " name "\n.type " name ",@function\n" name ":\n" body "\n.size " name \
		", .-" name "\n"

START_TEST(sizes_are_ends)
{
	struct made m =
		make(FUNCTION(".globl", "a", ".skip 16") ".skip 16\n" /* 16…31, gap to 47 */
		     FUNCTION(".local", "b",
			      ".skip 1") ".skip 15\n"                              /* 48 */
					 ".type open, @function\nopen: .skip 32\n" /* 64, no size */
		     FUNCTION(".globl", "c", ".skip 16")                           /* 96 */
		     ".type last, @function\nlast: .skip 8\n");                    /* 112, to 119 */
	ck_assert_str_eq(at(&m, 15), "_start");
	ck_assert_str_eq(at(&m, 16), "a");
	ck_assert_str_eq(at(&m, 31), "a");
	ck_assert_str_eq(at(&m, 32), "");
	ck_assert_str_eq(at(&m, 47), "");
	ck_assert_str_eq(at(&m, 48), "b");
	ck_assert_str_eq(at(&m, 49), "");
	ck_assert_str_eq(at(&m, 64), "open");
	ck_assert_str_eq(at(&m, 95), "open");
	ck_assert_str_eq(at(&m, 96), "c");
	ck_assert_str_eq(at(&m, 112), "last");
	ck_assert_str_eq(at(&m, 119), "last");
	ck_assert_str_eq(at(&m, 120), "");
	struct symbol sym;
	ck_assert(symbol_lookup(m.s, m.text + 70, &sym));
	ck_assert_uint_eq(sym.start, m.text + 64);
	ck_assert_uint_eq(sym.size, 32);
	unmake(&m);
}
END_TEST

START_TEST(assembly_labels)
{
	struct made m =
		make(".globl plain\nplain: .skip 16\n"     /* 16: a function of hand-written code */
		     "\"$x\": .skip 8\n.Llocal: .skip 8\n" /* 32: marks */
		     FUNCTION(".globl", "f", ".skip 8\nloop: .skip 8") /* 48 */
		     "after: .skip 16\n"                               /* 64 */
		     ".data\n.globl datum\ndatum: .skip 16\n");
	ck_assert_str_eq(at(&m, 16), "plain");
	ck_assert_str_eq(at(&m, 32), "plain");
	ck_assert_str_eq(at(&m, 47), "plain");
	ck_assert_str_eq(at(&m, 56), "f"); /* loop is a jump target */
	ck_assert_str_eq(at(&m, 64), "after");
	unmake(&m);
}
END_TEST

/* Without local symbols the code behind an exported symbol without size may be anybody's. */
START_TEST(exported_symbols_without_size)
{
	static const char source[] = ".globl f, g\n.type f,@function\n.type g,@function\n"
				     "f: .skip 8\nlocal: .skip 8\ng: .skip 16\n.size g, 8\n";
	struct made all = make_with("", "-shared", source);
	ck_assert_str_eq(at(&all, 16), "f");
	ck_assert_str_eq(at(&all, 20), "f");
	unmake(&all);
	struct made m = make_with("", "-shared -s", source);
	ck_assert_str_eq(at(&m, 16), "f");
	ck_assert_str_eq(at(&m, 17), "");
	ck_assert_str_eq(at(&m, 24), "");
	ck_assert_str_eq(at(&m, 32), "g");
	ck_assert_str_eq(at(&m, 39), "g");
	ck_assert_str_eq(at(&m, 40), "");
	unmake(&m);
}
END_TEST

START_TEST(nested_functions)
{
	struct made m = make(FUNCTION(
		".globl", "outer",
		".skip 16\n" FUNCTION(
			".globl", "inner",
			".skip 8\n" FUNCTION(
				".local", "core",
				".skip 8") ".skip 8") ".skip 16\n.type entry, "
						      "@function\nentry: .skip 16") ".skip 16\n");
	/* outer 16…87, inner 32…55, core 40…47, entry 72 to the end of outer */
	ck_assert_str_eq(at(&m, 31), "outer");
	ck_assert_str_eq(at(&m, 32), "inner");
	ck_assert_str_eq(at(&m, 40), "core");
	ck_assert_str_eq(at(&m, 48), "inner");
	ck_assert_str_eq(at(&m, 56), "outer");
	ck_assert_str_eq(at(&m, 72), "entry");
	ck_assert_str_eq(at(&m, 87), "entry");
	ck_assert_str_eq(at(&m, 88), "");
	unmake(&m);
}
END_TEST

#define ALIAS(binding, name, type) binding " " name "\n.type " name "," type "\n" name ":\n"

START_TEST(one_name_per_address)
{
	struct made m = make(
		/* 16: global before weak before local */
		ALIAS(".local", "loc", "@function") ALIAS(".weak", "weak", "@function")
			ALIAS(".globl", "_global_longer", "@function") ".skip 16\n"
		/* 32: weak before local */
		ALIAS(".local", "lo", "@function")
			ALIAS(".weak", "__weak", "@function") ".skip 16\n"
		/* 48: function before label */
		ALIAS(".globl", "la", "@notype") ALIAS(".globl", "_func", "@function") ".skip 16\n"
		/* 64: no underscore, then short, then the alphabet */
		ALIAS(".globl", "_a", "@function") ALIAS(".globl", "bbbb", "@function")
			ALIAS(".globl", "aaa", "@function")
				ALIAS(".globl", "bbb", "@function") ".skip 16\n"
		/* 80: the size comes from the alias that has one */
		ALIAS(".globl", "sizeless", "@function")
			ALIAS(".weak", "sized", "@function") ".skip 4\n.size sized, 4\n.skip 12\n"
		/* 96 */
		ALIAS(".globl", "chosen_at_run_time", "@gnu_indirect_function") ".skip 16\n");
	ck_assert_str_eq(at(&m, 16), "_global_longer");
	ck_assert_str_eq(at(&m, 32), "__weak");
	ck_assert_str_eq(at(&m, 48), "_func");
	ck_assert_str_eq(at(&m, 64), "aaa");
	ck_assert_str_eq(at(&m, 83), "sizeless");
	ck_assert_str_eq(at(&m, 84), "");
	ck_assert_str_eq(at(&m, 96), "chosen_at_run_time");
	unmake(&m);
}
END_TEST

/* clang's parts of a function have its name. */
START_TEST(parts_are_their_function)
{
	static const char *const want[][2] = { { "_Z3hotv.__part.1", "hot()" },
					       { "plain.__part.12", "plain" },
					       { "odd.__part.", "odd.__part." },
					       { "odd.__part.1x", "odd.__part.1x" } };
	struct made m = make(FUNCTION(".local", "_Z3hotv.__part.1",
				      ".skip 16") FUNCTION(".local", "plain.__part.12", ".skip 16")
				     FUNCTION(".local", "odd.__part.", ".skip 16")
					     FUNCTION(".local", "odd.__part.1x", ".skip 16"));
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct symbol sym;
		ck_assert(symbol_lookup(m.s, m.text + 16 + 16 * i, &sym));
		ck_assert_str_eq(sym.linkage, want[i][0]);
		ck_assert_str_eq(sym.name, want[i][1]);
	}
	unmake(&m);
}
END_TEST

START_TEST(names_are_demangled_and_cut)
{
	char source[80000] = FUNCTION(".globl", "_ZN1a1bEv", ".skip 16") "n";
	memset(source + strlen(source), 'n', 70000);
	strncat(source, ": .skip 16\n", 16);
	struct made m = make(source);
	struct symbol sym, again;
	ck_assert(symbol_lookup(m.s, m.text + 16, &sym));
	ck_assert_str_eq(sym.name, "a::b()");
	ck_assert_str_eq(sym.linkage, "_ZN1a1bEv");
	ck_assert(symbol_lookup(m.s, m.text + 20, &again));
	ck_assert_ptr_eq(sym.name, again.name); /* made once */
	ck_assert_uint_eq(strlen(at(&m, 32)), (64 << 10) - 1);
	unmake(&m);
}
END_TEST

#ifdef __x86_64__
START_TEST(thirty_two_bits)
{
	struct made m = make_with("--32", "-m elf_i386",
				  FUNCTION(".globl", "a", ".skip 16") ".skip 16\n" FUNCTION(
					  ".globl", "b", ".skip 16"));
	ck_assert_str_eq(at(&m, 31), "a");
	ck_assert_str_eq(at(&m, 32), "");
	ck_assert_str_eq(at(&m, 63), "b");
	unmake(&m);
}
END_TEST
#endif

/* MIPS, 32 and 64 bits: f of 16 bytes, with and without section headers. */
START_TEST(big_endian)
{
	static const char *const paths[] = { "tests/fuzz/corpus/elf/be32.so",
					     "tests/fuzz/corpus/elf/be64.so" };
	for (int i = 0; i < 4; i++) {
		int from = file_open(paths[i / 2]);
		size_t size, named = 0;
		char *data = bytes_of(from, &size);
		close(from);
		if (i % 2) { /* e_shoff; e_shnum and e_shstrndx */
			memset(data + (i / 2 ? 0x28 : 0x20), 0, i / 2 ? 8 : 4);
			memset(data + (i / 2 ? 0x3c : 0x30), 0, 4);
		}
		int fd = file_of(data, size);
		struct symbol_source *s;
		struct symbol sym;
		ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
		ck_assert_str_eq(s->origin, i % 2 ? ".dynsym" : ".symtab");
		for (uint64_t offset = 0; offset < size; offset++)
			if (symbol_lookup(s, offset, &sym)) {
				ck_assert_str_eq(sym.name, "f");
				named++;
			}
		ck_assert_uint_eq(named, 16);
		symbol_close(s);
		close(fd);
		free(data);
	}
}
END_TEST

START_TEST(versions_are_dropped)
{
	char dir[32], path[64];
	temp_dir(dir);
	shell_do("cd %s && echo '.globl _start, old\n.type old,@function\n_start: old: .skip 16' | "
		 "as -o x.o && "
		 "ld -o x x.o && objcopy --redefine-sym old=copy@@V_2.14 --strip-symbol _start x y",
		 dir);
	snprintf(path, sizeof path, "%s/y", dir);
	int fd = file_open(path);
	struct symbol_source *s;
	struct symbol sym;
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
	ck_assert(symbol_lookup(s, 0x1000, &sym));
	ck_assert_str_eq(sym.linkage, "copy");
	symbol_close(s);
	close(fd);
	shell_do("rm -r %s", dir);
}
END_TEST

/* --- without section headers ----------------------------------------------------------------------------------------- */

/* The same names by PT_DYNAMIC as by .dynsym. */
static size_t compare_without_sections(const char *library)
{
	char *path = shell("gcc -print-file-name=%s", library);
	path[strcspn(path, "\n")] = '\0';
	int fd = file_open(path);
	size_t size, equal = 0;
	char *data = bytes_of(fd, &size);
	Elf64_Ehdr *header = (Elf64_Ehdr *)data;
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	int bare_fd = file_of(data, size);
	struct symbol_source *full, *bare;
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &full, NULL), 0);
	ck_assert_int_eq(symbol_open_elf(bare_fd, NULL, NULL, &bare, NULL), 0);
	ck_assert_str_eq(bare->origin, ".dynsym");
	for (uint64_t offset = 0; offset < size; offset += 16) {
		struct symbol x, y;
		bool in_full = symbol_lookup(full, offset, &x),
		     in_bare = symbol_lookup(bare, offset, &y);
		if (in_full && strstr(x.linkage, "@plt"))
			continue;
		ck_assert_msg(in_full == in_bare, "%#lx", (long)offset);
		if (!in_full)
			continue;
		ck_assert_str_eq(x.linkage, y.linkage);
		equal++;
	}
	symbol_close(full);
	symbol_close(bare);
	close(fd);
	close(bare_fd);
	free(data);
	free(path);
	return equal;
}

START_TEST(no_section_headers)
{
	ck_assert_uint_gt(compare_without_sections("libc.so.6"), 10000);      /* DT_HASH */
	ck_assert_uint_gt(compare_without_sections("libstdc++.so.6"), 10000); /* DT_GNU_HASH only */
}
END_TEST

/* --- damage ---------------------------------------------------------------------------------------------------------- */

static int open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_source *s = NULL;
	struct err err = { 0 };
	int rc = symbol_open_elf(fd, NULL, NULL, &s, &err);
	ck_assert_msg((rc == 0) == (err.code == 0) && (rc == 0) == (s != NULL), "%s", path);
	symbol_close(s);
	close(fd);
	return rc;
}

START_TEST(odd_files)
{
	ck_assert_int_eq(open_path(ELF_DIR "malformed_elf"), -ENOEXEC);
	ck_assert_int_eq(open_path(ELF_DIR "validelf_nosections"), -ENODATA);
	ck_assert_int_eq(open_path(ELF_DIR "validelf_withsections"), -ENODATA);
	ck_assert_int_eq(open_path(ELF_DIR "otel-elfunwindinfo-test.so"), -ENODATA);
	ck_assert_int_eq(open_path("tests/golden/elf/expected/go-1.22.12.symbolized.tsv"),
			 -ENOEXEC);
	ck_assert_int_eq(open_path("/"), -ENOEXEC);
	ck_assert_int_eq(open_path("/dev/zero"), -ENOEXEC);
	int fd = file_of("", 0);
	struct symbol_source *s;
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), -ENOEXEC);
	close(fd);
}
END_TEST

/* Opens, looks up some addresses, closes: only answers that the contract allows. */
static void survives(int fd, size_t size)
{
	struct symbol_source *s;
	struct symbol sym;
	uint8_t id[20];
	int rc = symbol_open_elf(fd, NULL, NULL, &s, NULL);
	ck_assert_msg(rc == 0 || rc == -ENOEXEC || rc == -ENODATA, "%d", rc);
	for (uint64_t offset = 0; rc == 0 && offset < size; offset += 64)
		if (symbol_lookup(s, offset, &sym))
			ck_assert_uint_le(strlen(sym.linkage), 64 << 10);
	if (rc == 0)
		symbol_close(s);
	ck_assert_int_le(elf_build_id(fd, id, sizeof id), 20);
}

START_TEST(cut_files)
{
	int fd = file_open(ELF_DIR "gnu_exe");
	size_t size;
	char *data = bytes_of(fd, &size);
	close(fd);
	for (size_t n = 0; n < size; n += n < 128 ? 1 : 97) {
		fd = file_of(data, n);
		survives(fd, n);
		close(fd);
	}
	free(data);
}
END_TEST

/* Headers and tables with wrong bytes, the same ones in every run. */
START_TEST(changed_files)
{
	struct rng rng = { 20240607 };
	int fd = file_open(ELF_DIR "gnu_exe");
	size_t size;
	uint8_t *data = bytes_of(fd, &size);
	close(fd);
	fd = file_of(data, size);
	for (int round = 0; round < 3000; round++) {
		uint8_t wrong[8];
		uint64_t bits = rng_next(&rng);
		memcpy(wrong, &bits, sizeof wrong);
		/* ELF and program headers, .dynsym and .dynstr, then .symtab to the end with the section headers */
		size_t where = round % 2 ? rng_below(&rng, 0x600)
					 : 0x3000 + rng_below(&rng, size - 0x3008);
		size_t n = 1 + rng_below(&rng, 8);
		ck_assert_int_eq(pwrite(fd, wrong, n, where), n);
		survives(fd, size);
		ck_assert_int_eq(pwrite(fd, data + where, n, where), n);
	}
	close(fd);
	free(data);
}
END_TEST

/* The section header of .symtab, or of its names, with one wrong number. Without Go's own table it is the only one of the file. */
START_TEST(absurd_tables)
{
	int fd = file_open(ELF_DIR "go-1.22.12");
	size_t size;
	char *data = bytes_of(fd, &size);
	close(fd);
	Elf64_Ehdr *header = (Elf64_Ehdr *)data;
	Elf64_Shdr *sections = (Elf64_Shdr *)(data + header->e_shoff), *symtab = sections;
	while (symtab->sh_type != SHT_SYMTAB)
		symtab++;
	char *pclntab = memmem(data, size, "\xf1\xff\xff\xff\0\0\1\b", 8);
	ck_assert_ptr_nonnull(pclntab);
	memset(pclntab, 0, 8);
	Elf64_Xword *const wrong[] = { &symtab->sh_size, &symtab->sh_offset,
				       &sections[symtab->sh_link].sh_size,
				       &sections[symtab->sh_link].sh_offset };
	for (int i = 0; i < 4; i++) {
		static const Elf64_Xword values[] = { UINT64_MAX, UINT64_MAX / 2, 1ull << 40,
						      1ull << 33 };
		for (int v = 0; v < 4; v++) {
			Elf64_Xword saved = *wrong[i];
			*wrong[i] = values[v];
			fd = file_of(data, size);
			struct symbol_source *s;
			struct err err = { 0 };
			ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, &err), -ENOEXEC);
			ck_assert_uint_gt(strlen(err.text), 10);
			close(fd);
			*wrong[i] = saved;
		}
	}
	/* Counts that libelf would take from the first section header: 2^32 sections in a sparse file. */
	header->e_shnum = 0;
	sections[0].sh_size = 1ull << 32;
	fd = file_of(data, size);
	ck_assert_int_eq(ftruncate(fd, 1ll << 40), 0);
	struct symbol_source *s;
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), -ENOEXEC);
	close(fd);
	free(data);
}
END_TEST

/* Mapped files would kill the process here. */
START_TEST(files_shrink_while_open)
{
	int from = file_open(ELF_DIR "basic-cpp-no-fp-with-debuginfo");
	size_t size;
	char *data = bytes_of(from, &size);
	int fd = file_of(data, size);
	struct symbol_source *s;
	struct symbol sym;
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
	ck_assert(symbol_lookup(s, 0x1125, &sym));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert(symbol_lookup(s, 0x1125, &sym)); /* known already */
	ck_assert_str_eq(sym.name, "top2()");
	ck_assert(!symbol_lookup(s, 0x1050, &sym));
	ck_assert_uint_eq(s->skipped, 1);
	symbol_close(s);
	close(fd);
	close(from);
	free(data);
}
END_TEST

#ifdef __x86_64__
#define ONLY_X86_64 , thirty_two_bits
#else
#define ONLY_X86_64
#endif
UNIT_MAIN("elf_rules", sizes_are_ends, assembly_labels, exported_symbols_without_size,
	  nested_functions, one_name_per_address, parts_are_their_function,
	  names_are_demangled_and_cut, big_endian, versions_are_dropped, no_section_headers,
	  odd_files, cut_files, changed_files, absurd_tables, files_shrink_while_open ONLY_X86_64)
