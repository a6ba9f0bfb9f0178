// tier: test
#include "unit.h"

#include "base/mem.h"

#include <stdint.h>

/* Whole pages are empty afterwards, bytes next to them are as they were. */
START_TEST(discarded_pages_are_empty)
{
	size_t page = sysconf(_SC_PAGESIZE), size = 64 * page;
	uint8_t *p = xmalloc(size);
	memset(p, 7, size);
	mem_discard(p + 10, 20 * page);
	ck_assert_uint_eq(p[9], 7);
	ck_assert_uint_eq(p[11 * page], 0);
	ck_assert_uint_eq(p[10 + 20 * page], 7);
	size_t zeros = 0;
	for (size_t i = 0; i < size; i++)
		zeros += p[i] == 0;
	ck_assert_uint_ge(zeros, 19 * page);
	ck_assert_uint_le(zeros, 20 * page);
	memset(p, 9, size); /* the memory is still ours */
	mem_discard(p + 1, page - 2);
	ck_assert_uint_eq(p[page / 2], 9);
	free(p);
}
END_TEST

UNIT_MAIN("mem", discarded_pages_are_empty)
