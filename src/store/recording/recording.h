/* store/recording/recording.h: a recording, *.cresset: the chunks of a profile (profile/chunk.h) in
 * one SQLite file.
 *
 *     chunk(id, type, flags, sum, data)     ordered by id, from 1 without gaps;
 *                                           sum: chunk_checksum
 *
 * Each transaction is a commit, after which all references are complete. A growing file is called
 * PATH.tmp, with its write-ahead log PATH.tmp-wal next to it. Together they can be read up to the
 * last commit, during writing and after a crash; after a power failure, up to a commit of the last
 * ten seconds. A complete recording is PATH alone. docs/formats.md describes it. */
#ifndef CRESSET_STORE_RECORDING_RECORDING_H
#define CRESSET_STORE_RECORDING_RECORDING_H

#include "base/err.h"
#include "store/sqlite/db.h"

#include <stdbool.h>
#include <stddef.h>

struct input;
struct out;
struct profile;
struct sink;

enum { RECORDING_VERSION = 1 };
extern const struct db_schema recording_schema;

/* --- writing --- */

struct recorder;

/* path NULL: an unnamed file in $TMPDIR, deleted with the recorder, which only retains samples for
 * recorder_restore_samples. */
int recorder_open(const char *path, struct recorder **out, struct err *err);

/* Adds what is new in p since the last commit; p is always the same profile. Names may change; only
 * recorder_drop_samples may remove samples. Writes nothing if nothing is new. After a failure only
 * recorder_restore_samples and recorder_abort may be called. */
int recorder_commit(struct recorder *r, const struct profile *p, struct err *err);

/* Removes all samples from p, right after their commit. */
void recorder_drop_samples(struct recorder *r, struct profile *p);
/* Puts dropped samples back, before the ones that p has. On failure p is unchanged. */
int recorder_restore_samples(struct recorder *r, struct profile *p, struct err *err);

/* Commits, syncs to the disk, renames to PATH; always frees. On failure the .tmp is deleted, unless
 * it is complete and only another process reading it was in the way. */
int recorder_finish(struct recorder *r, const struct profile *p, struct err *err);

void recorder_abort(struct recorder *r); /* removes the .tmp and frees; NULL is fine */

/* Writes all of p at one time to any output. */
int recording_write(const struct profile *p, struct out *out, struct err *err);

/* --- reading --- */

/* Limits of a reader. */
/* limit: a recording, uncompressed */
#define RECORDING_MAX_BYTES  (4ull << 30) /* of all payloads, decompressed */
/* limit: a recording from a pipe or compressed, copied to $TMPDIR */
#define RECORDING_MAX_COPIED (16ull << 30)  /* of a file that comes through a pipe, or compressed */
#define RECORDING_MAX_HELD   (256ull << 20) /* of one in memory, which stays there */

/* Returns whether a file is a recording, by its first DB_HEAD_BYTES. */
bool recording_detect(const char *head, size_t len);

/* Reads a recording. Damaged chunks are skipped with whatever depends on them, and counted in
 * LOSS_INPUT_SKIPPED. -EBADMSG: not a recording. */
int recording_read(struct input *in, struct sink *sink, struct err *err);

#endif
