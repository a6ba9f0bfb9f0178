/* store/collect.h: series that nothing refers to leave the catalog. Only files of store/ include it.
 *
 * A run begins when days went, and after opening. It reads which series the files have: blocks and metrics of all parts, samples of the hot tier, a
 * piece at a time, through handles of its own and without a lock. What was not in files when it began is newer than `sequence`: batches in the inbox, which
 * are all that heads and buffers have (store_state.h, 4); the catalog knows the last batch of each series. A series that neither has goes. Views
 * that are open have no part that is not in the list, and none gets a row of another series under an old number that they could see: a view's rows of
 * heads and buffers are counted when it opens, and its parts' blocks are of the moment before anything is added (store_views_hold).
 *
 * Other processes that read have a catalog of their own, and open parts later. So they hold a lock on DIR/readers, shared, as long as they have
 * the store open, and a place that has become free is not used before the writer has had that lock alone for a moment. */
#ifndef CRESSET_STORE_COLLECT_H
#define CRESSET_STORE_COLLECT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct store_collect {
	bool is_due;     /* a run is to begin */
	bool is_running; /* under way, and by one thread at a time */
	bool is_busy;
	bool is_held; /* no run goes on: series are being deleted, by their numbers (delete.h) */
	uint64_t sequence; /* batches up to this one were in files */
	bool *kept;        /* by series: some file has it */
	uint32_t n;
	/* What comes next. */
	int64_t part_ns, hot_ns, hot_block;
	uint32_t piece;
	int readers_fd; /* of DIR/readers; < 0: none */
};

/* DIR/readers: made by who writes; held by who only reads. */
int store_collect_open(struct store *s, struct err *err);
void store_collect_done(struct store *s);

/* Held: no series becomes a free place until it is let go; then a run is due. Waits for the piece that is under way. */
void store_collect_hold(struct store *s);
void store_collect_let_go(struct store *s);

/* From here on new series take places that are free, if nobody else reads. When opening: the first batch may come before the first piece of a
 * run. */
void store_collect_reuse(struct store *s);

/* One piece of a run. 1: there is more to do. Without locks. */
int store_collect_step(struct store *s, struct err *err);

#endif
