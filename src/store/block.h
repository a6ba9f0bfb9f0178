/* store/block.h: the samples of one series in one slot of time, as bytes.
 *
 * Time inside a slot counts in windows of BLOCK_WINDOW_NS; a row is (window, stack, value): all that the series spent with that stack in
 * that window. A block is three blobs, so that a question reads no more than it needs:
 *
 *     summary    per stack the total over the slot (and for samples of varying weight their number and the sum of their squares)
 *     windows    per window the total over all stacks
 *     detail     what is left to have the rows back: per stack the number of its rows, the gaps between their windows, and their values but the
 *                last one, which is the total less the others
 *
 * Each blob is a varint stream in one zstd frame; docs/formats.md has every byte. Encoded blobs say nothing of series and time: whoever
 * keeps them does, and has a checksum over both (block_checksum). */
#ifndef CRESSET_STORE_BLOCK_H
#define CRESSET_STORE_BLOCK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_WINDOW_NS 10000000000ll

/* What a reader takes. */
enum {
	BLOCK_MAX_WINDOWS = 8640, /* a day */
	BLOCK_MAX_STACKS = 1 << 24,
	BLOCK_MAX_ROWS = 1 << 26,
	BLOCK_MAX_BYTES = 256 << 20, /* of a blob, unpacked */
};

struct block_row {
	uint32_t stack, window;
	int64_t value;
	uint32_t n;     /* samples in it; used when weighted */
	double squares; /* the sum of the squares of their values; likewise */
};

struct block_blobs {
	struct buf summary, windows, detail;
};
void block_blobs_done(struct block_blobs *b);

/* rows: ascending by stack, then window, no two with the same of both; values of 0 are left out. level: of zstd, 1 while it is young, 3 when
 * it is compacted. */
void block_encode(const struct block_row *rows, size_t n, uint32_t windows, bool weighted,
		  int level, struct block_blobs *out);

/* A summary: n stacks, ascending. */
struct block_sums {
	uint32_t n;
	uint32_t *stack;
	int64_t *total;
	uint32_t *count; /* NULL: not weighted */
	double *squares;
	size_t cap; /* of all four: kept from block to block */
};
void block_sums_done(struct block_sums *s);

/* -EBADMSG with words for anything that block_encode cannot have written; nothing is read or allocated beyond what the limits allow.
 * max_stack: ids must be below (those of the dictionary). */
int block_read_summary(const void *data, size_t len, uint32_t max_stack, struct block_sums *out,
		       struct err *err);
/* sums[windows] are written. */
int block_read_windows(const void *data, size_t len, uint32_t windows, int64_t *sums,
		       struct err *err);

/* The rows again, in the same order; n and squares are 0. out: to be freed with free(). */
int block_read_detail(const struct block_sums *sums, const void *data, size_t len, uint32_t windows,
		      struct block_row **out, size_t *n, struct err *err);

/* Without making rows of it: adds to out->total what falls into windows [from, to), out being a copy of sums' stacks with totals to be filled
 * (stacks that have nothing there get 0). The fast way for the edges of a range. */
int block_read_part(const struct block_sums *sums, const void *data, size_t len, uint32_t windows,
		    uint32_t from, uint32_t to, int64_t *totals, struct err *err);

/* Over where the block belongs, and its blobs. */
struct block_key {
	uint32_t series;
	int64_t from_ns; /* Unix time of the slot */
	uint32_t windows;
	uint64_t rows;
};
uint64_t block_checksum(const struct block_key *key, const void *summary, size_t summary_len,
			const void *windows, size_t windows_len);

#endif
