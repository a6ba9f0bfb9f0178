/* Detail, read: piece by piece, of those that are asked for. */
#include "base/bits.h"
#include "store/block_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct detail {
	struct cur sizes, pieces;
	uint64_t rows;
	uint32_t windows, piece_windows;
	uint8_t flags;
};

/* The sizes of all pieces are all that follows them. */
static bool sizes_fit(const struct detail *d, struct cur sizes, struct cur *pieces)
{
	uint64_t sum = 0;
	for (uint32_t first = 0; first < d->windows; first += d->piece_windows) {
		uint64_t size = cur_varint(&sizes);
		if (sizes.bad || size > cur_left(&sizes))
			return false;
		sum += size;
	}
	*pieces = sizes;
	return sum == cur_left(&sizes);
}

static int open_detail(const struct block_sums *sums, const void *data, size_t len,
		       uint32_t windows, struct detail *d, struct err *err)
{
	struct cur in = cur_of(data, len);
	uint8_t head = cur_u8(&in);
	if ((head & ~BLOB_SIGNED) != SHAPE_DETAIL)
		return block_bad(err, "a blob of another kind");
	*d = (struct detail){ .windows = windows, .flags = head & BLOB_SIGNED };
	d->rows = cur_varint(&in);
	uint64_t piece_windows = cur_varint(&in);
	if (in.bad || d->rows > BLOCK_MAX_ROWS || d->rows < sums->n ||
	    piece_windows < PIECE_MIN_WINDOWS || piece_windows > BLOCK_MAX_WINDOWS)
		return block_bad(err, "no detail of its stacks");
	d->piece_windows = piece_windows;
	d->sizes = in;
	if (!sizes_fit(d, in, &d->pieces))
		return block_bad(err, "other pieces than it says");
	return 0;
}

/* --- classes --- */

struct classes {
	bool known;
	uint32_t first[CLASSES + 1]; /* in c->ranks */
};

static unsigned class_of(const struct block_sums *s, uint32_t rank)
{
	return s->count ? class_of_count(s->count[rank]) : class_of_total(s->total[rank]);
}

static void find_classes(struct block_coder *c, const struct block_sums *s, struct classes *k)
{
	uint32_t next[CLASSES];
	if (k->known)
		return;
	*k = (struct classes){ .known = true };
	for (uint32_t i = 0; i < s->n; i++)
		k->first[class_of(s, i) + 1]++;
	for (int i = 0; i < CLASSES; i++)
		k->first[i + 1] += k->first[i];
	memcpy(next, k->first, sizeof next);
	vec_reserve(&c->ranks, s->n);
	for (uint32_t i = 0; i < s->n; i++)
		c->ranks.v[next[class_of(s, i)]++] = i;
}

/* --- a piece --- */

struct piece {
	struct blob b;
	struct cur values;
	uint32_t first, windows; /* of the slot; so many places has a stack */
	uint32_t all_windows;    /* of the slot */
	uint64_t per_window;     /* 2^64 / windows, rounded up: places are below 2^32 */
	uint64_t rows, most_rows;
};

/* Everything of the walk over rows is inlined into those who walk, with what they do with a row. */
#define INLINED __attribute__((always_inline)) static inline
typedef void row_fn(void *ctx, uint32_t rank, uint32_t window, int64_t value);

/* A row in this window of the piece. False: it cannot be. */
INLINED bool take_row(struct piece *p, uint32_t rank, uint32_t window, row_fn *row, void *ctx)
{
	int64_t value;
	bool ok = block_value_of(cur_varint(&p->values), p->b.flags, &value);
	window += p->first;
	if (!ok || value == 0 || window >= p->all_windows)
		return false;
	row(ctx, rank, window, value);
	return true;
}

/* n rows of the stacks of a class. */
INLINED bool walk_class(struct piece *p, struct bit_reader *bits, const uint32_t *ranks,
			uint32_t n_ranks, uint64_t n, row_fn *row, void *ctx)
{
	uint64_t places = (uint64_t)n_ranks * p->windows, next = 0;
	if (places > CLASS_MAX_PLACES || n > places)
		return false;
	unsigned low_bits = rice_bits(n, places);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t place = next + bits_get_rice(bits, low_bits, PLAIN_GAP_BITS);
		if (place >= places)
			return false;
		uint32_t at = (unsigned __int128)p->per_window * place >> 64;
		if (!take_row(p, ranks[at], place - (uint64_t)at * p->windows, row, ctx))
			return false;
		next = place + 1;
	}
	return true;
}

/* Each has a byte, at least, among the values. */
static bool rows_fit(const struct piece *p)
{
	return p->rows <= p->most_rows && p->rows <= cur_left(&p->values);
}

/* The numbers of rows of all classes that have stacks. False: more than can be. */
static bool read_counts(struct piece *p, const struct classes *k, uint64_t *counts)
{
	p->rows = 0;
	for (int i = 0; i < CLASSES; i++) {
		counts[i] = k->first[i + 1] > k->first[i] ? cur_varint(&p->b.in) : 0;
		if (counts[i] > cur_left(&p->b.in))
			return false;
		p->rows += counts[i];
	}
	p->values = p->b.in;
	return !p->b.in.bad && rows_fit(p);
}

INLINED bool walk_rice(struct block_coder *c, struct piece *p, const struct classes *k, row_fn *row,
		       void *ctx)
{
	struct bit_reader bits = { p->b.rice.p, cur_left(&p->b.rice), 0 };
	uint64_t counts[CLASSES];
	if (!read_counts(p, k, counts))
		return false;
	for (int i = 0; i < CLASSES; i++)
		if (counts[i] && !walk_class(p, &bits, c->ranks.v + k->first[i],
					     k->first[i + 1] - k->first[i], counts[i], row, ctx))
			return false;
	return bits_at_end(&bits);
}

INLINED bool walk_plain(struct piece *p, uint32_t n_ranks, row_fn *row, void *ctx)
{
	uint64_t places = (uint64_t)n_ranks * p->windows, next = 0;
	p->rows = cur_varint(&p->b.in);
	uint64_t bytes = cur_varint(&p->b.in);
	struct cur gaps = block_take_stream(&p->b.in, bytes);
	p->values = p->b.in;
	if (p->b.in.bad || p->rows > bytes || !rows_fit(p))
		return false;
	for (uint64_t i = 0; i < p->rows; i++) {
		uint64_t gap = cur_varint(&gaps);
		if (gap >= places - next)
			return false;
		next += gap;
		if (!take_row(p, next / p->windows, next % p->windows, row, ctx))
			return false;
		next++;
	}
	return !gaps.bad && !cur_left(&gaps);
}

INLINED bool walk_piece(struct block_coder *c, const struct block_sums *sums, struct piece *p,
			struct classes *k, row_fn *row, void *ctx)
{
	bool ok;
	if (p->b.flags & BLOB_RICE) {
		find_classes(c, sums, k);
		ok = walk_rice(c, p, k, row, ctx);
	} else {
		ok = walk_plain(p, sums->n, row, ctx);
	}
	return ok && !p->values.bad && !cur_left(&p->values);
}

/* --- all of them --- */

static bool open_piece(struct block_coder *c, const struct detail *d, struct cur in, uint32_t first,
		       struct piece *p)
{
	*p = (struct piece){ .first = first,
			     .windows = d->piece_windows,
			     .all_windows = d->windows,
			     .per_window = UINT64_MAX / d->piece_windows + 1 };
	return block_open_blob(c, in.p, cur_left(&in), SHAPE_PIECE, BLOCK_MAX_BYTES, &p->b, NULL) ==
		       0 &&
	       (p->b.flags & BLOB_SIGNED) == d->flags;
}

/* Calls row for every row of the pieces that touch windows [from, to), in order inside of a stack, and counts them. */
INLINED bool walk(struct block_coder *c, const struct block_sums *sums, const struct detail *d,
		  uint32_t from, uint32_t to, row_fn *row, void *ctx, uint64_t *n)
{
	struct cur sizes = d->sizes, pieces = d->pieces;
	struct classes k = { .known = false };
	struct piece p;
	*n = 0;
	for (uint32_t first = 0; first < d->windows; first += d->piece_windows) {
		struct cur in = block_take_stream(&pieces, cur_varint(&sizes));
		if (!cur_left(&in) || first >= to || first + d->piece_windows <= from)
			continue;
		if (!open_piece(c, d, in, first, &p))
			return false;
		p.most_rows = d->rows - *n;
		if (!walk_piece(c, sums, &p, &k, row, ctx))
			return false;
		*n += p.rows;
	}
	return true;
}

/* --- rows by stack --- */

/* Of each stack: how many, then where the next one goes; and what is left of its total. */
struct row_sorter {
	uint32_t *at;
	uint64_t *left;
	const uint32_t *stack;
	struct block_row *rows;
};

static inline void count_row(void *ctx, uint32_t rank, uint32_t window, int64_t value)
{
	struct row_sorter *s = ctx;
	(void)window;
	s->at[rank]++;
	s->left[rank] -= (uint64_t)value;
}

static inline void place_row(void *ctx, uint32_t rank, uint32_t window, int64_t value)
{
	struct row_sorter *s = ctx;
	s->rows[s->at[rank]++] =
		(struct block_row){ .stack = s->stack[rank], .window = window, .value = value };
}

/* Every stack has rows, and they give its total. */
static bool counts_fit(struct row_sorter *s, uint32_t n)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rows = s->at[i];
		if (rows == 0 || s->left[i])
			return false;
		s->at[i] = sum;
		sum += rows;
	}
	return true;
}

/* Pieces are read twice: that takes less than to keep what the first time gave. */
static int sort_rows(struct block_coder *c, const struct block_sums *sums, const struct detail *d,
		     struct row_sorter *s, struct err *err)
{
	uint64_t n;
	if (!walk(c, sums, d, 0, d->windows, count_row, s, &n) || n != d->rows ||
	    !counts_fit(s, sums->n))
		return block_bad(err, "detail that is not that of its stacks");
	s->rows = malloc((n + 1) * sizeof *s->rows);
	if (!s->rows)
		return err_set(err, ENOMEM, "no memory for the %llu rows of a block",
			       (unsigned long long)n);
	walk(c, sums, d, 0, d->windows, place_row, s, &n);
	return 0;
}

int block_read_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		      size_t len, uint32_t windows, struct block_row **out, size_t *n,
		      struct err *err)
{
	struct detail d;
	int rc = open_detail(sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	struct row_sorter s = { .at = xcalloc(sums->n + 1, sizeof *s.at),
				.left = xcalloc(sums->n + 1, sizeof *s.left),
				.stack = sums->stack };
	for (uint32_t i = 0; i < sums->n; i++)
		s.left[i] = (uint64_t)sums->total[i];
	rc = sort_rows(c, sums, &d, &s, err);
	free(s.at);
	free(s.left);
	if (rc)
		return rc;
	*out = s.rows;
	*n = d.rows;
	return 0;
}

/* --- columns --- */

struct column_writer {
	const uint32_t *rank_stack;
	uint32_t *stack, *window;
	int64_t *value;
	uint32_t from, windows;
	size_t n;
};

static inline void write_columns(void *ctx, uint32_t rank, uint32_t window, int64_t value)
{
	struct column_writer *w = ctx;
	w->stack[w->n] = w->rank_stack[rank];
	w->window[w->n] = window;
	w->value[w->n] = value;
	w->n += window - w->from < w->windows;
}

void block_columns_done(struct block_columns *b)
{
	free(b->stack);
	free(b->window);
	free(b->value);
	*b = (struct block_columns){ 0 };
}

static bool reserve(struct block_columns *b, size_t n)
{
	if (n < b->cap)
		return true;
	block_columns_done(b);
	b->stack = malloc((n + 1) * sizeof *b->stack);
	b->window = malloc((n + 1) * sizeof *b->window);
	b->value = malloc((n + 1) * sizeof *b->value);
	b->cap = b->stack && b->window && b->value ? n + 1 : 0;
	return b->cap;
}

int block_read_columns(struct block_coder *c, const struct block_sums *sums, const void *data,
		       size_t len, uint32_t windows, uint32_t from, uint32_t to,
		       struct block_columns *out, struct err *err)
{
	struct detail d;
	uint64_t read;
	out->n = 0;
	int rc = open_detail(sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	if (!reserve(out, d.rows))
		return err_set(err, ENOMEM, "no memory for the %llu rows of a block",
			       (unsigned long long)d.rows);
	struct column_writer w = { .rank_stack = sums->stack,
				   .stack = out->stack,
				   .window = out->window,
				   .value = out->value,
				   .from = from,
				   .windows = to > from ? to - from : 0 };
	if (!walk(c, sums, &d, from, to, write_columns, &w, &read) ||
	    (from == 0 && to >= windows && read != d.rows))
		return block_bad(err, "detail that is not that of its stacks");
	out->n = w.n;
	return 0;
}

/* --- sums of a part --- */

struct part_adder {
	int64_t *totals;
	uint32_t from, windows;
};

static inline void add_part(void *ctx, uint32_t rank, uint32_t window, int64_t value)
{
	struct part_adder *a = ctx;
	uint64_t inside = window - a->from < a->windows ? UINT64_MAX : 0;
	a->totals[rank] = (int64_t)((uint64_t)a->totals[rank] + ((uint64_t)value & inside));
}

int block_read_part(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, uint32_t from, uint32_t to, int64_t *totals,
		    struct err *err)
{
	struct detail d;
	uint64_t read;
	int rc = open_detail(sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	struct part_adder a = { totals, from, to > from ? to - from : 0 };
	if (sums->n)
		memset(totals, 0, sums->n * sizeof *totals);
	if (!walk(c, sums, &d, from, to, add_part, &a, &read))
		return block_bad(err, "detail that is not that of its stacks");
	return 0;
}
