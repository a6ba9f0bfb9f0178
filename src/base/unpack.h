/* base/unpack.h: decompresses gzip (several members), zstd (several frames) and xz (several
 * streams) piece by piece, with memory limited by UNPACK_MAX_WINDOW_BYTES whatever the data
 * requests. */
#ifndef CRESSET_BASE_UNPACK_H
#define CRESSET_BASE_UNPACK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Largest window that data may request: enough for xz -9 (64 MiB) and zstd --ultra -22 (128
 * MiB). */
enum { UNPACK_MAX_WINDOW_LOG = 27, UNPACK_MAX_WINDOW_BYTES = 1 << UNPACK_MAX_WINDOW_LOG };
/* Largest window in HTTP (RFC 9659): 8 MiB. */
/* limit: zstd window of a body, as a power of 2 */
enum { UNPACK_HTTP_WINDOW_LOG = 23 };

enum unpack_kind { UNPACK_NONE, UNPACK_GZIP, UNPACK_ZSTD, UNPACK_XZ };

/* Detects the format by the first bytes; 6 are enough. */
enum unpack_kind unpack_detect(const void *data, size_t len);

struct unpack;

/* kind must not be UNPACK_NONE. */
struct unpack *unpack_new(enum unpack_kind kind);
void unpack_free(struct unpack *u);
/* Limits the window of zstd to 1 << log bytes, less than UNPACK_MAX_WINDOW_BYTES. Call before the
 * first step. */
void unpack_limit_window(struct unpack *u, int log);

/* Takes bytes from in and writes at most size plain bytes (> 0) to out; sets *got to their number.
 * last: no data follow in. Returns 1 when in is used up or out is full, 0 at the end of the data
 * (only if last), -EBADMSG if damaged or truncated, -E2BIG if it requests more memory than the
 * limit. */
int unpack_step(struct unpack *u, struct cur *in, bool last, void *out, size_t size, size_t *got,
		struct err *err);

#endif
