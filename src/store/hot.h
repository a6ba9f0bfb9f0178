/* store/hot.h: the hot tier: every sample of the last hours, and of pinned ranges, exactly as it was taken. Only files of store/ include it.
 *
 *     hot/HOUR.db      the samples of one hour, in blocks (store/hot_block.h) that are only ever added
 *
 * What is always true:
 *
 *   1. An hour that is in store.hot, and not bad, has all samples of its time that any batch ever had: in blocks those of batches up to its
 *      sequence, in its buffer those of the later ones up to store.applied. So a reader takes rows of an hour from here or from windows,
 *      never from both. A sample that reaches into the next hour is cut there: each hour has its part.
 *   2. An hour before hot_from_ns that is not in store.hot takes no samples: it would have only some. hot_from_ns is synced before a file is
 *      unlinked, and only grows, unless a clock that was ahead has made it (store_clock.c). What goes wrong with an hour ends with giving it up:
 *      windows have it all.
 *   3. Stacks are those of a piece of the hour's day; what is new in its dictionary is on the disk before a block that needs it. All of a
 *      day's buffers become blocks before its heads do, so a batch that a part has is here, too, and one that leaves the inbox as well.
 *
 * Everything under both of the store's locks (store_state.h). */
#ifndef CRESSET_STORE_HOT_H
#define CRESSET_STORE_HOT_H

#include "base/vec.h"
#include "store/db.h"
#include "store/hot_block.h"

#include <stdbool.h>
#include <stdint.h>

struct store;
struct store_part;
struct profile;

/* Rows that are in no block yet. It only grows until they are in one; then it belongs to the views that still read it. */
struct hot_buffer {
	VEC(struct hot_row) rows;
	struct link_table links;
	uint32_t piece; /* of the day, whose stacks these are */
	uint32_t refs;
};
void hot_buffer_unref(struct hot_buffer *b); /* NULL is fine */

struct hot_hour {
	int64_t from_ns;
	char *path;
	uint64_t sequence;         /* batches up to this one are in its blocks */
	int64_t last_block;        /* 0: there is no file yet */
	uint64_t bytes;            /* of its files */
	uint64_t rows;             /* in blocks */
	struct hot_buffer *buffer; /* NULL: empty */
	uint64_t first_sequence;   /* of what is in its buffer; UINT64_MAX: nothing */
	uint32_t readers;          /* views: it is not unlinked meanwhile */
	bool is_known;             /* its file was looked at, or there is none */
	bool is_bad; /* it is not complete: nothing is read from it, and it is given up at the next chance */
};

extern const struct db_schema hot_schema;
uint64_t hot_checksum(int64_t hour_ns, int64_t piece, const void *data, size_t len);

/* Hours that have files become store.hot. */
int store_hot_scan(struct store *s, struct err *err);
void store_hot_free(struct store *s);

/* Where rows of one batch go: keeps the hour at hand. */
struct hot_cursor {
	struct store *s;
	struct store_part *sp;
	uint64_t seq;
	struct hot_hour *hour; /* NULL: none takes rows of hour_ns */
	int64_t hour_ns;
	bool has_hour;
};
/* One sample; row.link is ignored. Of length_ns the part from the day's first moment to its last is taken; spread: its value with it,
 * else all of it counts where it begins. */
void store_hot_take(struct hot_cursor *c, const struct hot_row *row, const struct trace_link *link,
		    bool spread);

/* The file of an hour is looked at, when it was not yet. */
void store_hot_use(struct store *s, struct hot_hour *h);
/* The hour's file, to write. */
int store_hot_open(const struct store *s, const struct hot_hour *h, struct db **out,
		   struct err *err);
/* The buffers of a part's day become blocks. On failure they stay. Lets go of lock. */
int store_hot_flush(struct store *s, struct store_part *sp, struct err *err);
uint64_t store_hot_buffer_bytes(const struct store *s);
uint64_t store_hot_bytes(const struct store *s);
/* The first batch that is in a buffer, UINT64_MAX: none is. */
uint64_t store_hot_first_sequence(const struct store *s);

/* Unlinks one hour that is too old, or bad, or was given up; 1: it did. These let go of lock. */
int store_hot_retain(struct store *s, struct err *err);
/* Unlinks the oldest hour: of those that are not pinned, or else (pinned) of all. 0: there is none. */
int store_hot_drop(struct store *s, bool pinned, struct err *err);
/* Whether a pinned hour needs the dictionaries of this day. */
bool store_hot_holds(const struct store *s, int64_t day_ns);
/* All hours of a day that is about to go. */
int store_hot_drop_day(struct store *s, int64_t day_ns, struct err *err);

#endif
