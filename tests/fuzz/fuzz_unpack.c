// tier: test
/* Any bytes as gzip, zstd or xz, under a small limit, at once and in pieces: the limit holds, and both ways agree. */
#include "base/fs.h"
#include "base/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 100000, PIECE = 13 };

static void must(bool truth)
{
	if (!truth)
		abort();
}

/* 0, or the error; more than the limit is EFBIG here, too. */
static int unpack_in_pieces(const uint8_t *data, size_t size, struct buf *out)
{
	struct unpack *u = unpack_new(unpack_detect(data, size));
	struct cur in = { 0 };
	size_t fed = 0, got;
	int rc = 1;
	while (rc == 1 && out->len <= MAX_BYTES) {
		char plain[1000];
		if (cur_left(&in) == 0) {
			size_t n = size - fed < PIECE ? size - fed : PIECE;
			in = cur_of(data + fed, n);
			fed += n;
		}
		rc = unpack_step(u, &in, fed == size, plain, sizeof plain, &got, NULL);
		must(got <= sizeof plain);
		buf_add(out, plain, got);
	}
	unpack_free(u);
	return out->len > MAX_BYTES ? -EFBIG : rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = { 0 }, pieces = { 0 };
	buf_add(&b, data, size);
	int rc = fs_unpack(&b, MAX_BYTES, NULL);
	enum unpack_kind kind = unpack_detect(data, size);
	int rc_pieces = kind == UNPACK_NONE ? 0 : unpack_in_pieces(data, size, &pieces);
	if (kind == UNPACK_NONE)
		must(rc == 0 && b.len == size);
	else if (kind != UNPACK_ZSTD) /* libzstd checks a frame's stated size at once only */
		must(rc == rc_pieces);
	if (kind != UNPACK_NONE && rc == 0 && rc_pieces == 0) {
		must(b.len <= MAX_BYTES && b.len == pieces.len);
		must(b.len == 0 || memcmp(b.data, pieces.data, b.len) == 0);
	}
	buf_done(&b);
	buf_done(&pieces);
	return 0;
}
