/* Deletes blocks of series from a partition. */
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/store.h"
#include "store/part/part.h"
#include "store/part/part_file.h"

#include <errno.h>

/* --- blocks ----------------------------------------------------------------------------------- */

/* Reads a row of SELECT id, series, start, windows, rows, total; from the table, not the index. */
static struct part_ref ref_of_row(sqlite3_stmt *s)
{
	return (struct part_ref){ .id = sqlite3_column_int64(s, 0),
				  .series = (uint32_t)sqlite3_column_int64(s, 1),
				  .from_ns = sqlite3_column_int64(s, 2),
				  .windows = (uint32_t)sqlite3_column_int64(s, 3),
				  .rows = (uint64_t)sqlite3_column_int64(s, 4),
				  .total = sqlite3_column_int64(s, 5) };
}

static int delete_blocks(struct part *p, struct part_change *c, const struct store_wanted *w,
			 uint64_t *rows, struct err *err)
{
	VEC(struct part_ref) refs = { 0 };
	sqlite3_stmt *s = db_prepare(
		p->day, "SELECT id, series, start, windows, rows, total FROM block NOT INDEXED",
		err);
	int rc = s ? 0 : -err->code;

	while (s && (rc = db_step(p->day, s, err)) > 0)
		if (store_wants(w, sqlite3_column_int64(s, 1)))
			vec_push(&refs, ref_of_row(s));
	for (size_t i = 0; rc == 0 && i < refs.n; i++) {
		rc = part_change_remove(p, c, &refs.v[i], err);
		*rows += rc ? 0 : refs.v[i].rows;
	}
	vec_done(&refs);
	return rc;
}

/* --- metrics ---------------------------------------------------------------------------------- */

static int delete_metrics(struct part *p, struct part_change *c, const struct store_wanted *w,
			  uint64_t *rows, struct err *err)
{
	VEC(struct part_metric_ref) refs = { 0 };
	sqlite3_stmt *s =
		db_prepare(p->day, "SELECT id, series, points, sum FROM metric NOT INDEXED", err);
	int rc = s ? 0 : -err->code;

	while (s && (rc = db_step(p->day, s, err)) > 0)
		if (store_wants(w, sqlite3_column_int64(s, 1)))
			vec_push(&refs, (struct part_metric_ref){
						.id = sqlite3_column_int64(s, 0),
						.series = (uint32_t)sqlite3_column_int64(s, 1),
						.points = (uint32_t)sqlite3_column_int64(s, 2),
						.sum = (uint64_t)sqlite3_column_int64(s, 3) });
	for (size_t i = 0; rc == 0 && i < refs.n; i++) {
		rc = part_change_remove_metric(p, c, &refs.v[i], err);
		*rows += rc ? 0 : refs.v[i].points;
	}
	vec_done(&refs);
	return rc;
}

/* --- detail ----------------------------------------------------------------------------------- */

static int know_blocks(struct part *p, struct map *known, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "SELECT id FROM block NOT INDEXED", err);
	int rc = s ? 0 : -err->code;

	while (s && (rc = db_step(p->day, s, err)) > 0)
		map_put(known, (uint64_t)sqlite3_column_int64(s, 0), 1);
	return rc;
}

/* Finds the detail of blocks that do not exist: those just deleted, and any left over from
 * before. */
static int orphans_of(struct part *p, const struct map *known, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->detail, "SELECT block FROM detail", err);
	int rc = s ? 0 : -err->code;

	p->superseded.n = 0;
	while (s && (rc = db_step(p->detail, s, err)) > 0)
		if (!map_get(known, (uint64_t)sqlite3_column_int64(s, 0)))
			vec_push(&p->superseded, sqlite3_column_int64(s, 0));
	return rc;
}

static int delete_orphans(struct part *p, struct err *err)
{
	struct map known = { 0 };
	int rc = know_blocks(p, &known, err);

	if (rc == 0)
		rc = orphans_of(p, &known, err);
	map_done(&known);
	return rc ? rc : part_clean_detail(p, err);
}

/* --- all -------------------------------------------------------------------------------------- */

static int delete_all(struct part *p, struct part_change *c, const struct store_wanted *w,
		      uint64_t *rows, struct err *err)
{
	int rc = delete_blocks(p, c, w, rows, err);

	return rc ? rc : delete_metrics(p, c, w, rows, err);
}

int part_delete(struct part *p, const struct store_wanted *w, uint64_t *rows, struct err *err)
{
	struct part_change c;
	int rc = part_change_begin(p, &c, err);

	if (rc == 0)
		rc = part_change_end(p, &c, delete_all(p, &c, w, rows, err), err);
	if (rc == 0 && p->detail)
		rc = delete_orphans(p, err);
	if (rc == 0)
		rc = db_scrub(p->day, err);
	if (rc == 0 && p->detail)
		rc = db_scrub(p->detail, err);
	return rc;
}
