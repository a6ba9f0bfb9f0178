/* store/store.h: the embedded store: years of samples in a directory, durable from the moment they are acknowledged.
 *
 *     DIR/inbox.db     one row per batch, from its acknowledgement until its blocks are in a partition; what each sender has sent
 *     DIR/meta.db      the catalog: types, labels, series; what is kept of what was asked
 *     DIR/names.db     (mapping, offset) → functions
 *     DIR/p/DAY.db     partitions (store/part.h)
 *     DIR/hot/HOUR.db  exact samples of the last hours, and of pinned ranges
 *     DIR/lock         one writer at a time
 *
 * store_ingest returns once the batch is synced in the inbox; its rows are then in heads, in memory, which readers see, too. Heads become
 * blocks hour by hour (store_maintain), and what is in blocks leaves the inbox. No transaction spans two files: a partition knows the
 * highest batch it contains, and replay after a crash skips what is there. */
#ifndef CRESSET_STORE_STORE_H
#define CRESSET_STORE_STORE_H

#include "base/err.h"
#include "profile/profile.h"
#include "store/metric_samples.h"
#include "store/part.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum { STORE_SENDER_BYTES = 16 };

struct store_opts {
	bool read_only;
	uint64_t memory_bytes; /* 0: 256 MiB; heads, dictionaries, caches and queries stay below */
	uint64_t disk_bytes;   /* 0: 10 GiB */
	int64_t retention_ns;  /* 0: 14 days */
	int64_t detail_retention_ns; /* 0: as retention */
	int64_t hot_ns;      /* how long samples are kept exactly; 0: 2 h; < 0: not at all */
	uint32_t max_series; /* 0: 20000 active ones */
	int64_t (*now_ns)(void *ctx); /* Unix time; NULL: the clock */
	/* Since boot, suspended or not, which tells whether now_ns was set; NULL: the clock, with a now_ns that is given the same: it never was. */
	int64_t (*boot_ns)(void *ctx);
	void *ctx;
	const char *vfs; /* NULL: the default */
};

/* dir is made when it is not there. -EBUSY with words when another process writes it. */
int store_open(const char *dir, const struct store_opts *opts, struct store **out, struct err *err);
/* Heads become blocks. */
int store_close(struct store *s, struct err *err);
/* Nothing more is written: what is in the inbox is replayed by the next store_open. */
void store_abandon(struct store *s);

/* --- ingest --- */

/* For a sender that keeps its profile: it adds to it, and takes out only samples that were sent. What of the profile is known then costs next to
 * nothing the next time. It belongs to one profile at a time; counted as memory, and emptied when that is short. */
struct store_dict;
struct store_dict *store_dict_new(struct store *s);
void store_dict_free(struct store_dict *d); /* NULL is fine; before the store is closed */

/* What a sender's stacks are in the store, so that it is not asked again of those that come with every batch. */
enum { STORE_NO_STACK = UINT32_MAX };
struct store_known_stacks {
	/* Of which the ids are: another dictionary, another day, or names to be offered again: they are worth nothing. dict_id 0: no ids. */
	uint64_t dict_id, names_epoch;
	int32_t day;
	uint32_t *
		id; /* by row of p; the caller's. In: STORE_NO_STACK: it is p's stack. Out: what it was */
	bool is_used; /* in: some row has an id. -ESTALE when those are worth nothing */
};
/* Now, that is: it may change at any time. */
bool store_known_is_fresh(struct store *s, const struct store_known_stacks *known);

struct store_batch {
	/* Samples with what they refer to. Times are p's; where p knows no wall clock (meta.start_wall_ns), they are Unix time. */
	struct profile *p;
	/* Exactly once: a batch with a sequence that this sender has sent before is acknowledged and left out. NULL: no sender. */
	const uint8_t *sender; /* [STORE_SENDER_BYTES] */
	uint64_t sequence;     /* from 1 */
	/* Points of p's series that are metrics (store/metric_samples.h); p may have no samples then. NULL: none. */
	const struct metric_samples *metrics;
	/* Rows whose stack the caller knows; what all rows have is filled in. NULL: it does not ask. */
	struct store_known_stacks *known;
	/* How many of its samples and points were from before what is kept, and left out; set when store_ingest returns 0. NULL: it does not ask. */
	uint64_t *expired;
	/* p is the profile that this one was given with before, and has grown; NULL: p is anything. Not while another thread gives it. */
	struct store_dict *dict;
};
/* 0: it is synced, or was before (*duplicate). -ENOSPC, -EIO, -ESTALE (of `known`): nothing of it is kept. */
int store_ingest(struct store *s, const struct store_batch *batches, size_t n, bool *duplicate,
		 struct err *err);

/* Late names: those that p has of frames with a mapping, whatever batch these were in. */
int store_add_names(struct store *s, const struct profile *p, struct err *err);

/* Who finds names of frames, and has not found all yet. A view that is about to answer with frames that have none says which, once, from whatever
 * thread it is used by, without a lock; true: there may be names now, so it looks again. It may wait for them, not for long. */
struct store_namer {
	bool (*frames_wait)(void *ctx); /* false: name need not be called */
	bool (*name)(void *ctx, const struct profile *dict, const uint32_t *frames, size_t n);
	void *ctx;
};
/* Before the first view; NULL of both: nobody does. */
void store_set_namer(struct store *s, const struct store_namer *namer);

/* Rows and points of series with wanted[series] (n long) that came before it are gone when it returns 0, from the disk, too; *rows (may be NULL): how
 * many. Rows that come meanwhile may stay. On failure, and when the process ends, it goes on with the next store_delete, or when the store is
 * opened. Takes as long as writing anew the days that it finds. */
int store_delete(struct store *s, const bool *wanted, uint32_t n, uint64_t *rows, struct err *err);
/* Likewise, of those that choose says. From then on until they are gone, no number of a series becomes another one's: who looks for series before
 * may delete what came meanwhile. No view that choose opens may be open when it returns. Nothing is deleted when that is other than 0, which is
 * returned, and when no series is wanted. */
struct store_choice {
	const bool *wanted; /* choose's, until store_delete_chosen returns */
	uint32_t n;
};
int store_delete_chosen(struct store *s,
			int (*choose)(void *ctx, struct store_choice *out, struct err *err),
			void *ctx, uint64_t *rows, struct err *err);

/* What is due: heads of hours that are over, sealing, compaction, retention, purging the inbox, verifying sealed days after a crash. Short steps until budget_ns of CPU time are
 * used; 1: there is more to do. */
int store_maintain(struct store *s, int64_t budget_ns, struct err *err);

/* --- reading: a consistent state, while others write --- */

struct store_view;
int store_view_open(struct store *s, struct store_view **out, struct err *err);
void store_view_close(struct store_view *v); /* NULL is fine */
/* Asked now and then; true: what is being answered ends with -ECANCELED. */
void store_view_set_stop(struct store_view *v, bool (*stop)(void *ctx), void *ctx);

/* Types, labels and series, no samples; ids of series are those below. */
const struct profile *store_view_catalog(const struct store_view *v);
/* How many files of days the answers so far went without, as they are damaged, of another version of cresset, or not ours; *why: of the first. */
uint32_t store_view_left_out(const struct store_view *v, struct err *why);
/* The first and the last moment there is anything of, Unix time; both 0: nothing. */
void store_view_range(struct store_view *v, int64_t *from_ns, int64_t *to_ns);

/* Values by stack, of one partition. stack: of dict, ascending, no two equal. */
struct store_sums {
	struct profile *dict; /* the view's; names are set for what is in here */
	uint32_t n;
	uint32_t *stack;
	int64_t *value;
	double *count, *squares; /* of samples of varying weight; NULL: count is value */
};
struct store_merged {
	struct store_sums *parts;
	size_t n;
	bool rounded; /* detail was gone: whole blocks were taken where the range cuts one */
};
/* wanted: by series. -ENOMEM: the dictionaries of so many days are more than memory allows. */
int store_merge(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		struct store_merged *out, struct err *err);
/* The same, a part after the other: sums, its dictionary included, are there during the call only. Ends when it returns other than 0, which is returned. */
int store_merge_each(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*part)(void *ctx, const struct store_sums *sums), void *ctx,
		     bool *rounded, struct err *err);
void store_merged_done(struct store_merged *m);

/* sums[group * steps + step] += …; group[series] is UINT32_MAX for those that are not wanted. step_ns: a multiple of BLOCK_WINDOW_NS. */
int store_steps(struct store_view *v, const uint32_t *group, int64_t from_ns, int64_t step_ns,
		size_t steps, int64_t *sums, struct err *err);

/* Every row, in no order: exact ones of the hours that the hot tier has, else windows by their first moment; never both. What covers time is
 * cut to the range. Ends when the callback returns other than 0, which is returned. */
struct store_row {
	struct profile *dict; /* the view's; names are set */
	int64_t time_ns, value;
	uint32_t series, stack;
	bool is_window; /* what follows is not known */
	uint32_t pid, tid, cpu;
	int64_t length_ns;
	const struct trace_link *link; /* NULL: none; valid during the call */
};
int store_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
	       int (*row)(void *ctx, const struct store_row *row), void *ctx, struct err *err);

/* The same for who reads many: windows come as columns, those of a block at once, in much less time; other rows one by one. */
struct store_columns {
	struct profile *dict; /* the view's; names are set */
	uint32_t series;
	int64_t from_ns; /* of window 0; each is BLOCK_WINDOW_NS */
	size_t n;
	const uint32_t *stack, *window;
	const int64_t *value;
};
/* same: whether it makes no difference which of these stacks a value is of; then windows are given as a whole, each with any of them, and what
 * takes most of the time is not read. NULL: it always does. */
struct store_taker {
	int (*row)(void *ctx, const struct store_row *row);
	int (*columns)(void *ctx, const struct store_columns *c);
	bool (*same)(void *ctx, struct profile *dict, const uint32_t *stacks, uint32_t n);
	void *ctx;
};
int store_columns(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		  const struct store_taker *taker, struct err *err);

/* store_rows of rows that begin in the range, none of them cut. (Those that cover the end of an hour are two.) */
int store_whole_rows(struct store_view *v, const bool *wanted, int64_t from_ns, int64_t to_ns,
		     int (*row)(void *ctx, const struct store_row *row), void *ctx,
		     struct err *err);

/* Points of a metric series in [from_ns, to_ns): a piece for each day, in order of time, each point of another time. Where a series was given
 * several values for one moment it is the last one given. Ends when the callback returns other than 0, which is returned. */
int store_points(struct store_view *v, uint32_t series, int64_t from_ns, int64_t to_ns,
		 int (*points)(void *ctx, const struct metric_point *points, size_t n), void *ctx,
		 struct err *err);

/* Calls dict for the dictionary of each partition, with every mapping and frame that its samples have. Ends when that returns other than 0, which
 * is returned. */
int store_dicts(struct store_view *v, int (*dict)(void *ctx, const struct profile *dict), void *ctx,
		struct err *err);

/* --- pinned ranges: the hot tier keeps their hours, beyond hot_ns and retention, while there is any disk ---
 *
 * Only what it still has, or gets: an hour that is gone does not come back. Days of pinned hours are kept, too, whole. When the disk is
 * short, pinned hours go after everything else but the last day, the oldest first. */

enum { STORE_MAX_PINS = 1000 };
struct store_pin {
	int64_t from_ns, to_ns; /* Unix time; every hour that it touches */
};
int store_pin(struct store *s, const struct store_pin *pin, struct err *err);
int store_unpin(struct store *s, const struct store_pin *pin, struct err *err); /* -ENOENT */
/* *out: to be freed with free(). Returns their number. */
size_t store_pins(struct store *s, struct store_pin **out);

/* What is to be said, for a log: that the clock was set, that a day cannot be read. True: words has one of it; each comes once. */
bool store_news(struct store *s, struct err *words);

struct store_stats {
	uint64_t disk_bytes, inbox_bytes, hot_bytes, memory_bytes;
	uint64_t batches, duplicates, rows, replayed;
	uint64_t points; /* of metrics */
	uint64_t hot_rows,
		hot_dropped_rows; /* exact samples taken; of hours that went before their time */
	uint64_t late_rows;       /* that came more than an hour after their time */
	uint64_t expired_rows;    /* from before what is kept: left out; points, too */
	uint64_t clock_sets;      /* how often the clock was found to be set by more than an hour */
	uint64_t bad_batches;     /* damaged in the inbox: left out */
	uint64_t
		bad_rows; /* of other batches there, whose stack or series is lost: left out; points, too */
	uint64_t bad_blocks, folded_series; /* beyond max_series */
	uint64_t
		damaged_parts; /* found after a crash to be other than what was sealed; doctor --data tells more */
	uint32_t parts, series;
	uint64_t
		left_out_parts; /* files of days that cannot be read: damaged, of another version, or not ours */
	int64_t kept_from_ns, asked_from_ns;
};
void store_get_stats(struct store *s, struct store_stats *out);

#endif
