/* format/recording.h: our own file, .cresset: everything the model holds, written while it grows.
 *
 *     "CRESSET\0"  u32 version  u32 16                                     header
 *     { u32 type  u32 flags  u64 length  u64 checksum  payload[length] }   chunks until the end
 *
 * Numbers are little endian. Each chunk adds to one table what is new; ids count up from the
 * tables' beginning, so a reader that applies them in order has the writer's ids. A commit chunk
 * marks a point where all that is referred to is there: a file that was cut opens up to its last
 * one. docs/formats.md describes every payload (profile/chunk.h). */
#ifndef CRESSET_FORMAT_RECORDING_H
#define CRESSET_FORMAT_RECORDING_H

#include "format/format.h"
#include "profile/chunk.h"

extern const struct format format_recording;

enum { RECORDING_VERSION = 1 };
#define RECORDING_MAGIC "CRESSET" /* with its NUL */

enum { RECORDING_MAX_PENDING = 64 << 20 }; /* what a reader takes between two commits, as stored */
#define RECORDING_MAX_BYTES (4ull << 30)   /* … of all payloads, unpacked */

/* Writes PATH.tmp, which a crash leaves behind in a readable state. */
struct recorder;

int recorder_open(const char *path, struct recorder **out, struct err *err);

/* Appends what is new in p since the last commit: always the same profile. Samples may not be taken
 * away from it, names may change. Nothing is written when nothing is new. After a failure only
 * recorder_abort is left. */
int recorder_commit(struct recorder *r, const struct profile *p, struct err *err);

/* Commits, syncs to the disk, renames to PATH; always frees. On failure the .tmp is gone. */
int recorder_finish(struct recorder *r, const struct profile *p, struct err *err);

void recorder_abort(struct recorder *r); /* removes the .tmp and frees; NULL is fine */

bool recording_detect(const char *head, size_t len);
int recording_read(struct input *in, struct sink *sink, struct err *err);
int recording_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err);

#endif
