// tier: test
/* How many page faults are recorded, from the number seen so far (collect/kernel/fault_limits.h). */
#include "unit.h"

#include "bpf/fault_event.h"
#include "collect/kernel/fault_limits.h"

static struct fault_pace pace;
static uint64_t now_ns, recorded;

/* Looks after each tenth of a second of faults at this rate. Returns the bits at the end. */
static uint32_t go_on(double faults_per_s, int tenths)
{
	uint32_t bits = fault_pace_look(&pace, recorded, now_ns);

	for (int i = 0; i < tenths; i++) {
		recorded += (uint64_t)(faults_per_s / 10 / (double)(1u << bits));
		now_ns += 100000000;
		bits = fault_pace_look(&pace, recorded, now_ns);
	}
	return bits;
}

static void begin(void)
{
	pace = (struct fault_pace){ .least_bits = FAULT_PACE_LEAST_BITS, .most = FAULT_PACE_MOST };
	now_ns = 1000000000;
	recorded = 0;
}

START_TEST(few_faults_have_the_least_bits)
{
	begin();
	ck_assert_uint_eq(go_on(0, 5), FAULT_PACE_LEAST_BITS);
	ck_assert_uint_eq(go_on(FAULT_PACE_MOST << FAULT_PACE_LEAST_BITS, 50),
			  FAULT_PACE_LEAST_BITS);
}
END_TEST

START_TEST(a_storm_is_limited_at_the_next_look)
{
	begin();
	uint32_t bits = go_on(1e7, 1);
	ck_assert_double_le(1e7 / (double)(1u << bits), FAULT_PACE_MOST);
	ck_assert_double_gt(1e7 / (double)(1u << (bits - 1)), FAULT_PACE_MOST);
	ck_assert_uint_eq(go_on(1e7, 50), bits);
	ck_assert_uint_eq(go_on(1e12, 100), FAULT_MAX_BITS);
}
END_TEST

START_TEST(it_returns_to_the_least_bits)
{
	begin();
	ck_assert_uint_gt(go_on(1e6, 2), FAULT_PACE_LEAST_BITS);
	ck_assert_uint_eq(go_on(1000, 10), FAULT_PACE_LEAST_BITS);
}
END_TEST

START_TEST(looks_that_come_too_soon_change_nothing)
{
	begin();
	go_on(0, 1);
	recorded += 1000000;
	now_ns += 1000;
	ck_assert_uint_eq(fault_pace_look(&pace, recorded, now_ns), FAULT_PACE_LEAST_BITS);
	now_ns += 100000000;
	ck_assert_uint_gt(fault_pace_look(&pace, recorded, now_ns), FAULT_PACE_LEAST_BITS);
}
END_TEST

UNIT_MAIN("fault_pace", few_faults_have_the_least_bits, a_storm_is_limited_at_the_next_look,
	  it_returns_to_the_least_bits, looks_that_come_too_soon_change_nothing)
