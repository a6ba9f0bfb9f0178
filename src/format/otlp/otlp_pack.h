/* format/otlp/otlp_pack.h: compresses an OTLP message between an agent and a server of Cresset as a
 * delta to an earlier one.
 *
 * Batches of a host are similar: they share names, frames and most stacks. Therefore a batch is
 * compressed against the last whole batch that the server has acknowledged (the key): zstd with the
 * key as the prefix (ZSTD_CCtx_refPrefix, `zstd --patch-from`). A key is never a delta itself, so
 * one lost batch affects no other.
 *
 * The agent names the key in X-Cresset-Base. A server that no longer has it returns 412, and the
 * agent sends the whole batch. */
#ifndef CRESSET_FORMAT_OTLP_OTLP_PACK_H
#define CRESSET_FORMAT_OTLP_OTLP_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { OTLP_PACK_LEVEL = 1 };

/* Uncompressed bytes: a message, or a key. data is NULL for no key. */
struct otlp_bytes {
	const void *data;
	size_t len;
};

/* Appends the message as one zstd frame with a checksum. Without a key any zstd can read it.
 * Returns -E2BIG if message and key together exceed 64 MiB. */
int otlp_pack(struct otlp_bytes message, struct otlp_bytes key, struct buf *out, struct err *err);

/* Appends the message that was compressed against this key. Returns -EBADMSG with a message if it
 * is damaged or has another key, or -EFBIG if it exceeds max bytes; out is then unchanged. */
int otlp_unpack(struct otlp_bytes packed, struct otlp_bytes key, size_t max, struct buf *out,
		struct err *err);

/* Returns the decompressed size that a message declares, or SIZE_MAX if it is not a zstd frame or
 * declares no size. */
size_t otlp_unpacked_bytes(const void *packed, size_t len);

/* Whether a new key is due: the delta exceeds 40 % of the key's own compressed size. */
static inline bool otlp_key_is_stale(size_t delta_bytes, size_t key_packed_bytes)
{
	return delta_bytes * 10 > key_packed_bytes * 4;
}

#endif
