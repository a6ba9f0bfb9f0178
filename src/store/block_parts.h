/* store/block_parts.h: what writing and reading blocks share: what is in a blob's first byte, the code of gaps, and what a coder keeps.
 * docs/formats.md has every byte. */
#ifndef CRESSET_STORE_BLOCK_PARTS_H
#define CRESSET_STORE_BLOCK_PARTS_H

#include "base/buf.h"
#include "base/vec.h"
#include "store/block.h"

#include <stdint.h>
#include <zstd.h>

/* A blob's first byte: what it is, and how it is written. */
enum {
	SHAPE_SUMMARY = 1,
	SHAPE_WINDOWS = 2,
	SHAPE_DETAIL = 4, /* 3 was one whose time could not be sought */
	SHAPE_PIECE = 5,  /* of a detail */
	SHAPE_MASK = 0x0f,
	BLOB_PACKED = 0x10,   /* a zstd frame */
	BLOB_SIGNED = 0x20,   /* values as zigzag; else all are positive */
	BLOB_WEIGHTED = 0x40, /* of a summary */
	BLOB_RICE = 0x80,     /* of a piece: gaps as bits, before what may be packed */
};

/* The streams that are written side by side. */
enum { IDS, TOTALS, COUNTS, SQUARES, COLUMNS };

enum { FLOAT_BYTES = 4 };

/* A piece has so many windows, which lie one stack behind the other, so that one number says where a row is: its place. With BLOB_RICE stacks are
 * in classes, which have places of their own: those of a class have about as many rows, so gaps between their places are distributed alike. */
enum {
	PIECE_MIN_WINDOWS = 2, /* division by them is a multiplication */
	CLASSES = 65,
	PLAIN_GAP_BITS = 32, /* in Rice's code, of a gap that is unusually large */
};
#define CLASS_MAX_PLACES UINT32_MAX

/* By the number of samples, or where it is not known, by the total: both are in the summary. */
static inline unsigned class_of_count(uint64_t n)
{
	return n ? 64 - __builtin_clzll(n) : 0;
}
static inline unsigned class_of_total(int64_t total)
{
	return class_of_count(total < 0 ? -(uint64_t)total : (uint64_t)total);
}

/* Where n rows lie anywhere in so many places, gaps are distributed geometrically, and this is all that is to be known of them: the best
 * number of low bits is that of their mean times ln 2 (11/16), rounded. */
static inline unsigned rice_bits(uint64_t n, uint64_t places)
{
	uint64_t typical = (11 * (places - n) + 8 * (n + 1)) / (16 * (n + 1));
	return typical ? 63 - __builtin_clzll(typical) : 0;
}

/* A row to be written: its number, and that of its stack in the summary. */
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
	VEC(uint32_t) places; /* by rank: which of its class it is */
	VEC(uint32_t) ids;    /* of stacks, by class, then rank */
};

#endif
