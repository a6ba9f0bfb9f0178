/* store/codec/block_parts.h: shared by the writer and the reader of blocks: a blob's first byte,
 * the code of gaps, and a coder's memory.
 *
 * A blob is its first byte, then, in one zstd frame that states its size or not, numbers as in
 * profile/chunk.h, column by column. A value is signed or, without BLOB_SIGNED, the number less 1.
 * BLOB_SIGNED is the same in a detail and its pieces.
 *
 *     summary   stacks; for each: stack - the previous one - 1 (the first: stack); for each: total
 *               (a value). BLOB_WEIGHTED: for each the number of samples; for each number other
 *               than 1 the sum of the squares of its samples, a little-endian float
 *     windows   for each window the sum over all stacks: a number, with BLOB_SIGNED a signed one
 *     detail    never compressed: rows; windows per piece, at least 2; for each piece its bytes,
 *               0 without rows; then the pieces. The last one may have fewer windows
 *     piece     rows; bytes of the next column; for each row its gap; for each row its value
 *     piece     with BLOB_RICE: after the first byte a number of bytes and these bytes, for each
 *               row its gap in Rice code, highest bits first, zeros up to the byte's end; then for
 *               each class that has stacks, lowest first, its rows; for each row, by class, its
 *               value
 *
 * A writer makes pieces of 360 windows, or doubles that until each has 2048 rows. In a piece of p
 * windows (the last one has as many places) a row's place is p times the index of its stack in the
 * summary plus its window. A gap is the number of places between a row and the previous one (the
 * first: before it). The class of a stack is the number of bits of its number of samples, if
 * weighted, else of its total without sign; each class has its own places. A gap is gap / 2^k ones,
 * a zero, and its k lowest bits, k = rice_bits(); with 24 ones or more it is 24 ones and 32 bits.
 *
 * block_checksum is XXH3-64 of 40 bytes, little endian: series (4), windows (4), start in ns (8),
 * rows (8), XXH3-64 of the summary (8), XXH3-64 of the windows (8). That of detail has detail in
 * place of the summary, and no bytes as windows.
 *
 * The rows stack 3: 1 in window 0 and 130 in window 2; stack 4: 7 in window 1; with
 * 1, 2 and 1 samples; the slot has four windows:
 *
 *     41 02 03 00 82 01 06 03 01 00 d4 04 46     stacks 3, 4; totals 131, 7; counts 3, 1; 8501.0
 *     02 01 07 82 01 00                          windows: 1, 7, 130, 0
 *     04 03 04 09                                3 rows, pieces of 4 windows, one of 9 bytes:
 *     85 01 90 01 02 06 00 81 01                 gaps 10 | 0, 10 as bits; 1 row of stack 4, 2 of
 *                                                stack 3; values 7, 1, 130 */
#ifndef CRESSET_STORE_CODEC_BLOCK_PARTS_H
#define CRESSET_STORE_CODEC_BLOCK_PARTS_H

#include "base/buf.h"
#include "base/vec.h"
#include "store/codec/block.h"

#include <stdint.h>
#include <zstd.h>

struct err;

/* A blob's first byte: its type and its encoding. */
enum {
	SHAPE_SUMMARY = 1,
	SHAPE_WINDOWS = 2,
	SHAPE_DETAIL = 4, /* 3 was a format without seeking in time */
	SHAPE_PIECE = 5,  /* of a detail */
	SHAPE_MASK = 0x0f,
	BLOB_PACKED = 0x10,   /* a zstd frame */
	BLOB_SIGNED = 0x20,   /* zigzag values; otherwise all are positive */
	BLOB_WEIGHTED = 0x40, /* of a summary */
	BLOB_RICE = 0x80,     /* of a piece: gaps as bits, before the part that may be compressed */
};

/* Streams that are written in parallel. */
enum { IDS, TOTALS, COUNTS, SQUARES, COLUMNS };

enum { FLOAT_BYTES = 4 };

/* The windows of a piece lie one stack after the other, so one number, its place, locates a row.
 * With BLOB_RICE, stacks are in classes, each with its own places: the stacks of a class have about
 * the same number of rows, so the gaps between their places have the same distribution. */
enum {
	PIECE_MIN_WINDOWS = 2, /* so that division by it is a multiplication */
	CLASSES = 65,
	PLAIN_GAP_BITS = 32, /* of an unusually large gap in the Rice code */
};
#define CLASS_MAX_PLACES UINT32_MAX

/* Classes go by the number of samples, or by the total where that is unknown; the summary has
 * both. */
static inline unsigned class_of_count(uint64_t n)
{
	return n ? 64 - __builtin_clzll(n) : 0;
}
static inline unsigned class_of_total(int64_t total)
{
	return class_of_count(total < 0 ? -(uint64_t)total : (uint64_t)total);
}

/* The gaps between n rows at random places have a geometric distribution. The best number of low
 * bits is that of the mean gap times ln 2 (11/16), rounded. */
static inline unsigned rice_bits(uint64_t n, uint64_t places)
{
	uint64_t typical = (11 * (places - n) + 8 * (n + 1)) / (16 * (n + 1));
	return typical ? 63 - __builtin_clzll(typical) : 0;
}

/* A row to write: its index, and its stack's index in the summary. */
struct block_cell {
	uint32_t row, rank;
};

struct block_coder {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	struct buf raw;
	struct buf columns[COLUMNS];
	uint64_t sums[BLOCK_MAX_WINDOWS];
	/* Of a detail. */
	struct buf gaps, bits, values, piece, pieces, sizes;
	VEC(struct block_cell) cells, by_class;
	VEC(uint8_t) classes; /* by rank */
	VEC(uint32_t) places; /* by rank: index within its class */
	VEC(uint32_t) ids;    /* of stacks, by class, then rank */
};

/* --- reading: an opened blob of a block --- */

/* Of one shape. */
struct blob {
	uint8_t flags;
	struct cur rice; /* with BLOB_RICE */
	struct cur in;   /* the part that may be compressed */
};

/* A compressed b->in lies in c until the next blob is opened. most: maximum bytes, decompressed. */
int block_open_blob(struct block_coder *c, const void *data, size_t len, uint8_t shape, size_t most,
		    struct blob *b, struct err *err);

int block_bad(struct err *err, const char *what);

/* Takes the next len bytes, or none and marks `in` bad if there are fewer. */
static inline struct cur block_take_stream(struct cur *in, uint64_t len)
{
	const void *p = cur_take(in, len);
	return cur_of(p, p ? len : 0);
}

/* The inverse of value_code. Returns false for a code that value_code cannot return. */
static inline bool block_value_of(uint64_t code, uint8_t flags, int64_t *v)
{
	*v = flags & BLOB_SIGNED ? unzigzag(code) : (int64_t)(code + 1);
	return flags & BLOB_SIGNED || code < INT64_MAX;
}

#endif
