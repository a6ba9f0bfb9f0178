#include "base/pb.h"

#include <string.h>

enum { PB_MAX_FIELD = (1 << 29) - 1, PB_MAX_VARINT = 10 };

bool pb_next(struct cur *c, struct pb_field *f)
{
	if (c->bad || cur_left(c) == 0)
		return false;
	uint64_t tag = cur_varint(c);
	uint64_t num = tag >> 3;
	*f = (struct pb_field){ .num = num, .wire = tag & 7 };
	switch (f->wire) {
	case PB_VARINT:
		f->u = cur_varint(c);
		break;
	case PB_I64:
		f->u = cur_u64(c);
		break;
	case PB_I32:
		f->u = cur_u32(c);
		break;
	case PB_LEN: {
		uint64_t len = cur_varint(c);
		const void *data = cur_take(c, len);
		f->len = cur_of(data, data ? len : 0);
		break;
	}
	default:
		num = 0;
	}
	if (num == 0 || num > PB_MAX_FIELD) {
		c->bad = true;
		c->p = c->end;
	}
	return !c->bad;
}

bool pb_each_varint(const struct pb_field *f, void (*fn)(void *ctx, uint64_t v), void *ctx)
{
	if (f->wire == PB_VARINT) {
		fn(ctx, f->u);
		return true;
	}
	if (f->wire != PB_LEN)
		return false;
	struct cur c = f->len;
	while (cur_left(&c)) {
		uint64_t v = cur_varint(&c);
		if (c.bad)
			return false;
		fn(ctx, v);
	}
	return !c.bad;
}

static size_t pb_varint(char bytes[PB_MAX_VARINT], uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (v & 0x7f) | 0x80;
	bytes[n++] = v;
	return n;
}

void pb_put_varint(struct buf *b, uint64_t v)
{
	char bytes[PB_MAX_VARINT];
	buf_add(b, bytes, pb_varint(bytes, v));
}

static void pb_put_tag(struct buf *b, uint32_t field, enum pb_wire wire)
{
	pb_put_varint(b, (uint64_t)field << 3 | wire);
}

void pb_put_u64(struct buf *b, uint32_t field, uint64_t v)
{
	pb_put_tag(b, field, PB_VARINT);
	pb_put_varint(b, v);
}

void pb_put_fixed64(struct buf *b, uint32_t field, uint64_t v)
{
	char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = v >> (8 * i);
	pb_put_tag(b, field, PB_I64);
	buf_add(b, bytes, sizeof bytes);
}

void pb_put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	pb_put_tag(b, field, PB_LEN);
	pb_put_varint(b, len);
	buf_add(b, data, len);
}

/* One byte is left for the length; pb_end moves the message when the length needs more. */
size_t pb_begin(struct buf *b, uint32_t field)
{
	pb_put_tag(b, field, PB_LEN);
	buf_addc(b, 0);
	return b->len;
}

void pb_end(struct buf *b, size_t mark)
{
	char length[PB_MAX_VARINT];
	size_t len = b->len - mark, n = pb_varint(length, len);
	if (n > 1) {
		buf_reserve(b, n - 1);
		memmove(b->data + mark + n - 1, b->data + mark, len);
	}
	memcpy(b->data + mark - 1, length, n);
	b->len += n - 1;
}
