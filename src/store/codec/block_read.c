/* Decodes blocks, with checks of every length. */
#include "base/mem.h"

#include "base/buf.h"
#include "base/err.h"
#include "store/codec/block_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int block_bad(struct err *err, const char *what)
{
	return err_set(err, EBADMSG, "damaged block: %s", what);
}

/* Decompresses one zstd frame into c->raw. */
static bool unpack(struct block_coder *c, struct cur *in, size_t most)
{
	unsigned long long size = ZSTD_getFrameContentSize(in->p, cur_left(in));
	if (size > most) /* also true if unknown, or not a frame */
		return false;
	buf_clear(&c->raw);
	buf_reserve(&c->raw, size + 1);
	size_t got = ZSTD_decompressDCtx(c->unpack, c->raw.data, size, in->p, cur_left(in));
	*in = cur_of(c->raw.data, size);
	return got == size;
}

int block_open_blob(struct block_coder *c, const void *data, size_t len, uint8_t shape, size_t most,
		    struct blob *b, struct err *err)
{
	const uint8_t known = SHAPE_MASK | BLOB_PACKED | BLOB_SIGNED |
			      (shape == SHAPE_SUMMARY ? BLOB_WEIGHTED : 0) |
			      (shape == SHAPE_PIECE ? BLOB_RICE : 0);
	*b = (struct blob){ .in = cur_of(data, len) };
	b->flags = cur_u8(&b->in);
	if ((b->flags & SHAPE_MASK) != shape || b->flags & ~known)
		return block_bad(err, "a blob of another kind");
	if (b->flags & BLOB_RICE) {
		uint64_t bytes = cur_varint(&b->in);
		b->rice = block_take_stream(&b->in, bytes);
	}
	most = most < BLOCK_MAX_BYTES ? most : BLOCK_MAX_BYTES;
	if (b->in.bad || (b->flags & BLOB_PACKED && !unpack(c, &b->in, most)))
		return block_bad(err, "its data cannot be decompressed");
	return 0;
}

static bool any_negative(const int64_t *v, uint32_t n)
{
	int64_t all = 0;
	for (uint32_t i = 0; i < n; i++)
		all |= v[i];
	return all < 0;
}

int block_read_windows(struct block_coder *c, const void *data, size_t len, uint32_t windows,
		       int64_t *sums, struct err *err)
{
	struct blob b;
	int rc = block_open_blob(c, data, len, SHAPE_WINDOWS, (size_t)windows * VARINT_MAX_BYTES,
				 &b, err);
	if (rc)
		return rc;
	bool are_bytes = cur_left(&b.in) == windows; /* one byte each, as is usual */
	if (!cur_varints(&b.in, (uint64_t *)sums, windows) || cur_left(&b.in))
		return block_bad(err, "another number of windows");
	if (b.flags & BLOB_SIGNED) {
		for (uint32_t i = 0; i < windows; i++)
			sums[i] = unzigzag((uint64_t)sums[i]);
	} else if (!are_bytes && any_negative(sums, windows)) {
		return block_bad(err, "the sum of a window is too large");
	}
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

/* gaps: space for n. */
static bool read_ids(struct cur *in, uint32_t n, uint32_t max_stack, uint64_t *gaps, uint32_t *ids)
{
	uint64_t next = 0;
	if (!cur_varints(in, gaps, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (gaps[i] >= max_stack - next)
			return false;
		ids[i] = next + gaps[i];
		next += gaps[i] + 1;
	}
	return true;
}

static bool read_totals(struct cur *in, uint32_t n, uint8_t flags, int64_t *totals)
{
	bool ok = cur_varints(in, (uint64_t *)totals, n);
	for (uint32_t i = 0; ok && i < n; i++)
		ok = block_value_of((uint64_t)totals[i], flags, &totals[i]);
	return ok;
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
	/* each stack takes at least a byte in two columns */
	if (in->bad || n > BLOCK_MAX_STACKS || n > cur_left(in) / 2)
		return block_bad(err, "more stacks than it has bytes for");
	make_room(s, n, flags & BLOB_WEIGHTED);
	if (!read_ids(in, n, max_stack, (uint64_t *)s->total, s->stack))
		return block_bad(err, "a missing stack");
	if (!read_totals(in, n, flags, s->total))
		return block_bad(err, "no total of a stack");
	s->n = n;
	if (flags & BLOB_WEIGHTED && (!read_counts(in, n, s->count) || !read_squares(in, s)))
		return block_bad(err, "no weight of a stack");
	return cur_left(in) ? block_bad(err, "more than its stacks") : 0;
}

int block_read_summary(struct block_coder *c, const void *data, size_t len, uint32_t max_stack,
		       struct block_sums *out, struct err *err)
{
	/* their number, and an id, a total, a count and a float each */
	const uint64_t most =
		(3ull * VARINT_MAX_BYTES + FLOAT_BYTES) * max_stack + VARINT_MAX_BYTES;
	struct blob b;
	out->n = 0;
	int rc = block_open_blob(c, data, len, SHAPE_SUMMARY, most, &b, err);
	if (rc == 0)
		rc = read_sums(&b.in, b.flags, max_stack, out, err);
	if (rc)
		out->n = 0;
	return rc;
}
