/* base/sha256.h: SHA-256 (FIPS 180-4), of the few kilobytes that a page's policy names by their hash. */
#ifndef CRESSET_BASE_SHA256_H
#define CRESSET_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES]);

#endif
