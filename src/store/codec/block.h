/* store/codec/block.h: encodes the samples of one series in one time slot.
 *
 * Time inside a slot counts in windows of BLOCK_WINDOW_NS. A row is (window, stack, value): all
 * that the series spent in that stack in that window. A block is three blobs, so that a query reads
 * no more than it needs:
 *
 *     summary    per stack the total over the slot (and for samples of varying weight their number
 *                and the sum of their squares)
 *     windows    per window the total over all stacks
 *     detail     the rows: pieces, each of them an hour of the slot or more, so that a part of its
 *                time is read without the rest
 *
 * Each blob, and each piece, is a type byte and a varint stream, in a zstd frame where that is
 * smaller. Where rows lie at random, the gaps between them are Rice coded. block_parts.h has every
 * byte. Blobs contain neither series nor time: their owner stores both, and a checksum over
 * both (block_checksum).
 *
 * Totals are modulo 2^64. */
#ifndef CRESSET_STORE_CODEC_BLOCK_H
#define CRESSET_STORE_CODEC_BLOCK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define BLOCK_WINDOW_NS 10000000000ll

/* Limits of a reader. */
enum {
	/* limit: windows of 10 s in a block: a day */
	BLOCK_MAX_WINDOWS = 8640,
	/* limit: its stacks */
	BLOCK_MAX_STACKS = 1 << 24,
	/* limit: its rows */
	BLOCK_MAX_ROWS = 1 << 26,
	/* limit BLOCK_MAX_BYTES: bytes of each of its three blobs, uncompressed */
	BLOCK_MAX_BYTES = 256 << 20,
};

/* zstd contexts and scratch memory. Creating them costs as much as coding a block of some 7 KB, so
 * they are reused from block to block, by one thread at a time. Takes some 250 KB, and a few times
 * the largest block. */
struct block_coder;
struct block_coder *block_coder_new(void);
void block_coder_free(struct block_coder *c); /* NULL is fine */

struct block_row {
	uint32_t stack, window;
	int64_t value;
	uint32_t n; /* samples in it; used when weighted */
	/* Sum of the squares of their values; used when weighted. Not stored for a single
	 * sample. */
	double squares;
};

struct block_blobs {
	struct buf summary, windows, detail;
};
void block_blobs_done(struct block_blobs *b);

/* rows: ascending by stack, then window (< windows), no duplicates, within a reader's limits;
 * values of 0 are left out. level: zstd's, 1 while the block is young, 3 when it is compacted. out:
 * its content is replaced, its memory reused. */
void block_encode(struct block_coder *c, const struct block_row *rows, size_t n, uint32_t windows,
		  bool weighted, int level, struct block_blobs *out);

/* A summary: n stacks, ascending. */
struct block_sums {
	uint32_t n;
	uint32_t *stack;
	int64_t *total;
	uint32_t *count; /* NULL: not weighted; UINT32_MAX: that many or more */
	double *squares; /* rounded to a float, at most FLT_MAX */
	size_t cap;      /* of all four arrays, reused from block to block */
};
void block_sums_done(struct block_sums *s);

/* -EBADMSG for anything that block_encode cannot have written; nothing is read or allocated beyond
 * the limits. max_stack: ids must be less (the size of the dictionary). After a failure out has no
 * stacks. */
int block_read_summary(struct block_coder *c, const void *data, size_t len, uint32_t max_stack,
		       struct block_sums *out, struct err *err);
/* Fills sums[windows]; undefined after a failure. */
int block_read_windows(struct block_coder *c, const void *data, size_t len, uint32_t windows,
		       int64_t *sums, struct err *err);

/* Decodes the rows, in the order they were encoded in; n and squares are 0. sums: the summary of
 * the same block. out: to be freed with free(). Also -ENOMEM. */
int block_read_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		      size_t len, uint32_t windows, struct block_row **out, size_t *n,
		      struct err *err);

/* Rows of windows [from, to), in any order, as columns; the time taken is proportional to the
 * range. Memory is reused from block to block; n is 0 after a failure. Stack totals are not
 * verified. */
struct block_columns {
	uint32_t *stack, *window;
	int64_t *value;
	size_t n, cap;
};
void block_columns_done(struct block_columns *b);
/* Makes space for n rows; the content is lost. Returns false if out of memory. */
bool block_columns_reserve(struct block_columns *b, size_t n);
int block_read_columns(struct block_coder *c, const struct block_sums *sums, const void *data,
		       size_t len, uint32_t windows, uint32_t from, uint32_t to,
		       struct block_columns *out, struct err *err);

/* Sums windows [from, to) by stack into totals[sums->n], 0 for stacks without rows there; undefined
 * after a failure. The fast way for the ends of a range: builds no rows and reads nothing else. */
int block_read_part(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, uint32_t from, uint32_t to, int64_t *totals,
		    struct err *err);

/* Checksum over a block's key and its blobs. Detail is stored apart, with a separate checksum:
 * (key, detail, its length, NULL, 0). */
struct block_key {
	uint32_t series;
	int64_t from_ns; /* Unix time of the slot */
	uint32_t windows;
	uint64_t rows;
};
uint64_t block_checksum(const struct block_key *key, const void *summary, size_t summary_len,
			const void *windows, size_t windows_len);

#endif
