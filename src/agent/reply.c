#include "agent/reply.h"

#include "base/pb.h"

enum { WORDS_MAX = 200 };

/* Both messages have their words in field 2. */
static uint64_t read_words(struct cur c, struct buf *out)
{
	struct pb_field f;
	uint64_t rejected = 0;

	while (pb_next(&c, &f)) {
		if (f.num == 1 && f.wire == PB_VARINT)
			rejected = f.u;
		if (f.num == 2 && f.wire == PB_LEN && cur_left(&f.len))
			buf_addf(out, "%.*s",
				 (int)(cur_left(&f.len) < WORDS_MAX ? cur_left(&f.len) : WORDS_MAX),
				 (const char *)f.len.p);
	}
	return rejected;
}

void reply_words(const struct reply *reply, struct buf *out)
{
	read_words(cur_of(reply->body.data, reply->body.len), out);
}

/* partial_success { 1 { 1 rejected, 2 message } } */
uint64_t reply_rejected(const struct reply *reply, struct buf *out)
{
	struct cur c = cur_of(reply->body.data, reply->body.len);
	struct pb_field f;

	if (!pb_next(&c, &f) || f.num != 1 || f.wire != PB_LEN)
		return 0;
	return read_words(f.len, out);
}
