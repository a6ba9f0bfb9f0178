/* format/recording/cresset.h: .cresset recordings: everything in the model
 * (store/recording/recording.h). */
#ifndef CRESSET_FORMAT_RECORDING_CRESSET_H
#define CRESSET_FORMAT_RECORDING_CRESSET_H

#include "format/common/format.h"

#include <stdbool.h>
#include <stddef.h>

struct err;

extern const struct format format_cresset;

/* --- plain_recording.c ---
 *
 * Reads the first form of .cresset files. It is no longer written: recordings are SQLite files now
 * (store/recording/recording.h).
 *
 *     "CRESSET\0"  u32 version  u32 16                                     header
 *     { u32 type  u32 flags  u64 length  u64 checksum  payload[length] }   chunks until the end
 *
 * Numbers are little endian. Types, flags, checksums and payloads are as in profile/chunk.h,
 * except that type 12 is a commit: a point at which everything referred to is present. Reading ends
 * at a chunk that is truncated, has a wrong checksum or an undefined id; chunks from there on, and
 * those without a commit after them, are counted as left out. */

struct input;
struct sink;

enum { PLAIN_RECORDING_VERSION = 1 };
#define PLAIN_RECORDING_MAGIC "CRESSET" /* including its NUL */

enum { PLAIN_RECORDING_MAX_PENDING = 64 << 20 }; /* bytes between two commits, as stored */
#define PLAIN_RECORDING_MAX_BYTES (4ull << 30)   /* … of all payloads, decompressed */

bool plain_recording_detect(const char *head, size_t len);
int plain_recording_read(struct input *in, struct sink *sink, struct err *err);

#endif
