// tier: test
/* Any bytes as a block of exact samples: what is read keeps to what the header promises, and written and read again is the same. */
#include "store/codec/hot_block.h"

#include "base/buf.h"
#include "profile/link.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void write_again(const struct hot_rows *r)
{
	struct buf b = { 0 };
	struct hot_rows again = { 0 };

	hot_block_encode(r->rows.v, r->rows.n, r->links.v, r->links.n, &b);
	must(hot_block_decode(b.data, b.len, &again, NULL) == 0);
	must(again.rows.n == r->rows.n && again.links.n == r->links.n);
	must(r->rows.n == 0 || memcmp(again.rows.v, r->rows.v, r->rows.n * sizeof *r->rows.v) == 0);
	must(r->links.n == 0 ||
	     memcmp(again.links.v, r->links.v, r->links.n * sizeof *r->links.v) == 0);
	hot_rows_done(&again);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hot_rows r = { 0 };

	if (hot_block_decode(data, size, &r, NULL) == 0) {
		for (size_t i = 0; i < r.rows.n; i++) {
			int64_t end;
			must(r.rows.v[i].length_ns >= 0 && r.rows.v[i].link <= r.links.n);
			must(!__builtin_add_overflow(r.rows.v[i].time_ns, r.rows.v[i].length_ns,
						     &end));
		}
		write_again(&r);
	}
	hot_rows_done(&r);
	return 0;
}
