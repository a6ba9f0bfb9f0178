// tier: test
/* Go's heap profile in memory made by hand, with cycles as in Go to 1.26 and from 1.27 on; and torn: the work is bounded, and impossible buckets are
 * reported. */
#include "mem/go/go_heap.h"

#include "base/mem.h"
#include "rand.h"
#include "unit.h"

#include <errno.h>
#include <math.h>

enum { BASE = 0x100000, BYTES = 1 << 16, TEXT = 0x400000, TEXT_BYTES = 0x10000, BIAS = 0x7000 };
enum { HEAD_WORDS = 6, STACK_WORDS = 3, BUCKETS = 8 };

struct image {
	uint64_t words[BYTES / 8];
	uint64_t used; /* words */
	unsigned reads, buckets;
	struct go_bucket last;
};

static const struct go_heap heap = {
	.buckets = BASE - BIAS, .rate = BASE + 8 - BIAS, .text = TEXT, .text_end = TEXT + TEXT_BYTES
};

static int image_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct image *m = ctx;

	ck_assert_uint_le(++m->reads, 8u * GO_HEAP_BUCKETS);
	if (addr < BASE || addr - BASE > BYTES || len > BYTES - (addr - BASE))
		return -EFAULT;
	memcpy(out, (char *)m->words + (addr - BASE), len);
	return 0;
}

static bool on_bucket(void *ctx, const struct go_bucket *b)
{
	struct image *m = ctx;

	m->buckets++;
	m->last = *b;
	return true;
}

static int image_go(struct image *m)
{
	const struct go_heap_memory memory = { image_read, m, BIAS };

	m->reads = m->buckets = 0;
	return go_heap_read(&heap, &memory, on_bucket, m);
}

/* The i-th bucket has i + 1 blocks, i of them freed, and 10 · (i + 1) recent ones. Returns its place, in words. */
static uint64_t add_bucket(struct image *m, uint32_t i, uint32_t cycle_words)
{
	uint64_t at = m->used, size = 16ull << i, *w = m->words + at;

	w[1] = m->words[0];
	w[2] = 1;
	w[4] = size;
	w[5] = STACK_WORDS;
	for (uint32_t k = 0; k < STACK_WORDS; k++)
		w[HEAD_WORDS + k] = TEXT + BIAS + 16 * (k + 1);
	for (uint32_t c = 0; c < 4; c++) {
		uint64_t *cycle = w + HEAD_WORDS + STACK_WORDS + c * cycle_words;

		cycle[0] = c == 0 ? i + 1 : c == 2 ? 10 * (i + 1) : 0;
		cycle[1] = c == 0 ? i : 0;
		if (cycle_words > 2) {
			cycle[2] = cycle[0] * size;
			cycle[3] = cycle[1] * size;
		}
	}
	m->used += HEAD_WORDS + STACK_WORDS + 4 * cycle_words;
	m->words[0] = BASE + 8 * at;
	return at;
}

static void image_init(struct image *m, uint32_t cycle_words)
{
	*m = (struct image){ .used = 2 };
	m->words[1] = 524288;
	for (uint32_t i = 0; i < BUCKETS; i++)
		add_bucket(m, i, cycle_words);
}

START_TEST(both_layouts)
{
	struct image *m = xmalloc(sizeof *m);
	const struct go_heap_memory memory = { image_read, m, BIAS };

	for (uint32_t cycle_words = 2; cycle_words <= 4; cycle_words += 2) {
		uint64_t rate = 0;

		image_init(m, cycle_words);
		ck_assert_int_eq(image_go(m), 0);
		ck_assert_uint_eq(m->buckets, BUCKETS);
		ck_assert_uint_eq(m->last.size, 16); /* the first one is the last in the list */
		ck_assert_uint_eq(m->last.allocs, 1);
		ck_assert_uint_eq(m->last.frees, 0);
		ck_assert_uint_eq(m->last.recent_allocs, 10);
		ck_assert_uint_eq(m->last.n, STACK_WORDS);
		ck_assert_uint_eq(m->last.stack[2], TEXT + BIAS + 48);
		m->reads = 0;
		ck_assert_int_eq(go_heap_rate(&heap, &memory, &rate), 0);
		ck_assert_uint_eq(rate, 524288);
		m->words[1] = 1ull << 41;
		ck_assert_int_eq(go_heap_rate(&heap, &memory, &rate), -EBADMSG);
	}
	/* Before the first garbage collection: only recent ones, then none. */
	for (uint32_t cycle_words = 2; cycle_words <= 4; cycle_words += 2) {
		*m = (struct image){ .used = 2 };
		uint64_t at = add_bucket(m, 1, cycle_words);
		memset(m->words + at + HEAD_WORDS + STACK_WORDS, 0, cycle_words * 8);
		ck_assert_int_eq(image_go(m), 0);
		ck_assert_uint_eq(m->last.allocs, 0);
		ck_assert_uint_eq(m->last.recent_allocs, 20);
		memset(m->words + at + HEAD_WORDS + STACK_WORDS, 0, 4 * cycle_words * 8);
		ck_assert_int_eq(image_go(m), -EAGAIN);
	}
	free(m);
}
END_TEST

START_TEST(impossible_buckets)
{
	static const struct {
		uint32_t word;
		uint64_t value;
		int rc;
	} damages[] = {
		{ 2, 2, -EBADMSG },                      /* the type */
		{ 4, 0, -EBADMSG },                      /* the size */
		{ 4, 1ull << 41, -EBADMSG },             /* … */
		{ 5, 0, -EBADMSG },                      /* the length of the stack */
		{ 5, GO_HEAP_STACK + 1, -EBADMSG },      /* … */
		{ HEAD_WORDS, 0x1000, 0 },               /* an address outside of the code */
		{ HEAD_WORDS + STACK_WORDS + 1, 99, 0 }, /* more freed than allocated */
		{ HEAD_WORDS + STACK_WORDS, -1ull, 0 },  /* too many */
		{ 1, BASE - 4096, -EFAULT },             /* the next one */
		{ 1, BASE + 3, -EFAULT },                /* … */
	};
	struct image *m = xmalloc(sizeof *m);

	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		image_init(m, 4);
		uint64_t at = add_bucket(m, 3, 4);
		m->words[at + damages[i].word] = damages[i].value;
		ck_assert_int_eq(image_go(m), damages[i].rc);
		if (damages[i].rc == 0)
			ck_assert_uint_eq(m->buckets, BUCKETS); /* it is left out */
	}
	image_init(m, 2);
	uint64_t at = add_bucket(m, 3, 2);
	m->words[at + 1] = BASE + 8 * at; /* a circle */
	ck_assert_int_eq(image_go(m), -E2BIG);
	ck_assert_uint_eq(m->buckets, GO_HEAP_BUCKETS);
	m->words[0] = 0;
	ck_assert_int_eq(image_go(m), 0);
	ck_assert_uint_eq(m->buckets, 0);
	free(m);
}
END_TEST

/* Buckets of mutexes: i + 1 waits, and a thousand times as many cycles. */
static uint64_t add_lock_bucket(struct image *m, uint32_t i)
{
	uint64_t at = m->used, *w = m->words + at;
	const double waits = i + 1;

	w[1] = m->words[0];
	w[2] = 3;
	w[5] = STACK_WORDS;
	for (uint32_t k = 0; k < STACK_WORDS; k++)
		w[HEAD_WORDS + k] = TEXT + BIAS + 16 * (k + 1);
	memcpy(w + HEAD_WORDS + STACK_WORDS, &waits, sizeof waits);
	w[HEAD_WORDS + STACK_WORDS + 1] = 1000 * (i + 1);
	m->used += HEAD_WORDS + STACK_WORDS + 2;
	m->words[0] = BASE + 8 * at;
	return at;
}

static int image_locks(struct image *m)
{
	static const struct go_heap locks = { .locks = BASE - BIAS,
					      .text = TEXT,
					      .text_end = TEXT + TEXT_BYTES };
	const struct go_heap_memory memory = { image_read, m, BIAS };

	m->reads = m->buckets = 0;
	return go_locks_read(&locks, &memory, on_bucket, m);
}

START_TEST(locks)
{
	const double nan = NAN, less = -1;
	struct {
		uint32_t word;
		uint64_t value;
		int rc;
	} damages[] = {
		{ 2, 1, -EBADMSG },                         /* the type */
		{ 4, 8, -EBADMSG },                         /* a size */
		{ 5, GO_HEAP_STACK + 1, -EBADMSG },         /* the length of the stack */
		{ HEAD_WORDS, 0x1000, 0 },                  /* an address outside of the code */
		{ HEAD_WORDS + STACK_WORDS, 0, 0 },         /* waits: not a number, and below 0 */
		{ HEAD_WORDS + STACK_WORDS, 0, 0 },         /* … */
		{ HEAD_WORDS + STACK_WORDS + 1, -1ull, 0 }, /* cycles */
		{ 1, BASE + 3, -EFAULT },                   /* the next one */
	};
	struct image *m = xmalloc(sizeof *m);

	memcpy(&damages[4].value, &nan, sizeof nan);
	memcpy(&damages[5].value, &less, sizeof less);
	for (size_t i = 0; i <= sizeof damages / sizeof *damages; i++) {
		*m = (struct image){ .used = 2 };
		for (uint32_t k = 0; k < BUCKETS; k++)
			add_lock_bucket(m, k);
		if (i < sizeof damages / sizeof *damages) {
			uint64_t at = add_lock_bucket(m, 3);
			m->words[at + damages[i].word] = damages[i].value;
		}
		int want = i < sizeof damages / sizeof *damages ? damages[i].rc : 0;
		ck_assert_int_eq(image_locks(m), want);
		if (want)
			continue;
		ck_assert_uint_eq(m->buckets, BUCKETS); /* a wrong one is left out */
		ck_assert(m->last.waits == 1);
		ck_assert_uint_eq(m->last.cycles, 1000);
	}
	m->words[0] = 0; /* nothing has waited yet */
	ck_assert_int_eq(image_locks(m), 0);
	uint64_t at = add_lock_bucket(m, 0);
	m->words[at + 1] = BASE + 8 * at; /* a circle */
	ck_assert_int_eq(image_locks(m), -E2BIG);
	free(m);
}
END_TEST

START_TEST(garbage)
{
	struct image *m = xmalloc(sizeof *m);
	struct rng r = { 26 };

	for (uint32_t round = 0; round < 3000; round++) {
		image_init(m, round % 2 ? 2 : 4);
		for (uint32_t n = rng_below(&r, 8) + 1; n--;)
			m->words[rng_below(&r, m->used)] =
				rng_below(&r, 2) ? rng_next(&r) : BASE + 8 * rng_below(&r, m->used);
		int rc = image_go(m);
		ck_assert(rc == 0 || rc == -EAGAIN || rc == -EFAULT || rc == -EBADMSG ||
			  rc == -E2BIG);
	}
	free(m);
}
END_TEST

START_TEST(weights)
{
	ck_assert(go_heap_weight(100, 1) == 1);
	ck_assert(go_heap_weight(100, 0) == 1);
	ck_assert(fabs(go_heap_weight(524288, 524288) - 1 / (1 - exp(-1))) < 1e-12);
	ck_assert(fabs(go_heap_weight(8, 524288) * 8 / 524288 - 1) < 1e-4);
	ck_assert(go_heap_weight(1ull << 40, 524288) == 1);
}
END_TEST

UNIT_MAIN("go_heap", both_layouts, impossible_buckets, locks, garbage, weights)
