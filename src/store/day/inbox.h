/* store/day/inbox.h: inbox.db: batches from their acknowledgement until their rows are in
 * partitions.
 *
 *     batch(seq, received, data, sum)     data: u8 packed, then the row (batch_log.c), compressed
 *                                         when that saves enough; sum: XXH3-64 of data;
 *                                         received: Unix ns
 *     sender(id, high, window)            all of a sender's batches up to number `high` are or
 *                                         were here; bit i of 1024 in `window`: so is number high +
 *                                         1 + i
 *     last(id, seq)                       the last seq that was assigned to a batch
 *
 * A batch and the update of its sender are one transaction, so each number of a sender is stored
 * exactly once. */
#ifndef CRESSET_STORE_DAY_INBOX_H
#define CRESSET_STORE_DAY_INBOX_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store_batch;

enum { INBOX_WINDOW = 1024, INBOX_MAX_BATCH_BYTES = 256 << 20 };

struct inbox;
int inbox_open(const char *path, bool read_only, const char *vfs, struct inbox **out,
	       struct err *err);
void inbox_close(struct inbox *in); /* NULL is fine */
/* Checks the file with db_verify. */
int inbox_verify(struct inbox *in, struct err *err);

/* Encodes batches: encode appends batch i to out, and is called once for each new batch, in
 * order. */
struct inbox_rows {
	int (*encode)(void *ctx, size_t i, struct buf *out, struct err *err);
	void *ctx;
};
/* Stores all batches or none; synced when it returns 0. Only sender and sequence of batches are
 * used. seqs[i]: the seq of batch i, 0 for a duplicate. -ERANGE: a sender's number is too far ahead
 * of its first missing one. */
int inbox_put(struct inbox *in, const struct store_batch *batches, const struct inbox_rows *rows,
	      size_t n, int64_t received_ns, uint64_t *seqs, struct err *err);

/* Calls row for every row, in order; NULL for a damaged one. Stops when row returns nonzero, and
 * returns that value. */
typedef int (*inbox_row_fn)(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
			    struct err *err);
int inbox_replay(struct inbox *in, inbox_row_fn row, void *ctx, struct err *err);

/* For a reader next to a writer: takes a snapshot of the rows until inbox_read_end. Other files
 * already have whatever the rows refer to. */
int inbox_read_begin(struct inbox *in, struct err *err);
void inbox_read_end(struct inbox *in);

/* Returns the last seq that was assigned. */
uint64_t inbox_last(const struct inbox *in);

/* Deletes batches up to seq, at most `max_bytes` in one transaction; afterwards returns their space
 * to the file system, in slices as well. Returns 1 if there is more to do. */
int inbox_purge(struct inbox *in, uint64_t seq, uint64_t max_bytes, struct err *err);

/* Erases deleted batches from the files. */
int inbox_scrub(struct inbox *in, struct err *err);

uint64_t inbox_bytes(const struct inbox *in); /* of its files */

#endif
