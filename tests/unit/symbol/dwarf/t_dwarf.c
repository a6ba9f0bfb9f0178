// tier: test
// parts: 2
/* Functions, lines and inlined calls of real files and of programs built here, by gcc and clang, in every version of DWARF: the same as
 * llvm-symbolizer and addr2line report. */
#include "base/err.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#define ELF_DIR "tests/golden/elf/"
enum { MAX_CHAIN = 64 };

struct program {
	int fd;
	struct debug_root root;
	char path[64];
	struct symbol_source *source;
	struct {
		uint64_t offset, vaddr, size;
	} segments[16];
	size_t n_segments;
};

static void program_open(struct program *p, const char *path)
{
	struct err err = { 0 };
	*p = (struct program){ .fd = file_open(path),
			       .root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	snprintf(p->path, sizeof p->path, "%s", path);
	p->root.path = p->path;
	int rc = symbol_open_elf(p->fd, debug_locate_in_root, &p->root, &p->source, &err);
	ck_assert_msg(rc == 0, "%s: %s", path, err.text);
	char *text = shell("readelf -lW %s", path), *save;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		if (sscanf(l, " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64,
			   &p->segments[p->n_segments].offset, &p->segments[p->n_segments].vaddr,
			   &p->segments[p->n_segments].size) == 3)
			p->n_segments++;
	free(text);
}

static void program_close(struct program *p)
{
	symbol_close(p->source);
	close(p->fd);
	close(p->root.fd);
}

static uint32_t program_lines(struct program *p, uint64_t vaddr, struct symbol_line *lines)
{
	for (size_t i = 0; i < p->n_segments; i++) {
		uint64_t at = vaddr - p->segments[i].vaddr;
		if (vaddr >= p->segments[i].vaddr && at < p->segments[i].size)
			return symbol_lines(p->source, p->segments[i].offset + at, lines,
					    MAX_CHAIN);
	}
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path ? path : "??";
}

/* --- files of others ------------------------------------------------------------------------------------------------- */

/* "inner@a.c:3 < outer@a.c:7", as the golden files write chains. */
static void chain_text(char *text, size_t size, const struct symbol_line *lines, uint32_t n)
{
	size_t len = 0;
	for (uint32_t i = 0; i < n; i++)
		len += snprintf(text + len, size - len, "%s%s@%s:%u", i ? " < " : "", lines[i].name,
				base_name(lines[i].file), lines[i].line);
}

/* Rows on which llvm-symbolizer and addr2line agree in full. A file without a line comes from the symbol table, and is no source location: there only
 * the function counts. */
static size_t compare_with_tsv(const char *name, size_t *inlined)
{
	char path[256], ours[8192];
	struct program p;
	snprintf(path, sizeof path, ELF_DIR "%s", name);
	program_open(&p, path);
	char *text = shell("cat " ELF_DIR "expected/%s.symbolized.tsv", name), *save;
	size_t compared = 0;
	*inlined = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct symbol_line lines[MAX_CHAIN];
		char *agreement = strchr(l, '\t');
		char *chain = agreement ? strchr(agreement + 1, '\t') : NULL;
		if (!chain || strncmp(agreement, "\tfull\t", 6) != 0)
			continue;
		*strchrnul(++chain, '\t') = '\0';
		for (char *abi;
		     (abi = strstr(chain, ".abi0"));) /* the same function in every build */
			memmove(abi, abi + 5, strlen(abi + 5) + 1);
		uint32_t n = program_lines(&p, strtoull(l, NULL, 16), lines);
		chain_text(ours, sizeof ours, lines, n);
		size_t len = strlen(chain);
		if (len > 2 && strcmp(chain + len - 2, ":0") == 0 && !strstr(chain, " < "))
			*strrchr(ours, '@') = *strrchr(chain, '@') = '\0';
		ck_assert_msg(strcmp(ours, chain) == 0, "%s %.20s: %s, not %s", name, l, ours,
			      chain);
		*inlined += n > 1;
		compared++;
	}
	free(text);
	program_close(&p);
	return compared;
}

START_TEST(golden_files)
{
	size_t inlined;
	ck_assert_uint_eq(compare_with_tsv("basic-cpp-no-fp-with-debuginfo", &inlined), 319);
	ck_assert_uint_eq(compare_with_tsv("main_cpp_clang_03_with_inlined_3s", &inlined), 531);
	ck_assert_uint_gt(inlined, 20);
	ck_assert_uint_eq(compare_with_tsv("otel-inline-aarch64", &inlined), 73);
	ck_assert_uint_eq(compare_with_tsv("go-1.22.12", &inlined), 813);
}
END_TEST

START_TEST(known_results)
{
	struct symbol_line lines[MAX_CHAIN];
	struct program p;
	program_open(&p, ELF_DIR "basic-cpp-no-fp-with-debuginfo");
	ck_assert_uint_eq(program_lines(&p, 0x401125, lines), 1);
	ck_assert_str_eq(lines[0].name, "top2()");
	ck_assert_str_eq(lines[0].linkage, "_Z4top2v");
	ck_assert_str_eq(base_name(lines[0].file), "basic-cpp.cpp");
	ck_assert_uint_eq(lines[0].line, 10);
	ck_assert_uint_eq(lines[0].start_line, 8);
	program_close(&p);
}
END_TEST

/* --- programs built here --------------------------------------------------------------------------------------------- */

/* Compares linkage names, because demanglers spell the same name in different ways. Of several symbols at one address, each tool may choose its own,
 * if they mean the same (constructors). */
static bool same_function(const char *linkage, const struct symbol_line *line)
{
	if (strcmp(linkage, line->linkage) == 0)
		return true;
	char *name = symbol_demangle(linkage);
	bool same = name && strcmp(name, line->name) == 0;
	free(name);
	return same;
}

static bool same_as_llvm(char *answer, const struct symbol_line *lines, uint32_t n)
{
	char *save;
	uint32_t i = 0;
	for (char *l = strtok_r(answer, "\n", &save); l; l = strtok_r(NULL, "\n", &save), i++) {
		char *place = strtok_r(NULL, "\n", &save);
		if (i >= n || !place || !same_function(l, &lines[i]))
			return false;
		*strrchr(place, ':') = '\0'; /* the column */
		char *line = strrchr(place, ':');
		*line++ = '\0';
		if (strtoul(line, NULL, 10) != lines[i].line)
			return false;
		if (lines[i].line && strcmp(place, lines[i].file) != 0)
			return false;
	}
	return i == n;
}

struct count {
	size_t addresses, inlined;
};

/* A program that was built here, and where its .text is. */
struct built {
	char dir[32];
	const char *flags;
	uint64_t start, size;
};

static void build(const char *dir, const char *compiler, const char *flags, const char *source)
{
	shell_do("cp tests/unit/%s %s/ && cd %s && %s -g %s -o prog %s 2>&1", source, dir, dir,
		 compiler, flags, source);
}

/* Adds every third byte of .text to the input of llvm-symbolizer. */
static void build_for_both(struct built *b, const char *compiler, const char *source, FILE *input)
{
	temp_dir(b->dir);
	build(b->dir, compiler, b->flags, source);
	char *text = shell("readelf -SW %s/prog | sed -n 's/^.* \\.text  *PROGBITS  *//p'", b->dir);
	ck_assert_int_eq(sscanf(text, "%" SCNx64 " %*x %" SCNx64, &b->start, &b->size), 2);
	free(text);
	for (uint64_t at = b->start; at < b->start + b->size; at += 3)
		fprintf(input, "%s/prog %#" PRIx64 "\n", b->dir, at);
}

/* Compares with the output of llvm-symbolizer from here on, and returns the rest of it. Between functions, it reports lines without a function. */
static char *compare(const struct built *b, char *answer, struct count *count)
{
	char path[64];
	struct program p;
	snprintf(path, sizeof path, "%.31s/prog", b->dir);
	program_open(&p, path);
	for (uint64_t at = b->start; at < b->start + b->size; at += 3) {
		struct symbol_line lines[MAX_CHAIN];
		char *end = strstr(answer, "\n\n");
		ck_assert_ptr_nonnull(end);
		*end = '\0';
		uint32_t n = program_lines(&p, at, lines);
		if (strncmp(answer, "??\n", 3) == 0) {
			ck_assert_uint_eq(n, 0);
		} else if (!strstr(answer, "crtstuff.c:0")) {
			char *copy = strdup(answer);
			ck_assert_msg(same_as_llvm(copy, lines, n),
				      "%s %#" PRIx64 ": llvm-symbolizer says\n%s\nwe %u: %s %s:%u",
				      b->flags, at, answer, n, n ? lines[0].linkage : "",
				      n && lines[0].file ? lines[0].file : "",
				      n ? lines[0].line : 0);
			free(copy);
			count->addresses++;
			count->inlined += n > 1;
		}
		answer = end + 2;
	}
	program_close(&p);
	return answer;
}

static const char *const flags[] = {
	"-O2 -gdwarf-2",
	"-O2 -gdwarf-3",
	"-O2 -gdwarf-4",
	"-O2 -gdwarf-5",
	"-O0 -gdwarf-4",
	"-O0 -gdwarf-5",
	"-O3 -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
	"-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections -no-pie",
	"-O2 -gdwarf-5 -gz",
	"-O2 -gdwarf-4 -gsplit-dwarf",
	"-O2 -gdwarf-5 -gsplit-dwarf",
	"-O2 -gdwarf64 -gdwarf-5",
};

enum { FLAGS = sizeof flags / sizeof *flags };

static void compare_all_flags(const char *c, const char *cxx)
{
	struct built all[2 * FLAGS] = { 0 };
	size_t inlined = 0;
	char dir[32], path[48];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/input", dir);
	FILE *input = fopen(path, "w");
	ck_assert_ptr_nonnull(input);
	for (size_t i = 0; i < 2 * FLAGS; i++) {
		all[i].flags = flags[i / 2];
		build_for_both(&all[i], i % 2 ? cxx : c, i % 2 ? "inlined.cc" : "inlined.c", input);
	}
	fclose(input);
	char *text = shell("llvm-symbolizer-19 --no-demangle <%s", path), *answer = text;
	for (size_t i = 0; i < 2 * FLAGS; i++) {
		struct count count = { 0 };
		answer = compare(&all[i], answer, &count);
		ck_assert_msg(count.addresses > 50, "%s: %zu addresses", all[i].flags,
			      count.addresses);
		inlined += count.inlined;
		shell_do("rm -rf %s", all[i].dir);
	}
	ck_assert_uint_gt(inlined, 500);
	free(text);
	shell_do("rm -rf %s", dir);
}

START_TEST(gcc)
{
	compare_all_flags("gcc", "g++");
}
END_TEST
START_TEST(clang_14)
{
	compare_all_flags("clang-14", "clang++-14");
}
END_TEST
START_TEST(clang_19)
{
	compare_all_flags("clang-19", "clang++-19");
}
END_TEST

/* --- the same program, its debug information elsewhere ----------------------------------------------------------------- */

/* All that is known about all addresses of a program, as text. */
static char *everything(const char *dir, const char *name)
{
	char path[64], *text = NULL;
	size_t size;
	struct program p;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	program_open(&p, path);
	FILE *f = open_memstream(&text, &size);
	for (uint64_t at = 0; at < 0x8000; at++) {
		struct symbol_line lines[MAX_CHAIN];
		uint32_t n = symbol_lines(p.source, at, lines, MAX_CHAIN);
		for (uint32_t i = 0; i < n; i++)
			fprintf(f, "%#" PRIx64 " %s %s %s:%u from %u\n", at, lines[i].name,
				lines[i].linkage, lines[i].file ? lines[i].file : "??",
				lines[i].line, lines[i].start_line);
	}
	fclose(f);
	program_close(&p);
	return text;
}

static void same_everywhere(const char *flags, const char *change)
{
	char dir[32];
	temp_dir(dir);
	build(dir, "g++", flags, "inlined.cc");
	char *before = everything(dir, "prog");
	ck_assert_ptr_nonnull(strstr(before, "inlined.cc:10 from 10"));
	shell_do("cd %s && { %s; } 2>&1", dir, change);
	char *after = everything(dir, "prog");
	ck_assert_msg(strcmp(before, after) == 0, "%s: not the same", change);
	free(before);
	free(after);
	shell_do("rm -rf %s", dir);
}

START_TEST(elsewhere)
{
	const char *separate = "objcopy --only-keep-debug prog prog.debug && objcopy -S "
			       "--add-gnu-debuglink=prog.debug prog";
	same_everywhere("-O2", separate);
	same_everywhere("-O2", "objcopy --compress-debug-sections=zlib-gnu prog && "
			       "readelf -SW prog | grep -q zdebug_info");
	same_everywhere("-O2", "llvm-objcopy-19 --compress-debug-sections=zstd prog");
	same_everywhere("-O2 -gdwarf-5 -gsplit-dwarf",
			"llvm-dwp-19 -e prog -o prog.dwp && rm ./*.dwo");
	same_everywhere("-O2 -gdwarf-4 -gsplit-dwarf",
			"llvm-dwp-19 -e prog -o prog.dwp && rm ./*.dwo");
	/* In one unit that others refer to, and in a file that two programs share. */
	same_everywhere("-O2 -gdwarf-5", "dwz prog");
	same_everywhere("-O2 -gdwarf-4",
			"cp prog other && dwz -m common.debug prog other && test -e common.debug");
}
END_TEST

/* Without the table of the code of units, and with one that lacks a unit. */
START_TEST(without_a_table_of_units)
{
	const char *has =
		"readelf -SW prog | grep -q debug_aranges && objcopy -R .debug_aranges prog";
	const char *two = "for f in inlined other; do g++ -O2 -g -c $f.cc; done";
	char dir[32];

	same_everywhere("-O2 -gdwarf-5", has);
	same_everywhere("-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections", has);
	same_everywhere("-O2 -gdwarf64 -gdwarf-5", has);
	temp_dir(dir);
	shell_do("cp tests/unit/inlined.cc %s/ && cd %s && "
		 "echo 'int twice(int n) { return n * 2; }' >other.cc && %s && "
		 "g++ -o prog other.o inlined.o",
		 dir, dir, two);
	char *before = everything(dir, "prog");
	ck_assert_ptr_nonnull(strstr(before, "other.cc:1 from 1"));
	ck_assert_ptr_nonnull(strstr(before, "inlined.cc:10 from 10"));
	shell_do("cd %s && objcopy -R .debug_aranges -R .rela.debug_aranges other.o && "
		 "g++ -o prog other.o inlined.o",
		 dir);
	char *after = everything(dir, "prog");
	ck_assert_msg(strcmp(before, after) == 0, "a unit is missing in the table: not the same");
	free(before);
	free(after);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* --- bad input ------------------------------------------------------------------------------------------------------- */

static void use_all(int fd, size_t size)
{
	struct symbol_source *s;
	struct symbol_line lines[MAX_CHAIN];
	if (symbol_open_elf(fd, NULL, NULL, &s, NULL))
		return;
	for (uint64_t at = 0; at < size; at += 64) {
		uint32_t n = symbol_lines(s, at, lines, MAX_CHAIN);
		for (uint32_t i = 0; i < n; i++)
			ck_assert(*lines[i].name && *lines[i].linkage);
	}
	symbol_close(s);
}

/* Truncated anywhere, and with any one byte wrong. */
START_TEST(damaged)
{
	char *size_text = shell("stat -c %%s " ELF_DIR "main_cpp_clang_03_with_inlined_3s");
	size_t size = strtoul(size_text, NULL, 10);
	uint8_t *bytes = malloc(size);
	int fd = file_open(ELF_DIR "main_cpp_clang_03_with_inlined_3s");
	ck_assert_int_eq(read(fd, bytes, size), size);
	close(fd);
	fd = file_of(bytes, size);
	for (size_t i = 0; i < size; i += 5) {
		uint8_t wrong = bytes[i] ^ (i % 3 ? 0xff : 0x01);
		ck_assert_int_eq(pwrite(fd, &wrong, 1, i), 1);
		use_all(fd, size);
		ck_assert_int_eq(pwrite(fd, bytes + i, 1, i), 1);
	}
	for (size_t i = size; i > 0; i -= i < 37 ? i : 37) {
		ck_assert_int_eq(ftruncate(fd, i), 0);
		use_all(fd, i);
	}
	close(fd);
	free(bytes);
	free(size_text);
}
END_TEST

UNIT_MAIN("dwarf", golden_files, known_results, gcc, clang_14, clang_19, elsewhere,
	  without_a_table_of_units, damaged)
