// tier: test
/* Chosen pages of processes (collect/resolve/resident.h), and their addresses in a request (collect/proc/page_state.h). */
#include "unit.h"

#include "base/buf.h"
#include "bpf/fault_event.h"
#include "collect/proc/page_state.h"
#include "collect/resolve/resident.h"

enum { PID = 7, BITS = 4, MANY = 100000 };

static void put(struct resident *r, uint64_t number, uint32_t origin)
{
	resident_put(r, &(struct resident_page){ .address = number << FAULT_PAGE_SHIFT,
						 .pid = PID,
						 .origin = origin });
}

START_TEST(one_page_in_16_is_chosen)
{
	struct resident r = { .bits = BITS };

	for (uint64_t i = 0; i < MANY; i++)
		put(&r, i, 1);
	ck_assert_double_eq_tol((double)r.all.n, MANY / 16., 5 * 77); /* 5 standard deviations */
	resident_done(&r);
}
END_TEST

START_TEST(the_last_writer_stands)
{
	struct resident r = { .bits = 0 };

	put(&r, 5, 1);
	put(&r, 6, 1);
	put(&r, 5, 2);
	ck_assert_uint_eq(r.all.n, 2);
	resident_sort(&r);
	ck_assert_uint_eq(r.all.v[0].origin, 2);
	r.all.v[0].origin = 0;
	resident_sort(&r);
	ck_assert_uint_eq(r.all.n, 1);
	ck_assert_uint_eq(r.all.v[0].address, 6 << FAULT_PAGE_SHIFT);
	resident_done(&r);
}
END_TEST

START_TEST(a_full_table_has_half_of_them)
{
	struct resident r = { .bits = 0, .max = 1000 };
	uint64_t n = 0;

	for (; !resident_is_full(&r); n++)
		put(&r, n, 1);
	ck_assert_uint_eq(n, 1001);
	ck_assert(resident_fit(&r));
	ck_assert_uint_eq(r.bits, 1);
	ck_assert_uint_lt(r.all.n, 600);
	for (size_t i = 0; i < r.all.n; i++) {
		ck_assert(fault_has_page(r.all.v[i].address, PID, 1));
		ck_assert_uint_eq(r.all.v[i].bits, 1);
	}
	size_t before = r.all.n;
	for (uint64_t i = 0; i < n; i++)
		put(&r, i, 1);
	ck_assert_uint_eq(r.all.n, before);
	resident_done(&r);
}
END_TEST

static uint64_t pages_in(const struct resident *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->all.n; i++)
		sum += 1u << r->all.v[i].bits;
	return sum;
}

/* The pages of a program, then, after bits went up and down, as many others. */
START_TEST(sums_stay_when_bits_change)
{
	struct resident r = { .bits = 0, .max = 5000 };

	for (uint64_t i = 0; i < MANY; i++) {
		put(&r, i, 1);
		if (resident_is_full(&r))
			resident_fit(&r);
	}
	ck_assert_uint_ge(r.bits, 4);
	/* The variance of n pages is (2^bits - 1) n. */
	ck_assert_double_eq_tol((double)pages_in(&r), MANY, 5 * 5.6 * 316);
	r.max = 1 << 20;
	for (uint32_t bits = r.bits; bits-- > 0;) {
		ck_assert(resident_fit(&r));
		ck_assert_uint_eq(r.bits, bits);
	}
	ck_assert(!resident_fit(&r)); /* not below least_bits */
	size_t coarse = r.all.n;
	for (uint64_t i = 0; i < 1000; i++)
		put(&r, MANY + i, 1);
	ck_assert_uint_eq(r.all.n, coarse + 1000);
	ck_assert_double_eq_tol((double)pages_in(&r), MANY + 1000, 5 * 5.6 * 316);
	resident_done(&r);
}
END_TEST

/* Events that were sent while the kernel chose fewer pages stand for more of them. */
START_TEST(an_event_has_the_bits_of_its_time)
{
	struct resident r = { .bits = 0 };

	for (uint64_t i = 0; i < 4096; i++)
		resident_put(&r, &(struct resident_page){ .address = i << FAULT_PAGE_SHIFT,
							  .pid = PID,
							  .origin = 1,
							  .bits = 3 });
	ck_assert_double_eq_tol((double)r.all.n, 512, 5 * 23);
	ck_assert_uint_eq(pages_in(&r), 8 * r.all.n);
	resident_done(&r);
}
END_TEST

START_TEST(addresses_as_text)
{
	static const uint64_t pages[] = { 0x1000, 0x7ffffffff000, 0x2000, 0x7fff00000000 };
	uint64_t back[PAGE_STATES_MAX];
	struct buf b = { 0 };

	page_addresses_put(&b, pages, 4);
	ck_assert_uint_eq(page_addresses_parse(buf_cstr(&b), back), 4);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(back[i], pages[i]);
	ck_assert_uint_eq(page_addresses_parse("1,zz", back), 1);
	ck_assert_uint_eq(page_addresses_parse("", back), 0);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("resident", one_page_in_16_is_chosen, the_last_writer_stands,
	  a_full_table_has_half_of_them, sums_stay_when_bits_change,
	  an_event_has_the_bits_of_its_time, addresses_as_text)
