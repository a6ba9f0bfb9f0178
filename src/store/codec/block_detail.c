/* Reads detail, only the pieces that are needed. */
#include "base/bits.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/codec/block_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct detail {
	struct cur sizes, pieces;
	uint64_t rows;
	uint32_t windows, piece_windows;
	uint8_t flags;
};

/* Checks that the sizes of all pieces add up to the bytes that follow. */
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
		return block_bad(err, "its pieces do not match its header");
	return 0;
}

/* --- classes --- */

struct classes {
	bool known;
	uint32_t first[CLASSES + 1]; /* in c->ids */
};

static unsigned class_of(const struct block_sums *s, uint32_t rank)
{
	return s->count ? class_of_count(s->count[rank]) : class_of_total(s->total[rank]);
}

/* Fills c->ids, by class: the ids that rows get for their stacks. ids: by rank; NULL: the rank. */
static void find_classes(struct block_coder *c, const struct block_sums *s, const uint32_t *ids,
			 struct classes *k)
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
	vec_reserve(&c->ids, s->n);
	for (uint32_t i = 0; i < s->n; i++)
		c->ids.v[next[class_of(s, i)]++] = ids ? ids[i] : i;
}

/* --- a piece --- */

struct piece {
	struct blob b;
	struct cur values;
	uint32_t first, windows; /* in the slot; windows: number of places of a stack */
	uint32_t all_windows;    /* of the slot */
	uint64_t per_window;     /* 2^64 / windows, rounded up: places are below 2^32 */
	uint64_t rows, most_rows;
};

/* Rows are decoded in small batches, column by column: loops that do one thing are several times
 * faster than one loop that does all. */
enum { SOME_ROWS = 256 };
struct some_rows {
	uint32_t *id, *window; /* id: of the stack */
	int64_t *value;
	size_t n;
	bool all_asked; /* all windows are in the walk's range */
};
/* Takes rows, and sets where the next ones go, with space for as many as the detail has left, at
 * most SOME_ROWS. */
typedef void rows_fn(void *ctx, struct some_rows *rows);

/* A walk over the rows of a detail. */
struct walk {
	struct block_coder *c;
	const struct block_sums *sums;
	const uint32_t *ids; /* by rank; NULL: the rank is the id */
	uint32_t from, to;   /* windows; all pieces that overlap them are walked */
	rows_fn *rows;
	void *ctx;
	struct some_rows some;
	struct classes classes;
	uint64_t codes[SOME_ROWS];
};

/* Applies block_value_of to each value. */
static bool find_values(int64_t *value, size_t n, bool is_signed)
{
	int64_t all = 0;
	bool ok = true;
	if (is_signed) {
		for (size_t i = 0; i < n; i++) {
			value[i] = unzigzag((uint64_t)value[i]);
			ok &= value[i] != 0;
		}
		return ok;
	}
	for (size_t i = 0; i < n; i++) {
		int64_t more = (int64_t)((uint64_t)value[i] + 1);
		all |= value[i] | more;
		value[i] = more;
	}
	return all >= 0;
}

static bool read_values(struct walk *w, struct piece *p)
{
	struct some_rows *s = &w->some;
	return cur_varints(&p->values, (uint64_t *)s->value, s->n) &&
	       find_values(s->value, s->n, p->b.flags & BLOB_SIGNED);
}

/* Turns gaps in w->codes into places. *next: the lowest possible next place. */
static bool add_gaps(struct walk *w, uint64_t places, uint64_t *next)
{
	uint64_t at = *next;
	for (size_t i = 0; i < w->some.n; i++) {
		if (w->codes[i] >= places - at)
			return false;
		at += w->codes[i] + 1;
		w->codes[i] = at - 1;
	}
	*next = at;
	return true;
}

/* Turns places in w->codes into windows and stacks. ids: of the stacks in order; NULL: their index.
 * Returns false if a window is after the last one. */
static bool find_places(struct walk *w, const struct piece *p, const uint32_t *ids)
{
	struct some_rows s = w->some;
	uint32_t last_window = 0;
	bool may_be_late = p->first + p->windows > p->all_windows;
	for (size_t i = 0; i < s.n; i++) {
		uint32_t at = p->per_window ? (unsigned __int128)p->per_window * w->codes[i] >> 64
					    : w->codes[i] / p->windows;
		s.id[i] = at;
		s.window[i] = p->first + (uint32_t)(w->codes[i] - (uint64_t)at * p->windows);
	}
	for (size_t i = 0; may_be_late && i < s.n; i++)
		last_window = s.window[i] > last_window ? s.window[i] : last_window;
	for (size_t i = 0; ids && i < s.n; i++)
		s.id[i] = ids[s.id[i]];
	return last_window < p->all_windows;
}

/* Turns the gaps in w->codes into rows. */
static bool take_rows(struct walk *w, struct piece *p, const uint32_t *ids, uint64_t places,
		      uint64_t *next)
{
	if (!add_gaps(w, places, next) || !find_places(w, p, ids) || !read_values(w, p))
		return false;
	w->rows(w->ctx, &w->some);
	return true;
}

/* Each row takes at least one byte of the values. */
static bool rows_fit(const struct piece *p)
{
	return p->rows <= p->most_rows && p->rows <= cur_left(&p->values);
}

static size_t next_some(uint64_t left)
{
	return left < SOME_ROWS ? left : SOME_ROWS;
}

/* Walks n rows of the stacks of a class. */
static bool walk_class(struct walk *w, struct piece *p, struct bit_reader *bits,
		       const uint32_t *ids, uint32_t n_ids, uint64_t n)
{
	uint64_t places = (uint64_t)n_ids * p->windows, next = 0;
	if (places > CLASS_MAX_PLACES || n > places)
		return false;
	unsigned low_bits = rice_bits(n, places);
	for (; n; n -= w->some.n) {
		w->some.n = next_some(n);
		bits_get_rices(bits, low_bits, PLAIN_GAP_BITS, w->codes, w->some.n);
		if (!take_rows(w, p, ids, places, &next))
			return false;
	}
	return true;
}

/* Reads the row counts of all classes that have stacks. Returns false if one is impossible. */
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

static bool walk_rice(struct walk *w, struct piece *p)
{
	const struct classes *k = &w->classes;
	struct bit_reader bits = { p->b.rice.p, cur_left(&p->b.rice), 0 };
	uint64_t counts[CLASSES];
	if (!read_counts(p, k, counts))
		return false;
	for (int i = 0; i < CLASSES; i++)
		if (counts[i] && !walk_class(w, p, &bits, w->c->ids.v + k->first[i],
					     k->first[i + 1] - k->first[i], counts[i]))
			return false;
	return bits_at_end(&bits);
}

static bool walk_plain(struct walk *w, struct piece *p)
{
	uint64_t places = (uint64_t)w->sums->n * p->windows, next = 0;
	p->rows = cur_varint(&p->b.in);
	uint64_t bytes = cur_varint(&p->b.in);
	struct cur gaps = block_take_stream(&p->b.in, bytes);
	p->values = p->b.in;
	if (p->b.in.bad || p->rows > bytes || !rows_fit(p))
		return false;
	if (places > CLASS_MAX_PLACES)
		p->per_window = 0;
	for (uint64_t left = p->rows; left; left -= w->some.n) {
		w->some.n = next_some(left);
		if (!cur_varints(&gaps, w->codes, w->some.n) ||
		    !take_rows(w, p, w->ids, places, &next))
			return false;
	}
	return !cur_left(&gaps);
}

static bool walk_piece(struct walk *w, struct piece *p)
{
	bool ok;
	if (p->b.flags & BLOB_RICE) {
		find_classes(w->c, w->sums, w->ids, &w->classes);
		ok = walk_rice(w, p);
	} else {
		ok = walk_plain(w, p);
	}
	return ok && !p->values.bad && !cur_left(&p->values);
}

/* --- all pieces --- */

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

/* Calls rows for all rows of the pieces that overlap the windows, in order within each stack, and
 * counts them. */
static bool walk(struct walk *w, const struct detail *d, uint64_t *n)
{
	struct cur sizes = d->sizes, pieces = d->pieces;
	struct piece p;
	w->classes.known = false;
	*n = 0;
	for (uint32_t first = 0; first < d->windows; first += d->piece_windows) {
		struct cur in = block_take_stream(&pieces, cur_varint(&sizes));
		if (!cur_left(&in) || first >= w->to || first + d->piece_windows <= w->from)
			continue;
		if (!open_piece(w->c, d, in, first, &p))
			return false;
		p.most_rows = d->rows - *n;
		uint32_t left = d->windows - first;
		uint32_t end = first + (left < d->piece_windows ? left : d->piece_windows);
		w->some.all_asked = first >= w->from && end <= w->to;
		if (!walk_piece(w, &p))
			return false;
		*n += p.rows;
	}
	return true;
}

/* --- columns --- */

struct column_writer {
	struct block_columns *out;
	uint32_t from, windows;
};

/* Rows are decoded in place; drops those outside the windows. */
static void keep_columns(void *ctx, struct some_rows *rows)
{
	struct column_writer *w = ctx;
	struct block_columns *out = w->out;
	size_t n = 0;
	for (size_t i = 0; !rows->all_asked && i < rows->n; i++) {
		rows->id[n] = rows->id[i];
		rows->window[n] = rows->window[i];
		rows->value[n] = rows->value[i];
		n += rows->window[i] - w->from < w->windows;
	}
	out->n += rows->all_asked ? rows->n : n;
	rows->id = out->stack + out->n;
	rows->window = out->window + out->n;
	rows->value = out->value + out->n;
}

void block_columns_done(struct block_columns *b)
{
	free(b->stack);
	free(b->window);
	free(b->value);
	*b = (struct block_columns){ 0 };
}

/* Does not zero all of w: its arrays are large, and walk fills them. */
static void walk_begin(struct walk *w, struct block_coder *c, const struct block_sums *sums,
		       uint32_t from, uint32_t to)
{
	w->c = c;
	w->sums = sums;
	w->ids = NULL;
	w->from = from;
	w->to = to;
}

bool block_columns_reserve(struct block_columns *b, size_t n)
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

static int no_room(uint64_t n, struct err *err)
{
	return err_set(err, ENOMEM, "no memory for the %llu rows of a block",
		       (unsigned long long)n);
}

/* ids: as in struct walk. */
static int read_columns(struct block_coder *c, const struct block_sums *sums, const uint32_t *ids,
			const struct detail *d, uint32_t from, uint32_t to,
			struct block_columns *out, struct err *err)
{
	struct column_writer writer = { out, from, to > from ? to - from : 0 };
	bool all = from == 0 && to >= d->windows;
	struct walk w;
	uint64_t read;
	out->n = 0;
	if (!block_columns_reserve(out, d->rows))
		return no_room(d->rows, err);
	walk_begin(&w, c, sums, from, to);
	w.ids = ids;
	w.rows = keep_columns;
	w.ctx = &writer;
	w.some = (struct some_rows){ .id = out->stack, .window = out->window, .value = out->value };
	if (!walk(&w, d, &read) || (all && read != d->rows)) {
		out->n = 0;
		return block_bad(err, "detail of other stacks");
	}
	return 0;
}

int block_read_columns(struct block_coder *c, const struct block_sums *sums, const void *data,
		       size_t len, uint32_t windows, uint32_t from, uint32_t to,
		       struct block_columns *out, struct err *err)
{
	struct detail d;
	out->n = 0;
	int rc = open_detail(sums, data, len, windows, &d, err);
	return rc ? rc : read_columns(c, sums, sums->stack, &d, from, to, out, err);
}

/* --- rows by stack --- */

/* By stack: at: its row count, then the index of its next row; left: the rest of its total. */
struct row_sorter {
	uint32_t *at;
	uint64_t *left;
};

/* Checks that every stack has rows and that they add up to its total. Turns counts into indexes. */
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

static void place_rows(struct row_sorter *s, const struct block_columns *rows,
		       const uint32_t *stack, struct block_row *out)
{
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t rank = rows->stack[i];
		out[s->at[rank]++] = (struct block_row){ .stack = stack[rank],
							 .window = rows->window[i],
							 .value = rows->value[i] };
	}
}

/* rows: of all windows, with ranks as stacks. */
static int sort_rows(const struct block_sums *sums, const struct block_columns *rows,
		     struct block_row **out, struct err *err)
{
	struct row_sorter s = { .at = xcalloc(sums->n + 1, sizeof *s.at),
				.left = xcalloc(sums->n + 1, sizeof *s.left) };
	int rc = 0;
	for (uint32_t i = 0; i < sums->n; i++)
		s.left[i] = (uint64_t)sums->total[i];
	for (size_t i = 0; i < rows->n; i++) {
		s.at[rows->stack[i]]++;
		s.left[rows->stack[i]] -= (uint64_t)rows->value[i];
	}
	if (!counts_fit(&s, sums->n))
		rc = block_bad(err, "detail of other stacks");
	else if (!(*out = malloc((rows->n + 1) * sizeof **out)))
		rc = no_room(rows->n, err);
	else
		place_rows(&s, rows, sums->stack, *out);
	free(s.at);
	free(s.left);
	return rc;
}

int block_read_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		      size_t len, uint32_t windows, struct block_row **out, size_t *n,
		      struct err *err)
{
	struct block_columns rows = { 0 };
	struct block_row *sorted = NULL;
	struct detail d;
	int rc = open_detail(sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	rc = read_columns(c, sums, NULL, &d, 0, windows, &rows, err);
	if (rc == 0)
		rc = sort_rows(sums, &rows, &sorted, err);
	block_columns_done(&rows);
	if (rc)
		return rc;
	*out = sorted;
	*n = d.rows;
	return 0;
}

/* --- sums of a part --- */

struct part_adder {
	int64_t *totals;
	uint32_t from, windows;
};

static void add_part(void *ctx, struct some_rows *rows)
{
	struct part_adder *a = ctx;
	for (size_t i = 0; i < rows->n; i++) {
		uint64_t inside = rows->window[i] - a->from < a->windows ? UINT64_MAX : 0;
		int64_t *total = &a->totals[rows->id[i]];
		*total = (int64_t)((uint64_t)*total + ((uint64_t)rows->value[i] & inside));
	}
}

static bool add_parts(struct block_coder *c, const struct block_sums *sums, const struct detail *d,
		      uint32_t from, uint32_t to, int64_t *totals)
{
	struct part_adder adder = { totals, from, to > from ? to - from : 0 };
	uint32_t id[SOME_ROWS], window[SOME_ROWS];
	int64_t value[SOME_ROWS];
	struct walk w;
	uint64_t read;
	walk_begin(&w, c, sums, from, to);
	w.rows = add_part;
	w.ctx = &adder;
	w.some = (struct some_rows){ .id = id, .window = window, .value = value };
	return walk(&w, d, &read);
}

int block_read_part(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, uint32_t from, uint32_t to, int64_t *totals,
		    struct err *err)
{
	struct detail d;
	int rc = open_detail(sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	if (sums->n)
		memset(totals, 0, sums->n * sizeof *totals);
	if (!add_parts(c, sums, &d, from, to, totals))
		return block_bad(err, "detail of other stacks");
	return 0;
}
