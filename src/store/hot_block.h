/* store/hot_block.h: samples as they were taken, as bytes: what the hot tier (store/hot.h) is made of. docs/formats.md has every byte.
 *
 * A block is columns of differences, in a zstd frame where that is smaller, with the spans of traces that its rows belong to in front. */
#ifndef CRESSET_STORE_HOT_BLOCK_H
#define CRESSET_STORE_HOT_BLOCK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "profile/link.h"

#include <stddef.h>
#include <stdint.h>

/* What a reader takes. */
enum { HOT_MAX_ROWS = 1 << 22, HOT_MAX_BYTES = 256 << 20 };

struct hot_row {
	int64_t time_ns, length_ns, value; /* Unix time; length >= 0, the end is a time, too */
	uint32_t series, stack;
	uint32_t pid, tid, cpu; /* SAMPLE_NO_ID */
	uint32_t link;          /* of the links beside it, from 1; 0: none */
};
struct hot_rows {
	VEC(struct hot_row) rows;
	VEC(struct trace_link) links;
};
void hot_rows_done(struct hot_rows *r);

/* Replaces what is in out. At most HOT_MAX_ROWS. */
void hot_block_encode(const struct hot_row *rows, size_t n, const struct trace_link *links,
		      size_t n_links, struct buf *out);
/* -EBADMSG for what hot_block_encode cannot have written; out is empty then. What was in out is replaced, its memory is used again. */
int hot_block_decode(const void *data, size_t len, struct hot_rows *out, struct err *err);

#endif
