/* format/plain_recording.h: the first form of .cresset files, which is read only: recordings are SQLite files now
 * (store/recording.h).
 *
 *     "CRESSET\0"  u32 version  u32 16                                     header
 *     { u32 type  u32 flags  u64 length  u64 checksum  payload[length] }   chunks until the end
 *
 * Numbers are little endian. A commit chunk marks a point where all that is referred to is there: a file that was cut opens up to its
 * last one. docs/formats.md describes every payload (profile/chunk.h). */
#ifndef CRESSET_FORMAT_PLAIN_RECORDING_H
#define CRESSET_FORMAT_PLAIN_RECORDING_H

#include "base/err.h"
#include "base/input.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLAIN_RECORDING_VERSION = 1 };
#define PLAIN_RECORDING_MAGIC "CRESSET" /* with its NUL */

enum { PLAIN_RECORDING_MAX_PENDING = 64 << 20 }; /* what is taken between two commits, as stored */
#define PLAIN_RECORDING_MAX_BYTES (4ull << 30)   /* … of all payloads, unpacked */

bool plain_recording_detect(const char *head, size_t len);
int plain_recording_read(struct input *in, struct sink *sink, struct err *err);

#endif
