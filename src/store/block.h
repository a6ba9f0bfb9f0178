/* store/block.h: the samples of one series in one slot of time, as bytes.
 *
 * Time inside a slot counts in windows of BLOCK_WINDOW_NS; a row is (window, stack, value): all that the series spent with that stack in
 * that window. A block is three blobs, so that a question reads no more than it needs:
 *
 *     summary    per stack the total over the slot (and for samples of varying weight their number and the sum of their squares)
 *     windows    per window the total over all stacks
 *     detail     the rows: pieces, each of them an hour of the slot or more, so that a part of its time is read without the rest
 *
 * Each blob, and each piece, is a byte that says what it is, and a varint stream, in a zstd frame where that is smaller; where rows lie at random
 * gaps between them are in Rice's code. docs/formats.md has every byte. Encoded
 * blobs say nothing of series and time: whoever keeps them does, and has a checksum over both (block_checksum).
 *
 * Totals are modulo 2^64. */
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

/* zstd's contexts and scratch memory. To make them costs as much as to code a block of some 7 KB, so they are kept from block to block; one thread at
 * a time uses them. Some 250 KB, and a few times the largest block. */
struct block_coder;
struct block_coder *block_coder_new(void);
void block_coder_free(struct block_coder *c); /* NULL is fine */

struct block_row {
	uint32_t stack, window;
	int64_t value;
	uint32_t n; /* samples in it; used when weighted */
	double squares; /* the sum of the squares of their values; likewise. What is not stored: that of one sample */
};

struct block_blobs {
	struct buf summary, windows, detail;
};
void block_blobs_done(struct block_blobs *b);

/* rows: ascending by stack, then window (< windows), no two with the same of both, within what a reader takes; values of 0 are left out. level: of
 * zstd, 1 while it is young, 3 when it is compacted. out: what was in it is replaced, its memory is used again. */
void block_encode(struct block_coder *c, const struct block_row *rows, size_t n, uint32_t windows,
		  bool weighted, int level, struct block_blobs *out);

/* A summary: n stacks, ascending. */
struct block_sums {
	uint32_t n;
	uint32_t *stack;
	int64_t *total;
	uint32_t *count; /* NULL: not weighted; UINT32_MAX stands for more, too */
	double *squares; /* rounded to a float, at most FLT_MAX */
	size_t cap;      /* of all four: kept from block to block */
};
void block_sums_done(struct block_sums *s);

/* -EBADMSG with words for anything that block_encode cannot have written; nothing is read or allocated beyond what the limits allow.
 * max_stack: ids must be below (those of the dictionary). After a failure out has no stacks. */
int block_read_summary(struct block_coder *c, const void *data, size_t len, uint32_t max_stack,
		       struct block_sums *out, struct err *err);
/* sums[windows] are written; after a failure they are anything. */
int block_read_windows(struct block_coder *c, const void *data, size_t len, uint32_t windows,
		       int64_t *sums, struct err *err);

/* The rows again, in the same order; n and squares are 0. sums: of the same block, whole. out: to be freed with free(). Also -ENOMEM. */
int block_read_detail(struct block_coder *c, const struct block_sums *sums, const void *data,
		      size_t len, uint32_t windows, struct block_row **out, size_t *n,
		      struct err *err);

/* Those of windows [from, to), in any order, as columns: what takes time is in proportion to the range. Room is kept from block to block; n is 0
 * after a failure. Totals of the stacks are not compared. */
struct block_columns {
	uint32_t *stack, *window;
	int64_t *value;
	size_t n, cap;
};
void block_columns_done(struct block_columns *b);
/* Room for n rows; what was there is gone. False: there is no memory. */
bool block_columns_reserve(struct block_columns *b, size_t n);
int block_read_columns(struct block_coder *c, const struct block_sums *sums, const void *data,
		       size_t len, uint32_t windows, uint32_t from, uint32_t to,
		       struct block_columns *out, struct err *err);

/* Without making rows of it: totals[sums->n] become what falls into windows [from, to) of each stack, 0 where there is nothing; after a failure
 * they are anything. The fast way for the edges of a range: nothing else is read. */
int block_read_part(struct block_coder *c, const struct block_sums *sums, const void *data,
		    size_t len, uint32_t windows, uint32_t from, uint32_t to, int64_t *totals,
		    struct err *err);

/* Over where the block belongs, and its blobs. Detail is kept apart, with a checksum of its own: (key, detail, its length, NULL, 0). */
struct block_key {
	uint32_t series;
	int64_t from_ns; /* Unix time of the slot */
	uint32_t windows;
	uint64_t rows;
};
uint64_t block_checksum(const struct block_key *key, const void *summary, size_t summary_len,
			const void *windows, size_t windows_len);

#endif
