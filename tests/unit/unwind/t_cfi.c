// tier: test
/* Call frame information compared with readelf's output for the same files: every row of every function. */
#include "base/buf.h"
#include "base/mem.h"
#include "frames_witness.h"
#include "shell.h"
#include "symbol/elf/elf_layout.h"
#include "unit.h"

#include <link.h>

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

/* Code of this program without call frame information, longer than all other such code. */
enum { CODE_BYTES = 300000 };
__asm__(".pushsection .text\n"
	"code_start: .fill 300000, 1, 0x90\n"
	"code_end:\n"
	".popsection\n");
extern const char code_start[], code_end[];

static int on_object(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the first one is the program */
}

START_TEST(longest_gap)
{
	struct elf_file f;
	struct elf_layout layout = { 0 };
	struct cfi_gap gap = { 0 };
	GElf_Shdr header;
	uint64_t bias;

	int fd = file_open("/proc/self/exe");
	off_t size = lseek(fd, 0, SEEK_END);
	char *own = xmalloc(size);
	ck_assert_int_eq(pread(fd, own, size, 0), size);
	close(fd);
	ck_assert_int_eq(elf_file_open_image(&f, own, size, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&layout, &f, NULL), 0);
	ck_assert_int_eq(cfi_file_gap(&f, &layout, &gap), 0);
	dl_iterate_phdr(on_object, &bias);
	ck_assert_uint_le(gap.start, (uintptr_t)code_start - bias);
	ck_assert_uint_ge(gap.end, (uintptr_t)code_end - bias);
	ck_assert_uint_lt(gap.end - gap.start, CODE_BYTES + 4096);
	ck_assert_uint_lt(gap.next_bytes, CODE_BYTES / 4);

	/* More rows than the file has; rows that are not sorted; another encoding. */
	ck_assert(elf_file_section(&f, ".eh_frame_hdr", SHT_NULL, &header));
	struct {
		size_t at, len;
		uint8_t bytes[4];
		int rc;
	} damages[] = {
		{ 8, 4, { 0xff, 0xff, 0xff, 0xff }, -E2BIG },
		{ 8, 4, { 0xff, 0xff, 0x0f, 0x00 }, -EBADMSG },
		{ 12 + 8 * 5, 4, { 0xff, 0xff, 0xff, 0x7f }, -EBADMSG },
		{ 3, 1, { 0x1b }, -ENODATA },
		{ 8, 4, { 0 }, -ENODATA },
	};
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		char *at = own + header.sh_offset + damages[i].at;
		char whole[4];

		memcpy(whole, at, damages[i].len);
		memcpy(at, damages[i].bytes, damages[i].len);
		struct cfi_gap same = gap;
		ck_assert_int_eq(cfi_file_gap(&f, &layout, &same), damages[i].rc);
		ck_assert_mem_eq(&same, &gap, sizeof gap);
		memcpy(at, whole, damages[i].len);
	}
	elf_layout_done(&layout);
	elf_file_close(&f);
	free(own);
}
END_TEST

UNIT_MAIN("cfi", golden_files, system_libraries, files_without, longest_gap)
