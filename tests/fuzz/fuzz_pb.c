// tier: test
/* Any bytes as a protobuf message: every field is looked at as number, string and message; what was read is written again and
 * must read the same. */
#include "base/pb.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_DEPTH = 8 };

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void add(void *ctx, uint64_t v)
{
	*(uint64_t *)ctx += v;
}

static void rewrite(struct cur c, struct buf *out)
{
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.wire == PB_VARINT)
			pb_put_u64(out, f.num, f.u);
		else if (f.wire == PB_LEN)
			pb_put_bytes(out, f.num, f.len.p, cur_left(&f.len));
		else
			pb_put_fixed64(out, f.num, f.u);
	}
}

static void walk(struct cur c, int depth)
{
	const uint8_t *begin = c.p, *end = c.end;
	uint64_t sum = 0;
	struct pb_field f;
	while (pb_next(&c, &f)) {
		must(f.num > 0 && f.num < 1 << 29);
		pb_each_varint(&f, add, &sum);
		if (f.wire != PB_LEN)
			continue;
		must(f.len.p >= begin && f.len.p <= f.len.end && f.len.end <= end);
		if (depth < MAX_DEPTH)
			walk(f.len, depth + 1);
	}
	must(cur_left(&c) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = { 0 }, twice = { 0 };
	walk(cur_of(data, size), 0);
	rewrite(cur_of(data, size), &once);
	rewrite(cur_of(once.data, once.len), &twice);
	must(once.len == twice.len && (once.len == 0 || !memcmp(once.data, twice.data, once.len)));
	buf_done(&once);
	buf_done(&twice);
	return 0;
}
