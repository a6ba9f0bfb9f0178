/* store/view_state.h: what an open view is. Only files of store/ include it.
 *
 * A view is the state of a moment: of each part the blocks that were there, held by a read transaction of a handle of its own, and so many rows
 * of each head as there were. Heads only grow until they become blocks; then the views that still read them keep them. To open a view is
 * cheap: a part's handle is opened when the part is looked at first, or before blocks are added to it. */
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
	VEC(size_t) rows;           /* by head: how many rows it had */
	struct heads_kept *kept;    /* NULL: they are still sp's */
};

struct store_view {
	struct store *s;
	struct store_view *next; /* of store.views */
	struct catalog_copy *catalog;
	struct names_db *names;      /* NULL: not asked yet, or there are none */
	VEC(struct view_part) parts; /* as in store.parts */
	bool (*stop)(void *ctx);     /* NULL: nobody does */
	void *stop_ctx;
	bool has_range;
	int64_t from_ns, to_ns;
};

/* A part's handle, opened when it is not. */
int view_reader(struct store_view *v, struct view_part *vp, struct part_reader **out,
		struct err *err);
/* The same, with its dictionary, and the stacks of its heads in there. */
int view_dict(struct store_view *v, struct view_part *vp, struct part_reader **out,
	      struct err *err);

/* Opens v->names, when there are any. */
int view_names(struct store_view *v, struct err *err);

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

/* 0, or -ECANCELED. */
int view_go_on(const struct store_view *v, struct err *err);

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
