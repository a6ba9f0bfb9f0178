/* store/block_blob.h: a blob of a block, opened: for the files that read them. */
#ifndef CRESSET_STORE_BLOCK_BLOB_H
#define CRESSET_STORE_BLOCK_BLOB_H

#include "base/varint.h"
#include "store/block_parts.h"

/* Of one shape. */
struct blob {
	uint8_t flags;
	struct cur rice; /* with BLOB_RICE */
	struct cur in;   /* what was packed */
};

/* b->in is in c where it was packed, until the next one is opened. most: bytes, unpacked. */
int block_open_blob(struct block_coder *c, const void *data, size_t len, uint8_t shape, size_t most,
		    struct blob *b, struct err *err);

int block_bad(struct err *err, const char *what);

/* The next len bytes; none where there are fewer, which makes `in` bad. */
static inline struct cur block_take_stream(struct cur *in, uint64_t len)
{
	const void *p = cur_take(in, len);
	return cur_of(p, p ? len : 0);
}

/* The other way round than value_code. False: it cannot give this. */
static inline bool block_value_of(uint64_t code, uint8_t flags, int64_t *v)
{
	*v = flags & BLOB_SIGNED ? unzigzag(code) : (int64_t)(code + 1);
	return flags & BLOB_SIGNED || code < INT64_MAX;
}

#endif
