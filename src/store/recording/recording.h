/* store/recording/recording.h: a recording, *.cresset: the chunks of a profile (profile/chunk.h) in
 * one SQLite file.
 *
 *     chunk(id, type, flags, sum, data)     id: the order of application, from 1 without gaps;
 *                                           sum: XXH3-64 of data as stored, seeded with type +
 *                                           flags * 2^32 (chunk_checksum); data: the payload
 *
 * application_id is "CRER". A file with any other table, index, view or trigger is refused. It is
 * opened such that no code in it runs and nothing is written to it or next to it, so copies and
 * read-only directories work.
 *
 * A chunk with a wrong sum is left out, with everything that depends on it. After a gap no more
 * rows are read of tables with counted rows (types 1 to 4 and 6 to 9), as their ids could be wrong.
 * A truncated file is read up to that point, damaged pages are skipped. All of it is counted, and
 * so is a file without its end.
 *
 * One sample of value 5 of the stack "main", by pid 7 on CPU 0, thread unknown, as sqlite3 prints
 * id, type, flags, sum and data:
 *
 *     1|1|0|93366f8e20c237f3|046d61696e0773616d706c657305636f756e74
 *     2|3|0|72a9767113bbc400|000001000000
 *     3|6|0|4e91b292f223ecc1|020203000000
 *     4|8|0|6e4c18bbe925ea19|000000
 *     5|9|0|f04fe812d238291b|01000100
 *     6|11|0|d374ed644a811679|0000000000000000000000000000000000
 *     7|10|0|244753964216ba2d|01000a0002100002
 *     8|12|0|a63cc12c5fc54b00|01
 *
 * That is: strings 1 to 3; frame 0 (native, no mapping, function 1); type 0 (name 2, sample type 2,
 * unit 3, sum); series 0; stack 1 (parent 0, shares 0, 1 own: frame 0); meta, all unknown; a sample
 * (time 0, value 5 as 0a, series 0, stack 1 as 02, pid 8 as 10, tid 0, cpu 1 as 02); the end.
 *
 * Each transaction is a commit, after which all references are complete. A growing file is called
 * PATH.tmp, with its write-ahead log PATH.tmp-wal next to it. Together they can be read up to the
 * last commit, during writing and after a crash; after a power failure, up to a commit of the last
 * ten seconds. At the end the log is merged into the file, the journal mode becomes DELETE,
 * everything is synced and the file renamed: a complete recording is PATH alone. */
#ifndef CRESSET_STORE_RECORDING_RECORDING_H
#define CRESSET_STORE_RECORDING_RECORDING_H

#include "store/sqlite/db.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
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
/* limit: one piped or compressed, copied to $TMPDIR */
#define RECORDING_MAX_COPIED (16ull << 30) /* of a file that comes through a pipe, or compressed */
/* limit: one sent to a server, in memory */
#define RECORDING_MAX_HELD   (256ull << 20)

/* Returns whether a file is a recording, by its first DB_HEAD_BYTES. */
bool recording_detect(const char *head, size_t len);

/* Reads a recording. Damaged chunks are skipped with whatever depends on them, and counted in
 * LOSS_INPUT_SKIPPED. -EBADMSG: not a recording. */
int recording_read(struct input *in, struct sink *sink, struct err *err);

#endif
