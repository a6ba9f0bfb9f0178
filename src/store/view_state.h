/* store/view_state.h: what an open view is. Only files of store/ include it.
 *
 * A view is the state of a moment: of each part the blocks that were there, held by a read transaction of a handle of its own, and so many rows
 * of each head as there were. Heads only grow until they become blocks; then the views that still read them keep them. To open a view is
 * cheap: a part's handle is opened when the part is looked at first, or before its heads become blocks. Where the view was opened while they
 * did, the handle may have them as blocks already: then it has all of them, and the view forgets the heads. */
#ifndef CRESSET_STORE_VIEW_STATE_H
#define CRESSET_STORE_VIEW_STATE_H

#include "store/head.h"
#include "store/readers.h"
#include "store/store_state.h"

/* Heads that have become blocks, for the views that were opened before. */
struct heads_kept {
	struct heads heads;
	uint32_t refs;
};

struct view_part {
	struct store_part *sp;      /* pinned */
	struct part_reader *reader; /* NULL: not looked at yet */
	uint64_t sequence;          /* sp's inbox_sequence: heads have what is behind it */
	VEC(size_t) rows;           /* by head: how many rows it had */
	VEC(size_t) points;         /* by head of metrics, likewise */
	struct heads_kept *kept;    /* NULL: they are still sp's */
	bool is_left_out;           /* its file is damaged, of another version, or not ours */
};

/* An hour of the hot tier: its blocks up to last_block, and so many rows of its buffer. */
enum hot_use { HOT_UNASKED, HOT_USED, HOT_UNUSED };
struct view_hot {
	struct hot_hour *hour; /* counts as one of its readers */
	int64_t last_block;
	struct hot_buffer *buffer; /* a reference, NULL: none */
	size_t rows;
	struct db *db;
	enum hot_use use; /* decided once, so that all of a view's answers agree */
};

struct store_view {
	struct store *s;
	struct store_view *next; /* of store.views */
	struct catalog_copy *catalog;
	struct names_db *names;      /* NULL: not asked yet, or there are none */
	bool asked_namer;            /* once for each view */
	VEC(struct view_part) parts; /* as in store.parts */
	VEC(struct view_hot) hot;    /* as in store.hot, but for those that are bad */
	bool (*stop)(void *ctx);     /* NULL: nobody does */
	void *stop_ctx;
	uint32_t blocks_read;
	struct err left_out; /* why the first of the parts was that are left out; code 0: none is */
	bool has_range;
	int64_t from_ns, to_ns;
};

/* A part's handle, opened when it is not. */
int view_reader(struct store_view *v, struct view_part *vp, struct part_reader **out,
		struct err *err);
/* The same, with its dictionary, and the stacks of its heads in there. */
int view_dict(struct store_view *v, struct view_part *vp, struct part_reader **out,
	      struct err *err);

/* Whether that ended because the part's file cannot be read (-EBADMSG): it is noted, and an answer goes on without the part. err (NULL is fine) is
 * empty then. */
bool view_leaves_out(struct store_view *v, struct view_part *vp, int rc, struct err *err);

/* Its dictionary is not needed any more by this question: where memory is short it goes. */
void view_done_with(struct store_view *v, struct view_part *vp);

/* Opens v->names, when there are any. */
int view_names(struct store_view *v, struct err *err);
/* view_names.c: gives these stacks of a part's dictionary (NULL: all) their names; nothing without v->names. What has none is asked of who names
 * (store_set_namer), and looked up again. */
int view_name_stacks(struct store_view *v, struct part_reader *r, const uint32_t *stacks, size_t n,
		     struct err *err);

/* Whether the days touch. */
static inline bool view_part_touches(const struct view_part *vp, int64_t from_ns, int64_t to_ns)
{
	return vp->sp->day_ns < to_ns &&
	       (from_ns < INT64_MIN + STORE_DAY_NS || vp->sp->day_ns > from_ns - STORE_DAY_NS);
}

/* Calls fn for each head of a part that touches [from_ns, to_ns), with the number of its rows; under store.lock, so it does little. */
struct view_head {
	const struct head *head;
	size_t rows;
};
void view_heads(struct store_view *v, const struct view_part *vp, int64_t from_ns, int64_t to_ns,
		void (*fn)(void *ctx, const struct view_head *h), void *ctx);

/* view_hot.c: decides which hours of [from_ns, to_ns) answer with their own rows, and not with windows. */
int view_hot_decide(struct store_view *v, int64_t from_ns, int64_t to_ns, struct err *err);
/* Whether windows of this moment are left out; after view_hot_decide. */
bool view_hot_has(const struct store_view *v, int64_t time_ns);
/* The rows of those hours. */
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

/* Before each block that is read: 0, or -ECANCELED. */
int view_go_on(struct store_view *v, struct err *err);

static inline uint32_t view_series(const struct store_view *v)
{
	return v->catalog->p->series.series.n;
}

/* Windows of a slot that begin in [from_ns, to_ns): from <= w < to. */
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
