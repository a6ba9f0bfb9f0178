/* format/otlp_pack.h: an OTLP message from a cresset to a cresset, compressed against an earlier one.
 *
 * What a host does is much the same from one batch to the next: the names, frames and most stacks. So a batch is packed as what it adds to
 * the last whole batch that the server has acknowledged (the key): zstd with the key as the prefix (ZSTD_CCtx_refPrefix, `zstd --patch-from`).
 * The key is never such a delta itself, so one lost batch spoils no other one.
 *
 * The agent says which key it is by X-Cresset-Base; a server that does not have it any more says 412, and the agent sends the batch whole. */
#ifndef CRESSET_FORMAT_OTLP_PACK_H
#define CRESSET_FORMAT_OTLP_PACK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { OTLP_PACK_LEVEL = 1 };

/* Bytes that are plain: a message, or a key. data is NULL for no key. */
struct otlp_bytes {
	const void *data;
	size_t len;
};

/* Appends the message as one zstd frame with a check sum; without a key any zstd reads it. -E2BIG when both together are more than 64 MiB. */
int otlp_pack(struct otlp_bytes message, struct otlp_bytes key, struct buf *out, struct err *err);

/* Appends the message that was packed against this key. -EBADMSG with words when it is damaged, or was packed against another one; -EFBIG
 * past max bytes; out is then what it was. */
int otlp_unpack(struct otlp_bytes packed, struct otlp_bytes key, size_t max, struct buf *out,
		struct err *err);

/* What a packed message says of its size when unpacked; SIZE_MAX: it is no zstd frame, or does not say it. */
size_t otlp_unpacked_bytes(const void *packed, size_t len);

/* Whether a new key is due: the delta is more than 40 % of what the key was when it was packed alone. */
static inline bool otlp_key_is_stale(size_t delta_bytes, size_t key_packed_bytes)
{
	return delta_bytes * 10 > key_packed_bytes * 4;
}

#endif
