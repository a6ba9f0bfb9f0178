// tier: test
#include "unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "rand.h"
#include "store/codec/block.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Rows of random stacks and windows, as block_encode expects them. */
struct made {
	struct block_row *rows;
	size_t n;
	uint32_t windows, max_stack;
	bool weighted;
};

enum value_kind {
	VALUES_ONES,
	VALUES_SMALL,
	VALUES_POSITIVE,
	VALUES_ANY,
	VALUES_EXTREME,
	VALUE_KINDS
};

static int64_t make_value(struct rng *r, enum value_kind kind)
{
	static const int64_t extreme[] = { INT64_MIN,     INT64_MAX,     -1, 1,
					   INT64_MIN + 1, INT64_MAX - 1, 0 };
	switch (kind) {
	case VALUES_ONES:
		return rng_below(r, 10) ? 1 : 2;
	case VALUES_SMALL:
		return rng_below(r, 300);
	case VALUES_POSITIVE:
		return (int64_t)(rng_next(r) >> (1 + rng_below(r, 63)));
	case VALUES_ANY:
		return (int64_t)rng_next(r) >> rng_below(r, 64);
	default:
		return extreme[rng_below(r, 7)];
	}
}

/* density: in how many of 1000 windows a stack has a row. */
static struct made make_rows(struct rng *r, uint32_t stacks, uint32_t windows, uint32_t density,
			     enum value_kind kind, bool weighted)
{
	struct made m = { .windows = windows, .weighted = weighted };
	size_t cap = 0;
	uint32_t stack = rng_below(r, 3);
	for (uint32_t s = 0; s < stacks; s++) {
		for (uint32_t w = 0; w < windows; w++) {
			if (rng_below(r, 1000) >= density)
				continue;
			if (m.n == cap) {
				cap = 2 * cap + 16;
				m.rows = xreallocarray(m.rows, cap, sizeof *m.rows);
			}
			struct block_row row = { .stack = stack,
						 .window = w,
						 .value = make_value(r, kind) };
			if (weighted) {
				row.n = 1 + rng_below(r, 3) / 2;
				row.squares = (double)row.value * (double)row.value / row.n;
			}
			m.rows[m.n++] = row;
		}
		stack += 1 + (rng_below(r, 4) ? rng_below(r, 20) : rng_below(r, 100000));
	}
	m.max_stack = stack + 1;
	return m;
}

/* The rows that must come back: all but those of 0. */
static size_t leave_out_zeros(struct block_row *rows, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].value)
			rows[kept++] = rows[i];
	return kept;
}

static bool is_close(double got, double want)
{
	want = want < FLT_MAX ? want : FLT_MAX;
	return got <= want * (1 + FLT_EPSILON) && got >= want * (1 - FLT_EPSILON);
}

/* Check writes every assertion to a pipe, so one assertion covers all. */
static void check_summary(const struct made *m, const struct block_sums *s)
{
	size_t i = 0;
	bool same = m->weighted == (s->count != NULL);
	for (uint32_t k = 0; same && k < s->n; k++) {
		uint64_t total = 0, count = 0;
		double squares = 0;
		size_t first = i;
		for (; i < m->n && m->rows[i].stack == s->stack[k]; i++) {
			total += (uint64_t)m->rows[i].value;
			count += m->rows[i].n;
			squares += m->rows[i].squares;
		}
		same = i > first && s->total[k] == (int64_t)total;
		if (m->weighted)
			same &= s->count[k] == count && is_close(s->squares[k], squares);
	}
	ck_assert(same);
	ck_assert_uint_eq(i, m->n);
}

static void check_windows(const struct made *m, const int64_t *sums)
{
	uint64_t *want = xcalloc(m->windows, sizeof *want);
	for (size_t i = 0; i < m->n; i++)
		want[m->rows[i].window] += (uint64_t)m->rows[i].value;
	ck_assert_mem_eq(sums, want, m->windows * sizeof *want);
	free(want);
}

static void check_rows(const struct made *m, const struct block_row *rows, size_t n)
{
	bool same = n == m->n;
	for (size_t i = 0; i < n && same; i++)
		same = rows[i].stack == m->rows[i].stack && rows[i].window == m->rows[i].window &&
		       rows[i].value == m->rows[i].value && rows[i].n == 0 && rows[i].squares == 0;
	ck_assert(same);
}

static void check_part(const struct made *m, const struct block_sums *s, uint32_t from, uint32_t to,
		       const int64_t *totals)
{
	size_t i = 0;
	bool same = true;
	for (uint32_t k = 0; k < s->n; k++) {
		uint64_t want = 0;
		for (; i < m->n && m->rows[i].stack == s->stack[k]; i++)
			if (m->rows[i].window >= from && m->rows[i].window < to)
				want += (uint64_t)m->rows[i].value;
		same &= totals[k] == (int64_t)want;
	}
	ck_assert(same);
}

/* Checks that columns have the rows of the range, each stack's in order. */
static void check_columns(const struct made *m, uint32_t from, uint32_t to,
			  const struct block_columns *got)
{
	uint32_t *at = xcalloc(m->max_stack, sizeof *at); /* by stack: its next row, plus 1 */
	size_t want = 0;
	bool same = true;
	for (size_t i = 0; i < m->n; i++)
		want += m->rows[i].window >= from && m->rows[i].window < to;
	for (size_t i = m->n; i--;)
		if (m->rows[i].window >= from)
			at[m->rows[i].stack] = i + 1;
	for (size_t i = 0; same && i < got->n; i++) {
		uint32_t row = got->stack[i] < m->max_stack ? at[got->stack[i]]++ : 0;
		same = row && row <= m->n && m->rows[row - 1].stack == got->stack[i] &&
		       m->rows[row - 1].window == got->window[i] && got->window[i] < to &&
		       m->rows[row - 1].value == got->value[i];
	}
	ck_assert(same);
	ck_assert_uint_eq(got->n, want);
	free(at);
}

struct world {
	struct block_coder *c;
	struct block_blobs b;
	struct block_sums s;
};

static void check_parts(struct world *w, const struct made *m, struct rng *r)
{
	int64_t *totals = xcalloc(w->s.n + 1, sizeof *totals);
	struct block_columns columns = { 0 };
	for (int i = 0; i < 8; i++) {
		uint32_t from = i ? rng_below(r, m->windows + 1) : 0;
		uint32_t to = i ? from + rng_below(r, m->windows + 1 - from) : m->windows;
		struct err err = { 0 };
		ck_assert_int_eq(block_read_part(w->c, &w->s, w->b.detail.data, w->b.detail.len,
						 m->windows, from, to, totals, &err),
				 0);
		check_part(m, &w->s, from, to, totals);
		ck_assert_int_eq(block_read_columns(w->c, &w->s, w->b.detail.data, w->b.detail.len,
						    m->windows, from, to, &columns, &err),
				 0);
		if (m->max_stack < 1 << 24)
			check_columns(m, from, to, &columns);
	}
	block_columns_done(&columns);
	free(totals);
}

/* Encodes m and reads it all back. */
static void check_block(struct world *w, struct made *m, int level, struct rng *r)
{
	struct block_row *rows = NULL;
	struct err err = { 0 };
	size_t n = 0;
	int64_t *windows = xcalloc(m->windows, sizeof *windows);
	block_encode(w->c, m->rows, m->n, m->windows, m->weighted, level, &w->b);
	m->n = leave_out_zeros(m->rows, m->n);
	ck_assert_int_eq(block_read_summary(w->c, w->b.summary.data, w->b.summary.len, m->max_stack,
					    &w->s, &err),
			 0);
	check_summary(m, &w->s);
	ck_assert_int_eq(block_read_windows(w->c, w->b.windows.data, w->b.windows.len, m->windows,
					    windows, &err),
			 0);
	check_windows(m, windows);
	ck_assert_int_eq(block_read_detail(w->c, &w->s, w->b.detail.data, w->b.detail.len,
					   m->windows, &rows, &n, &err),
			 0);
	check_rows(m, rows, n);
	check_parts(w, m, r);
	free(rows);
	free(windows);
}

static struct world world_new(void)
{
	return (struct world){ .c = block_coder_new() };
}

static void world_done(struct world *w)
{
	block_coder_free(w->c);
	block_blobs_done(&w->b);
	block_sums_done(&w->s);
}

START_TEST(rows_come_back)
{
	static const struct {
		uint32_t stacks, windows, density;
	} shapes[] = {
		{ 0, 360, 1 },    { 1, 1, 1000 },   { 1, 8640, 1000 }, { 3000, 1, 900 },
		{ 100, 360, 10 }, { 10, 8640, 3 },  { 60, 360, 500 },  { 1000, 2, 500 },
		{ 7, 1440, 1 },   { 2000, 36, 20 }, { 900, 1440, 10 }, { 40, 8640, 200 }
	}; /* several pieces */
	struct rng r = { 1 };
	struct world w = world_new();
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int kind = 0; kind < VALUE_KINDS; kind++)
			for (int weighted = 0; weighted < 2; weighted++) {
				struct made m = make_rows(&r, shapes[i].stacks, shapes[i].windows,
							  shapes[i].density, kind, weighted);
				check_block(&w, &m, kind % 2 ? 3 : 1, &r);
				free(m.rows);
			}
	world_done(&w);
}
END_TEST

START_TEST(highest_ids_come_back)
{
	struct block_row rows[] = { { .stack = 0, .window = 8639, .value = 1 },
				    { .stack = UINT32_MAX - 1, .window = 0, .value = 1 } };
	struct made m = { rows, 2, 8640, UINT32_MAX, false };
	struct rng r = { 2 };
	struct world w = world_new();
	check_block(&w, &m, 1, &r);
	ck_assert_int_eq(block_read_summary(w.c, w.b.summary.data, w.b.summary.len, UINT32_MAX - 1,
					    &w.s, NULL),
			 -EBADMSG);
	ck_assert_uint_eq(w.s.n, 0);
	world_done(&w);
}
END_TEST

START_TEST(totals_wrap)
{
	/* 2 * INT64_MAX + 2 wraps to 0: a total of 0 with rows */
	struct block_row rows[] = { { .stack = 5, .window = 0, .value = INT64_MAX },
				    { .stack = 5, .window = 1, .value = INT64_MAX },
				    { .stack = 5, .window = 2, .value = 2 } };
	struct made m = { rows, 3, 3, 6, false };
	struct rng r = { 2 };
	struct world w = world_new();
	check_block(&w, &m, 1, &r);
	ck_assert_int_eq(w.s.total[0], 0);
	world_done(&w);
}
END_TEST

static void assert_bytes(const struct buf *b, const void *want, size_t len)
{
	ck_assert_uint_eq(b->len, len);
	ck_assert_mem_eq(b->data, want, len);
}

/* Written by hand from src/store/codec/block_parts.h: too small to be compressed. */
START_TEST(known_bytes)
{
	const struct block_row rows[] = { { 3, 0, 1, 1, 1 },
					  { 3, 2, 130, 2, 8500 },
					  { 4, 1, 7, 1, 49 } };
	struct world w = world_new();
	block_encode(w.c, rows, 3, 4, true, 1, &w.b);
	/* 2 stacks; ids 3, +0; totals 131 - 1 in two bytes, 7 - 1; counts; the float 8501 */
	const uint8_t summary[] = { 0x41, 2, 3, 0, 0x82, 1, 6, 3, 1, 0x00, 0xd4, 0x04, 0x46 };
	const uint8_t windows[] = { 0x02, 1, 7, 0x82, 1, 0 };
	/* 3 rows, pieces of 4 windows, one of 9 bytes: gaps 1 | 0 1 without low bits: 10 | 0 10, a byte; 1 row of the stack with a sample, 2 of that
	 * with three; their values - 1 */
	const uint8_t detail[] = { 0x04, 3, 4, 9, 0x85, 1, 0x90, 1, 2, 6, 0, 0x81, 1 };
	assert_bytes(&w.b.summary, summary, sizeof summary);
	assert_bytes(&w.b.windows, windows, sizeof windows);
	assert_bytes(&w.b.detail, detail, sizeof detail);
	world_done(&w);
}
END_TEST

/* Rows at random positions take little more than the information needed to tell all arrangements apart: log2 of C(windows, n) bits a stack. */
START_TEST(random_gaps_are_near_their_bound)
{
	static const uint32_t density[] = { 4, 30, 300 };
	struct rng r = { 9 };
	struct world w = world_new();
	for (int i = 0; i < 3; i++) {
		struct made m = make_rows(&r, 300, 1440, density[i], VALUES_POSITIVE, false);
		for (size_t k = 0; k < m.n; k++)
			m.rows[k].value = 1;
		check_block(&w, &m, 1, &r);
		double bound = 0;
		for (size_t k = 0, n; k < m.n; k += n) {
			for (n = 1; k + n < m.n && m.rows[k + n].stack == m.rows[k].stack; n++)
				;
			bound += (lgamma(1441) - lgamma(n + 1) - lgamma(1441 - n)) / M_LN2 / 8;
		}
		ck_assert_double_le(w.b.detail.len,
				    1.07 * bound + 400); /* 300 for the numbers of rows */
		free(m.rows);
	}
	world_done(&w);
}
END_TEST

/* Rows at regular intervals take almost nothing. */
START_TEST(even_gaps_are_small)
{
	struct made m = { .rows = xcalloc(50 * 240, sizeof *m.rows),
			  .windows = 1440,
			  .max_stack = 50 };
	struct rng r = { 9 };
	struct world w = world_new();
	for (uint32_t stack = 0; stack < 50; stack++)
		for (uint32_t i = 0; i < 240; i++)
			m.rows[m.n++] =
				(struct block_row){ .stack = stack, .window = 6 * i, .value = 3 };
	check_block(&w, &m, 1, &r);
	ck_assert_uint_lt(w.b.detail.len, m.n / 50);
	free(m.rows);
	world_done(&w);
}
END_TEST

START_TEST(checksum_is_of_all)
{
	const struct block_key key = { 7, -5, 360, 9 };
	const uint64_t sum = block_checksum(&key, "abc", 3, "de", 2);
	struct block_key other = key;
	ck_assert(sum == block_checksum(&key, "abc", 3, "de", 2));
	ck_assert(sum != block_checksum(&key, "ab", 2, "cde", 3));
	ck_assert(sum != block_checksum(&key, "abc", 3, NULL, 0));
	other.series++;
	ck_assert(sum != block_checksum(&other, "abc", 3, "de", 2));
	other = key;
	other.from_ns++;
	ck_assert(sum != block_checksum(&other, "abc", 3, "de", 2));
	other = key;
	other.windows++;
	ck_assert(sum != block_checksum(&other, "abc", 3, "de", 2));
	other = key;
	other.rows++;
	ck_assert(sum != block_checksum(&other, "abc", 3, "de", 2));
}
END_TEST

/* --- damage -------------------------------------------------------------------------------------- */

/* A copy of exactly its size, so that a sanitizer sees an overread. */
static void *copy_of(const struct buf *b, size_t len)
{
	void *copy = malloc(len + !len);
	memcpy(copy, b->data, len);
	return copy;
}

/* -EBADMSG, or 0 and values within bounds. */
static int try_summary(struct world *w, size_t len, uint32_t max_stack)
{
	struct block_sums s = { 0 };
	void *data = copy_of(&w->b.summary, len);
	int rc = block_read_summary(w->c, data, len, max_stack, &s, NULL);
	bool ok = rc == 0 || (rc == -EBADMSG && s.n == 0);
	for (uint32_t i = 0; i < s.n; i++)
		ok &= s.stack[i] < max_stack && (i == 0 || s.stack[i - 1] < s.stack[i]);
	ck_assert(ok);
	block_sums_done(&s);
	free(data);
	return rc;
}

static int try_windows(struct world *w, size_t len, uint32_t windows)
{
	int64_t *sums = xcalloc(windows, sizeof *sums);
	void *data = copy_of(&w->b.windows, len);
	int rc = block_read_windows(w->c, data, len, windows, sums, NULL);
	ck_assert(rc == 0 || rc == -EBADMSG);
	free(sums);
	free(data);
	return rc;
}

/* Whatever the detail contains, its rows add up to the summary's totals. */
static int try_detail(struct world *w, size_t len, uint32_t windows)
{
	struct block_row *rows = NULL;
	size_t n = 0;
	int64_t *totals = xcalloc(w->s.n, sizeof *totals);
	void *data = copy_of(&w->b.detail, len);
	int rc = block_read_detail(w->c, &w->s, data, len, windows, &rows, &n, NULL);
	int part = block_read_part(w->c, &w->s, data, len, windows, 0, windows, totals, NULL);
	/* readable rows that do not match the totals */
	bool ok = (rc == part || (rc == -EBADMSG && part == 0)) && (rc == 0 || rc == -EBADMSG);
	for (size_t i = 0; i < n; i++)
		ok &= rows[i].window < windows && rows[i].value != 0;
	for (uint32_t i = 0; rc == 0 && i < w->s.n; i++)
		ok &= totals[i] == w->s.total[i];
	ck_assert(ok);
	free(totals);
	free(rows);
	free(data);
	return rc;
}

typedef int try_fn(struct world *w, size_t len, uint32_t limit);

/* Tries each prefix, an extra byte, and each bit flipped. */
static void damage(struct world *w, struct buf *b, try_fn *try, uint32_t limit)
{
	ck_assert_int_eq(try(w, b->len, limit), 0);
	for (size_t len = 0; len < b->len; len++)
		ck_assert_int_eq(try(w, len, limit), -EBADMSG);
	for (size_t i = 0; i < 8 * b->len; i++) {
		b->data[i / 8] ^= 1 << i % 8;
		try(w, b->len, limit);
		b->data[i / 8] ^= 1 << i % 8;
	}
	buf_addc(b, 0);
	ck_assert_int_eq(try(w, b->len, limit), -EBADMSG);
}

static void damage_all(uint32_t stacks, uint32_t windows, enum value_kind kind, bool weighted)
{
	struct rng r = { 5 };
	struct world w = world_new();
	struct made m = make_rows(&r, stacks, windows, 100, kind, weighted);
	check_block(&w, &m, 1, &r);
	damage(&w, &w.b.summary, try_summary, m.max_stack);
	damage(&w, &w.b.windows, try_windows, windows);
	damage(&w, &w.b.detail, try_detail, windows);
	free(m.rows);
	world_done(&w);
}

START_TEST(damage_is_seen_or_bounded)
{
	damage_all(3, 20, VALUES_SMALL, false); /* plain */
	damage_all(3, 20, VALUES_EXTREME, true);
	damage_all(60, 100, VALUES_ONES, false); /* packed */
	damage_all(60, 100, VALUES_SMALL, true);
	damage_all(40, 60, VALUES_EXTREME, false);
}
END_TEST

/* A frame that claims to be larger than any block is not decompressed; nor is one with more stacks than bytes. */
START_TEST(sizes_are_not_believed)
{
	static const uint8_t huge[] = { 0x04, 0,    0xe8, 0x02, 13,   0x15, 0x28, 0xb5, 0x2f,
					0xfd, 0xa0, 0xff, 0xff, 0xff, 0xff, 0x01, 0,    0 };
	static const uint8_t many[] = { 0x01, 0xff, 0xff, 0xff, 0x07, 0, 0 };
	static const uint8_t rows[] = { 0x04, 0xff, 0xff, 0xff, 0x1f, 0xe8, 0x02, 0 };
	/* In a piece: 2^20 rows, no values. */
	static const uint8_t rows_in_piece[] = { 0x04, 0x80, 0x80, 0x40, 0xe8, 0x02, 6,
						 0x05, 0x80, 0x80, 0x40, 1,    0 };
	struct world w = world_new();
	struct block_row *out;
	struct err err;
	size_t n;
	ck_assert_int_eq(block_read_detail(w.c, &w.s, huge, sizeof huge, 360, &out, &n, &err),
			 -EBADMSG);
	ck_assert_int_eq(block_read_summary(w.c, many, sizeof many, UINT32_MAX, &w.s, &err),
			 -EBADMSG);
	ck_assert_uint_eq(w.s.cap, 0);
	ck_assert_int_eq(block_read_detail(w.c, &w.s, rows, sizeof rows, 360, &out, &n, &err),
			 -EBADMSG);
	ck_assert_int_eq(block_read_detail(w.c, &w.s, rows_in_piece, sizeof rows_in_piece, 360,
					   &out, &n, &err),
			 -EBADMSG);
	world_done(&w);
}
END_TEST

UNIT_MAIN("block", rows_come_back, highest_ids_come_back, totals_wrap, known_bytes,
	  random_gaps_are_near_their_bound, even_gaps_are_small, checksum_is_of_all,
	  damage_is_seen_or_bounded, sizes_are_not_believed)
