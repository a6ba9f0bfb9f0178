/* Constants and helpers of blocks. */
#include "store/codec/block_parts.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/codec/block.h"

#include <endian.h>
#include <stdlib.h>

struct block_coder *block_coder_new(void)
{
	struct block_coder *c = xcalloc(1, sizeof *c);
	c->pack = ZSTD_createCCtx();
	c->unpack = ZSTD_createDCtx();
	if (!c->pack || !c->unpack)
		mem_exhausted();
	return c;
}

void block_coder_free(struct block_coder *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->pack);
	ZSTD_freeDCtx(c->unpack);
	buf_done(&c->raw);
	for (int i = 0; i < COLUMNS; i++)
		buf_done(&c->columns[i]);
	struct buf *detail[] = { &c->gaps, &c->bits, &c->values, &c->piece, &c->pieces, &c->sizes };
	for (size_t i = 0; i < sizeof detail / sizeof *detail; i++)
		buf_done(detail[i]);
	vec_done(&c->cells);
	vec_done(&c->by_class);
	vec_done(&c->classes);
	vec_done(&c->places);
	vec_done(&c->ids);
	free(c);
}

void block_blobs_done(struct block_blobs *b)
{
	buf_done(&b->summary);
	buf_done(&b->windows);
	buf_done(&b->detail);
}

void block_sums_done(struct block_sums *s)
{
	free(s->stack);
	free(s->total);
	free(s->count);
	free(s->squares);
	*s = (struct block_sums){ 0 };
}

uint64_t block_checksum(const struct block_key *key, const void *summary, size_t summary_len,
			const void *windows, size_t windows_len)
{
	struct {
		uint32_t series, windows;
		uint64_t from_ns, rows, summary_hash, windows_hash;
	} all = {
		.series = htole32(key->series),
		.windows = htole32(key->windows),
		.from_ns = htole64(key->from_ns),
		.rows = htole64(key->rows),
		.summary_hash = htole64(hash_bytes(summary, summary_len)),
		.windows_hash = htole64(hash_bytes(windows, windows_len)),
	};
	_Static_assert(sizeof all == 40, "no holes");
	return hash_bytes(&all, sizeof all);
}
