/* store/inbox.h: inbox.db: batches from their acknowledgement until their rows are in partitions.
 *
 *     batch(seq, received, data, sum)     data: u8 packed, then the row (batch_rows.h, docs/formats.md), packed when that saves enough
 *     sender(id, high, window)            all of a sender's batches up to number `high` are here or were; bit i of the 1024 of `window`: so
 *                                         is number high + 1 + i
 *     last(id, seq)                       the last seq that was given to a batch
 *
 * A batch and the news of its sender are one transaction, so each number of a sender gets in exactly once. */
#ifndef CRESSET_STORE_INBOX_H
#define CRESSET_STORE_INBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

enum { INBOX_WINDOW = 1024, INBOX_MAX_BATCH_BYTES = 256 << 20 };

struct inbox;
int inbox_open(const char *path, bool read_only, const char *vfs, struct inbox **out,
	       struct err *err);
void inbox_close(struct inbox *in); /* NULL is fine */
/* Whether its file is sound, as db_verify says. */
int inbox_verify(struct inbox *in, struct err *err);

/* What a batch is kept as: appended to out, once for each that is new, in order. */
struct inbox_rows {
	int (*encode)(void *ctx, size_t i, struct buf *out, struct err *err);
	void *ctx;
};
/* All or nothing, synced when it returns 0; of batches only the senders and their sequences are looked at. seqs[i]: what batch i got, 0 when it is a
 * duplicate. -ERANGE: a sender's number is too far beyond what is missing of it. */
int inbox_put(struct inbox *in, const struct store_batch *batches, const struct inbox_rows *rows,
	      size_t n, int64_t received_ns, uint64_t *seqs, struct err *err);

/* Every row, in order; one that is damaged: NULL. Ends with the first result other than 0, which is returned. */
typedef int (*inbox_row_fn)(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
			    struct err *err);
int inbox_replay(struct inbox *in, inbox_row_fn row, void *ctx, struct err *err);

/* For who reads beside a writer: rows are those of this moment until inbox_read_end. What they refer to in other files was there before. */
int inbox_read_begin(struct inbox *in, struct err *err);
void inbox_read_end(struct inbox *in);

/* The last seq that was given. */
uint64_t inbox_last(const struct inbox *in);

/* Takes batches up to seq away, at most `max_bytes` of them in one transaction; when they are gone, the file system gets back what they took, in
 * slices, too. 1: there is more to do. */
int inbox_purge(struct inbox *in, uint64_t seq, uint64_t max_bytes, struct err *err);

/* What left it is not in its files any more. */
int inbox_scrub(struct inbox *in, struct err *err);

uint64_t inbox_bytes(const struct inbox *in); /* of its files */

#endif
