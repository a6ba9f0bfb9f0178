/* store/write/write.h: changes to an open store. Only files of store/ include it. */
#ifndef CRESSET_STORE_WRITE_WRITE_H
#define CRESSET_STORE_WRITE_WRITE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch_rows;
struct err;
struct metric_samples;
struct profile;
struct store;

/* --- rows of a batch (apply.c) --- */

/* Lists the days that rows of a batch belong to. days: [STORE_BATCH_DAYS]; more is an error. */
int store_batch_days(const struct store *s, const struct profile *p, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err);
/* Adds the days that points belong to. m may be NULL. */
int store_point_days(const struct store *s, const struct metric_samples *m, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err);
/* Puts the rows, points and names of a batch into memory. Under both locks. */
void store_apply(struct store *s, uint64_t seq, const struct batch_rows *r);

/* --- after a restart (replay.c), under both locks --- */

/* Applies a row of the inbox (batch_log.c) as the first time, except rows that are in blocks.
 * row NULL: damaged. Damage is counted and skipped. */
int store_replay_row(struct store *s, uint64_t seq, int64_t received_ns, const struct cur *row,
		     struct err *err);
void store_replay_end(struct store *s);

/* --- retention (retention.c), under both locks --- */

uint64_t store_disk_bytes(const struct store *s);
/* Deletes one thing that is too old, or the oldest if less than `more_bytes` is free. Returns 1 if
 * something was deleted, 0 if there was no need. -ENOSPC: nothing is left to delete. */
int store_retain(struct store *s, uint64_t more_bytes, struct err *err);

/* --- store_maintain (maintain.c) --- */

/* Deletes up to 4 MiB of batches that all parts have in blocks from the inbox. Returns 1 if there
 * is more to do. Without locks. */
int store_purge(struct store *s, struct err *err);

/* --- deleting series (delete.c) --- */

/* Resumes a deletion that the last process did not finish. Called while the store is opened. */
int store_delete_resume(struct store *s, struct err *err);
/* Resumes a failed deletion, for example on a full disk; after another failure it is tried
 * again. */
void store_delete_rest(struct store *s);

/* --- unused series (gc.c) --- */

/* Opens DIR/readers, which a writer creates and readers lock. */
int store_gc_open(struct store *s, struct err *err);
void store_gc_done(struct store *s);

/* While paused, no series is removed; after store_gc_resume a run is due. Waits for the step in
 * progress. */
void store_gc_pause(struct store *s);
void store_gc_resume(struct store *s);

/* Lets new series take free places if no other process reads. Also called while opening, as the
 * first batch may come before the first step of a run. */
void store_gc_reuse(struct store *s);

/* Does one step of a run. Returns 1 if there is more to do. Without locks. */
int store_gc_step(struct store *s, struct err *err);

#endif
