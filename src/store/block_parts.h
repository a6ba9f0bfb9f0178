/* store/block_parts.h: what writing and reading blocks share: what is in a blob's first byte, the code of gaps, and what a coder keeps.
 * docs/formats.md has every byte. */
#ifndef CRESSET_STORE_BLOCK_PARTS_H
#define CRESSET_STORE_BLOCK_PARTS_H

#include "base/buf.h"
#include "store/block.h"

#include <stdint.h>
#include <zstd.h>

/* A blob's first byte: what it is, and how it is written. */
enum {
	SHAPE_SUMMARY = 1,
	SHAPE_WINDOWS = 2,
	SHAPE_DETAIL = 3,
	SHAPE_MASK = 0x0f,
	BLOB_PACKED = 0x10,   /* a zstd frame */
	BLOB_SIGNED = 0x20,   /* values as zigzag; else all are positive */
	BLOB_WEIGHTED = 0x40, /* of a summary */
	BLOB_RICE = 0x80,     /* of a detail: gaps as bits, before what may be packed */
};

/* The streams that are written side by side. */
enum { IDS, TOTALS, COUNTS, SQUARES, OCCURRENCES, GAPS, VALUES, GAP_BITS, COLUMNS };

enum { FLOAT_BYTES = 4 };

/* Of a gap in Rice's code that is unusually large. */
enum { PLAIN_GAP_BITS = 14 };
_Static_assert(BLOCK_MAX_WINDOWS <= 1 << PLAIN_GAP_BITS, "every gap has a code");

/* Where n rows lie anywhere in so many windows, gaps are distributed geometrically, and this is all that is to be known of them: the best
 * number of low bits is that of their mean times ln 2 (11/16), rounded. */
static inline unsigned rice_bits(uint32_t n, uint32_t windows)
{
	uint32_t typical = (11 * (windows - n) + 8 * (n + 1)) / (16 * (n + 1));
	return typical ? 31 - __builtin_clz(typical) : 0;
}

struct block_coder {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	struct buf raw;
	struct buf columns[COLUMNS];
	uint64_t sums[BLOCK_MAX_WINDOWS];
};

#endif
