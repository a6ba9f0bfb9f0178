/* Encodes and decodes columns of exact samples. */
#include "store/codec/hot_block.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/link.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* The first byte. */
enum { HOT_SHAPE = 1, HOT_PACKED = 0x10 };
enum { HOT_LEVEL = 1, HOT_COLUMNS = 8 };

void hot_rows_done(struct hot_rows *r)
{
	vec_done(&r->rows);
	vec_done(&r->links);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The caller has reserved room. */
static inline void put(struct buf *b, uint64_t v)
{
	b->len += varint_write(b->data + b->len, v);
}

/* add: 1 for columns in which SAMPLE_NO_ID becomes 0. */
static void put_ids(struct buf *b, const struct hot_row *rows, size_t n, size_t member,
		    uint32_t add)
{
	int64_t before = 0;

	buf_reserve(b, n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		uint32_t id;
		memcpy(&id, (const char *)&rows[i] + member, sizeof id);
		int64_t now = (uint32_t)(id + add);
		put(b, zigzag(now - before));
		before = now;
	}
}

static void put_times_and_values(struct buf *b, const struct hot_row *rows, size_t n)
{
	uint64_t before = 0;

	buf_reserve(b, 3 * n * VARINT_MAX_BYTES);
	for (size_t i = 0; i < n; i++) {
		put(b, zigzag((int64_t)((uint64_t)rows[i].time_ns - before)));
		before = (uint64_t)rows[i].time_ns;
	}
	for (size_t i = 0; i < n; i++)
		put(b, (uint64_t)rows[i].length_ns);
	for (size_t i = 0; i < n; i++)
		put(b, zigzag(rows[i].value));
}

void hot_block_encode(const struct hot_row *rows, size_t n, const struct trace_link *links,
		      size_t n_links, struct buf *out)
{
	struct buf plain = { 0 };

	buf_reserve(&plain, 2 * VARINT_MAX_BYTES);
	put(&plain, n);
	put(&plain, n_links);
	if (n_links)
		buf_add(&plain, links, n_links * sizeof *links);
	put_times_and_values(&plain, rows, n);
	put_ids(&plain, rows, n, offsetof(struct hot_row, series), 0);
	put_ids(&plain, rows, n, offsetof(struct hot_row, stack), 0);
	put_ids(&plain, rows, n, offsetof(struct hot_row, pid), 1);
	put_ids(&plain, rows, n, offsetof(struct hot_row, tid), 1);
	put_ids(&plain, rows, n, offsetof(struct hot_row, cpu), 1);
	if (n_links)
		put_ids(&plain, rows, n, offsetof(struct hot_row, link), 0);
	buf_clear(out);
	buf_reserve(out, 1 + ZSTD_compressBound(plain.len));
	size_t packed =
		ZSTD_compress(out->data + 1, out->cap - 1, plain.data, plain.len, HOT_LEVEL);
	bool pays = !ZSTD_isError(packed) && packed < plain.len;
	out->data[0] = HOT_SHAPE | (pays ? HOT_PACKED : 0);
	out->len = 1 + (pays ? packed : 0);
	if (!pays)
		buf_add(out, plain.data, plain.len);
	buf_done(&plain);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool unpack(const void *data, size_t len, struct buf *plain, struct cur *out)
{
	*out = cur_of(data, len);
	uint8_t shape = cur_u8(out);

	if (out->bad || (shape & ~HOT_PACKED) != HOT_SHAPE)
		return false;
	if (!(shape & HOT_PACKED))
		return true;
	unsigned long long size = ZSTD_getFrameContentSize(out->p, cur_left(out));
	if (size > HOT_MAX_BYTES) /* unknown and error are huge */
		return false;
	buf_reserve(plain, size + 1);
	size_t got = ZSTD_decompress(plain->data, size, out->p, cur_left(out));
	if (ZSTD_isError(got))
		return false;
	*out = cur_of(plain->data, got);
	return true;
}

/* Numbers are read in small batches, which is several times faster. */
enum { SOME = 256 };

static size_t next_some(struct cur *c, size_t left, uint64_t some[SOME])
{
	size_t n = left < SOME ? left : SOME;

	return cur_varints(c, some, n) ? n : 0;
}

static void read_ids(struct cur *c, struct hot_row *rows, size_t n, size_t member, uint32_t add)
{
	uint64_t some[SOME], v = 0, wide = 0;

	for (size_t i = 0, end; i < n; i = end) {
		end = i + next_some(c, n - i, some);
		if (end == i)
			return;
		for (size_t k = 0; k < end - i; k++) {
			v += (uint64_t)unzigzag(some[k]);
			wide |= v;
			uint32_t id = (uint32_t)v - add;
			memcpy((char *)&rows[i + k] + member, &id, sizeof id);
		}
	}
	if (wide > UINT32_MAX)
		c->bad = true;
}

static void read_times(struct cur *c, struct hot_row *rows, size_t n)
{
	uint64_t some[SOME], time = 0;

	for (size_t i = 0, end; i < n; i = end) {
		end = i + next_some(c, n - i, some);
		if (end == i)
			return;
		for (size_t k = 0; k < end - i; k++)
			rows[i + k].time_ns = (int64_t)(time += (uint64_t)unzigzag(some[k]));
	}
}

static void read_lengths(struct cur *c, struct hot_row *rows, size_t n)
{
	uint64_t some[SOME];
	int64_t sum;
	bool bad = false;

	for (size_t i = 0, end; i < n; i = end) {
		end = i + next_some(c, n - i, some);
		if (end == i)
			return;
		for (size_t k = 0; k < end - i; k++) {
			rows[i + k].length_ns = (int64_t)some[k];
			bad |= some[k] > INT64_MAX ||
			       __builtin_add_overflow(rows[i + k].time_ns, (int64_t)some[k], &sum);
		}
	}
	c->bad |= bad;
}

static void read_values(struct cur *c, struct hot_row *rows, size_t n)
{
	uint64_t some[SOME];

	for (size_t i = 0, end; i < n; i = end) {
		end = i + next_some(c, n - i, some);
		if (end == i)
			return;
		for (size_t k = 0; k < end - i; k++)
			rows[i + k].value = unzigzag(some[k]);
	}
}

static void read_columns(struct cur *c, struct hot_row *rows, size_t n, size_t n_links)
{
	read_times(c, rows, n);
	read_lengths(c, rows, n);
	read_values(c, rows, n);
	read_ids(c, rows, n, offsetof(struct hot_row, series), 0);
	read_ids(c, rows, n, offsetof(struct hot_row, stack), 0);
	read_ids(c, rows, n, offsetof(struct hot_row, pid), 1);
	read_ids(c, rows, n, offsetof(struct hot_row, tid), 1);
	read_ids(c, rows, n, offsetof(struct hot_row, cpu), 1);
	if (n_links)
		read_ids(c, rows, n, offsetof(struct hot_row, link), 0);
	for (size_t i = 0; i < n && !c->bad; i++)
		c->bad = rows[i].link > n_links;
}

static bool read_rows(struct cur *c, struct hot_rows *out)
{
	uint64_t n = cur_varint(c), n_links = cur_varint(c);

	if (c->bad || n > HOT_MAX_ROWS || n > cur_left(c) / HOT_COLUMNS || n_links > n)
		return false;
	const void *links = cur_take(c, n_links * sizeof *out->links.v);
	if (!links)
		return false;
	vec_append(&out->links, links, n_links);
	vec_reserve(&out->rows, n);
	if (n)
		memset(out->rows.v, 0, n * sizeof *out->rows.v);
	out->rows.n = n;
	read_columns(c, out->rows.v, n, n_links);
	return !c->bad && cur_left(c) == 0;
}

int hot_block_decode(const void *data, size_t len, struct hot_rows *out, struct err *err)
{
	struct buf plain = { 0 };
	struct cur c;

	vec_clear(&out->rows);
	vec_clear(&out->links);
	bool good = unpack(data, len, &plain, &c) && read_rows(&c, out);
	buf_done(&plain);
	if (good)
		return 0;
	vec_clear(&out->rows);
	vec_clear(&out->links);
	return err_set(err, EBADMSG, "a block of exact samples is damaged");
}
