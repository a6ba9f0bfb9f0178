/* base/unpack.h: gzip (several members), zstd (several frames) and xz (several streams) taken apart piece by piece, with
 * memory bounded by UNPACK_MAX_WINDOW_BYTES whatever the data says. */
#ifndef CRESSET_BASE_UNPACK_H
#define CRESSET_BASE_UNPACK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* What a compressor may ask us to remember: enough for xz -9 (64 MiB) and zstd --ultra -22 (128 MiB). */
enum { UNPACK_MAX_WINDOW_LOG = 27, UNPACK_MAX_WINDOW_BYTES = 1 << UNPACK_MAX_WINDOW_LOG };
/* What a sender of HTTP may ask for (RFC 9659): 8 MiB. */
enum { UNPACK_HTTP_WINDOW_LOG = 23 };

enum unpack_kind { UNPACK_NONE, UNPACK_GZIP, UNPACK_ZSTD, UNPACK_XZ };

/* By the first bytes; 6 are enough. */
enum unpack_kind unpack_detect(const void *data, size_t len);

struct unpack;

/* kind is not UNPACK_NONE. */
struct unpack *unpack_new(enum unpack_kind kind);
void unpack_free(struct unpack *u);
/* zstd may ask for a window of at most 1 << log bytes, less than UNPACK_MAX_WINDOW_BYTES. Before the first step. */
void unpack_limit_window(struct unpack *u, int log);

/* Takes bytes from in and puts at most size plain ones (> 0) at out; *got is their number. `last` says that nothing comes
 * after in. Returns 1 when in is used up or out is full, 0 at the end of the data (only when last), -EBADMSG when it is
 * damaged or cut, -E2BIG when it asks for more memory than we give. */
int unpack_step(struct unpack *u, struct cur *in, bool last, void *out, size_t size, size_t *got,
		struct err *err);

#endif
