/* Deletes hours of exact samples. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/codec/hot_block.h"
#include "store/codec/store.h"
#include "store/day/hot.h"

#include <errno.h>

/* Copies the rows that stay, with their links. */
static void keep_rows(const struct hot_rows *from, const struct store_wanted *w,
		      struct hot_rows *out)
{
	uint32_t *number = xcalloc(from->links.n + 1, sizeof *number);

	vec_clear(&out->rows);
	vec_clear(&out->links);
	for (size_t i = 0; i < from->rows.n; i++) {
		struct hot_row row = from->rows.v[i];
		if (store_wants(w, row.series))
			continue;
		if (row.link && !number[row.link]) {
			vec_push(&out->links, from->links.v[row.link - 1]);
			number[row.link] = out->links.n;
		}
		row.link = number[row.link];
		vec_push(&out->rows, row);
	}
	free(number);
}

struct hot_deletion {
	struct db *db;
	int64_t hour_ns;
	const struct store_wanted *w;
	struct hot_rows was, now;
	struct buf data;
	uint64_t gone;
};

static int replace_block(struct hot_deletion *d, int64_t id, int64_t piece, struct err *err)
{
	sqlite3_stmt *st = db_prepare(
		d->db, "UPDATE block SET rows = ?1, sum = ?2, data = ?3 WHERE id = ?4", err);

	if (!st)
		return -err->code;
	hot_block_encode(d->now.rows.v, d->now.rows.n, d->now.links.v, d->now.links.n, &d->data);
	sqlite3_bind_int64(st, 1, (int64_t)d->now.rows.n);
	sqlite3_bind_int64(st, 2,
			   (int64_t)hot_checksum(d->hour_ns, piece, d->data.data, d->data.len));
	sqlite3_bind_blob64(st, 3, d->data.data, d->data.len, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, id);
	return db_step(d->db, st, err);
}

/* Returns 1 if there was such a block, and advances *id. A damaged block loses all its rows, since
 * wanted ones cannot be distinguished. */
static int delete_of_next(struct hot_deletion *d, int64_t *id, struct err *err)
{
	sqlite3_stmt *st = db_prepare(
		d->db, "SELECT id, piece, data FROM block WHERE id >= ?1 ORDER BY id LIMIT 1", err);
	struct err damage;

	if (!st)
		return -err->code;
	sqlite3_bind_int64(st, 1, *id);
	int rc = db_step(d->db, st, err);
	if (rc <= 0)
		return rc;
	int64_t block = sqlite3_column_int64(st, 0), piece = sqlite3_column_int64(st, 1);
	bool damaged = hot_block_decode(sqlite3_column_blob(st, 2), sqlite3_column_bytes(st, 2),
					&d->was, &damage) < 0;
	sqlite3_reset(st);
	*id = block + 1;
	keep_rows(&d->was, d->w, &d->now);
	uint64_t gone = d->was.rows.n - d->now.rows.n;
	d->gone += gone;
	rc = gone || damaged ? replace_block(d, block, piece, err) : 0;
	return rc ? rc : 1;
}

static int delete_blocks(struct hot_deletion *d, struct err *err)
{
	int64_t id = 0;
	int rc = db_begin(d->db, err);

	if (rc)
		return rc;
	while ((rc = delete_of_next(d, &id, err)) > 0)
		continue;
	if (rc == 0)
		rc = db_exec(d->db, "UPDATE state SET rows = (SELECT total(rows) FROM block)", err);
	if (rc == 0)
		rc = db_commit(d->db, err);
	if (rc)
		db_rollback(d->db);
	return rc;
}

int hot_delete(struct db *db, int64_t hour_ns, const struct store_wanted *w, uint64_t *rows,
	       struct err *err)
{
	struct hot_deletion d = { .db = db, .hour_ns = hour_ns, .w = w };
	int rc = delete_blocks(&d, err);

	*rows += rc ? 0 : d.gone;
	hot_rows_done(&d.was);
	hot_rows_done(&d.now);
	buf_done(&d.data);
	return rc ? rc : db_scrub(db, err);
}
