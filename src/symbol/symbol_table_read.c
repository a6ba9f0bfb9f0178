/* Decodes and verifies a symbol table. */
#include "symbol/symbol_table.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static uint64_t plain_bytes(const void *data, size_t len)
{
	unsigned long long n = ZSTD_getFrameContentSize(data, len);

	return n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR ? 0 : n;
}

/* Memory per byte of a table, at most: a text takes at least two bytes and four in memory, a
 * function four and sixteen, a range three and sixteen. */
enum { COST_PER_BYTE = 7 };

uint64_t symbol_table_cost(const void *data, size_t len)
{
	uint64_t n = plain_bytes(data, len);

	return n > SYMBOL_TABLE_MAX_BYTES ? UINT64_MAX : n * COST_PER_BYTE;
}

static int unpack(const void *data, size_t len, struct buf *out, struct err *err)
{
	uint64_t n = plain_bytes(data, len);

	if (len > SYMBOL_TABLE_MAX_PACKED || n > SYMBOL_TABLE_MAX_BYTES)
		return err_set(err, EFBIG, "the symbol table is too large");
	if (n == 0)
		return err_set(err, EBADMSG,
			       "not a symbol table: no zstd frame with a content size");
	buf_reserve(out, n);
	size_t got = ZSTD_decompress(out->data, n, data, len);
	if (ZSTD_isError(got) || got != n)
		return err_set(err, EBADMSG, "the symbol table is damaged");
	out->len = n;
	return 0;
}

static void read_head(struct cur *c, struct symbol_table *t)
{
	const char *magic = cur_take(c, strlen(SYMBOL_TABLE_MAGIC));
	bool is_ours = magic && !memcmp(magic, SYMBOL_TABLE_MAGIC, strlen(SYMBOL_TABLE_MAGIC));

	if (!is_ours || cur_u16(c) != SYMBOL_TABLE_VERSION) {
		cur_fail(c);
		return;
	}
	t->build_id_len = cur_u8(c);
	if (t->build_id_len == 0 || t->build_id_len > sizeof t->build_id)
		cur_fail(c);
	const void *id = cur_take(c, t->build_id_len);
	if (id)
		memcpy(t->build_id, id, t->build_id_len);
}

/* Reads the number of items that follow, each of at least min_bytes. */
static uint32_t read_count(struct cur *c, size_t min_bytes, uint32_t max)
{
	uint64_t n = cur_varint(c);

	if (n <= cur_left(c) / min_bytes && n <= max)
		return (uint32_t)n;
	cur_fail(c);
	return 0;
}

static void read_texts(struct cur *c, struct symbol_table *t)
{
	uint32_t n = read_count(c, 2, UINT32_MAX - 1);

	t->texts = xcalloc(n + 1, sizeof *t->texts);
	for (t->n_texts = 1; t->n_texts <= n && !c->bad; t->n_texts++) {
		t->texts[t->n_texts] = (uint32_t)(c->p - (const uint8_t *)t->plain.data);
		uint64_t len = cur_varint(c);

		if (len == 0 || len > SYMBOL_TABLE_MAX_STRING || !cur_take(c, len))
			cur_fail(c);
	}
}

static uint32_t read_below(struct cur *c, uint64_t limit)
{
	uint64_t v = cur_varint(c);

	if (v < limit)
		return (uint32_t)v;
	cur_fail(c);
	return 0;
}

static void read_functions(struct cur *c, struct symbol_table *t)
{
	uint32_t n = read_count(c, 4, SYMBOL_TABLE_MAX_RANGES);

	t->functions = xcalloc(n + 1, sizeof *t->functions);
	for (; t->n_functions < n && !c->bad; t->n_functions++) {
		struct symbol_table_function *f = &t->functions[t->n_functions];

		f->name = read_below(c, t->n_texts);
		f->linkage = read_below(c, t->n_texts);
		f->file = read_below(c, t->n_texts);
		f->start_line = read_below(c, 1ull << 32);
		if (f->name == 0)
			cur_fail(c);
	}
}

static void read_ranges(struct cur *c, struct symbol_table *t)
{
	uint32_t n = read_count(c, 3, SYMBOL_TABLE_MAX_RANGES);
	uint64_t at = 0;

	t->ranges = xcalloc(n + 1, sizeof *t->ranges);
	for (; t->n_ranges < n && !c->bad; t->n_ranges++) {
		struct symbol_table_range *r = &t->ranges[t->n_ranges];
		uint64_t gap = cur_varint(c);

		r->start = at + gap;
		r->size = read_below(c, 1ull << 32);
		r->function = read_below(c, t->n_functions);
		if (gap > INT64_MAX - at || r->size == 0 || r->size > INT64_MAX - r->start)
			cur_fail(c);
		at = r->start + r->size;
	}
}

int symbol_table_read(const void *data, size_t len, struct symbol_table *out, struct err *err)
{
	struct symbol_table t = { 0 };
	int rc = unpack(data, len, &t.plain, err);
	struct cur c = cur_of(t.plain.data, t.plain.len);

	if (rc == 0) {
		read_head(&c, &t);
		read_texts(&c, &t);
		read_functions(&c, &t);
		read_ranges(&c, &t);
		if (c.bad || cur_left(&c))
			rc = err_set(err, EBADMSG,
				     "the symbol table is damaged, or of another version");
	}
	if (rc)
		symbol_table_done(&t);
	else
		*out = t;
	return rc;
}

void symbol_table_done(struct symbol_table *t)
{
	buf_done(&t->plain);
	free(t->texts);
	free(t->functions);
	free(t->ranges);
	*t = (struct symbol_table){ 0 };
}

uint64_t symbol_table_bytes(const struct symbol_table *t)
{
	return sizeof *t + t->plain.cap + (uint64_t)t->n_texts * sizeof *t->texts +
	       (uint64_t)t->n_functions * sizeof *t->functions +
	       (uint64_t)t->n_ranges * sizeof *t->ranges;
}

struct symbol_table_text symbol_table_text(const struct symbol_table *t, uint32_t text)
{
	struct cur c = cur_of(t->plain.data, t->plain.len);

	if (text == 0)
		return (struct symbol_table_text){ "", 0 };
	cur_take(&c, t->texts[text]);
	uint32_t len = (uint32_t)cur_varint(&c);
	return (struct symbol_table_text){ cur_take(&c, len), len };
}

const struct symbol_table_function *symbol_table_find(const struct symbol_table *t, uint64_t offset)
{
	size_t after = search_first(i, 0, t->n_ranges, t->ranges[i].start > offset);

	if (after == 0 || offset - t->ranges[after - 1].start >= t->ranges[after - 1].size)
		return NULL;
	return &t->functions[t->ranges[after - 1].function];
}
