/* store/delete.h: rows of some series leave the store for good. Only files of store/ include it.
 *
 *     DIR/deleting     numbers of the series, while it is under way
 *
 * Everything that is in memory becomes blocks first, and the inbox is emptied of it. Then each hour of the hot tier and each part loses its rows in a
 * transaction, and its files are written anew, so that nothing is left in free pages or journals. Each step may be done twice: what was not done
 * when the process ended is done when the store is opened the next time. Readers that have a view keep what they see. */
#ifndef CRESSET_STORE_DELETE_H
#define CRESSET_STORE_DELETE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct part;
struct store;

/* By series; n long. */
struct store_wanted {
	const bool *series;
	uint32_t n;
};
static inline bool store_wants(const struct store_wanted *w, int64_t series)
{
	return series >= 0 && series < w->n && w->series[series];
}

/* --- part_delete.c --- */

/* Blocks, their detail and metrics of these series. Adds to *rows what they had. */
int part_delete(struct part *p, const struct store_wanted *w, uint64_t *rows, struct err *err);

/* --- hot_delete.c, db_scrub.c --- */

/* In the file of an hour. Its blocks stay, fewer rows in them. */
int hot_delete(struct db *db, int64_t hour_ns, const struct store_wanted *w, uint64_t *rows,
	       struct err *err);
/* The file is written anew, and its journal emptied. -EBUSY: somebody reads it all the time. */
int db_scrub(struct db *db, struct err *err);

/* --- delete.c --- */

/* Goes on with what the last process did not get done. While the store is being opened. */
int store_delete_resume(struct store *s, struct err *err);
/* Or with what failed, for one on a full disk; if it fails again, it is tried again. */
void store_delete_rest(struct store *s);

#endif
