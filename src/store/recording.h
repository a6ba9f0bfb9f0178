/* store/recording.h: a recording, *.cresset: the chunks of a profile (profile/chunk.h) in one SQLite file.
 *
 *     chunk(id, type, flags, sum, data)     in the order of their ids, which count from 1 without gaps; sum: chunk_checksum
 *
 * A transaction is a commit: all that it refers to is there. While it grows, the file is called PATH.tmp and has its write-ahead log
 * PATH.tmp-wal beside it: after a crash both together open up to the last commit, also while it is being written; after a power failure
 * up to one of the last ten seconds. When it is complete there is nothing but PATH. docs/formats.md describes it. */
#ifndef CRESSET_STORE_RECORDING_H
#define CRESSET_STORE_RECORDING_H

#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "profile/profile.h"
#include "store/db.h"

#include <stdbool.h>
#include <stddef.h>

enum { RECORDING_VERSION = 1 };
extern const struct db_schema recording_schema;

/* --- writing --- */

struct recorder;

/* path NULL: a file in $TMPDIR without a name, gone with the recorder: it only keeps samples for recorder_restore_samples. */
int recorder_open(const char *path, struct recorder **out, struct err *err);

/* Adds what is new in p since the last commit: always the same profile. Names may change; samples leave it through
 * recorder_drop_samples only. Nothing is written when nothing is new. After a failure only recorder_restore_samples and
 * recorder_abort are left. */
int recorder_commit(struct recorder *r, const struct profile *p, struct err *err);

/* Takes all samples out of p. They have just been committed. */
void recorder_drop_samples(struct recorder *r, struct profile *p);
/* Puts those back that were taken out, in front of those that p has. On failure p has what it had. */
int recorder_restore_samples(struct recorder *r, struct profile *p, struct err *err);

/* Commits, syncs to the disk, renames to PATH; always frees. On failure the .tmp is gone, unless it is complete and nothing but another
 * process that reads it was in the way. */
int recorder_finish(struct recorder *r, const struct profile *p, struct err *err);

void recorder_abort(struct recorder *r); /* removes the .tmp and frees; NULL is fine */

/* All of p at once, to anything that can be written to. */
int recording_write(const struct profile *p, struct out *out, struct err *err);

/* --- reading --- */

/* More is not taken. */
#define RECORDING_MAX_BYTES  (4ull << 30)   /* of all payloads, unpacked */
#define RECORDING_MAX_COPIED (16ull << 30)  /* of a file that comes through a pipe, or packed */
#define RECORDING_MAX_HELD   (256ull << 20) /* of one that is in memory: it stays there */

/* Needs DB_HEAD_BYTES. */
bool recording_detect(const char *head, size_t len);

/* Chunks that are damaged are left out with what depends on them, and counted in LOSS_INPUT_SKIPPED. -EBADMSG when it is no recording. */
int recording_read(struct input *in, struct sink *sink, struct err *err);

#endif
