// tier: test
/* Unwind tables compared with the rows they were built from. */
#include "shell.h"
#include "unit.h"

#include "base/vec.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/cfi.h"
#include "unwind/table.h"

#include <errno.h>

struct walk {
	__u32 pos, len;
	const char *image;
};
#include "base/err.h"
#include "bpf/unwind_find.h"
#include "symbol/elf/elf_file.h"

static const void *walk_chunk(struct walk *w, __u32 chunk)
{
	return w->image + (size_t)chunk * UNWIND_CHUNK;
}

struct range {
	uint64_t start, end; /* file offsets */
	struct cfi_rule rule;
};
struct reference {
	struct elf_layout layout;
	VEC(struct range) ranges;
};

static bool on_fde(void *ctx, const struct cfi_fde *fde)
{
	struct reference *r = ctx;
	uint64_t offset;
	ck_assert(elf_layout_offset(&r->layout, fde->start, &offset));
	for (size_t i = 0; i < fde->n; i++) {
		uint64_t end = i + 1 < fde->n ? fde->rows[i + 1].addr : fde->end;
		vec_push(&r->ranges,
			 (struct range){ offset + (fde->rows[i].addr - fde->start),
					 offset + (end - fde->start), fde->rows[i].rule });
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_reference(const char *path, struct reference *r)
{
	struct elf_file f;
	struct buf data = { 0 };
	struct cfi_section section;
	uint64_t skipped;
	int fd = file_open(path);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&r->layout, &f, NULL), 0);
	ck_assert_int_eq(cfi_file_section(&f, CFI_EH_FRAME, &data, &section, NULL), 0);
	ck_assert_int_eq(cfi_read(&section, on_fde, r, &skipped, NULL), 0);
	qsort(r->ranges.v, r->ranges.n, sizeof *r->ranges.v, by_start);
	elf_file_close(&f);
	close(fd);
	buf_done(&data);
}

static void done_reference(struct reference *r)
{
	elf_layout_done(&r->layout);
	vec_done(&r->ranges);
}

static bool same_register(uint8_t place, int32_t offset, const struct cfi_place *want)
{
	static const uint8_t kinds[] = { [CFI_NONE] = UNWIND_NONE,
					 [CFI_UNDEFINED] = UNWIND_UNDEFINED,
					 [CFI_OFFSET] = UNWIND_CFA,
					 [CFI_REGISTER] = UNWIND_REG,
					 [CFI_DEREF] = UNWIND_DEREF };
	if (want->kind == CFI_OTHER || want->kind == CFI_VALUE)
		return UNWIND_KIND(place) == UNWIND_OTHER;
	return UNWIND_KIND(place) == kinds[want->kind] && offset == want->offset;
}

static bool same_rule(const struct cfi_rule *want, const struct unwind_rule *got)
{
	static const uint8_t cfa_kinds[] = {
		[CFI_OFFSET] = UNWIND_REG, [CFI_DEREF] = UNWIND_DEREF, [CFI_PLT] = UNWIND_PLT
	};
	if (!got)
		return false;
	if (want->cfa.kind == CFI_OTHER)
		return UNWIND_KIND(got->cfa) == UNWIND_OTHER;
	return UNWIND_KIND(got->cfa) == cfa_kinds[want->cfa.kind] &&
	       UNWIND_REGISTER(got->cfa) == want->cfa.reg && got->cfa_offset == want->cfa.offset &&
	       got->cfa_add == want->cfa.add && !!(got->flags & UNWIND_SIGNAL) == want->is_signal &&
	       same_register(got->fp, got->fp_offset, &want->fp) &&
	       same_register(got->ra, got->ra_offset, &want->ra);
}

/* Check writes down each passed assertion: millions of them would take a minute. */
static void check_rule(const struct unwind_table *t, uint64_t offset, const struct cfi_rule *want)
{
	if (!same_rule(want, unwind_table_find(t, offset)))
		ck_abort_msg("another rule at %lx", offset);
}

static bool is_none(const struct unwind_rule *r)
{
	return !r || UNWIND_KIND(r->cfa) == UNWIND_GAP;
}

/* Every row at its first and last byte, and every gap between functions that exceeds their alignment. */
static void check_file(const char *path)
{
	struct reference r = { 0 };
	struct unwind_table t = { 0 };
	struct err err = { 0 };
	int fd = file_open(path);
	ck_assert_msg(unwind_table_build(fd, &t, &err) == 0, "%s: %s", path, err.text);
	close(fd);
	read_reference(path, &r);
	for (size_t i = 0; i < r.ranges.n; i++) {
		const struct range *range = &r.ranges.v[i];
		uint64_t next = i + 1 < r.ranges.n ? range[1].start : UINT64_MAX;
		uint64_t end = range->end < next ? range->end : next;
		if (range->start >= end)
			continue;
		check_rule(&t, range->start, &range->rule);
		check_rule(&t, end - 1, &range->rule);
		if (next - end > 15 &&
		    !is_none(unwind_table_find(&t, end))) /* up to there it is padding */
			ck_abort_msg("a rule at %lx, where no function is", end);
	}
	ck_assert(is_none(unwind_table_find(&t, r.ranges.v[0].start - 1)));
	ck_assert_ptr_null(unwind_table_find(&t, UINT64_MAX));
	ck_assert_ptr_null(unwind_table_find(&t, 0));
	printf("# %s: %lu functions, %lu rows, %u rules, %zu bytes\n", path, t.n_functions,
	       t.n_rows, t.n_rules, t.image.len);
	unwind_table_done(&t);
	done_reference(&r);
}

START_TEST(golden_files)
{
	check_file("tests/golden/elf/gnu_exe");
	check_file("tests/golden/elf/gnu_exe_without_sections");
	check_file("tests/golden/elf/main_cpp_clang_03_with_inlined_3s");
	check_file("tests/golden/elf/otel-inline-aarch64");
}
END_TEST

START_TEST(system_libraries)
{
	char *list = shell("for l in libc.so.6 libstdc++.so.6 libcrypto.so.3 libz.so.1; do "
			   "f=$(/sbin/ldconfig -p | awk -v l=$l '$1 == l { print $NF; exit }'); "
			   "[ -z \"$f\" ] || readlink -f $f; done; readlink -f /bin/bash");
	for (char *save, *path = strtok_r(list, "\n", &save); path;
	     path = strtok_r(NULL, "\n", &save))
		check_file(path);
	free(list);
}
END_TEST

/* The walker's search, compiled for user space, compared with the plain one: at every byte of a library's pages, and around them. */
START_TEST(search_of_the_walker)
{
	struct unwind_table t = { 0 };
	char *path = shell("/sbin/ldconfig -p | awk '$1 == \"libc.so.6\" { print $NF; exit }'");
	path[strcspn(path, "\n")] = '\0';
	int fd = file_open(path);
	ck_assert_int_eq(unwind_table_build(fd, &t, NULL), 0);
	close(fd);
	struct walk w = { .image = t.image.data };
	uint64_t first = (uint64_t)t.ref.first_page << UNWIND_PAGE_BITS;
	uint64_t end = first + ((uint64_t)t.ref.n_pages << UNWIND_PAGE_BITS);
	for (uint64_t offset = first - 512; offset < end + 512; offset++)
		if (find_rule(&w, &t.ref, offset) != unwind_table_find(&t, offset))
			ck_abort_msg("another rule at %lx", offset);
	ck_assert_ptr_null(find_rule(&w, &t.ref, 0));
	ck_assert_ptr_null(find_rule(&w, &t.ref, UINT64_MAX));
	unwind_table_done(&t);
	free(path);
}
END_TEST

START_TEST(files_without)
{
	struct unwind_table t = { 0 };
	int fd = file_open("tests/golden/elf/malformed_elf");
	ck_assert_int_eq(unwind_table_build(fd, &t, NULL), -ENOEXEC);
	close(fd);
	fd = file_open("tests/golden/elf/go_exe.debug");
	ck_assert_int_eq(unwind_table_build(fd, &t, NULL), -ENODATA);
	close(fd);
	/* 6348 functions of code that is not in the file. */
	fd = file_open("tests/golden/elf/otel-elfunwindinfo-test.so");
	ck_assert_int_eq(unwind_table_build(fd, &t, NULL), -ENODATA);
	close(fd);
	ck_assert_ptr_null(t.image.data);
}
END_TEST

UNIT_MAIN("unwind_table", golden_files, system_libraries, search_of_the_walker, files_without)
