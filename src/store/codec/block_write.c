/* Encodes windows, stacks and values of a block. */
#include "base/bits.h"
#include "base/buf.h"
#include "base/vec.h"
#include "store/codec/block_parts.h"

#include <endian.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
	PIECE_WINDOWS = 360, /* an hour, the most common query */
	PIECE_ROWS = 2048,   /* on average */
};

/* The caller has reserved room. */
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

/* Codes a number that is never 0: a value, or a stack's total without BLOB_SIGNED. */
static uint64_t value_code(int64_t v, uint8_t flags)
{
	return flags & BLOB_SIGNED ? zigzag(v) : (uint64_t)v - 1;
}

/* Appends c->raw; sets BLOB_PACKED in the blob's first byte, which is already there. */
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

/* Fills c->sums. Returns BLOB_SIGNED if a value is negative or the sum of all overflows; otherwise
 * every sum is positive. */
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
	const struct block_row *rows; /* all */
	uint64_t stacks;
	uint64_t next_stack; /* the lowest possible next stack */
	uint32_t windows;
	uint8_t flags;
};

static uint32_t count_samples(const struct block_row *rows, size_t n)
{
	uint64_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += rows[i].value ? rows[i].n : 0;
	return count < UINT32_MAX ? count : UINT32_MAX;
}

static void put_weight(struct block_coder *c, uint32_t count, const struct block_row *rows,
		       size_t n)
{
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += rows[i].value ? rows[i].squares : 0;
	put(&c->columns[COUNTS], count);
	if (count != 1)
		put_float(&c->columns[SQUARES], squares);
}

/* Adds a cell for each row of one stack with a nonzero value. Returns their sum. */
static uint64_t add_cells(struct block_coder *c, const struct block_row *rows, size_t n,
			  const struct encoded *e)
{
	uint64_t total = 0;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].value)
			vec_push(&c->cells, (struct block_cell){ rows + i - e->rows, e->stacks });
		total += (uint64_t)rows[i].value;
	}
	return total;
}

static void put_stack(struct block_coder *c, const struct block_row *rows, size_t n,
		      struct encoded *e)
{
	size_t cells = c->cells.n;
	uint64_t total = add_cells(c, rows, n, e);
	if (c->cells.n == cells)
		return;
	/* Reserve space for one stack in all columns. */
	for (struct buf *b = c->columns; b < c->columns + COLUMNS; b++)
		if (b->cap - b->len < VARINT_MAX_BYTES)
			buf_reserve(b, VARINT_MAX_BYTES);
	put(&c->columns[IDS], rows->stack - e->next_stack);
	put(&c->columns[TOTALS], value_code((int64_t)total, e->flags));
	if (e->flags & BLOB_WEIGHTED) {
		uint32_t count = count_samples(rows, n);
		put_weight(c, count, rows, n);
		vec_push(&c->classes, class_of_count(count));
	} else {
		vec_push(&c->classes, class_of_total((int64_t)total));
	}
	e->next_stack = (uint64_t)rows->stack + 1;
	e->stacks++;
}

static void put_summary(struct block_coder *c, const struct encoded *e, int level, struct buf *out)
{
	buf_clear(&c->raw);
	buf_reserve(&c->raw, VARINT_MAX_BYTES);
	put(&c->raw, e->stacks);
	for (int i = IDS; i <= SQUARES; i++)
		buf_add(&c->raw, c->columns[i].data, c->columns[i].len);
	start_blob(out, SHAPE_SUMMARY | e->flags);
	pack(c, level, out);
}

/* Estimates the compressed size of bytes that hardly repeat: their entropy plus a tenth, as
 * measured, and half a byte for each entry of zstd's table. */
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

/* --- detail --- */

/* The piece being written: windows from `first` on. */
struct piece {
	const struct block_row *rows;
	const struct block_cell *cells; /* by stack */
	size_t n;
	uint32_t first, windows;
	uint32_t of_class[CLASSES]; /* number of stacks */
	uint8_t flags;
};

static uint32_t window_in(const struct piece *p, const struct block_cell *cell)
{
	return p->rows[cell->row].window - p->first;
}

static void put_value(struct block_coder *c, const struct piece *p, const struct block_cell *cell)
{
	put(&c->values, value_code(p->rows[cell->row].value, p->flags));
}

/* Writes gaps as one column of numbers. */
static void put_plain(struct block_coder *c, const struct piece *p)
{
	uint64_t next = 0;
	buf_clear(&c->gaps);
	buf_reserve(&c->gaps, p->n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < p->n; i++) {
		uint64_t place =
			(uint64_t)p->cells[i].rank * p->windows + window_in(p, &p->cells[i]);
		put(&c->gaps, place - next);
		next = place + 1;
	}
}

/* Sorts the cells of a piece by class; stable. ends: of each class in by_class. */
static void sort_by_class(struct block_coder *c, const struct piece *p, size_t *ends)
{
	memset(ends, 0, CLASSES * sizeof *ends);
	for (size_t i = 0; i < p->n; i++)
		ends[c->classes.v[p->cells[i].rank]]++;
	for (size_t i = 0, at = 0, n; i < CLASSES; i++, at += n) {
		n = ends[i];
		ends[i] = at;
	}
	vec_reserve(&c->by_class, p->n);
	for (size_t i = 0; i < p->n; i++)
		c->by_class.v[ends[c->classes.v[p->cells[i].rank]]++] = p->cells[i];
}

static void put_class(struct block_coder *c, const struct piece *p, const struct block_cell *cells,
		      size_t n, uint64_t places, struct bit_writer *bits)
{
	unsigned low_bits = rice_bits(n, places);
	uint64_t next = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t place =
			(uint64_t)c->places.v[cells[i].rank] * p->windows + window_in(p, &cells[i]);
		bits_put_rice(bits, place - next, low_bits, PLAIN_GAP_BITS);
		next = place + 1;
		put_value(c, p, &cells[i]);
	}
}

/* Writes gaps to c->bits, row counts to the end of c->raw and values to c->values. Returns false if
 * a class has too many places. */
static bool put_classes(struct block_coder *c, const struct piece *p)
{
	size_t ends[CLASSES], first = 0;
	struct bit_writer bits = { .out = &c->bits };
	buf_clear(&c->bits);
	buf_reserve(&c->raw, CLASSES * VARINT_MAX_BYTES);
	sort_by_class(c, p, ends);
	for (int i = 0; i < CLASSES; first = ends[i++]) {
		uint64_t places = (uint64_t)p->of_class[i] * p->windows;
		if (places > CLASS_MAX_PLACES)
			return false;
		if (!places)
			continue;
		put(&c->raw, ends[i] - first);
		put_class(c, p, c->by_class.v + first, ends[i] - first, places, &bits);
	}
	bits_flush(&bits);
	return true;
}

static void put_plain_columns(struct block_coder *c, const struct piece *p)
{
	buf_clear(&c->raw);
	buf_clear(&c->values);
	buf_reserve(&c->raw, 2 * VARINT_MAX_BYTES);
	put(&c->raw, p->n);
	put(&c->raw, c->gaps.len);
	buf_add(&c->raw, c->gaps.data, c->gaps.len);
	for (size_t i = 0; i < p->n; i++)
		put_value(c, p, &p->cells[i]);
}

/* Writes a piece to c->piece. The Rice code is best for rows at random, but not for periodic rows
 * or bursts. */
static void put_piece(struct block_coder *c, const struct piece *p, int level)
{
	put_plain(c, p);
	buf_clear(&c->raw);
	buf_clear(&c->values);
	buf_reserve(&c->values, p->n * VARINT_MAX_BYTES);
	bool rice = put_classes(c, p) && (double)c->bits.len <= guess_packed_bytes(&c->gaps);
	if (!rice)
		put_plain_columns(c, p);
	start_blob(&c->piece, SHAPE_PIECE | p->flags | (rice ? BLOB_RICE : 0));
	if (rice) {
		buf_reserve(&c->piece, VARINT_MAX_BYTES);
		put(&c->piece, c->bits.len);
		buf_add(&c->piece, c->bits.data, c->bits.len);
	}
	buf_add(&c->raw, c->values.data, c->values.len);
	pack(c, level, &c->piece);
}

/* An hour per piece, or as much more as makes the fixed cost of a piece small. */
static uint32_t piece_windows(size_t rows, uint32_t windows)
{
	uint32_t w = PIECE_WINDOWS;
	while (w < windows && rows * w / windows < PIECE_ROWS)
		w *= 2;
	w = w < windows ? w : windows;
	return w > PIECE_MIN_WINDOWS ? w : PIECE_MIN_WINDOWS;
}

/* Sorts cells by piece; stable. Uses by_class as scratch memory. ends: of pieces. */
static void sort_by_piece(struct block_coder *c, const struct piece *p, size_t pieces, size_t *ends)
{
	memset(ends, 0, pieces * sizeof *ends);
	for (size_t i = 0; i < c->cells.n; i++)
		ends[p->rows[c->cells.v[i].row].window / p->windows]++;
	for (size_t i = 0, at = 0, n; i < pieces; i++, at += n) {
		n = ends[i];
		ends[i] = at;
	}
	vec_reserve(&c->by_class, c->cells.n);
	for (size_t i = 0; i < c->cells.n; i++) {
		struct block_cell cell = c->cells.v[i];
		c->by_class.v[ends[p->rows[cell.row].window / p->windows]++] = cell;
	}
	if (c->cells.n)
		memcpy(c->cells.v, c->by_class.v, c->cells.n * sizeof *c->cells.v);
}

static void put_pieces(struct block_coder *c, struct piece *p, size_t pieces, int level)
{
	size_t ends[BLOCK_MAX_WINDOWS / PIECE_WINDOWS + 1], first = 0;
	if (pieces > 1)
		sort_by_piece(c, p, pieces, ends);
	else
		ends[0] = c->cells.n;
	buf_clear(&c->pieces);
	buf_clear(&c->sizes);
	buf_reserve(&c->sizes, pieces * VARINT_MAX_BYTES);
	for (size_t i = 0; i < pieces; first = ends[i++]) {
		p->cells = c->cells.v + first;
		p->n = ends[i] - first;
		p->first = i * p->windows;
		buf_clear(&c->piece);
		if (p->n)
			put_piece(c, p, level);
		put(&c->sizes, c->piece.len);
		buf_add(&c->pieces, c->piece.data, c->piece.len);
	}
}

static void put_detail(struct block_coder *c, const struct encoded *e, int level, struct buf *out)
{
	struct piece p = { .rows = e->rows, .flags = e->flags & BLOB_SIGNED };
	p.windows = piece_windows(c->cells.n, e->windows);
	/* Number the stacks within their classes. */
	vec_reserve(&c->places, c->classes.n);
	for (size_t i = 0; i < c->classes.n; i++)
		c->places.v[i] = p.of_class[c->classes.v[i]]++;
	put_pieces(c, &p, (e->windows + p.windows - 1) / p.windows, level);
	start_blob(out, SHAPE_DETAIL | p.flags);
	buf_reserve(out, 2 * VARINT_MAX_BYTES);
	put(out, c->cells.n);
	put(out, p.windows);
	buf_add(out, c->sizes.data, c->sizes.len);
	buf_add(out, c->pieces.data, c->pieces.len);
}

void block_encode(struct block_coder *c, const struct block_row *rows, size_t n, uint32_t windows,
		  bool weighted, int level, struct block_blobs *out)
{
	struct encoded e = { .rows = rows,
			     .flags = sum_windows(c, rows, n, windows),
			     .windows = windows };
	put_windows(c, windows, e.flags, level, &out->windows);
	e.flags |= weighted ? BLOB_WEIGHTED : 0;
	for (int i = 0; i < COLUMNS; i++)
		buf_clear(&c->columns[i]);
	vec_clear(&c->cells);
	vec_clear(&c->classes);
	vec_reserve(&c->cells, n);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && rows[end].stack == rows[first].stack; end++)
			;
		put_stack(c, rows + first, end - first, &e);
	}
	put_summary(c, &e, level, &out->summary);
	put_detail(c, &e, level, &out->detail);
}
