/* Decodes fields from a cursor, and encodes fields into a buffer. */
#include "base/pb.h"

#include "base/buf.h"

#include <string.h>

/* Reads the value of a field of a rare wire type, or fails if it is invalid. */
bool pb_next_rare(struct cur *c, struct pb_field *f)
{
	if (f->wire == PB_I64)
		f->u = cur_u64(c);
	else if (f->wire == PB_I32)
		f->u = cur_u32(c);
	else
		cur_fail(c);
	return !c->bad;
}

void pb_put_varint(struct buf *b, uint64_t v)
{
	if (b->cap - b->len < VARINT_MAX_BYTES)
		buf_reserve(b, VARINT_MAX_BYTES);
	b->len += varint_write(b->data + b->len, v);
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

/* Reserves one byte for the length; pb_end moves the message if the length needs more. */
size_t pb_begin(struct buf *b, uint32_t field)
{
	pb_put_tag(b, field, PB_LEN);
	buf_addc(b, 0);
	return b->len;
}

void pb_end(struct buf *b, size_t mark)
{
	char length[VARINT_MAX_BYTES];
	size_t len = b->len - mark, n = varint_write(length, len);
	if (n > 1) {
		buf_reserve(b, n - 1);
		memmove(b->data + mark + n - 1, b->data + mark, len);
	}
	memcpy(b->data + mark - 1, length, n);
	b->len += n - 1;
}
