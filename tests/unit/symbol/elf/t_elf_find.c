// tier: test
/* Symbols by name: each symbol that readelf lists is found, and no other. */
#include "shell.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"

struct listed {
	char name[256];
	unsigned long value;
};

/* Defined symbols of a table. A name may occur several times, in versions: any of them is found. In a static table the version is part of the name:
 * those are left out. */
static size_t list(const char *file, const char *option, struct listed **out)
{
	char *text = shell(
		"readelf -W %s %s 2>/dev/null | awk '$1 ~ /:$/ && $7 != \"UND\" && $8 != \"\" "
		"&& !(\"%s\" == \"--syms\" && $8 ~ /@/) { sub(/@.*/, \"\", $8); print $2, $8 }' | "
		"sort -k2 -u",
		option, file, option);
	size_t n = 0;
	char *save;

	*out = NULL;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct listed row;

		if (sscanf(l, "%lx %255s", &row.value, row.name) != 2 ||
		    strlen(row.name) >= ELF_FIND_MAX_NAME)
			continue;
		*out = realloc(*out, (n + 1) * sizeof row);
		(*out)[n++] = row;
	}
	free(text);
	return n;
}

static bool is_listed(const char *file, const char *option, const struct listed *row,
		      uint64_t value)
{
	char *count = shell("readelf -W %s %s | awk '{ sub(/@.*/, \"\", $8) } $8 == \"%s\" && $2 ~ "
			    "/%lx$/' | wc -l",
			    option, file, row->name, (unsigned long)value);
	bool found = atoi(count) > 0;

	free(count);
	return found;
}

typedef bool find_fn(const struct elf_file *f, const char *name, GElf_Sym *out);

static void check(const char *file, const char *option, find_fn *find, size_t least, size_t step)
{
	struct listed *rows;
	struct elf_file f;
	char other[300];
	GElf_Sym sym;
	int fd = file_open(file);
	size_t n = list(file, option, &rows);

	ck_assert_msg(n >= least, "%s: %zu symbols", file, n);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	for (size_t i = 0; i < n; i += step) {
		ck_assert_msg(find(&f, rows[i].name, &sym), "%s: %s", file, rows[i].name);
		if (sym.st_value != rows[i].value)
			ck_assert_msg(is_listed(file, option, &rows[i], sym.st_value),
				      "%s: %s at %lx", file, rows[i].name,
				      (unsigned long)sym.st_value);
		snprintf(other, sizeof other, "%s?", rows[i].name);
		ck_assert_msg(!find(&f, other, &sym), "%s: %s", file, other);
	}
	elf_file_close(&f);
	close(fd);
	free(rows);
}

START_TEST(dynamic_symbols_by_hash)
{
	char *libc = shell("ldd /bin/sh | awk '$1 ~ /^libc[.]/ { printf \"%%s\", $3 }'");

	check(libc, "--dyn-syms", elf_find_dynamic, 2000, 1);
	free(libc);
}
END_TEST

/* Made by linkers that write the older hash table, or one that we do not read. */
START_TEST(dynamic_symbols_without_that_hash)
{
	char dir[32], file[64];

	temp_dir(dir);
	snprintf(file, sizeof file, "%s/lib.so", dir);
	shell_do("for i in $(seq 300); do echo \"int function_$i(void) { return $i; } int value_$i "
		 "= 1;\"; done > %s/lib.c && "
		 "cc -shared -fPIC -Wl,--hash-style=sysv -o %s %s/lib.c",
		 dir, file, dir);
	check(file, "--dyn-syms", elf_find_dynamic, 600, 1);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* This program's own. */
START_TEST(static_symbols)
{
	char program[512];
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

	ck_assert_int_gt(n, 0);
	program[n] = '\0';
	check(program, "--syms", elf_find_static, 200, 3);
}
END_TEST

UNIT_MAIN("elf_find", dynamic_symbols_by_hash, dynamic_symbols_without_that_hash, static_symbols)
