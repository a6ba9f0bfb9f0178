/* store/inbox.h: inbox.db: batches from their acknowledgement until their rows are in partitions.
 *
 *     batch(seq, received, data, sum)     data: the whole profile as chunks (profile/chunk.h), packed together when that saves enough:
 *                                         u8 packed, then { u8 type  u8 flags  u32 length  payload } …; points of metrics
 *                                         are a payload of type INBOX_POINTS, the last one (store/metric_samples.h)
 *     sender(id, high, window)            all of a sender's batches up to number `high` are here or were; bit i of the 1024 of `window`: so
 *                                         is number high + 1 + i
 *     last(id, seq)                       the last seq that was given to a batch
 *
 * Of names and what only they refer to a batch has those that were new when it came (batch_kept.h): all others are in names.db, or in batches
 * before it that are still here.
 *
 * A batch and the news of its sender are one transaction, so each number of a sender gets in exactly once. */
#ifndef CRESSET_STORE_INBOX_H
#define CRESSET_STORE_INBOX_H

#include "base/err.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

enum { INBOX_WINDOW = 1024, INBOX_MAX_BATCH_BYTES = 256 << 20, INBOX_POINTS = 64 };

struct inbox;
int inbox_open(const char *path, bool read_only, const char *vfs, struct inbox **out,
	       struct err *err);
void inbox_close(struct inbox *in); /* NULL is fine */
/* Whether its file is sound, as db_verify says. */
int inbox_verify(struct inbox *in, struct err *err);

/* All or nothing, synced when it returns 0. kept: by batch, what is kept of each; NULL: all of all. seqs[i]: what batch i got, 0 when it is a duplicate. -ERANGE: a sender's number is too far
 * beyond what is missing of it. */
int inbox_put(struct inbox *in, const struct store_batch *batches, const struct chunk_kept *kept,
	      size_t n, int64_t received_ns, uint64_t *seqs, struct err *err);

/* Every batch, in order. A damaged one: p is NULL. p is the callee's. Ends with the first result other than 0, which is returned. */
typedef int (*inbox_batch_fn)(void *ctx, uint64_t seq, int64_t received_ns, struct profile *p,
			      struct err *err);
int inbox_replay(struct inbox *in, inbox_batch_fn batch, void *ctx, struct err *err);
/* The points of the batch that the callback is called for, series as in p. */
const struct metric_samples *inbox_points(const struct inbox *in);

/* The last seq that was given. */
uint64_t inbox_last(const struct inbox *in);

/* Takes batches up to seq away, at most `max_bytes` of them in one transaction; when they are gone, the file system gets back what they took, in
 * slices, too. 1: there is more to do. */
int inbox_purge(struct inbox *in, uint64_t seq, uint64_t max_bytes, struct err *err);

uint64_t inbox_bytes(const struct inbox *in); /* of its files */

#endif
