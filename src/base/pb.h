/* base/pb.h: reads and writes the protobuf wire format, bounds-checked
 * (protobuf.dev/programming-guides/encoding).
 *
 * Reading: pb_next walks the fields of one message; a length-delimited field is a sub-cursor, so
 * nothing is copied. The caller skips unknown fields and limits nesting. Groups (wire types 3, 4)
 * are an error. */
#ifndef CRESSET_BASE_PB_H
#define CRESSET_BASE_PB_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PB_MAX_FIELD = (1 << 29) - 1 };
/* PB_NONE is not a wire type: it marks a malformed field internally. */
enum pb_wire { PB_VARINT = 0, PB_I64 = 1, PB_LEN = 2, PB_I32 = 5, PB_NONE = 7 };

struct pb_field {
	uint32_t num;
	enum pb_wire wire;
	uint64_t u;     /* VARINT, I64, I32 */
	struct cur len; /* LEN: the bytes */
};

/* Reads the next field of c; returns false at the end or if c is bad (see c->bad). Inline: a
 * profile has millions of fields. */
bool pb_next_rare(struct cur *c, struct pb_field *f);
__attribute__((always_inline)) static inline bool pb_next(struct cur *c, struct pb_field *f)
{
	if (c->bad || cur_left(c) == 0)
		return false;
	uint64_t tag = cur_varint(c), num = tag >> 3;
	f->num = num;
	f->wire = num == 0 || num > PB_MAX_FIELD ? PB_NONE : tag & 7;
	f->u = 0;
	f->len = cur_of(NULL, 0);
	if (f->wire == PB_VARINT) {
		f->u = cur_varint(c);
		return !c->bad;
	}
	if (f->wire != PB_LEN)
		return pb_next_rare(c, f);
	uint64_t len = cur_varint(c);
	const void *data = cur_take(c, len);
	f->len = cur_of(data, data ? len : 0);
	return !c->bad;
}

/* Calls fn for each number of a repeated varint field, packed (LEN) or not. Returns false if it is
 * malformed. */
static inline bool pb_each_varint(const struct pb_field *f, void (*fn)(void *ctx, uint64_t v),
				  void *ctx)
{
	if (f->wire == PB_VARINT)
		fn(ctx, f->u);
	struct cur c = f->len;
	while (cur_left(&c)) {
		uint64_t v = cur_varint(&c);
		if (c.bad)
			return false;
		fn(ctx, v);
	}
	return f->wire == PB_VARINT || f->wire == PB_LEN;
}

/* Writing. Zero values are written: leaving out defaults is the caller's choice. */
void pb_put_varint(struct buf *b, uint64_t v);
/* Wire type VARINT; int64 as two's complement. */
void pb_put_u64(struct buf *b, uint32_t field, uint64_t v);
void pb_put_fixed64(struct buf *b, uint32_t field, uint64_t v);
void pb_put_bytes(struct buf *b, uint32_t field, const void *data, size_t len);

/* Writes a message of unknown length: start, write its fields, end. May be nested. */
size_t pb_begin(struct buf *b, uint32_t field);
void pb_end(struct buf *b, size_t mark);

#endif
