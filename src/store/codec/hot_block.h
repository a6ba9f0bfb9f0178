/* store/codec/hot_block.h: encodes exact samples, for the hot tier (store/day/hot.h).
 *
 * A block is a byte, 0x01, or 0x11 if the rest is one zstd frame that states its size; then numbers
 * as in profile/chunk.h:
 *
 *     rows, spans, spans × { trace id of 16 bytes, span id of 8 }
 *     then for all rows each column in turn:
 *     time *, Unix ns; length, ns; value (signed); series *, stack *, pid + 1 *, tid + 1 *,
 *     cpu + 1 *, 0 unknown; span *, from 1, 0 none; no such column without spans
 *
 * Columns marked * are signed differences from the row before, the first from 0. */
#ifndef CRESSET_STORE_CODEC_HOT_BLOCK_H
#define CRESSET_STORE_CODEC_HOT_BLOCK_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* What a reader takes. */
/* limit HOT_MAX_ROWS: exact samples in a block */
/* limit HOT_MAX_BYTES: bytes of these, uncompressed */
enum { HOT_MAX_ROWS = 1 << 22, HOT_MAX_BYTES = 256 << 20 };

struct hot_row {
	int64_t time_ns, length_ns, value; /* Unix time; length >= 0, the end fits an int64_t */
	uint32_t series, stack;
	uint32_t pid, tid, cpu; /* SAMPLE_NO_ID */
	uint32_t link;          /* index in links, from 1; 0: none */
};
struct hot_rows {
	VEC(struct hot_row) rows;
	VEC(struct trace_link) links;
};
void hot_rows_done(struct hot_rows *r);

/* Replaces the content of out. n: at most HOT_MAX_ROWS. */
void hot_block_encode(const struct hot_row *rows, size_t n, const struct trace_link *links,
		      size_t n_links, struct buf *out);
/* Replaces the content of out and reuses its memory. -EBADMSG for anything that hot_block_encode
 * cannot have written; out is then empty. */
int hot_block_decode(const void *data, size_t len, struct hot_rows *out, struct err *err);

#endif
