/* Writes blocks and dictionary chunks in a transaction. */
#include "store/part/part_file.h"

#include "base/err.h"
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>

enum { LEVEL_YOUNG = 1 }; /* of zstd */

/* --- blocks ----------------------------------------------------------------------------------- */

static int put_detail(struct part *p, const struct part_ref *ref, const struct buf *b, uint64_t sum,
		      struct err *err)
{
	struct block_key key = part_key(ref);
	sqlite3_stmt *s =
		db_prepare(p->detail, "INSERT OR REPLACE INTO detail VALUES(?1, ?2, ?3)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, ref->id);
	sqlite3_bind_blob64(s, 2, b->data, b->len, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, (int64_t)(block_checksum(&key, b->data, b->len, NULL, 0) ^ sum));
	return db_step(p->detail, s, err);
}

static struct part_checks checks_of(const struct block_blobs *b, const struct part_ref *ref)
{
	const struct buf *summary = &b->summary, *steps = &b->windows;
	struct block_key key = part_key(ref);

	return (struct part_checks){
		block_checksum(&key, summary->data, summary->len, NULL, 0),
		block_checksum(&key, NULL, 0, steps->data, steps->len),
	};
}

static int put_block(struct part *p, const struct part_ref *ref, const struct block_blobs *b,
		     bool weighted, const struct part_checks *checks, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day,
				     "INSERT INTO block VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
				     "?10, ?11)",
				     err);

	if (!s)
		return -err->code;
	const int64_t numbers[] = {
		ref->id,
		ref->series,
		ref->from_ns,
		ref->windows,
		ref->rows,
		ref->total,
		weighted,
		(int64_t)checks->sum,
		(int64_t)checks->steps_sum,
	};
	for (int i = 0; i < 9; i++)
		sqlite3_bind_int64(s, 1 + i, numbers[i]);
	sqlite3_bind_blob64(s, 10, b->windows.data, b->windows.len, SQLITE_STATIC);
	sqlite3_bind_blob64(s, 11, b->summary.data, b->summary.len, SQLITE_STATIC);
	return db_step(p->day, s, err);
}

static void encode(struct block_coder *coder, const struct part_block *b, int level,
		   struct part_encoded *out)
{
	uint64_t total = 0;

	out->rows = 0;
	for (size_t i = 0; i < b->n; i++) {
		total += (uint64_t)b->rows[i].value;
		out->rows += b->rows[i].value != 0;
	}
	out->total = (int64_t)total;
	if (out->rows)
		block_encode(coder, b->rows, b->n, b->windows, b->weighted, level, &out->blobs);
}

void part_encode(struct block_coder *coder, const struct part_block *b, struct part_encoded *out)
{
	encode(coder, b, LEVEL_YOUNG, out);
}

static int put_encoded(struct part *p, struct part_change *c, const struct part_block *b,
		       const struct part_encoded *e, struct err *err)
{
	const struct part_ref ref = { .id = (int64_t)c->next.next_block,
				      .series = b->series,
				      .windows = b->windows,
				      .from_ns = b->from_ns,
				      .total = e->total,
				      .rows = e->rows };
	struct part_checks checks = checks_of(&e->blobs, &ref);
	int rc = p->detail ? put_detail(p, &ref, &e->blobs.detail, checks.sum, err) : 0;

	if (rc == 0)
		rc = put_block(p, &ref, &e->blobs, b->weighted, &checks, err);
	if (rc)
		return rc;
	c->next.next_block++;
	c->next.blocks++;
	c->next.rows += ref.rows;
	c->next.refs ^= part_ref_hash(&ref);
	c->next.sums ^= part_sums_hash(checks.sum, checks.steps_sum);
	return 0;
}

int part_change_add(struct part *p, struct part_change *c, const struct part_block *b, int level,
		    struct err *err)
{
	assert(b->windows > 0 && b->windows <= BLOCK_MAX_WINDOWS &&
	       b->from_ns % BLOCK_WINDOW_NS == 0);
	if (!b->encoded)
		encode(p->coder, b, level, &p->encoded);
	const struct part_encoded *e = b->encoded ? b->encoded : &p->encoded;
	return e->rows ? put_encoded(p, c, b, e, err) : 0;
}

int part_get_checks(struct part *p, int64_t id, struct part_checks *out, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "SELECT sum, steps_sum FROM block WHERE id = ?1", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, id);
	int rc = db_step(p->day, s, err);
	if (rc <= 0)
		return rc ? rc
			  : err_set(err, EBADMSG, "%s: block %lld is gone", p->path, (long long)id);
	out->sum = (uint64_t)sqlite3_column_int64(s, 0);
	out->steps_sum = (uint64_t)sqlite3_column_int64(s, 1);
	sqlite3_reset(s);
	return 0;
}

int part_change_remove(struct part *p, struct part_change *c, const struct part_ref *ref,
		       struct err *err)
{
	struct part_checks checks = { 0 };
	int rc = part_get_checks(p, ref->id, &checks, err);

	if (rc)
		return rc;
	sqlite3_stmt *s = db_prepare(p->day, "DELETE FROM block WHERE id = ?1", err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, ref->id);
	rc = db_step(p->day, s, err);
	if (rc)
		return rc;
	c->next.blocks--;
	c->next.rows -= ref->rows;
	c->next.refs ^= part_ref_hash(ref);
	c->next.sums ^= part_sums_hash(checks.sum, checks.steps_sum);
	return 0;
}

/* --- adding ----------------------------------------------------------------------------------- */

static int add_all(struct part *p, struct part_change *c, const struct part_news *news,
		   uint64_t inbox_sequence, struct err *err)
{
	int rc = part_dict_save(p, err);

	for (size_t i = 0; rc == 0 && i < news->n; i++)
		rc = part_change_add(p, c, &news->blocks[i], LEVEL_YOUNG, err);
	for (size_t i = 0; rc == 0 && i < news->n_metrics; i++)
		rc = part_change_add_metric(p, c, &news->metrics[i], err);
	c->next.stacks = p->dict->stacks.stacks.n;
	c->next.sealed = 0;
	if (c->next.inbox < inbox_sequence)
		c->next.inbox = inbox_sequence;
	return rc;
}

int part_add_news(struct part *p, const struct part_news *news, uint64_t inbox_sequence,
		  struct err *err)
{
	struct part_change c;
	struct err local;

	err = err ? err : &local;
	int rc = part_load(p, err);
	if (rc == 0)
		rc = part_change_begin(p, &c, err);
	if (rc)
		return rc;
	return part_change_end(p, &c, add_all(p, &c, news, inbox_sequence, err), err);
}

int part_add(struct part *p, const struct part_block *blocks, size_t n, uint64_t inbox_sequence,
	     struct err *err)
{
	const struct part_news news = { .blocks = blocks, .n = n };

	return part_add_news(p, &news, inbox_sequence, err);
}
