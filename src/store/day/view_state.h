/* store/day/view_state.h: the state of an open view. Only files of store/ include it.
 *
 * A view is a snapshot: the blocks of each part at one time, held by a read transaction on a handle
 * of its own, and the number of rows that each head had. Heads only grow until they become blocks;
 * then the views that still read them keep them. Opening a view is cheap: a part's handle is opened
 * when the part is first used, or before its heads become blocks. If the view was opened while they
 * did, the handle may have them as blocks already: then it has all of them, and the view drops the
 * heads. */
#ifndef CRESSET_STORE_DAY_VIEW_STATE_H
#define CRESSET_STORE_DAY_VIEW_STATE_H

#include "base/err.h"
#include "base/vec.h"
#include "store/day/head.h"
#include "store/day/readers.h"
#include "store/day/store_state.h"

/* Heads that have become blocks, kept for views that were opened before. */
struct heads_kept {
	struct heads heads;
	uint32_t refs;
};
void heads_kept_unref(struct heads_kept *k); /* NULL is fine; under lock */

struct view_part {
	struct store_part *sp;      /* pinned */
	struct part_reader *reader; /* NULL: not used yet */
	uint64_t sequence;          /* sp's inbox_sequence; heads have later batches */
	VEC(size_t) rows;           /* by head: number of rows it had */
	VEC(size_t) points;         /* by metric head: number of points it had */
	struct heads_kept *kept;    /* NULL: heads are still sp's */
	/* its file is damaged, of another version, or not a file of cresset */
	bool is_left_out;
};

/* An hour of the hot tier: its blocks up to last_block, and the first `rows` rows of its buffer. */
enum hot_use { HOT_UNASKED, HOT_USED, HOT_UNUSED };
struct view_hot {
	struct hot_hour *hour; /* counts as one of its readers */
	int64_t last_block;
	struct hot_buffer *buffer; /* a reference, NULL: none */
	size_t rows;
	struct db *db;
	enum hot_use use; /* decided once, so that all of a view's results agree */
};

struct store_view {
	struct store *s;
	struct store_view *next; /* of store.views */
	struct catalog_copy *catalog;
	struct names_db *names;      /* NULL: not opened yet, or there are none */
	bool asked_namer;            /* at most once per view */
	VEC(struct view_part) parts; /* as in store.parts */
	VEC(struct view_hot) hot;    /* as in store.hot, without bad ones */
	bool (*stop)(void *ctx);     /* NULL: never */
	void *stop_ctx;
	uint32_t blocks_read;
	struct err left_out; /* why the first part was left out; code 0: none was */
	bool has_range;
	int64_t from_ns, to_ns;
};

/* Makes the view read the part through r, with a snapshot taken now; closes r on failure. Under
 * lock. */
int view_attach_reader(struct store *s, struct view_part *vp, struct part_reader *r,
		       struct err *err);

/* --- view.c --- */

/* Returns a part's handle, opened if necessary. */
int view_reader(struct store_view *v, struct view_part *vp, struct part_reader **out,
		struct err *err);
/* The same, with its dictionary loaded, including the stacks of its heads. */
int view_dict(struct store_view *v, struct view_part *vp, struct part_reader **out,
	      struct err *err);

/* Returns whether rc states that the part's file cannot be read (-EBADMSG). Then notes it, clears
 * err (NULL is fine), and the caller continues without the part. */
bool view_leave_out(struct store_view *v, struct view_part *vp, int rc, struct err *err);

/* This query no longer needs the part's dictionary; frees it if memory is short. */
void view_release_part(struct store_view *v, struct view_part *vp);

/* Opens v->names, if there are any. */
int view_names(struct store_view *v, struct err *err);
/* view_names.c: sets the names of these stacks of a part's dictionary (NULL: all); does nothing
 * without v->names. Asks the namer (store_set_namer) for missing names, and then looks again. */
int view_name_stacks(struct store_view *v, struct part_reader *r, const uint32_t *stacks, size_t n,
		     struct err *err);

/* Returns whether the part's day overlaps the range. */
static inline bool view_part_touches(const struct view_part *vp, int64_t from_ns, int64_t to_ns)
{
	return vp->sp->day_ns < to_ns &&
	       (from_ns < INT64_MIN + STORE_DAY_NS || vp->sp->day_ns > from_ns - STORE_DAY_NS);
}

/* Calls fn for each head of a part that overlaps [from_ns, to_ns), with its number of rows. fn runs
 * under store.lock, so it has to be short. */
struct view_head {
	const struct head *head;
	size_t rows;
};
void view_heads(struct store_view *v, const struct view_part *vp, int64_t from_ns, int64_t to_ns,
		void (*fn)(void *ctx, const struct view_head *h), void *ctx);

/* view_hot.c: decides which hours of [from_ns, to_ns) are read as exact rows instead of windows. */
int view_hot_decide(struct store_view *v, int64_t from_ns, int64_t to_ns, struct err *err);
/* Returns whether windows of this time are left out; after view_hot_decide. */
bool view_hot_has(const struct store_view *v, int64_t time_ns);
/* Reads the rows of those hours. */
struct view_hot_ask {
	const bool *wanted; /* by series; NULL: all */
	int64_t from_ns, to_ns;
	bool whole; /* store_whole_rows */
	int (*row)(void *ctx, const struct store_row *row);
	void *ctx;
};
int view_hot_rows(struct store_view *v, const struct view_hot_ask *ask, struct err *err);
/* Under lock. */
void view_hot_open(struct store_view *v);
void view_hot_close(struct store_view *v);

/* Called before each block is read. Returns 0 or -ECANCELED. */
int view_check_stop(struct store_view *v, struct err *err);

static inline uint32_t view_series(const struct store_view *v)
{
	return v->catalog->n_series;
}

/* Windows of a slot that start in [from_ns, to_ns): from <= w < to. */
struct window_range {
	uint32_t from, to;
};
static inline uint32_t window_at(int64_t slot_ns, uint32_t windows, int64_t time_ns)
{
	if (time_ns <= slot_ns)
		return 0;
	uint64_t w = ((uint64_t)time_ns - (uint64_t)slot_ns - 1) / BLOCK_WINDOW_NS + 1;
	return w < windows ? w : windows;
}
static inline struct window_range window_range_of(int64_t slot_ns, uint32_t windows,
						  int64_t from_ns, int64_t to_ns)
{
	uint32_t from = window_at(slot_ns, windows, from_ns);
	uint32_t to = window_at(slot_ns, windows, to_ns);
	return (struct window_range){ from, to > from ? to : from };
}

#endif
