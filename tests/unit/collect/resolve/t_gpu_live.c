// tier: test
/* GPU memory in use: allocations, frees, resets and ends of processes, in any order, compared with a plain array. */
#include "unit.h"

#include "collect/resolve/gpu_live.h"

static uint64_t in_use(const struct gpu_live *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->all.n; i++)
		sum += l->all.v[i].is_live ? l->all.v[i].bytes : 0;
	return sum;
}

static struct gpu_allocation block(uint32_t pid, uint64_t address, uint64_t bytes, uint64_t context)
{
	return (struct gpu_allocation){
		.pid = pid, .address = address, .bytes = bytes, .context = context, .time_ns = 100
	};
}

START_TEST(balance)
{
	struct gpu_live l = { 0 };
	struct gpu_allocation a = block(1, 0x1000, 10, 0), b = block(2, 0x1000, 20, 0),
			      handle = block(1, 0x1000, 40, 0);

	handle.flags = 1;
	gpu_live_add(&l, &a);
	gpu_live_add(&l, &b);
	gpu_live_add(&l, &handle);
	ck_assert_uint_eq(in_use(&l), 70);
	gpu_live_free(&l, 1, 0x1000, 0);
	gpu_live_free(&l, 1, 0x1000, 0);
	gpu_live_free(&l, 3, 0x1000, 0);
	ck_assert_uint_eq(in_use(&l), 60);
	a.bytes = 5;
	gpu_live_add(&l, &b); /* again, as its end was not seen */
	gpu_live_add(&l, &a);
	ck_assert_uint_eq(in_use(&l), 65);
	gpu_live_end(&l, 2);
	ck_assert_uint_eq(in_use(&l), 45);
	gpu_live_done(&l);
}
END_TEST

START_TEST(reset)
{
	struct gpu_live l = { 0 };
	struct gpu_allocation a = block(1, 1, 1, 7), b = block(1, 2, 2, 8), c = block(2, 3, 4, 7),
			      later = block(1, 4, 8, 7);

	later.time_ns = 300;
	gpu_live_add(&l, &a);
	gpu_live_add(&l, &b);
	gpu_live_add(&l, &c);
	gpu_live_add(&l, &later);
	gpu_live_reset(&l, 1, 7, 200);
	ck_assert_uint_eq(in_use(&l), 14);
	gpu_live_done(&l);
}
END_TEST

START_TEST(many)
{
	enum { N = 1000, ROUNDS = 100000 };
	struct gpu_live l = { 0 };
	uint64_t bytes[N] = { 0 }, sum = 0, seed = 12345;

	for (int i = 0; i < ROUNDS; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t at = (seed >> 33) % N;
		struct gpu_allocation a = block(at % 3, at, (seed >> 40) % 1000, 0);

		sum -= bytes[at];
		bytes[at] = 0;
		if (seed >> 63) {
			gpu_live_free(&l, a.pid, a.address, 0);
		} else {
			gpu_live_add(&l, &a);
			sum += bytes[at] = a.bytes;
		}
	}
	ck_assert_uint_eq(in_use(&l), sum);
	ck_assert_uint_le(l.all.n, N);
	gpu_live_done(&l);
}
END_TEST

UNIT_MAIN("gpu_live", balance, reset, many)
