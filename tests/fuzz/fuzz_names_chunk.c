// tier: test
/* Any bytes, packed, as a row of names.db: what is taken is ascending, every list of lines can be copied, and what is written of it is read as the
 * same. */
#include "base/buf.h"
#include "store/codec/names_chunk.h"

#include <stdlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void pack(const uint8_t *data, size_t size, struct buf *out)
{
	buf_reserve(out, ZSTD_compressBound(size));
	out->len = ZSTD_compress(out->data, out->cap, data, size, 1);
	must(!ZSTD_isError(out->len));
}

static void copy_all(const struct names_chunk *from, struct names_chunk *to)
{
	struct names_copy copy;

	names_copy_init(&copy, &from->strings, &from->names);
	names_copy_to(&copy, &to->strings, &to->names);
	for (size_t i = 0; i < from->entries.n; i++) {
		const struct names_entry *e = &from->entries.v[i];
		struct names_lines l = names_chunk_lines(from, e);

		must(i == 0 || e->offset > e[-1].offset);
		must(names_chunk_find(from, e->offset) == e);
		names_chunk_append(to, e->offset, &l, &copy);
	}
	names_copy_done(&copy);
}

static void must_be_equal(const struct names_chunk *a, const struct names_chunk *b)
{
	must(a->entries.n == b->entries.n);
	for (size_t i = 0; i < a->entries.n; i++) {
		struct names_lines x = names_chunk_lines(a, &a->entries.v[i]);
		struct names_lines y = names_chunk_lines(b, &b->entries.v[i]);

		must(a->entries.v[i].offset == b->entries.v[i].offset);
		must(names_lines_equal(&x, &y));
		must(!names_lines_less(&x, &y) && !names_lines_less(&y, &x));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names_chunk first, copy, back;
	struct names_packer packer = { 0 };
	struct buf packed = { 0 };

	names_chunk_init(&first);
	names_chunk_init(&copy);
	names_chunk_init(&back);
	pack(data, size, &packed);
	if (names_chunk_decode(packed.data, packed.len, &first, NULL) == 0) {
		copy_all(&first, &copy);
		must(names_chunk_encode(&copy, &packer));
		must(names_chunk_decode(packer.packed.data, packer.packed.len, &back, NULL) == 0);
		must_be_equal(&first, &back);
	}
	names_chunk_done(&first);
	names_chunk_done(&copy);
	names_chunk_done(&back);
	names_packer_done(&packer);
	buf_done(&packed);
	return 0;
}
