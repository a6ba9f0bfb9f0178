#include "base/bits.h"
#include "base/varint.h"
#include "store/block_parts.h"

#include <endian.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Room was made. */
static void put(struct buf *b, uint64_t v)
{
	b->len += varint_write(b->data + b->len, v);
}

static void put_float(struct buf *b, double v)
{
	float f = v < FLT_MAX ? v : FLT_MAX;
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	bits = htole32(bits);
	memcpy(b->data + b->len, &bits, sizeof bits);
	b->len += sizeof bits;
}

/* What is never 0: totals of stacks but in BLOB_SIGNED, and values. */
static uint64_t value_code(int64_t v, uint8_t flags)
{
	return flags & BLOB_SIGNED ? zigzag(v) : (uint64_t)v - 1;
}

/* Appends c->raw; BLOB_PACKED goes into the blob's first byte, which is there. */
static void pack(struct block_coder *c, int level, struct buf *out)
{
	size_t bound = ZSTD_compressBound(c->raw.len);
	buf_reserve(out, bound);
	size_t n = ZSTD_compressCCtx(c->pack, out->data + out->len, bound, c->raw.data, c->raw.len,
				     level);
	if (ZSTD_isError(n) || n >= c->raw.len) {
		buf_add(out, c->raw.data, c->raw.len);
		return;
	}
	out->len += n;
	out->data[0] |= BLOB_PACKED;
}

static void start_blob(struct buf *out, uint8_t head)
{
	buf_clear(out);
	buf_addc(out, head);
}

static void add_column(struct block_coder *c, int column)
{
	buf_add(&c->raw, c->columns[column].data, c->columns[column].len);
}

/* Fills c->sums. BLOB_SIGNED where a value is negative or the sum of all is too large, so that otherwise every sum is positive. */
static uint8_t sum_windows(struct block_coder *c, const struct block_row *rows, size_t n,
			   uint32_t windows)
{
	int64_t total = 0, signs = 0;
	bool over = false;
	memset(c->sums, 0, windows * sizeof *c->sums);
	for (size_t i = 0; i < n; i++) {
		c->sums[rows[i].window] += (uint64_t)rows[i].value;
		signs |= rows[i].value;
		over |= __builtin_add_overflow(total, rows[i].value, &total);
	}
	return over || signs < 0 ? BLOB_SIGNED : 0;
}

static void put_windows(struct block_coder *c, uint32_t windows, uint8_t flags, int level,
			struct buf *out)
{
	buf_clear(&c->raw);
	buf_reserve(&c->raw, windows * VARINT_MAX_BYTES);
	for (uint32_t w = 0; w < windows; w++)
		put(&c->raw, flags & BLOB_SIGNED ? zigzag(c->sums[w]) : c->sums[w]);
	start_blob(out, SHAPE_WINDOWS | flags);
	pack(c, level, out);
}

struct encoded {
	uint64_t stacks, rows;
	uint64_t next_stack; /* the lowest that may come */
	uint32_t windows;
	uint8_t flags;
	struct bit_writer bits; /* to GAP_BITS */
};

static void put_weight(struct block_coder *c, const struct block_row *rows, size_t n)
{
	uint64_t count = 0;
	double squares = 0;
	for (size_t i = 0; i < n; i++) {
		count += rows[i].value ? rows[i].n : 0;
		squares += rows[i].value ? rows[i].squares : 0;
	}
	count = count < UINT32_MAX ? count : UINT32_MAX;
	put(&c->columns[COUNTS], count);
	if (count != 1)
		put_float(&c->columns[SQUARES], squares);
}

static size_t count_rows(const struct block_row *rows, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += rows[i].value != 0;
	return count;
}

/* In all columns, for a stack of so many rows. */
static void make_room(struct block_coder *c, size_t rows)
{
	for (struct buf *b = c->columns; b < c->columns + COLUMNS; b++)
		if (b->cap - b->len < rows * VARINT_MAX_BYTES)
			buf_reserve(b, rows * VARINT_MAX_BYTES);
}

/* The rows of one stack. A row's value is put when the next one is there: so the last one's is not. */
static void put_stack(struct block_coder *c, const struct block_row *rows, size_t n,
		      struct encoded *e)
{
	struct buf *gaps = &c->columns[GAPS], *values = &c->columns[VALUES];
	uint64_t total = 0;
	size_t count = count_rows(rows, n);
	uint32_t next_window = 0;
	int64_t last = 0;
	if (count == 0)
		return;
	unsigned low_bits = rice_bits(count, e->windows);
	make_room(c, count);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].value == 0)
			continue;
		if (last)
			put(values, value_code(last, e->flags));
		put(gaps, rows[i].window - next_window);
		bits_put_rice(&e->bits, rows[i].window - next_window, low_bits, PLAIN_GAP_BITS);
		next_window = rows[i].window + 1;
		last = rows[i].value;
		total += (uint64_t)last;
	}
	put(&c->columns[OCCURRENCES], count - 1);
	put(&c->columns[IDS], rows->stack - e->next_stack);
	put(&c->columns[TOTALS], value_code((int64_t)total, e->flags));
	if (e->flags & BLOB_WEIGHTED)
		put_weight(c, rows, n);
	e->next_stack = (uint64_t)rows->stack + 1;
	e->rows += count;
	e->stacks++;
}

static void put_summary(struct block_coder *c, const struct encoded *e, int level, struct buf *out)
{
	buf_clear(&c->raw);
	buf_reserve(&c->raw, VARINT_MAX_BYTES);
	put(&c->raw, e->stacks);
	for (int i = IDS; i <= SQUARES; i++)
		add_column(c, i);
	start_blob(out, SHAPE_SUMMARY | e->flags);
	pack(c, level, out);
}

/* What zstd will make of bytes that hardly repeat: a tenth more than their entropy, as was measured, and half a byte for each entry of its table. */
static double guess_packed_bytes(const struct buf *b)
{
	uint32_t seen[256] = { 0 };
	double bits = 0;
	for (size_t i = 0; i < b->len; i++)
		seen[(uint8_t)b->data[i]]++;
	for (int i = 0; i < 256; i++)
		if (seen[i])
			bits += 4 + 1.1 * seen[i] * log2((double)b->len / seen[i]);
	return bits / 8;
}

/* Rows that lie at random are best in Rice's code; those that have a rhythm, or bursts, are not. */
static void put_detail(struct block_coder *c, const struct encoded *e, int level, struct buf *out)
{
	struct buf *gaps = &c->columns[GAPS], *bits = &c->columns[GAP_BITS];
	bool rice = (double)bits->len <= guess_packed_bytes(gaps);
	start_blob(out, SHAPE_DETAIL | (e->flags & BLOB_SIGNED) | (rice ? BLOB_RICE : 0));
	if (rice) {
		buf_reserve(out, VARINT_MAX_BYTES);
		put(out, bits->len);
		buf_add(out, bits->data, bits->len);
		buf_clear(gaps);
	}
	buf_clear(&c->raw);
	buf_reserve(&c->raw, 3 * VARINT_MAX_BYTES);
	put(&c->raw, e->rows);
	put(&c->raw, c->columns[OCCURRENCES].len);
	put(&c->raw, gaps->len);
	for (int i = OCCURRENCES; i <= VALUES; i++)
		add_column(c, i);
	pack(c, level, out);
}

void block_encode(struct block_coder *c, const struct block_row *rows, size_t n, uint32_t windows,
		  bool weighted, int level, struct block_blobs *out)
{
	struct encoded e = { .flags = sum_windows(c, rows, n, windows), .windows = windows };
	put_windows(c, windows, e.flags, level, &out->windows);
	e.flags |= weighted ? BLOB_WEIGHTED : 0;
	e.bits.out = &c->columns[GAP_BITS];
	for (int i = 0; i < COLUMNS; i++)
		buf_clear(&c->columns[i]);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && rows[end].stack == rows[first].stack; end++)
			;
		put_stack(c, rows + first, end - first, &e);
	}
	bits_flush(&e.bits);
	put_summary(c, &e, level, &out->summary);
	put_detail(c, &e, level, &out->detail);
}
