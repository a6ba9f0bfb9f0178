/* store/day/store_state.h: the state of an open store. Only files of store/ include it.
 *
 * Invariants. The inbox assigns increasing sequences to batches, which are applied to memory in
 * that order, each as a whole.
 *
 *   1. A part's blocks have exactly the rows of all batches up to its inbox_sequence, and its heads
 *   exactly those of later batches up to store.applied. So all heads of a part become blocks in one
 *   part_add, with inbox_sequence = applied; replay skips, for each part, batches up to its
 *   inbox_sequence.
 *   2. Only the last part of a day has heads: before a day gets another piece, all its heads become
 *   blocks. So the greatest inbox_sequence of its parts holds for the day.
 *   3. The day of a row depends only on its batch and the time it was received, never on the time
 *   of a replay. Days before kept_from_ns take no rows; it is synced before the first file is
 *   unlinked. It grows as days are deleted, and is never later than the last existing day. It goes
 *   back only if it lies in the future: a clock was ahead, or is behind (store_clock.c).
 *   4. A batch leaves the inbox when none of its rows is in heads or in a buffer of the hot tier
 *   (see store/day/hot.h for its invariants), and none of its names is in memory only: when it is
 *   below first_sequence of every part and buffer, and below names_db_first_sequence. Names in
 *   memory are synced to names.db before. Replay offers the names of all batches in the inbox
 *   again, whether or not parts have their rows.
 *   5. The catalog is synced before a part_add, or a batch in the inbox, that needs it, so series
 *   of blocks and rows always exist.
 *   6. A row of the inbox has stack ids in a part's dictionary, and the dictionary's new entries:
 *   those from `logged` on, which starts as the size in the file when the dictionary was read, and
 *   grows with each row. A part with a logged row is not closed before part_add has made its
 *   dictionary durable: first_sequence marks it, even if it has no rows. Entries added for a batch
 *   that fails to get into the inbox stay, and are logged with the next one. A reader next to the
 *   writer reads the inbox first: all other files then have what its rows need. Only the holder of
 *   inbox_lock adds to dictionaries and to the catalog.
 *
 * There are two locks; inbox_lock is taken first. Every change needs both, except to views and idle
 * readers (readers.h), which need `lock` only. Functions "under both locks" may release `lock`
 * while they write or sync. Views then open and close, and read heads, buffers of the hot tier and
 * the catalog, none of which changes in the meantime; but no other thread touches the writer's
 * handles (part, catalog, names, inbox) without inbox_lock. Rows are in the file before heads and
 * buffers are freed, under `lock`. A view that opens in between finds rows in both, and can tell: a
 * part's blocks have their last sequence (view.c), blocks of the hot tier have ids. Blocks are
 * encoded without either lock (ahead.c). */
#ifndef CRESSET_STORE_STATE_H
#define CRESSET_STORE_STATE_H

#include "base/vec.h"
#include "profile/chunk.h"
#include "store/codec/clock_watch.h"
#include "store/codec/store.h"
#include "store/day/head.h"
#include "store/part/part.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct batch_rows;
struct catalog_copy;
struct err;
struct hot_hour;
struct part_reader;
struct store_dict;
struct store_view;

/* Approximate disk space for a row that is not in a block yet. */
enum { STORE_ROW_BYTES = 8 };

/* Heads get at most this fraction of memory, all together. */
enum { STORE_HEADS_SHARE = 8 };

#define STORE_DAY_NS (24 * HEAD_SLOT_NS)

/* An hour of exact samples further in the future comes from a wrong clock. */
#define STORE_HOT_AHEAD_NS (2 * STORE_DAY_NS)

/* State of the removal of unused series from the catalog (store/write/gc.c). */
struct store_gc {
	/* Constant after opening. */
	int readers_fd; /* of DIR/readers; < 0: none */

	/* Guarded by store.lock. */
	bool is_due;  /* a run has to start */
	bool is_busy; /* a thread runs a step, and owns the rest of this struct */
	bool is_held; /* no steps: a deletion uses series numbers (delete.c) */

	/* Owned by the thread that has set is_busy. */
	bool is_running;
	uint64_t sequence; /* batches up to this one were in files at the start */
	bool *kept;        /* by series: found in a file */
	uint32_t n;
	/* Where the next step continues. */
	int64_t part_ns, hot_ns, hot_block;
	uint32_t piece;
};

/* The block of a head when it had `rows` rows. */
struct store_encoded {
	size_t rows;
	struct part_encoded block;
};

/* The first and the last time in a part's blocks. Every view needs them, and finding them means
 * reading each series' windows of the whole day, so they are cached while the blocks stay the
 * same. */
struct store_range {
	bool is_known;
	uint64_t inbox_sequence, rows, blocks; /* from part_info */
	int64_t from_ns, to_ns;                /* INT64_MAX, INT64_MIN: no blocks */
};

/* A partition on the disk, or one that gets there with its first blocks. */
struct store_part {
	char *path; /* of the .db */
	int64_t day_ns;
	uint32_t piece;    /* of its day: 0, 1, … */
	struct part *part; /* NULL while closed: see store_part_use */
	struct heads heads;
	VEC(struct store_encoded) ahead; /* by index of the head; may be shorter */
	uint64_t ahead_bytes, flushes; /* flushes: times that heads became blocks or were dropped */
	uint64_t inbox_sequence;       /* its blocks have batches up to this one */
	uint64_t first_sequence;       /* the first batch in its heads; UINT64_MAX: empty */
	int64_t due_ns;                /* when heads become blocks */
	uint32_t pins;                 /* readers; nonzero: not to be closed or unlinked */
	uint64_t used;                 /* store.uses at its last use */
	uint64_t bytes, detail_bytes;  /* of its files, when last examined */
	bool is_known;                 /* it was open before */
	uint64_t bad_blocks;           /* of the writer's handle, when last examined */
	bool is_bad;                   /* the file or its dictionary cannot be read */
	bool is_left_out;              /* a view could not read it */
	bool is_said;                  /* one of the two, already logged */
	bool has_dict;                 /* in memory */
	bool has_detail;
	/* the last writer did not close the store, and this part is or may be sealed */
	bool to_verify;
	bool finished;    /* compacted and sealed, nothing added since */
	uint64_t dict_id; /* changes each time the dictionary is read from the file */
	/* How much of the dictionary is on the disk, in its file or in rows of the inbox; logging:
	 * including rows being written. */
	struct chunk_position logged, logging;
	/* of dictionary entries in rows of the inbox; NULL: none yet */
	struct chunk_reader *replay;
	/* dictionary entries of a row in the inbox are lost: new rows go to another piece */
	bool is_torn;
	struct store_range range;
	int64_t compact_ns; /* when to compact hours into four hours; INT64_MAX: nothing to do */
};

static inline bool store_part_is_left_out(const struct store_part *sp)
{
	return sp->is_bad || sp->is_left_out;
}

/* Idle readers, for the next view (readers.h). */
struct store_readers {
	VEC(struct part_reader *) parts;
	VEC(struct names_db *) names;
	struct catalog_copy *catalog; /* the last one; NULL: none yet */
	uint64_t dict_bytes;          /* of all dictionaries of idle readers and of views */
};

struct store {
	/* Constant after opening, of inbox, catalog and names only the pointers; the namer is set
	 * before the first view. */
	char *dir;
	struct store_opts opts; /* with the defaults filled in */
	struct store_namer namer;
	int lock_fd;
	bool was_killed; /* the last writer did not close it */
	struct inbox *inbox;
	struct catalog *catalog;
	struct names_db *names;

	/* Taken in this order. */
	pthread_mutex_t delete_lock; /* held through a whole deletion */
	pthread_mutex_t inbox_lock, lock;

	/* Guarded by delete_lock. */
	bool delete_is_left; /* a deletion failed */

	/* Guarded by inbox_lock: the writer's. */
	uint64_t purged; /* batches up to this one are no longer in the inbox */
	/* names of mappings not used since this day must be deleted; INT32_MIN: none */
	int32_t names_day;

	/* Changed under both locks, read under either. */
	VEC(struct store_part *) parts;        /* by day, then piece */
	VEC(struct hot_hour *) hot;            /* by time */
	int64_t hot_from_ns;                   /* store/day/hot.h, 2 */
	bool has_hot;                          /* both are known */
	uint64_t applied;                      /* the last batch in heads or blocks */
	int64_t kept_from_ns;                  /* start of a day; nothing older is retained */
	struct clock_watch clock, clock_saved; /* at the last look; as stored in meta.db */
	uint64_t dict_ids;

	/* Guarded by lock. */
	/* Not reported yet: by how much the clock was set, and a kept_from_ns that was moved back;
	 * 0: nothing. */
	int64_t moved_ns, taken_back_ns;
	uint64_t uses;
	struct store_dict *dicts; /* of senders */
	struct store_gc gc;       /* only in part: see struct store_gc */
	struct store_view *views; /* open ones */
	struct store_readers readers;
	struct store_stats stats; /* counters; store_get_stats fills in the measured ones */
};

static inline int64_t store_now_ns(const struct store *s)
{
	return s->opts.now_ns(s->opts.ctx);
}

static inline void store_lock(struct store *s)
{
	pthread_mutex_lock(&s->inbox_lock);
	pthread_mutex_lock(&s->lock);
}

static inline void store_unlock(struct store *s)
{
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->inbox_lock);
}

/* --- views (view_state.c), under lock --- */

/* Called before blocks are added to a part: attaches views that have not used it yet to its current
 * state. */
int store_views_hold(struct store *s, struct store_part *sp, struct err *err);
/* Called after its heads have become blocks: frees them, or leaves them to the views that still
 * read them. */
void store_views_take_heads(struct store *s, struct store_part *sp);

/* --- parts (store_part.c), all under both locks --- */

/* Accepts "2026-11-21.db", "2026-11-21.1.db" and nothing else. */
bool store_part_name(const char *name, int64_t *day_ns, uint32_t *piece);
/* Returns the path of the detail for a partition's .db; to be freed. */
char *store_detail_path(const char *path);
/* Opens the part if it is closed. */
int store_part_use(struct store *s, struct store_part *sp, struct err *err);
/* The same, with its dictionary loaded. All readers of a dictionary use this, so that it counts as
 * memory. */
int store_part_load(struct store *s, struct store_part *sp, struct err *err);
/* Returns this piece of a day, with its dictionary, for a row of the inbox. -EBADMSG:
 * unreadable. */
int store_part_piece(struct store *s, int64_t day_ns, uint32_t piece, struct store_part **out,
		     struct err *err);
/* Ends the replay of the inbox. */
void store_part_replayed(struct store_part *sp);
/* Returns the part that takes rows of a day, with its dictionary; created if missing. */
int store_part_for(struct store *s, int64_t day_ns, struct store_part **out, struct err *err);
/* The same with room in its dictionary: starts another piece of the day if it is full. */
int store_part_with_room(struct store *s, int64_t day_ns, struct store_part **out, struct err *err);
/* Notes that a row of the inbox refers to the part: rows added to its heads, or new entries of its
 * dictionary. */
void store_part_note(struct store *s, struct store_part *sp, uint64_t seq, uint64_t rows);
void store_part_note_points(struct store *s, struct store_part *sp, uint64_t seq, uint64_t points);
/* Sets *out to the batch up to which the day's blocks are complete; opens parts of the day where
 * that is unknown. */
int store_day_sequence(struct store *s, int64_t day_ns, uint64_t *out, struct err *err);
/* Fills store.parts with the files in p/. */
int store_parts_scan(struct store *s, struct err *err);
/* Writes all its heads as blocks. On failure they stay. Releases lock in the meantime. */
int store_part_flush(struct store *s, struct store_part *sp, struct err *err);
void store_part_close(struct store_part *sp); /* it has no heads, or they must be dropped */
void store_part_idle(struct store_part *sp);  /* closes it if it has no heads and no readers */
/* Closes it, unlinks its files, and removes it from store.parts. */
int store_part_unlink(struct store *s, struct store_part *sp, struct err *err);
/* Updates the sizes of its files. */
void store_part_measure(struct store_part *sp);
/* Writes the heads of the least recently used parts and closes these, until the store is within its
 * memory limit. Releases lock in the meantime. */
int store_free_memory(struct store *s, struct err *err);
uint64_t store_memory_bytes(const struct store *s);

/* --- encoded ahead (ahead.c) --- */

/* Encodes the heads of a pinned part, without locks, while go_on returns true. */
void store_encode_ahead(struct store *s, struct store_part *sp, bool (*go_on)(void *ctx),
			void *ctx);
/* Returns the block of this head as it is now; NULL: not encoded yet. Under lock. */
const struct part_encoded *store_ahead_of(const struct store_part *sp, size_t head);
/* Drops encoded blocks after the heads have become blocks or were dropped. Under lock. */
void store_ahead_done(struct store_part *sp);

/* --- the clock (store_clock.c), under both locks --- */

/* Called before the inbox is replayed. */
int store_clock_open(struct store *s, struct err *err);
/* Called before anything is deleted by age. */
void store_check_clock(struct store *s);
/* Returns the time of arrival. If the clock was set back, data from senders with the right time
 * would otherwise be from the future. */
int64_t store_received_ns(struct store *s);
/* Returns the next event to log; false: none. */
bool store_clock_news(struct store *s, struct err *words);
/* Returns the time that ages are counted from: now, or the end of the last existing day, so that a
 * store without new data loses nothing to a clock that is ahead. 0 while the clock is not trusted:
 * nothing is old then. */
int64_t store_age_ns(const struct store *s);

#endif
