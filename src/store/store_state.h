/* store/store_state.h: what an open store is. Only files of store/ include it.
 *
 * What a row goes through, and what is always true. Batches have sequences, given by the inbox, that only grow; they are applied to memory
 * in that order, each as a whole.
 *
 *   1. A part's blocks have exactly the rows of all batches up to its inbox_sequence, and its heads have exactly those of the later ones
 *      up to store.applied. So all heads of a part become blocks in one part_add, with inbox_sequence = applied; replay leaves out for
 *      each part what its inbox_sequence covers.
 *   2. Only the last part of a day has heads: a day that gets another piece has put all it had into blocks before. So what a day has is
 *      told by the greatest inbox_sequence of its parts.
 *   3. Which day a row belongs to depends on its batch only, the moment it was received included, never on the moment of a replay. Days
 *      before kept_from_ns take no rows; it is synced before the first file is unlinked. It grows with the days that go, and is never later than
 *      the last day there was. It goes back only when it lies in the future: a clock was ahead, or is behind (store_clock.c).
 *   4. A batch leaves the inbox when no part has rows of it in its heads, no buffer of the hot tier has them (store/hot.h has its invariants),
 *      and none of its names is in memory only: when it is below every part's first_sequence, the buffers', and names_db_first_sequence.
 *      Names in memory have gone into names.db, synced, before. Replay gives those of all batches in the inbox anew, whatever parts have of
 *      their rows.
 *   5. The catalog is synced before a part_add, or a batch in the inbox, that needs it, so series in blocks and rows are always known.
 *   6. A row of the inbox has numbers of stacks in a part's dictionary, and what is new there: from `logged` on, which is what the file had when the
 *      dictionary was read, and what rows have added since. A part that a row was logged for is not closed before part_add has made its dictionary
 *      durable: first_sequence says so, even if it has no rows. What is looked up for a batch that does not get into the inbox stays, and is
 *      logged with the next one. Who reads beside the writer looks at the inbox first: all other files then have what its rows need.
 *      Only who holds inbox_lock adds to dictionaries and to the catalog.
 *
 * Two locks, inbox_lock first. Who changes anything holds both, views and what waits for them (readers.h) aside: these need `lock` only.
 * Functions that are "under both locks" may let go of `lock` while they write or sync: then views come and go, and look at heads, buffers of
 * the hot tier and the catalog, none of which changes meanwhile; but nobody else touches the writer's handles (part, catalog, names, inbox)
 * without inbox_lock. What was written is in the file before heads and buffers are given up, under `lock`. A view that opens in
 * between finds it in both, and can tell: a part's blocks say how far they go (view.c), blocks of the hot tier have numbers.
 * Blocks are encoded without either (ahead.c). */
#ifndef CRESSET_STORE_STATE_H
#define CRESSET_STORE_STATE_H

#include "base/err.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "store/batch_rows.h"
#include "store/catalog.h"
#include "store/clock_watch.h"
#include "store/collect.h"
#include "store/head.h"
#include "store/hot.h"
#include "store/inbox.h"
#include "store/names_db.h"
#include "store/part.h"
#include "store/readers.h"
#include "store/store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Of the disk, for a row that is not in a block yet, about. */
enum { STORE_ROW_BYTES = 8 };

/* All heads together: that part of memory. */
enum { STORE_HEADS_SHARE = 8 };

#define STORE_DAY_NS (24 * HEAD_SLOT_NS)

/* Beyond that, an hour of exact samples is one of a wrong clock. */
#define STORE_HOT_AHEAD_NS (2 * STORE_DAY_NS)

/* What was encoded of a head when it had so many rows. */
struct store_encoded {
	size_t rows;
	struct part_encoded block;
};
/* A partition that is on the disk, or will be with its first blocks. */
/* The first and the last moment of a part's blocks. Each view asks, and to find them is to read a whole day's windows of each series: so they
 * are kept for as long as the part has the same blocks. */
struct store_range {
	bool is_known;
	uint64_t inbox_sequence, rows, blocks; /* of part_info */
	int64_t from_ns, to_ns;                /* INT64_MAX, INT64_MIN: it has none */
};

struct store_part {
	char *path; /* of the .db */
	int64_t day_ns;
	uint32_t piece;    /* of its day: 0, 1, … */
	struct part *part; /* NULL while it is closed: store_part_use */
	struct heads heads;
	VEC(struct store_encoded) ahead; /* of heads, by their index; fewer, perhaps */
	uint64_t ahead_bytes,
		flushes;         /* flushes: how often heads became blocks, or were forgotten */
	uint64_t inbox_sequence; /* of what is in its blocks */
	uint64_t first_sequence; /* of what is in its heads; UINT64_MAX: they are empty */
	int64_t due_ns;          /* when heads become blocks */
	uint32_t pins;           /* readers: it is neither closed nor unlinked meanwhile */
	uint64_t used;           /* store.uses when it was used last */
	uint64_t bytes, detail_bytes; /* of its files, when it was looked at last */
	bool is_known;                /* it was open before */
	uint64_t bad_blocks;          /* likewise, of the writer's handle */
	bool is_bad;                  /* it cannot be opened, or its dictionary cannot be read */
	bool is_left_out;             /* a view could not read it */
	bool is_said;                 /* one of both, and that was said */
	bool has_dict;                /* in memory */
	bool has_detail;
	bool to_verify; /* it is sealed, or not known to be, and the last writer did not close the store */
	bool finished;    /* compacted and sealed, and nothing came since */
	uint64_t dict_id; /* another one each time the dictionary is read from the file */
	/* How much of the dictionary is on the disk, in its file or in rows of the inbox; and with the rows that are being written. */
	struct chunk_position logged, logging;
	struct chunk_reader *replay; /* of what rows of the inbox add to it; NULL: none did yet */
	bool is_torn; /* what a row of the inbox adds to it is lost: another piece takes what comes next */
	struct store_range range;
	int64_t compact_ns; /* when its hours become four together; INT64_MAX: nothing to do */
};

static inline bool store_part_is_left_out(const struct store_part *sp)
{
	return sp->is_bad || sp->is_left_out;
}

struct store {
	pthread_mutex_t inbox_lock, lock;
	pthread_mutex_t delete_lock; /* of a deletion, all of it; before the other two */
	bool delete_is_left;         /* one failed: guarded by delete_lock */
	struct store_namer namer;
	char *dir;
	struct store_opts opts; /* with the defaults filled in */
	int lock_fd;
	struct inbox *inbox;
	struct catalog *catalog;
	struct names_db *names;
	struct store_dict *dicts; /* of senders */
	uint64_t dict_ids;
	VEC(struct store_part *) parts; /* by day, then piece */
	VEC(struct hot_hour *) hot;     /* by time */
	int64_t hot_from_ns;            /* store/hot.h, 2 */
	bool has_hot;                   /* both were looked for */
	uint64_t applied;               /* the last batch that is in heads or blocks */
	uint64_t purged;                /* batches up to this one are no longer in the inbox */
	bool was_killed;                /* the last writer did not close it */
	int64_t kept_from_ns;           /* a day's first moment: nothing before it is kept */
	struct clock_watch clock, clock_saved; /* at the last look; as meta.db has it */
	/* What is still to be said: by how much the clock was set, and a kept_from_ns that was taken back; 0: nothing. */
	int64_t moved_ns, taken_back_ns;
	uint64_t uses;
	struct store_collect collect;
	int32_t names_day; /* names of mappings that were not used since are to go; INT32_MIN: none are */
	struct store_view *views;     /* that are open */
	struct store_readers readers; /* that wait for the next view */
	struct store_stats stats; /* counters; what is measured is filled in by store_get_stats */
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

/* --- views (view.c), under lock --- */

/* Before blocks are added to a part: views that have not looked at it yet keep hold of what it is. */
int store_views_hold(struct store *s, struct store_part *sp, struct err *err);
/* After its heads have become blocks: they are gone, or belong to the views that still read them. */
void store_views_take_heads(struct store *s, struct store_part *sp);

/* --- parts (store_part.c), all under both locks --- */

/* "2026-11-21.db", "2026-11-21.1.db" and nothing else. */
bool store_part_name(const char *name, int64_t *day_ns, uint32_t *piece);
/* The detail of a partition's .db; to be freed. */
char *store_detail_path(const char *path);
/* Opens it when it is closed. */
int store_part_use(struct store *s, struct store_part *sp, struct err *err);
/* And its dictionary is there: what reads one asks for it here, so that it counts as memory. */
int store_part_load(struct store *s, struct store_part *sp, struct err *err);
/* This piece of a day, with its dictionary: that of a row of the inbox. -EBADMSG: it cannot be read. */
int store_part_piece(struct store *s, int64_t day_ns, uint32_t piece, struct store_part **out,
		     struct err *err);
/* Nothing more comes of the inbox. */
void store_part_replayed(struct store_part *sp);
/* The part that rows of a day go to, with its dictionary. Made when there is none. */
int store_part_for(struct store *s, int64_t day_ns, struct store_part **out, struct err *err);
/* The same with room in its dictionary: another piece of the day is begun when it has none. */
int store_part_with_room(struct store *s, int64_t day_ns, struct store_part **out, struct err *err);
/* A row of the inbox has something of it: rows, which have come into its heads, or what is new in its dictionary. */
void store_part_note(struct store *s, struct store_part *sp, uint64_t seq, uint64_t rows);
void store_part_note_points(struct store *s, struct store_part *sp, uint64_t seq, uint64_t points);
/* Batches up to this one have put all they have for the day into blocks; parts of the day are opened where that is not known. */
int store_day_sequence(struct store *s, int64_t day_ns, uint64_t *out, struct err *err);
/* What is in p/ becomes store.parts. */
int store_parts_scan(struct store *s, struct err *err);
/* All its heads become blocks. On failure they stay. Lets go of lock. */
int store_part_flush(struct store *s, struct store_part *sp, struct err *err);
void store_part_close(struct store_part *sp); /* it has no heads, or they are to be forgotten */
void store_part_idle(struct store_part *sp);  /* closes it when it has no heads, and no readers */
/* Closes it, and its files are gone: then it is gone from store.parts, too. */
int store_part_unlink(struct store *s, struct store_part *sp, struct err *err);
/* Looks how large its files are. */
void store_part_measure(struct store_part *sp);
/* Parts that are used least become blocks, and are closed, until the store is inside its memory. Lets go of lock. */
int store_make_room(struct store *s, struct err *err);
uint64_t store_memory_bytes(const struct store *s);

/* --- encoded ahead (ahead.c) --- */

/* Encodes what heads there are of a part that stays (pins), without locks, while go_on says so. */
void store_encode_ahead(struct store *s, struct store_part *sp, bool (*go_on)(void *ctx),
			void *ctx);
/* Of this head as it is; NULL: not yet. Under lock. */
const struct part_encoded *store_ahead_of(const struct store_part *sp, size_t head);
/* Forgets it: the heads have become blocks, or are forgotten. Under lock. */
void store_ahead_done(struct store_part *sp);

/* --- rows of a batch (apply.c, apply_metrics.c) --- */

/* The days that rows of a batch belong to; there is a limit to their number. days: [STORE_BATCH_DAYS]. */
enum { STORE_BATCH_DAYS = 64 };
int store_batch_days(const struct store *s, const struct profile *p, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err);
/* Adds the days that points belong to. m: NULL is fine. */
int store_point_days(const struct store *s, const struct metric_samples *m, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err);
/* Puts its rows, points and names into memory. Under both locks. */
void store_apply(struct store *s, uint64_t seq, const struct batch_rows *r);
/* Points of the part's day go into its heads; those of no day that is kept are counted. */
void store_apply_points(struct store *s, const struct batch_rows *r, struct store_part *sp,
			uint64_t seq);
void store_count_points(struct store *s, const struct batch_rows *r);

/* --- after a restart (replay.c), under both locks --- */

/* A row of the inbox (docs/formats.md) is applied as it was the first time, but for rows that are in blocks. NULL: it is damaged. What is damaged is
 * counted, and left out. */
int store_replay_row(struct store *s, uint64_t seq, int64_t received_ns, const struct cur *row,
		     struct err *err);
void store_replay_end(struct store *s);

/* --- what is kept (retention.c), under both locks --- */

uint64_t store_disk_bytes(const struct store *s);
/* The moment that ages are counted from: now, or the end of the last day there is, so that a store into which nothing comes loses nothing by a
 * clock that is ahead. 0 while the clock is not believed: nothing is old then. */
int64_t store_age_ns(const struct store *s);
/* Takes away one thing that is too old, or the oldest when there is less room than `more_bytes`. 1: something went, 0: all is well. -ENOSPC:
 * nothing is left that could go. */
int store_retain(struct store *s, uint64_t more_bytes, struct err *err);

/* --- the clock (store_clock.c), under both locks --- */

/* Before the inbox is replayed. */
int store_clock_open(struct store *s, struct err *err);
/* Before something is deleted by its age. */
void store_look_at_clock(struct store *s);
/* When something comes. By a clock that was set back, what others send with the right time would be from the future. */
int64_t store_received_ns(struct store *s);
/* What is to be said of it; false: nothing. */
bool store_clock_news(struct store *s, struct err *words);

/* --- after a crash (verify.c) --- */

/* Reads one day of those that are to be verified, if it is in its last form: damage is counted. 1: there may be more. Without locks. */
int store_verify_next(struct store *s, struct err *err);

/* --- store_maintain (maintain.c) --- */

/* Takes up to 4 MiB out of the inbox of what all parts have in blocks. 1: there is more. Without locks. */
int store_purge(struct store *s, struct err *err);

#endif
