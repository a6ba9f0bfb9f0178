/* Seals a finished day, which makes it as small as possible, and verifies it. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "store/part/part_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- sealing ---------------------------------------------------------------------------------- */

static int seal(struct part *p, struct err *err)
{
	struct part_change c;
	int rc = part_change_begin(p, &c, err);

	if (rc)
		return rc;
	rc = part_dict_rewrite(p, err);
	c.next.stacks = p->dict->stacks.stacks.n;
	c.next.sealed = 1;
	return part_change_end(p, &c, rc, err);
}

static int for_ids(struct db *db, const char *sql, void (*take)(void *ctx, int64_t id), void *ctx,
		   struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, sql, err);
	int rc = s ? 0 : -err->code;

	while (s && (rc = db_step(db, s, err)) > 0)
		take(ctx, sqlite3_column_int64(s, 0));
	return rc;
}

struct orphans {
	struct part *p;
	struct map blocks; /* existing ones */
};

static void note_block(void *ctx, int64_t id)
{
	struct orphans *o = ctx;

	map_put(&o->blocks, (uint64_t)id, 1);
}

static void note_orphan(void *ctx, int64_t id)
{
	struct orphans *o = ctx;

	if (!map_get(&o->blocks, (uint64_t)id))
		vec_push(&o->p->superseded, id);
}

/* Deletes detail without a block, left over from a crash or from compaction. */
static int drop_orphans(struct part *p, struct err *err)
{
	struct orphans o = { .p = p };

	vec_clear(&p->superseded);
	int rc = for_ids(p->day, "SELECT id FROM block INDEXED BY block_slot", note_block, &o, err);
	if (rc == 0)
		rc = for_ids(p->detail, "SELECT block FROM detail", note_orphan, &o, err);
	map_done(&o.blocks);
	return rc ? rc : part_clean_detail(p, err);
}

/* Does not wait for readers: pages that they keep in the log get into the file when it is
 * closed. */
static int shrink(struct db *db, struct err *err)
{
	int rc = db_shrink(db, err);

	return rc ? rc : db_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", err);
}

int part_seal(struct part *p, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	int rc = part_load(p, err);
	if (rc == 0 && !p->state.sealed)
		rc = seal(p, err);
	if (rc == 0)
		rc = shrink(p->day, err);
	if (rc == 0 && p->detail)
		rc = drop_orphans(p, err);
	if (rc == 0 && p->detail)
		rc = shrink(p->detail, err);
	return rc;
}

/* --- verifying -------------------------------------------------------------------------------- */

struct audit {
	struct part *p;
	struct block_sums sums;
	int64_t windows[BLOCK_MAX_WINDOWS];
	uint64_t blocks, rows, refs, checks, bad;
	struct err first; /* the first problem */
};

static int audit_blobs(struct audit *a, const struct part_ref *ref, struct err *err)
{
	struct part *p = a->p;
	struct block_row *rows = NULL;
	size_t n = 0;
	int rc = part_get_summary(p, ref, &a->sums, err);

	if (rc == 0)
		rc = part_get_windows(p, ref, a->windows, err);
	if (rc == 0 && p->detail)
		rc = part_get_detail(p, ref, &a->sums, &rows, &n, err);
	if (rc == 0)
		free(rows);
	return rc;
}

static int audit_block(struct audit *a, const struct part_ref *ref, struct err *err)
{
	struct part_checks checks = { 0 };
	int rc = part_get_checks(a->p, ref->id, &checks, err);

	if (rc == 0)
		rc = audit_blobs(a, ref, err);
	if (rc == -EBADMSG) {
		if (!a->bad++)
			a->first = *err;
		part_mark_damaged(a->p, ref->id);
	}
	a->blocks++;
	a->rows += ref->rows;
	a->refs ^= part_ref_hash(ref);
	a->checks ^= part_sums_hash(checks.sum, checks.steps_sum);
	return rc == -EBADMSG ? 0 : rc;
}

static int audit_blocks(struct audit *a, struct err *err)
{
	const struct part_state *s = &a->p->state;
	struct part_ref *refs = NULL;
	size_t n = 0;
	int rc = part_find(a->p, NULL, 0, INT64_MIN, INT64_MAX, &refs, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = audit_block(a, &refs[i], err);
	free(refs);
	if (rc)
		return rc;
	if (a->bad)
		return err_set(err, EBADMSG, "%s; %" PRIu64 " of %" PRIu64 " blocks are damaged",
			       a->first.text, a->bad, s->blocks);
	if (a->blocks != s->blocks || a->rows != s->rows || a->refs != s->refs ||
	    a->checks != s->sums)
		return err_set(err, EBADMSG,
			       "%s: %" PRIu64 " blocks of %" PRIu64
			       " rows differ from those written (%" PRIu64 " of %" PRIu64 ")",
			       a->p->path, a->blocks, a->rows, s->blocks, s->rows);
	return 0;
}

static int audit(struct part *p, struct err *err)
{
	struct audit *a = xcalloc(1, sizeof *a);
	int rc = db_verify(p->day, err);

	if (rc == 0 && p->detail)
		rc = db_verify(p->detail, err);
	if (rc == 0 && p->detail_damaged)
		rc = err_set(err, EBADMSG, "%s: is damaged", p->detail_path);
	a->p = p;
	if (rc == 0)
		rc = audit_blocks(a, err);
	if (rc == 0)
		rc = part_verify_metrics(p, err);
	block_sums_done(&a->sums);
	free(a);
	return rc ? rc : part_dict_check(p, p->state.stacks, err);
}

int part_verify(struct part *p, struct err *err)
{
	bool alone = !p->reading;
	struct err local;

	err = err ? err : &local;
	int rc = alone ? part_read_begin(p, err) : 0;
	if (rc == 0)
		rc = part_load(p, err);
	if (rc == 0)
		rc = audit(p, err);
	if (alone)
		part_read_end(p);
	return rc;
}
