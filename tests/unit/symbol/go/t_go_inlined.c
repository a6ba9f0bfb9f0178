// tier: live
/* Inlined calls of stripped Go programs, from the runtime's own tables, compared with the calls that llvm-symbolizer reads from the debug information of the same
 * program. With this machine's Go, and with the Go of each root that tests/live/lib_python_roots.sh has fetched. LLVM_SYMBOLIZER names another one. */
#include "shell.h"
#include "unit.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/symbol.h"

#include <fcntl.h>

enum { MAX_LINES = 64, STEP = 3 };

struct program {
	struct symbol_source *symbols;
	struct elf_layout layout;
	int fd;
};

static struct program program_open(const char *path)
{
	struct program p = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct elf_file f;
	struct err err = { 0 };
	ck_assert_int_eq(elf_file_open(&f, p.fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&p.layout, &f, NULL), 0);
	elf_file_close(&f);
	ck_assert_msg(symbol_open_elf(p.fd, NULL, NULL, &p.symbols, &err) == 0, "%s: %s", path,
		      err.text);
	ck_assert_str_eq(p.symbols->origin, ".gopclntab");
	return p;
}

static void program_close(struct program *p)
{
	symbol_close(p->symbols);
	elf_layout_done(&p->layout);
	close(p->fd);
}

/* Names of the types of an instance are dots, as Go prints them. */
static void plain(char *name)
{
	char *open = strchr(name, '['), *close = open ? strrchr(name, ']') : NULL;
	if (close && close - open >= 4) {
		memmove(open + 4, close, strlen(close) + 1);
		memcpy(open + 1, "...", 3);
	}
	char *abi = strstr(name, ".abi0");
	if (abi)
		*abi = 0;
}

/* "leaf<caller<…" */
static void spell_ours(struct program *p, uint64_t address, char *out, size_t size)
{
	struct symbol_line lines[MAX_LINES];
	uint64_t offset;
	size_t at = 0;
	ck_assert(elf_layout_offset(&p->layout, address, &offset));
	uint32_t n = symbol_lines(p->symbols, offset, lines, MAX_LINES);
	*out = 0;
	for (uint32_t i = 0; i < n && at < size; i++) {
		char name[512];
		snprintf(name, sizeof name, "%s", lines[i].name);
		plain(name);
		at += snprintf(out + at, size - at, "%s%s", i ? "<" : "", name);
	}
}

/* The peer prints a function and its place in turn, and an empty line after each address. */
static char *spell_next(char *text, char *out, size_t size)
{
	size_t at = 0;
	*out = 0;
	for (int i = 0; *text && *text != '\n'; i++) {
		char *end = strchrnul(text, '\n'), name[512];
		snprintf(name, sizeof name, "%.*s", (int)(end - text), text);
		plain(name);
		if (i % 2 == 0 && at < size)
			at += snprintf(out + at, size - at, "%s%s", i ? "<" : "", name);
		text = *end ? end + 1 : end;
	}
	return *text ? text + 1 : text;
}

/* Writes addresses of all functions of package main to a file; returns their number. */
static size_t addresses_of(const char *path, const char *list)
{
	char *rows = shell("nm -S %s | grep -E ' [tT] main\\.'", path), *save;
	FILE *out = fopen(list, "w");
	size_t n = 0;
	ck_assert_ptr_nonnull(out);
	for (char *row = strtok_r(rows, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		char *next;
		uint64_t start = strtoull(row, &next, 16), end = start + strtoull(next, NULL, 16);
		for (; start < end; start += STEP, n++)
			fprintf(out, "0x%llx\n", (unsigned long long)start);
	}
	fclose(out);
	free(rows);
	return n;
}

static void compare(const char *peer, const char *path, const char *words)
{
	char stripped[128], list[128], ours[4096], theirs[4096];
	snprintf(stripped, sizeof stripped, "%s.stripped", path);
	snprintf(list, sizeof list, "%s.list", path);
	size_t n = addresses_of(path, list), same = 0, inlined = 0, done = 0, shown = 0;
	ck_assert_uint_gt(n, 100);
	shell_do("cp %s %s && strip %s", path, stripped, stripped);
	struct program p = program_open(stripped);
	char *answers = shell("%s --obj %s @%s", peer, path, list), *at = answers;
	char *addresses = shell("cat %s", list), *save;
	for (char *l = strtok_r(addresses, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save), done++) {
		at = spell_next(at, theirs, sizeof theirs);
		spell_ours(&p, strtoull(l, NULL, 16), ours, sizeof ours);
		bool is_same = strcmp(ours, theirs) == 0;
		same += is_same;
		inlined += strchr(theirs, '<') != NULL;
		if (!is_same && shown++ < 5)
			printf("# %s %s: %s, not %s\n", words, l, ours, theirs);
	}
	printf("# %s: %zu of %zu chains are equal, %zu with inlined calls\n", words, same, done,
	       inlined);
	ck_assert_uint_gt(inlined, n / 20);
	ck_assert_uint_ge(same * 100, done * 99);
	free(answers);
	free(addresses);
	program_close(&p);
}

static void compare_builds(const char *peer, const char *go)
{
	static const struct {
		const char *options;
		int cgo;
	} builds[] = { { "", 0 },
		       { "", 1 },
		       { "-buildmode=pie", 0 },
		       { "-buildmode=pie", 1 },
		       { "-buildmode=pie -ldflags=-linkmode=external", 1 } };
	char dir[32], words[256], path[64];
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/gc", dir);
	for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
		snprintf(words, sizeof words, "%s, C %d, %s", go, builds[i].cgo, builds[i].options);
		shell_do("cd tests/live/prog/go_gc && GOCACHE=%s/cache GOTOOLCHAIN=local GOROOT=%s "
			 "CGO_ENABLED=%d %s/bin/go build -buildvcs=false %s -o %s .",
			 dir, go, builds[i].cgo, go, builds[i].options, path);
		compare(peer, path, words);
	}
	shell_do("rm -rf %s", dir);
}

/* The newest first: releases before 15 cannot read the debug information of Go 1.25. */
static char *peer_of(void)
{
	return shell("for p in $LLVM_SYMBOLIZER llvm-symbolizer-22 llvm-symbolizer-19; do command "
		     "-v $p && break; done | tr -d '\\n'");
}

START_TEST(equal_to_debug_information)
{
	char *peer = peer_of(), *save;
	char *roots =
		shell("{ go env GOROOT; ls -d \"$PWD/${BUILD:-build}\"/python/*/usr/lib/go-1.*; "
		      "} 2>/dev/null; true");
	if (!*peer)
		T_SKIP("no llvm-symbolizer-22 or -19");
	for (char *go = strtok_r(roots, "\n ", &save); go; go = strtok_r(NULL, "\n ", &save))
		compare_builds(peer, go);
	free(roots);
	free(peer);
}
END_TEST

UNIT_MAIN("go_inlined", equal_to_debug_information)
