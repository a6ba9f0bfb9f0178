/* store/day/hot.h: the hot tier: every sample of the last hours, and of pinned ranges, at full
 * precision. Only files of store/ include it.
 *
 *     hot/HOUR.db      samples of one hour, in append-only blocks (store/codec/hot_block.h).
 *                      HOUR: 2026-11-21T09, UTC
 *       block          ids from 1 without gaps. piece: the piece of the day that has the rows'
 *                      stacks. first, last: first moment of a row, last end of one, Unix ns.
 *                      sum: hot_checksum()
 *       state          one row, id 1: the hour's first moment; the highest batch of the inbox in
 *                      the file; rows of all blocks. It changes with the blocks in one transaction
 *
 * An hour with a missing block or a wrong sum is discarded: windows of 10 s replace it.
 *
 * Invariants:
 *
 *   1. An hour in store.hot that is not bad has all samples of its time that any batch ever had:
 *   its blocks have those of batches up to its sequence, its buffer those of later batches up to
 *   store.applied. So a reader takes the rows of an hour either from here or from windows, never
 *   from both. A sample that extends into the next hour is split there.
 *   2. An hour before hot_from_ns that is not in store.hot takes no samples, as it would be
 *   incomplete. hot_from_ns is synced before a file is unlinked, and only grows, unless it came
 *   from a clock that was ahead (store_clock.c). Any failure in an hour ends with giving it up:
 *   windows have all its data.
 *   3. Stacks are ids in a piece of the hour's day; its dictionary is on the disk before a block
 *   that needs it. All of a day's buffers become blocks before its heads do, so a batch that is in
 *   a part, or has left the inbox, is here as well.
 *
 * All functions need both of the store's locks (store_state.h). */
#ifndef CRESSET_STORE_DAY_HOT_H
#define CRESSET_STORE_DAY_HOT_H

#include "base/vec.h"
#include "profile/link.h"
#include "store/sqlite/db.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct store;
struct store_part;
struct store_wanted;

/* Rows that are not in blocks yet. A buffer only grows until they are; then it belongs to the views
 * that still read it. */
struct hot_buffer {
	VEC(struct hot_row) rows;
	struct link_table links;
	uint32_t piece; /* of the day, whose stack ids these are */
	uint32_t refs;
};
void hot_buffer_unref(struct hot_buffer *b); /* NULL is fine */

struct hot_hour {
	int64_t from_ns;
	char *path;
	uint64_t sequence;         /* its blocks have the batches up to this one */
	int64_t last_block;        /* 0: no file yet */
	uint64_t bytes;            /* of its files */
	uint64_t rows;             /* in its blocks */
	struct hot_buffer *buffer; /* NULL: empty */
	uint64_t first_sequence;   /* the first batch in its buffer; UINT64_MAX: empty */
	uint32_t readers;          /* views; nonzero: not to be unlinked */
	bool is_known;             /* its file was examined, or there is none */
	/* incomplete: not to be read, and given up at the next opportunity */
	bool is_bad;
};

extern const struct db_schema hot_schema;
uint64_t hot_checksum(int64_t hour_ns, int64_t piece, const void *data, size_t len);

/* Fills store.hot with the hours that have files. */
int store_hot_scan(struct store *s, struct err *err);
void store_hot_free(struct store *s);

/* Takes the rows of one batch; remembers the current hour. */
struct hot_cursor {
	struct store *s;
	struct store_part *sp;
	uint64_t seq;
	struct hot_hour *hour; /* NULL: no hour takes rows of hour_ns */
	int64_t hour_ns;
	bool has_hour;
};
/* Adds one sample, clipped to the part's day; row.link is ignored. spread: the value is spread over
 * length_ns; otherwise all of it counts at the start. */
void store_hot_take(struct hot_cursor *c, const struct hot_row *row, const struct trace_link *link,
		    bool spread);

/* Examines the file of an hour, if not yet done. */
void store_hot_use(struct store *s, struct hot_hour *h);
/* Opens the hour's file for writing. */
int store_hot_open(const struct store *s, const struct hot_hour *h, struct db **out,
		   struct err *err);
/* Writes the buffers of a part's day as blocks. On failure they stay. Releases lock in the
 * meantime. */
int store_hot_flush(struct store *s, struct store_part *sp, struct err *err);
uint64_t store_hot_buffer_bytes(const struct store *s);
uint64_t store_hot_bytes(const struct store *s);
/* Returns the first batch in a buffer; UINT64_MAX: none. */
uint64_t store_hot_first_sequence(const struct store *s);

/* Unlinks one hour that is too old or bad; returns 1 if it did. This and the next ones release lock
 * in the meantime. */
int store_hot_retain(struct store *s, struct err *err);
/* Unlinks the oldest hour: of all if pinned, otherwise of those not pinned. Returns 0 if there is
 * none. */
int store_hot_drop(struct store *s, bool pinned, struct err *err);
/* Returns whether a pinned hour needs the dictionaries of this day. */
bool store_hot_holds(const struct store *s, int64_t day_ns);
/* Unlinks all hours of a day that is about to be deleted. */
int store_hot_drop_day(struct store *s, int64_t day_ns, struct err *err);

/* hot_delete.c: deletes rows in the file of an hour; its blocks stay, with fewer rows. */
int hot_delete(struct db *db, int64_t hour_ns, const struct store_wanted *w, uint64_t *rows,
	       struct err *err);

#endif
