/* base/base64.h: bytes as text (RFC 4648, section 4, with padding, without line breaks). */
#ifndef CRESSET_BASE_BASE64_H
#define CRESSET_BASE_BASE64_H

#include "base/buf.h"

#include <stddef.h>

/* Appends 4 characters for each 3 bytes. A text may be written in pieces whose lengths are multiples of 3. */
void base64_put(struct buf *b, const void *data, size_t len);

#endif
