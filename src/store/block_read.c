#include "base/bits.h"
#include "base/mem.h"
#include "base/varint.h"
#include "store/block_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int bad(struct err *err, const char *what)
{
	return err_set(err, EBADMSG, "damaged block: %s", what);
}

/* One zstd frame into c->raw. */
static bool unpack(struct block_coder *c, struct cur *in, size_t most)
{
	unsigned long long size = ZSTD_getFrameContentSize(in->p, cur_left(in));
	if (size > most) /* also where it is unknown, or no frame */
		return false;
	buf_clear(&c->raw);
	buf_reserve(&c->raw, size + 1);
	size_t got = ZSTD_decompressDCtx(c->unpack, c->raw.data, size, in->p, cur_left(in));
	*in = cur_of(c->raw.data, size);
	return got == size;
}

static struct cur take_stream(struct cur *in, uint64_t len)
{
	const void *p = cur_take(in, len);
	return cur_of(p, p ? len : 0);
}

/* A blob of this shape. */
struct blob {
	uint8_t flags;
	struct cur rice; /* with BLOB_RICE */
	struct cur in;   /* what was packed */
};

static int open_blob(struct block_coder *c, const void *data, size_t len, uint8_t shape,
		     size_t most, struct blob *b, struct err *err)
{
	const uint8_t known = SHAPE_MASK | BLOB_PACKED | BLOB_SIGNED |
			      (shape == SHAPE_SUMMARY ? BLOB_WEIGHTED : 0) |
			      (shape == SHAPE_DETAIL ? BLOB_RICE : 0);
	*b = (struct blob){ .in = cur_of(data, len) };
	b->flags = cur_u8(&b->in);
	if ((b->flags & SHAPE_MASK) != shape || b->flags & ~known)
		return bad(err, "a blob of another kind");
	if (b->flags & BLOB_RICE) {
		uint64_t bytes = cur_varint(&b->in);
		b->rice = take_stream(&b->in, bytes);
	}
	most = most < BLOCK_MAX_BYTES ? most : BLOCK_MAX_BYTES;
	if (b->in.bad || (b->flags & BLOB_PACKED && !unpack(c, &b->in, most)))
		return bad(err, "what is packed in it cannot be unpacked");
	return 0;
}

/* The other way round. False: value_code cannot give this. */
static inline bool value_of(uint64_t code, uint8_t flags, int64_t *v)
{
	*v = flags & BLOB_SIGNED ? unzigzag(code) : (int64_t)(code + 1);
	return flags & BLOB_SIGNED || code < INT64_MAX;
}

int block_read_windows(struct block_coder *c, const void *data, size_t len, uint32_t windows,
		       int64_t *sums, struct err *err)
{
	struct blob b;
	uint64_t all = 0;
	int rc =
		open_blob(c, data, len, SHAPE_WINDOWS, (size_t)windows * VARINT_MAX_BYTES, &b, err);
	if (rc)
		return rc;
	for (uint32_t w = 0; w < windows; w++) {
		uint64_t code = cur_varint(&b.in);
		all |= code;
		sums[w] = b.flags & BLOB_SIGNED ? unzigzag(code) : (int64_t)code;
	}
	if (b.in.bad || cur_left(&b.in))
		return bad(err, "another number of windows");
	if (!(b.flags & BLOB_SIGNED) && all > INT64_MAX)
		return bad(err, "the sum of a window is too large");
	return 0;
}

static void make_room(struct block_sums *s, uint32_t n, bool weighted)
{
	if (!weighted) {
		free(s->count);
		free(s->squares);
		s->count = NULL;
		s->squares = NULL;
	}
	bool more = n > s->cap;
	if (more) {
		s->cap = n + s->cap / 2;
		s->stack = xreallocarray(s->stack, s->cap, sizeof *s->stack);
		s->total = xreallocarray(s->total, s->cap, sizeof *s->total);
	}
	if (weighted && (more || !s->count)) {
		s->count = xreallocarray(s->count, s->cap, sizeof *s->count);
		s->squares = xreallocarray(s->squares, s->cap, sizeof *s->squares);
	}
}

static bool read_ids(struct cur *in, uint32_t n, uint32_t max_stack, uint32_t *ids)
{
	struct cur c = *in;
	uint64_t next = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t gap = cur_varint(&c);
		if (gap >= max_stack - next)
			return false;
		ids[i] = next + gap;
		next += gap + 1;
	}
	*in = c;
	return !c.bad;
}

static bool read_totals(struct cur *in, uint32_t n, uint8_t flags, int64_t *totals)
{
	struct cur c = *in;
	bool ok = true;
	for (uint32_t i = 0; i < n; i++)
		ok &= value_of(cur_varint(&c), flags, &totals[i]);
	*in = c;
	return ok && !c.bad;
}

static bool read_counts(struct cur *in, uint32_t n, uint32_t *counts)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t count = cur_varint(in);
		if (count > UINT32_MAX)
			return false;
		counts[i] = count;
	}
	return !in->bad;
}

static bool read_squares(struct cur *in, struct block_sums *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->count[i] == 1) {
			s->squares[i] = (double)s->total[i] * (double)s->total[i];
			continue;
		}
		uint32_t bits = cur_u32(in);
		float f;
		memcpy(&f, &bits, sizeof f);
		if (!isfinite(f) || f < 0)
			return false;
		s->squares[i] = f;
	}
	return !in->bad;
}

static int read_sums(struct cur *in, uint8_t flags, uint32_t max_stack, struct block_sums *s,
		     struct err *err)
{
	uint64_t n = cur_varint(in);
	/* each has at least a byte in two columns */
	if (in->bad || n > BLOCK_MAX_STACKS || n > cur_left(in) / 2)
		return bad(err, "more stacks than it has bytes for");
	make_room(s, n, flags & BLOB_WEIGHTED);
	if (!read_ids(in, n, max_stack, s->stack))
		return bad(err, "a stack that is not there");
	if (!read_totals(in, n, flags, s->total))
		return bad(err, "no total of a stack");
	s->n = n;
	if (flags & BLOB_WEIGHTED && (!read_counts(in, n, s->count) || !read_squares(in, s)))
		return bad(err, "no weight of a stack");
	return cur_left(in) ? bad(err, "more than its stacks") : 0;
}

int block_read_summary(struct block_coder *c, const void *data, size_t len, uint32_t max_stack,
		       struct block_sums *out, struct err *err)
{
	/* an id, a total, a count and a float for each, and their number */
	const uint64_t most =
		(3ull * VARINT_MAX_BYTES + FLOAT_BYTES) * max_stack + VARINT_MAX_BYTES;
	struct blob b;
	out->n = 0;
	int rc = open_blob(c, data, len, SHAPE_SUMMARY, most, &b, err);
	if (rc == 0)
		rc = read_sums(&b.in, b.flags, max_stack, out, err);
	if (rc)
		out->n = 0;
	return rc;
}

/* The streams of a detail blob. */
struct detail {
	struct cur occurrences, gaps, values;
	struct bit_reader rice;
	uint64_t rows;
	uint32_t windows;
	uint8_t flags;
};

static int open_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		       size_t len, uint32_t windows, struct detail *d, struct err *err)
{
	struct blob b;
	int rc = open_blob(c, data, len, SHAPE_DETAIL, BLOCK_MAX_BYTES, &b, err);
	if (rc)
		return rc;
	*d = (struct detail){
		.rice = { b.rice.p, cur_left(&b.rice), 0 },
		.windows = windows,
		.flags = b.flags,
	};
	d->rows = cur_varint(&b.in);
	uint64_t occurrences = cur_varint(&b.in), gaps = cur_varint(&b.in);
	d->occurrences = take_stream(&b.in, occurrences);
	d->gaps = take_stream(&b.in, gaps);
	d->values = b.in;
	/* each row has at least a byte in gaps, or a bit */
	uint64_t most = b.flags & BLOB_RICE ? 8 * cur_left(&b.rice) : gaps;
	if (b.in.bad || d->rows > BLOCK_MAX_ROWS || d->rows > most || d->rows < sums->n)
		return bad(err, "no detail of its stacks");
	return 0;
}

/* Everything of the walk over rows is inlined into those who walk, with what they do with a row, once for each form of gaps: so nothing is asked
 * row by row. */
#define INLINED __attribute__((always_inline)) static inline

/* The window behind the one before. False: it is not there. */
INLINED bool next_window(struct detail *d, bool rice, unsigned low_bits, uint32_t *window)
{
	uint64_t gap =
		rice ? bits_get_rice(&d->rice, low_bits, PLAIN_GAP_BITS) : cur_varint(&d->gaps);
	bool ok = gap < d->windows - (*window + 1);
	*window += gap + 1;
	return ok;
}

typedef void row_fn(void *ctx, uint32_t stack, uint32_t window, int64_t value);

/* The rows of one stack. False: not what block_encode writes. */
INLINED bool walk_stack(struct detail *d, bool rice, uint32_t stack, int64_t total, row_fn *row,
			void *ctx)
{
	uint64_t others = cur_varint(&d->occurrences), last = total;
	uint32_t window = UINT32_MAX; /* one more is the first */
	if (others >= d->rows || others >= d->windows)
		return false;
	unsigned low_bits = rice ? rice_bits(others + 1, d->windows) : 0;
	d->rows -= others + 1;
	for (; others; others--) {
		int64_t value;
		bool ok = value_of(cur_varint(&d->values), d->flags, &value) && value != 0;
		if (!next_window(d, rice, low_bits, &window) || !ok)
			return false;
		last -= (uint64_t)value;
		row(ctx, stack, window, value);
	}
	if (!next_window(d, rice, low_bits, &window) || last == 0 ||
	    (last > INT64_MAX && !(d->flags & BLOB_SIGNED)))
		return false;
	row(ctx, stack, window, (int64_t)last);
	return true;
}

INLINED bool walk_gaps(struct detail d, bool rice, const struct block_sums *sums, row_fn *row,
		       void *ctx)
{
	for (uint32_t s = 0; s < sums->n; s++)
		if (!walk_stack(&d, rice, s, sums->total[s], row, ctx))
			return false;
	return d.rows == 0 && !d.occurrences.bad && !d.gaps.bad && !d.values.bad &&
	       !cur_left(&d.occurrences) && !cur_left(&d.gaps) && !cur_left(&d.values) &&
	       bits_at_end(&d.rice);
}

/* Calls row for every row, in order. */
INLINED bool walk(const struct detail *d, const struct block_sums *sums, row_fn *row, void *ctx)
{
	if (d->flags & BLOB_RICE)
		return walk_gaps(*d, true, sums, row, ctx);
	return walk_gaps(*d, false, sums, row, ctx);
}

struct row_writer {
	const uint32_t *stack;
	struct block_row *next;
};

static inline void write_row(void *ctx, uint32_t stack, uint32_t window, int64_t value)
{
	struct row_writer *w = ctx;
	*w->next++ =
		(struct block_row){ .stack = w->stack[stack], .window = window, .value = value };
}

static int reserve_rows(struct block_rows *room, uint64_t n, struct err *err)
{
	if (n < room->cap)
		return 0;
	free(room->v);
	*room = (struct block_rows){ .v = malloc((n + 1) * sizeof *room->v), .cap = n + 1 };
	if (room->v)
		return 0;
	room->cap = 0;
	return err_set(err, ENOMEM, "no memory for the %llu rows of a block",
		       (unsigned long long)n);
}

int block_read_rows(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, struct block_rows *room, struct err *err)
{
	struct detail d;
	room->n = 0;
	int rc = open_detail(c, sums, data, len, windows, &d, err);
	if (rc == 0)
		rc = reserve_rows(room, d.rows, err);
	if (rc)
		return rc;
	struct row_writer w = { sums->stack, room->v };
	if (!walk(&d, sums, write_row, &w))
		return bad(err, "detail that is not that of its stacks");
	room->n = d.rows;
	return 0;
}

int block_read_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		      size_t len, uint32_t windows, struct block_row **out, size_t *n,
		      struct err *err)
{
	struct block_rows rows = { 0 };
	int rc = block_read_rows(c, sums, data, len, windows, &rows, err);
	if (rc) {
		free(rows.v);
		return rc;
	}
	*out = rows.v;
	*n = rows.n;
	return 0;
}

struct part_adder {
	int64_t *totals;
	uint32_t from, windows;
};

static inline void add_part(void *ctx, uint32_t stack, uint32_t window, int64_t value)
{
	struct part_adder *a = ctx;
	uint64_t inside = window - a->from < a->windows ? UINT64_MAX : 0;
	a->totals[stack] = (int64_t)((uint64_t)a->totals[stack] + ((uint64_t)value & inside));
}

int block_read_part(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, uint32_t from, uint32_t to, int64_t *totals,
		    struct err *err)
{
	struct detail d;
	int rc = open_detail(c, sums, data, len, windows, &d, err);
	if (rc)
		return rc;
	struct part_adder a = { totals, from, to > from ? to - from : 0 };
	if (sums->n)
		memset(totals, 0, sums->n * sizeof *totals);
	if (!walk(&d, sums, add_part, &a))
		return bad(err, "detail that is not that of its stacks");
	return 0;
}
