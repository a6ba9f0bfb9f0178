// tier: test
/* The table in Go programs: made-up ones of every layout, a real program with correct answers from other programs, and programs built here in every
 * way, compared with Go's own reader. */
#include "go_image.h"
#include "shell.h"
#include "unit.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/symbol.h"
#include "unwind/table.h"

#include <errno.h>

enum { MAX_LINES = 64 };

static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

/* --- made programs ----------------------------------------------------------------------------- */

/* "main.inner[...]@b.go:31 < main.leaf@b.go:21"; only_names: reduces files to the part after the last slash. */
static void spell(struct symbol_source *s, uint64_t offset, char *out, size_t size)
{
	struct symbol_line lines[MAX_LINES];
	uint32_t n = symbol_lines(s, offset, lines, MAX_LINES);
	size_t at = 0;
	*out = 0;
	for (uint32_t i = 0; i < n && at < size; i++) {
		const char *file = lines[i].file ? lines[i].file : "?", *slash = strrchr(file, '/');
		at += snprintf(out + at, size - at, "%s%s@%s:%u", i ? " < " : "", lines[i].name,
			       slash ? slash + 1 : file, lines[i].line);
	}
}

START_TEST(every_layout)
{
	static const struct {
		uint64_t offset;
		const char *chain;
	} want[] = {
		{ GO_TEXT, "main.main@a.go:10" },
		{ GO_TEXT + 7, "main.main@a.go:10" },
		{ GO_TEXT + 8, "main.inner[...]@b.go:31 < main.leaf@b.go:21 < main.main@a.go:12" },
		{ GO_TEXT + 12, "main.leaf@b.go:21 < main.main@a.go:12" },
		{ GO_TEXT + 16, "main.main@a.go:12" },
		{ GO_TEXT + 63, "main.main@a.go:12" },
		{ GO_TEXT + 64, "runtime.goexit@c.s:3" },
		{ GO_TEXT + 96, "" },
	};
	for (size_t k = 0; k < 4; k++) {
		struct go_image image;
		struct symbol_source *s;
		struct symbol_line lines[2];
		char chain[256];
		go_image_make(&image, magics[k]);
		int fd = file_of(image.bytes, sizeof image.bytes);
		ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
		ck_assert_str_eq(s->origin, ".gopclntab");
		ck_assert_uint_eq(s->functions, 2);
		for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
			spell(s, want[i].offset, chain, sizeof chain);
			ck_assert_str_eq(chain, want[i].chain);
		}
		/* The innermost two of three. */
		ck_assert_uint_eq(symbol_lines(s, GO_TEXT + 8, lines, 2), 2);
		ck_assert_str_eq(lines[0].linkage, "main.inner[go.shape.int]");
		bool knows_start = magics[k] == 0xfffffff1;
		ck_assert_uint_eq(lines[0].start_line, knows_start ? 30 : 0);
		ck_assert_uint_eq(lines[1].start_line, knows_start ? 20 : 0);
		ck_assert_uint_eq(s->skipped, 0);
		symbol_close(s);
		close(fd);
	}
}
END_TEST

START_TEST(rows_of_every_layout)
{
	for (size_t k = 0; k < 4; k++) {
		struct go_image image;
		struct unwind_table t;
		go_image_make(&image, magics[k]);
		int fd = file_of(image.bytes, sizeof image.bytes);
		ck_assert_int_eq(unwind_table_build(fd, &t, NULL), 0);
		const struct unwind_rule *r = unwind_table_find(&t, GO_TEXT + 3);
		ck_assert_int_eq(r->cfa_offset, 8);
		ck_assert_uint_eq(UNWIND_KIND(r->fp), UNWIND_NONE);
		r = unwind_table_find(&t, GO_TEXT + 4);
		ck_assert_int_eq(r->cfa_offset, 40);
		ck_assert_uint_eq(UNWIND_KIND(r->fp), UNWIND_CFA);
		ck_assert_int_eq(r->fp_offset, -16);
		ck_assert_int_eq(r->ra_offset, -8);
		ck_assert_int_eq(unwind_table_find(&t, GO_TEXT + 56)->cfa_offset, 8);
		ck_assert_uint_eq(UNWIND_KIND(unwind_table_find(&t, GO_TEXT + 64)->ra),
				  UNWIND_UNDEFINED);
		ck_assert_uint_eq(UNWIND_KIND(unwind_table_find(&t, GO_TEXT + 96)->cfa),
				  UNWIND_GAP);
		unwind_table_done(&t);
		close(fd);
	}
}
END_TEST

/* Opens, looks up every address, closes: only answers that the contract allows. */
static void survives(const void *bytes, size_t size)
{
	struct symbol_source *s;
	struct unwind_table t;
	char chain[4096];
	int fd = file_of(bytes, size);
	if (symbol_open_elf(fd, NULL, NULL, &s, NULL) == 0) {
		for (uint64_t offset = GO_TEXT; offset < GO_TABLE; offset += 4)
			spell(s, offset, chain, sizeof chain);
		symbol_close(s);
	}
	if (unwind_table_build(fd, &t, NULL) == 0)
		unwind_table_done(&t);
	close(fd);
}

START_TEST(damaged)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	for (size_t k = 0; k < 4; k++) {
		struct go_image image;
		go_image_make(&image, magics[k]);
		for (size_t size = 0; size < sizeof image.bytes; size++)
			survives(image.bytes, size);
		for (size_t at = GO_TABLE; at < sizeof image.bytes; at++) {
			uint8_t right = image.bytes[at];
			for (size_t v = 0; v < sizeof values; v++) {
				image.bytes[at] = values[v];
				survives(image.bytes, sizeof image.bytes);
			}
			image.bytes[at] = right;
		}
	}
}
END_TEST

/* Trees whose entries name each other as callers end when the answer is full. */
START_TEST(inline_cycle)
{
	struct go_image image;
	struct symbol_source *s;
	struct symbol_line lines[MAX_LINES];
	go_image_make(&image, 0xfffffff1);
	go_put(&image, GO_TREE + 8, 8, 4);
	int fd = file_of(image.bytes, sizeof image.bytes);
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
	ck_assert_uint_eq(symbol_lines(s, GO_TEXT + 8, lines, MAX_LINES), MAX_LINES);
	symbol_close(s);
	close(fd);
}
END_TEST

/* The same header has three layouts of moduledata. A wrong one would give invented names; one that is not known gives no inlined functions. */
START_TEST(every_module)
{
	static const char inlined[] =
		"main.inner[...]@b.go:31 < main.leaf@b.go:21 < main.main@a.go:12";
	static const char plain[] = "main.main@b.go:31";
	static const struct {
		struct go_module module;
		const char *chain;
	} want[] = {
		{ { "go1.20.14", 40, false }, inlined },
		{ { "go1.25.1", 40, false }, inlined },
		{ { "go1.26.10", 40, true }, inlined },
		{ { "go1.27.3", 43, true }, inlined },
		{ { "go1.27rc1 X:nocoverageredesign", 43, true }, inlined },
		{ { NULL, 40, false }, inlined },
		{ { NULL, 40, true }, inlined },
		{ { NULL, 43, true }, inlined },
		{ { "devel go1.27-a1b2c3", 40, true }, inlined },
		{ { "go1.28", 43, true }, inlined },
		{ { "go1.27.3", 40, true }, plain },
		{ { "go1.26.10", 43, true }, plain },
		{ { "go1.28", 42, true }, plain },
		{ { NULL, 41, true }, plain },
		{ { NULL, 44, false }, plain },
	};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct go_image image;
		struct symbol_source *s;
		char chain[256];
		go_image_make(&image, 0xfffffff1);
		go_put_module(&image, &want[i].module);
		int fd = file_of(image.bytes, sizeof image.bytes);
		ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
		spell(s, GO_TEXT + 8, chain, sizeof chain);
		ck_assert_msg(strcmp(chain, want[i].chain) == 0, "%s, word %u: %s",
			      want[i].module.version ? want[i].module.version : "no version",
			      want[i].module.base_word, chain);
		symbol_close(s);
		close(fd);
	}
}
END_TEST

/* The place is that of a known layout, but trees are not there. */
START_TEST(no_trees)
{
	struct go_module module = { "go1.27.3", 43, true };
	struct go_image image;
	struct symbol_source *s;
	char chain[256];
	go_image_make(&image, 0xfffffff1);
	go_put_module(&image, &module);
	go_put(&image, GO_MODULE + 8 * 43, GO_ADDR + GO_NAMES, 8);
	int fd = file_of(image.bytes, sizeof image.bytes);
	ck_assert_int_eq(symbol_open_elf(fd, NULL, NULL, &s, NULL), 0);
	spell(s, GO_TEXT + 8, chain, sizeof chain);
	ck_assert_str_eq(chain, "main.main@b.go:31");
	ck_assert_uint_eq(s->skipped, 0);
	symbol_close(s);
	close(fd);
}
END_TEST

/* --- a real program with known answers --------------------------------------------------------- */

static struct symbol_source *open_program(const char *path, struct elf_layout *layout, int *fd)
{
	struct symbol_source *s;
	struct elf_file f;
	struct err err = { 0 };
	*fd = file_open(path);
	*layout = (struct elf_layout){ 0 };
	ck_assert_int_eq(elf_file_open(&f, *fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(layout, &f, NULL), 0);
	elf_file_close(&f);
	ck_assert_msg(symbol_open_elf(*fd, NULL, NULL, &s, &err) == 0, "%s: %s", path, err.text);
	ck_assert_str_eq(s->origin, ".gopclntab");
	return s;
}

START_TEST(golden_chains)
{
	struct elf_layout layout;
	int fd;
	struct symbol_source *s = open_program("tests/golden/elf/go-1.22.12", &layout, &fd);
	char *text = shell("cat tests/golden/elf/expected/go-1.22.12.symbolized.tsv"), *save;
	size_t compared = 0;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *agreement = strchr(l, '\t'), chain[4096];
		uint64_t offset;
		if (!agreement || strncmp(agreement, "\tfull\t", 6) != 0)
			continue;
		char *want = agreement + 6, *abi;
		*strchrnul(want, '\t') = 0;
		/* The name is the same as in a stripped program. */
		while ((abi = strstr(want, ".abi0")))
			memmove(abi, abi + 5, strlen(abi + 5) + 1);
		ck_assert(elf_layout_offset(&layout, strtoull(l, NULL, 16), &offset));
		spell(s, offset, chain, sizeof chain);
		ck_assert_str_eq(chain, want);
		compared++;
	}
	ck_assert_uint_eq(compared, 813);
	free(text);
	symbol_close(s);
	elf_layout_done(&layout);
	close(fd);
}
END_TEST

/* --- programs built here ----------------------------------------------------------------------- */

/* Removes the section headers. */
static void drop_sections(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf64_Ehdr h;
	ck_assert_int_eq(pread(fd, &h, sizeof h, 0), sizeof h);
	h.e_shoff = h.e_shnum = h.e_shstrndx = 0;
	ck_assert_int_eq(pwrite(fd, &h, sizeof h, 0), sizeof h);
	close(fd);
}

/* The program prints what Go's runtime knows. Two cases are left out: code behind a function's end, for which neither has a line; and the very first
 * function name, which Go 1.19 takes for none. */
static size_t compare_with_go(const char *path)
{
	struct elf_layout layout;
	int fd;
	struct symbol_source *s = open_program(path, &layout, &fd);
	char *answers = shell("%s describe", path), *save;
	size_t compared = 0;
	for (char *l = strtok_r(answers, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct symbol_line lines[MAX_LINES];
		char ours[1024], *want = strchr(l, '\t') + 1;
		uint32_t n = symbol_lines(s, strtoull(l, NULL, 16), lines, MAX_LINES);
		ck_assert_msg(n > 0, "%s: nothing at %s", path, l);
		if (*want == '\t' || strstr(want, "\t?:0"))
			continue;
		snprintf(ours, sizeof ours, "%s\t%s:%u", lines[0].name,
			 lines[0].file ? lines[0].file : "?", lines[0].line);
		ck_assert_str_eq(ours, want);
		compared++;
	}
	free(answers);
	ck_assert_uint_eq(s->skipped, 0);
	symbol_close(s);
	elf_layout_done(&layout);
	close(fd);
	return compared;
}

static void check_build(const char *options)
{
	char dir[32], path[64];
	if (system("command -v go >/dev/null") != 0)
		T_SKIP("go is not installed");
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/busy", dir);
	shell_do("cd tests/live/prog/go && go build -buildvcs=false %s -o %s . && strip %s",
		 options, path, path);
	size_t compared = compare_with_go(path);
	ck_assert_uint_gt(compared, 5000);
	drop_sections(path);
	ck_assert_uint_eq(compare_with_go(path), compared);
	printf("# go build %s: %zu addresses, with and without sections\n", options, compared);
	shell_do("rm -rf %s", dir);
}

START_TEST(agrees_with_go)
{
	check_build("");
}
END_TEST

START_TEST(agrees_with_go_pie)
{
	check_build("-buildmode=pie");
}
END_TEST

/* Linked by gcc, which puts the table into .data.rel.ro. */
START_TEST(agrees_with_go_pie_and_c)
{
	check_build("-buildmode=pie -ldflags=-linkmode=external -tags c");
}
END_TEST

UNIT_MAIN("gopclntab", every_layout, rows_of_every_layout, damaged, inline_cycle, every_module,
	  no_trees, golden_chains, agrees_with_go, agrees_with_go_pie, agrees_with_go_pie_and_c)
