/* store/codec/store.h: the embedded store: years of samples in a directory, durable from the moment
 * they are acknowledged.
 *
 *     DIR/inbox.db     one row per batch, from its acknowledgement until its blocks are in a
 *                      partition; what each sender has sent
 *     DIR/meta.db      the catalog: types, labels, series; retention, as asked and as it is
 *     DIR/names.db     (mapping, offset) → functions
 *     DIR/p/DAY.db     partitions (store/part/part.h)
 *     DIR/hot/HOUR.db  exact samples of the last hours, and of pinned ranges
 *     DIR/lock         one writer at a time
 *
 * store_ingest returns once the batch is synced in the inbox. Its rows are then in heads, in
 * memory, and visible to readers. Heads become blocks hour by hour (store_maintain), and batches
 * whose rows are in blocks leave the inbox. No transaction spans two files: a partition records the
 * highest batch it contains, and replay after a crash skips batches up to that one. */
#ifndef CRESSET_STORE_CODEC_STORE_H
#define CRESSET_STORE_CODEC_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct metric_point;
struct store;

enum { STORE_SENDER_BYTES = 16 };

struct store_opts {
	bool read_only;
	uint64_t memory_bytes; /* 0: 256 MiB; limit for heads, dictionaries, caches and queries */
	uint64_t disk_bytes;   /* 0: 10 GiB */
	int64_t retention_ns;  /* 0: 14 days */
	int64_t detail_retention_ns;  /* 0: same as retention_ns */
	int64_t hot_ns;               /* how long exact samples are kept; 0: 2 h; < 0: not at all */
	uint32_t max_series;          /* 0: 20000 active ones */
	bool is_guest;                /* these settings are not shown if the store has others */
	int64_t (*now_ns)(void *ctx); /* Unix time; NULL: the clock */
	/* Time since boot, suspend included, by which a change of the wall clock is noticed. NULL:
	 * the clock; where now_ns is given, now_ns: no change is ever noticed. */
	int64_t (*boot_ns)(void *ctx);
	void *ctx;
	const char *vfs; /* NULL: the default */
};

/* The retention that was requested, and what the store really retains. The last writer, unless it
 * is a guest, stores its settings in meta.db, for readers. */
/* As in struct store_opts, with defaults filled in; hot_ns 0: none are retained. */
struct store_asked {
	int64_t retention_ns, detail_retention_ns, hot_ns;
	uint64_t disk_bytes;
};
struct store_kept {
	struct store_asked asked; /* all 0: unknown */
	int64_t from_ns;          /* nothing older is kept; INT64_MIN: nothing was deleted yet */
	bool is_short;            /* days were deleted early: the disk was full */
	/* Of an open store. held_ns: how long deletion by age is suspended because the clock was
	 * set; 0: it is not. age_ns: the time that ages are counted from; 0: nothing is old. */
	int64_t held_ns, age_ns;
};

/* Opens the store in dir, which is created if missing. -EBUSY: another process writes it. */
int store_open(const char *dir, const struct store_opts *opts, struct store **out, struct err *err);
/* Writes heads as blocks, then closes. */
int store_close(struct store *s, struct err *err);
/* Closes without writing anything; the next store_open replays the inbox. */
void store_abandon(struct store *s);

/* --- ingest --- */

/* A cache for a sender that retains one profile, adds to it, and removes only samples that were
 * sent. Parts of the profile that the store has seen cost next to nothing the next time. A cache
 * belongs to one profile at a time. It counts as memory, and is emptied when memory is short. */
struct store_dict;
struct store_dict *store_dict_new(struct store *s);
void store_dict_free(struct store_dict *d); /* NULL is fine; call it before store_close */

/* Ids that a sender's stacks have in the store, so that recurring stacks are not looked up
 * again. */
enum { STORE_NO_STACK = UINT32_MAX };
struct store_known_stacks {
	/* What the ids are valid for. They are stale once the dictionary or the day has changed, or
	 * names have to be sent again. dict_id 0: no ids. */
	uint64_t dict_id, names_epoch;
	int32_t day;
	/* By row of p; the caller's array. In: the stack's id, or STORE_NO_STACK to look up p's
	 * stack. Out: the id. */
	uint32_t *id;
	bool is_used; /* in: some row has an id; -ESTALE if the ids are stale */
};
/* Returns whether the ids are valid now; that may change at any time. */
bool store_known_is_fresh(struct store *s, const struct store_known_stacks *known);

struct store_batch {
	/* Samples and what they refer to. Times are in p's clock, or Unix time if p has no wall
	 * clock (meta.start_wall_ns). */
	struct profile *p;
	/* For exactly-once delivery: a batch with a sequence that this sender has already sent is
	 * acknowledged and skipped. NULL: no sender. */
	const uint8_t *sender; /* [STORE_SENDER_BYTES] */
	uint64_t sequence;     /* from 1 */
	/* Points of p's series that are metrics (store/codec/metric_samples.h); p may have no
	 * samples then. NULL: none. */
	const struct metric_samples *metrics;
	/* Stack ids that the caller knows; those of all rows are filled in. NULL: not wanted. */
	struct store_known_stacks *known;
	/* Out: number of samples and points that were too old to be retained, and were skipped; set
	 * when store_ingest returns 0. NULL: not wanted. */
	uint64_t *expired;
	/* The cache for p, which is the profile it was used with before, possibly grown. One thread
	 * at a time may use it. NULL: none. */
	struct store_dict *dict;
};
/* Returns 0 once the batches are synced, or were before (*duplicate). -ENOSPC, -EIO, -ESTALE (of
 * `known`): nothing was stored. */
int store_ingest(struct store *s, const struct store_batch *batches, size_t n, bool *duplicate,
		 struct err *err);

/* Adds late names: those in p of frames with a mapping, whichever batch the frames came in. */
int store_add_names(struct store *s, const struct profile *p, struct err *err);

/* Call it for a file with names, before it is ingested. A binary is another one than a binary of
 * the store with its build id, or at its path without one, if that has other names at the same
 * addresses. In *p, which may be replaced, it gets a separate mapping, as in profile_merge_file. No
 * other file may be ingested in between. */
int store_own_files(struct store *s, struct profile **p, struct err *err);

/* Symbolizes frames on demand. A view that is about to return frames without a name calls name
 * once, in its caller's thread, without a lock. name may wait for a short time. Returns true if
 * there may be names now; the view then looks again. */
struct store_namer {
	bool (*frames_wait)(void *ctx); /* false: no frames are pending, name is not called */
	bool (*name)(void *ctx, const struct profile *dict, const uint32_t *frames, size_t n);
	void *ctx;
};
/* To be called before the first view is opened. Both functions NULL: no namer. */
void store_set_namer(struct store *s, const struct store_namer *namer);

/* Series to delete. */
struct store_wanted {
	const bool *series;
	uint32_t n;
};
static inline bool store_wants(const struct store_wanted *w, int64_t series)
{
	return series >= 0 && series < w->n && w->series[series];
}

/* Deletes the rows and points that series with wanted[series] (n long) have so far, from the disk,
 * too; *rows (may be NULL): number of rows deleted. Rows that arrive during the call may stay.
 * After a failure or a crash, the next store_delete or the next opening of the store resumes the
 * deletion. Takes as long as rewriting the days in which it finds such rows. */
int store_delete(struct store *s, const bool *wanted, uint32_t n, uint64_t *rows, struct err *err);
/* Deletes the series that choose selects. No series id is reused between that call and the end of
 * the deletion, so the ids stay valid. choose has to close every view that it opens. If choose
 * returns nonzero, nothing is deleted and its value is returned. Nothing is deleted if no series is
 * wanted, either. */
struct store_choice {
	const bool *wanted; /* choose's memory, valid until store_delete_chosen returns */
	uint32_t n;
};
int store_delete_chosen(struct store *s,
			int (*choose)(void *ctx, struct store_choice *out, struct err *err),
			void *ctx, uint64_t *rows, struct err *err);

/* Does the maintenance that is due: writing the heads of past hours, sealing, compaction,
 * retention, purging the inbox, verifying sealed days after a crash. Works in short steps until
 * budget_ns of CPU time are used. Returns 1 if there is more to do. */
int store_maintain(struct store *s, int64_t budget_ns, struct err *err);

/* --- reading: a consistent state, while others write --- */

struct store_view;
int store_view_open(struct store *s, struct store_view **out, struct err *err);
void store_view_close(struct store_view *v); /* NULL is fine */
/* stop is called now and then; once it returns true, the current call ends with -ECANCELED. */
void store_view_set_stop(struct store_view *v, bool (*stop)(void *ctx), void *ctx);

/* Types, labels and series without samples; its series ids are those used below. */
const struct profile *store_view_catalog(const struct store_view *v);
/* Returns the number of day files that results so far had to leave out: damaged, of another version
 * of cresset, or not a file of cresset. *why: the first one's reason. */
uint32_t store_view_left_out(const struct store_view *v, struct err *why);
/* The first and the last time with any data, Unix time; both 0: no data. */
void store_view_range(struct store_view *v, int64_t *from_ns, int64_t *to_ns);

/* Values by stack, of one partition. stack: ids in dict, ascending, no duplicates. */
struct store_sums {
	struct profile *dict; /* the view's; names are set for these stacks */
	uint32_t n;
	uint32_t *stack;
	int64_t *value;
	double *count, *squares; /* where sample weights vary; NULL: count is value */
};
struct store_merged {
	struct store_sums *parts;
	size_t n;
	bool rounded; /* detail was deleted: blocks at the range's ends count as a whole */
};
/* wanted: by series. -ENOMEM: the dictionaries of all these days exceed half of the memory limit:
 * possible for whatever needs all days at one time, as exports, SQL, and trees without their small
 * nodes; other trees use store_merge_each. */
int store_merge(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		struct store_merged *out, struct err *err);
/* The same, one partition at a time. sums, including its dictionary, is valid only during the
 * callback. Stops when the callback returns nonzero, and returns that value. */
int store_merge_each(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*part)(void *ctx, const struct store_sums *sums), void *ctx,
		     bool *rounded, struct err *err);
void store_merged_done(struct store_merged *m);

/* Adds to sums[group * steps + step]; group[series] is UINT32_MAX for series that are not wanted.
 * step_ns: a multiple of BLOCK_WINDOW_NS. */
int store_steps(struct store_view *v, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		size_t steps, int64_t *sums, struct err *err);

/* Calls row for every row, in no particular order: exact rows for hours that the hot tier has,
 * otherwise windows, each at its start; never both. Rows that span time are clipped to the range.
 * Stops when the callback returns nonzero, and returns that value. */
struct store_row {
	struct profile *dict; /* the view's; names are set */
	int64_t time_ns, value;
	uint32_t series, stack;
	bool is_window; /* the members below are unknown */
	uint32_t pid, tid, cpu;
	int64_t length_ns;
	const struct trace_link *link; /* NULL: none; valid during the call */
};
int store_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
	       int (*row)(void *ctx, const struct store_row *row), void *ctx, struct err *err);

/* The same for callers that read many rows, and much faster: the windows of a block come at one
 * time, as columns; other rows one by one. */
struct store_columns {
	struct profile *dict; /* the view's; names are set */
	uint32_t series;
	int64_t from_ns; /* of window 0; each is BLOCK_WINDOW_NS */
	size_t n;
	const uint32_t *stack, *window;
	const int64_t *value;
};
/* same returns true if the caller does not distinguish these stacks. Windows then come summed, each
 * with any one of the stacks, and the detail, which takes most of the time, is not read. NULL:
 * stacks always matter. */
struct store_taker {
	int (*row)(void *ctx, const struct store_row *row);
	int (*columns)(void *ctx, const struct store_columns *c);
	bool (*same)(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n);
	void *ctx;
};
int store_columns(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		  const struct store_taker *taker, struct err *err);

/* Like store_rows, for rows that start in the range, not clipped. (A row across the end of an hour
 * comes as two.) */
int store_whole_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*row)(void *ctx, const struct store_row *row), void *ctx,
		     struct err *err);

/* Reads the points of a metric series in [from_ns, to_ns): one call for each day, in time order,
 * without duplicate times. Of several values for one time the last one written counts. Stops when
 * the callback returns nonzero, and returns that value. */
int store_points(struct store_view *v, uint32_t series, int64_t from_ns, int64_t to_ns,
		 int (*points)(void *ctx, const struct metric_point *points, size_t n), void *ctx,
		 struct err *err);

/* Calls dict for the dictionary of each partition, with every mapping and frame of its samples.
 * Stops when dict returns nonzero, and returns that value. */
int store_dicts(struct store_view *v, int (*dict)(void *ctx, const struct profile *dict), void *ctx,
		struct err *err);

/* --- pinned ranges: the hot tier keeps their hours beyond hot_ns and retention, while disk space
 * lasts ---
 *
 * Only hours that it still has, or gets, are kept: a deleted hour does not come back. The whole
 * days of pinned hours are kept, too. When disk space is short, pinned hours are deleted oldest
 * first, after everything else but the last day. */

enum { STORE_MAX_PINS = 1000 }; /* limit: pinned ranges */
struct store_pin {
	int64_t from_ns, to_ns; /* Unix time; every hour that it touches */
};
int store_pin(struct store *s, const struct store_pin *pin, struct err *err);
int store_unpin(struct store *s, const struct store_pin *pin, struct err *err); /* -ENOENT */
/* Returns the number of pins; *out: to be freed with free(). */
size_t store_pins(struct store *s, struct store_pin **out);

void store_get_kept(struct store *s, struct store_kept *out);

/* Events to log: the clock was set, a day cannot be read. Returns true with the next event in
 * words; each is reported once. */
bool store_news(struct store *s, struct err *words);

struct store_stats {
	uint64_t disk_bytes, inbox_bytes, hot_bytes, memory_bytes;
	uint64_t batches, duplicates, rows, replayed;
	uint64_t points; /* metric points */
	uint64_t hot_rows,
		hot_dropped_rows; /* exact samples stored; those of hours deleted early */
	uint64_t late_rows;       /* arrived more than an hour late */
	uint64_t expired_rows;    /* too old to be retained, skipped; points, too */
	uint64_t clock_sets;      /* times that the clock was set by more than an hour */
	uint64_t bad_batches;     /* damaged in the inbox, skipped */
	/* rows and points of other batches in the inbox, skipped: their stack or series is lost */
	uint64_t bad_rows;
	uint64_t bad_blocks, folded_series; /* beyond max_series */
	/* sealed days that differ after a crash from what was sealed; see doctor --data */
	uint64_t damaged_parts;
	uint32_t parts, series;
	/* day files that cannot be read: damaged, of another version, or not a file of cresset */
	uint64_t left_out_parts;
	int64_t kept_from_ns, asked_from_ns;
};
void store_get_stats(struct store *s, struct store_stats *out);

#endif
