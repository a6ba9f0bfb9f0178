// tier: test
/* Call frame information compared with readelf's output for the same files: every row of every function. */
#include "base/buf.h"
#include "frames_witness.h"
#include "shell.h"
#include "unit.h"

#define GOLDEN "tests/golden/elf/"

static void check_file(const char *path, const char *command, struct frames_sum *sum)
{
	char what[256];
	ck_assert_msg(frames_compare(path, command, sum, what) == 0 && !*what, "%s: %s", path,
		      what);
}

START_TEST(golden_files)
{
	static const struct {
		const char *path, *rows;
		uint64_t fdes;
	} files[] = {
		{ GOLDEN "basic-cpp-no-fp-with-debuginfo",
		  "cat " GOLDEN "expected/$(basename %s).frames-interp.txt", 11 },
		{ GOLDEN "gnu_exe", "cat " GOLDEN "expected/$(basename %s).frames-interp.txt", 7 },
		{ GOLDEN "main_cpp_clang_03_with_inlined_3s",
		  "cat " GOLDEN "expected/$(basename %s).frames-interp.txt", 16 },
		{ GOLDEN "otel-elfunwindinfo-test.so",
		  "zcat " GOLDEN "expected/$(basename %s).frames-interp.txt.gz", 6348 },
		/* The same program with and without section headers. */
		{ GOLDEN "gnu_exe_without_sections",
		  "cat " GOLDEN "expected/gnu_exe.frames-interp.txt #%s", 7 },
		{ GOLDEN "otel-inline-aarch64", READELF_FRAMES, 10 },
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct frames_sum sum = { 0 };
		check_file(files[i].path, files[i].rows, &sum);
		ck_assert_uint_eq(sum.fdes, files[i].fdes);
	}
}
END_TEST

/* Programs that run on this machine; tests/soak/frames.sh takes all of it. */
START_TEST(system_libraries)
{
	char *list = shell(
		"for l in libc.so.6 libstdc++.so.6 libcrypto.so.3 libgcrypt.so.20 libz.so.1; do "
		"f=$(/sbin/ldconfig -p | awk -v l=$l '$1 == l { print $NF; exit }'); "
		"[ -z \"$f\" ] || readlink -f $f; done; readlink -f /bin/bash");
	struct frames_sum sum = { 0 };
	for (char *save, *path = strtok_r(list, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		check_file(path, READELF_FRAMES, &sum);
	frames_print(&sum);
	ck_assert_uint_gt(sum.rows, 10000);
	ck_assert_uint_eq(sum.table_rows + sum.shadowed, sum.rows);
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
		ck_assert_int_eq(cfi_file_section(&f, CFI_EH_FRAME, &data, &section, NULL),
				 files[i].rc);
		elf_file_close(&f);
		close(fd);
		buf_done(&data);
	}
}
END_TEST

UNIT_MAIN("cfi", golden_files, system_libraries, files_without)
