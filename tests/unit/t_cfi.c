/* Call frame information against readelf's view of the same files: every row of every function. */
#include "readelf_rows.h"
#include "shell.h"
#include "unit.h"

#include "unwind/cfi_file.h"

#include <errno.h>

struct check {
	struct readelf_rows want;
	size_t at; /* function */
	uint64_t rows, fdes;
	const char *path;
};

static const char *const registers[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					 "r12", "r13", "r14", "r15", "ra" };

/* Our rule as readelf would write it. An expression is "exp", whatever was recognized in it. */
static void spell_cfa(const struct cfi_place *p, const char *readelf, char *out)
{
	if (strcmp(readelf, "exp") == 0 && p->kind != CFI_NONE)
		snprintf(out, 16, "exp");
	else if (p->kind == CFI_OFFSET)
		snprintf(out, 16, "%s%+d", registers[p->reg], (int)p->offset);
	else
		snprintf(out, 16, "kind %d", p->kind);
}

static void spell_register(const struct cfi_place *p, char *out)
{
	static const char *const words[] = {
		[CFI_NONE] = "s", [CFI_UNDEFINED] = "u", [CFI_DEREF] = "exp", [CFI_OTHER] = "exp"
	};
	if (p->kind == CFI_OFFSET || p->kind == CFI_VALUE)
		snprintf(out, 16, "%c%+d", p->kind == CFI_OFFSET ? 'c' : 'v', (int)p->offset);
	else if (p->kind == CFI_REGISTER)
		snprintf(out, 16, "r%d (%s)", p->reg, registers[p->reg]);
	else
		snprintf(out, 16, "%s", words[p->kind]);
}

/* "" is a column that is not there, "u" may be one that is there for the sake of a later row. */
static bool same_register(const char *ours, const char *readelf, bool is_ra)
{
	if (strcmp(ours, readelf) == 0 ||
	    (strcmp(readelf, "vexp") == 0 && strcmp(ours, "exp") == 0))
		return true;
	return strcmp(ours, "s") == 0 && (!*readelf || (!is_ra && strcmp(readelf, "u") == 0));
}

static void check_row(const struct check *c, const struct cfi_rule *rule,
		      const struct readelf_row *want)
{
	char cfa[16], fp[16], ra[16];
	spell_cfa(&rule->cfa, want->cfa, cfa);
	spell_register(&rule->fp, fp);
	spell_register(&rule->ra, ra);
	ck_assert_msg(strcmp(cfa, want->cfa) == 0 && same_register(fp, want->fp, false) &&
			      same_register(ra, want->ra, true),
		      "%s: %lx: cfa %s fp %s ra %s, readelf says %s %s %s", c->path, want->addr,
		      cfa, fp, ra, want->cfa, want->fp, want->ra);
}

/* Each row of readelf's has our rule of that address; each of our rows is one of readelf's. */
static void check_fde(struct check *c, const struct cfi_fde *ours, const struct readelf_fde *want)
{
	const struct readelf_row *rows = &c->want.rows.v[want->first];
	size_t k = 0;
	ck_assert_msg(ours->start == want->start && ours->end == want->end,
		      "%s: %lx..%lx, readelf says %lx..%lx", c->path, ours->start, ours->end,
		      want->start, want->end);
	for (size_t i = 0; i < want->n && rows[i].addr < ours->end; i++) {
		while (k + 1 < ours->n && ours->rows[k + 1].addr <= rows[i].addr)
			k++;
		if (i + 1 < want->n && rows[i + 1].addr == rows[i].addr)
			continue;
		check_row(c, &ours->rows[k].rule, &rows[i]);
		c->rows++;
	}
	ck_assert_msg(k == ours->n - 1, "%s: %lx: a row that readelf does not have", c->path,
		      ours->rows[k + 1 < ours->n ? k + 1 : k].addr);
	c->fdes++;
}

static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	struct check *c = ctx;
	while (c->at < c->want.fdes.n && c->want.fdes.v[c->at].start == c->want.fdes.v[c->at].end)
		c->at++;
	ck_assert_uint_lt(c->at, c->want.fdes.n);
	check_fde(c, fde, &c->want.fdes.v[c->at++]);
	return true;
}

static void check_file(const char *path, char *readelf_text, struct check *c)
{
	struct elf_file f;
	struct buf data = { 0 };
	struct cfi_section section;
	struct err err = { 0 };
	uint64_t skipped;
	int fd = file_open(path);
	c->path = path;
	readelf_rows_parse(readelf_text, &c->want);
	ck_assert_int_eq(elf_file_open(&f, fd, &err), 0);
	ck_assert_msg(cfi_file_section(&f, &data, &section, &err) == 0, "%s: %s", path, err.text);
	ck_assert_int_eq(cfi_read(&section, on_fde, c, &skipped, &err), 0);
	ck_assert_uint_eq(skipped, 0);
	elf_file_close(&f);
	close(fd);
	buf_done(&data);
	readelf_rows_done(&c->want);
	free(readelf_text);
}

START_TEST(golden_files)
{
	static const struct {
		const char *path, *rows;
		uint64_t fdes;
	} files[] = {
		{ "basic-cpp-no-fp-with-debuginfo",
		  "cat tests/golden/elf/expected/%s.frames-interp.txt", 11 },
		{ "gnu_exe", "cat tests/golden/elf/expected/%s.frames-interp.txt", 7 },
		{ "main_cpp_clang_03_with_inlined_3s",
		  "cat tests/golden/elf/expected/%s.frames-interp.txt", 16 },
		{ "otel-elfunwindinfo-test.so",
		  "zcat tests/golden/elf/expected/%s.frames-interp.txt.gz", 6348 },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[256], command[256];
		struct check c = { 0 };
		snprintf(path, sizeof path, "tests/golden/elf/%s", files[i].path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(command, sizeof command, files[i].rows, files[i].path);
#pragma GCC diagnostic pop
		check_file(path, shell("%s", command), &c);
		ck_assert_uint_eq(c.fdes, files[i].fdes);
	}
}
END_TEST

/* The same program with and without section headers. */
START_TEST(sections_are_not_needed)
{
	struct check c = { 0 };
	check_file("tests/golden/elf/gnu_exe_without_sections",
		   shell("cat tests/golden/elf/expected/gnu_exe.frames-interp.txt"), &c);
	ck_assert_uint_eq(c.fdes, 7);
}
END_TEST

/* What runs on this machine. */
START_TEST(system_libraries)
{
	char *list = shell("for l in libc.so.6 libstdc++.so.6 libcrypto.so.3 libz.so.1; do "
			   "f=$(/sbin/ldconfig -p | awk -v l=$l '$1 == l { print $NF; exit }'); "
			   "[ -z \"$f\" ] || readlink -f $f; done; readlink -f /bin/bash");
	uint64_t rows = 0, files = 0;
	for (char *save, *path = strtok_r(list, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save)) {
		struct check c = { 0 };
		check_file(
			path,
			shell("readelf --debug-dump=frames-interp '%s' 2>/dev/null || true", path),
			&c);
		rows += c.rows;
		files++;
	}
	printf("# %lu files, %lu rows\n", files, rows);
	ck_assert_uint_gt(rows, 10000);
	free(list);
}
END_TEST

START_TEST(files_without)
{
	static const struct {
		const char *path;
		int rc;
	} files[] = {
		{ "validelf_withsections", -ENODATA },
		{ "go_exe.debug", -ENODATA },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[256];
		struct elf_file f;
		struct buf data = { 0 };
		struct cfi_section section;
		snprintf(path, sizeof path, "tests/golden/elf/%s", files[i].path);
		int fd = file_open(path);
		ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
		ck_assert_int_eq(cfi_file_section(&f, &data, &section, NULL), files[i].rc);
		elf_file_close(&f);
		close(fd);
		buf_done(&data);
	}
}
END_TEST

UNIT_MAIN("cfi", golden_files, sections_are_not_needed, system_libraries, files_without)
