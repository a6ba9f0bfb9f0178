/* Reads and verifies blocks. */
#include "base/err.h"
#include "base/hash.h"
#include "store/part/part_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- damage ----------------------------------------------------------------------------------- */

void part_mark_damaged(struct part *p, int64_t block)
{
	map_put(&p->bad, (uint64_t)block, 1);
}

bool part_is_damaged(const struct part *p, int64_t block)
{
	return map_get(&p->bad, (uint64_t)block);
}

static int damaged(const struct part *p, const struct part_ref *ref, const char *what,
		   struct err *err)
{
	return err_set(err, EBADMSG, "%s: %s of block %" PRId64 " (series %u) is damaged", p->path,
		       what, ref->id, ref->series);
}

/* A block is missing: merged since part_find returned it, or damaged. */
static int gone(struct part *p, const struct part_ref *ref, const char *what, struct err *err)
{
	int64_t version = 0;
	int rc = part_version(p, &version, err);

	if (rc)
		return rc;
	if (version == p->found_version && p->changes == p->found_changes)
		return damaged(p, ref, what, err);
	return err_set(err, ESTALE, "%s: block %" PRId64 " was merged by another process", p->path,
		       ref->id);
}

/* Turns the error of a damaged block into an empty result, and counts it. */
static int set_aside_if_damaged(struct part *p, const struct part_ref *ref, int rc)
{
	if (rc != -EBADMSG)
		return rc;
	part_mark_damaged(p, ref->id);
	return 0;
}

/* --- blobs ------------------------------------------------------------------------------------ */

struct block_key part_key(const struct part_ref *ref)
{
	return (struct block_key){ ref->series, ref->from_ns, ref->windows, ref->rows };
}

/* A row of a block: its blob, and a checksum over key and blob. */
struct blob {
	sqlite3_stmt *stmt; /* to be reset afterwards */
	const void *data;
	size_t len;
	uint64_t sum;
};

/* sql selects a blob and its checksum by the block's id. */
static int blob_open(struct part *p, struct db *db, const char *sql, const struct part_ref *ref,
		     const char *what, struct blob *b, struct err *err)
{
	b->stmt = db_prepare(db, sql, err);
	if (!b->stmt)
		return -err->code;
	sqlite3_bind_int64(b->stmt, 1, ref->id);
	int rc = db_step(db, b->stmt, err);
	if (rc <= 0)
		return rc ? rc : gone(p, ref, what, err);
	b->data = sqlite3_column_blob(b->stmt, 0);
	b->len = (size_t)sqlite3_column_bytes(b->stmt, 0);
	b->sum = (uint64_t)sqlite3_column_int64(b->stmt, 1);
	return 0;
}

static void blob_close(struct blob *b)
{
	if (b->stmt)
		sqlite3_reset(b->stmt);
}

/* Four independent sums, so that additions do not wait for each other. */
static int64_t sum_of(const int64_t *v, size_t n)
{
	uint64_t sum[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		sum[0] += (uint64_t)v[i];
		sum[1] += (uint64_t)v[i + 1];
		sum[2] += (uint64_t)v[i + 2];
		sum[3] += (uint64_t)v[i + 3];
	}
	for (; i < n; i++)
		sum[0] += (uint64_t)v[i];
	return (int64_t)(sum[0] + sum[1] + sum[2] + sum[3]);
}

int part_get_summary(struct part *p, const struct part_ref *ref, struct block_sums *out,
		     struct err *err)
{
	uint32_t max = p->state.stacks < UINT32_MAX ? (uint32_t)p->state.stacks : UINT32_MAX;
	struct block_key key = part_key(ref);
	struct blob b = { 0 };
	int rc = blob_open(p, p->day, "SELECT summary, sum FROM block WHERE id = ?1", ref,
			   "the summary", &b, err);

	if (rc == 0 && block_checksum(&key, b.data, b.len, NULL, 0) != b.sum)
		rc = damaged(p, ref, "the summary", err);
	if (rc == 0)
		rc = block_read_summary(p->coder, b.data, b.len, max, out, err);
	if (rc == 0 && sum_of(out->total, out->n) != ref->total)
		rc = damaged(p, ref, "the summary", err);
	blob_close(&b);
	return rc;
}

int part_get_windows(struct part *p, const struct part_ref *ref, int64_t *sums, struct err *err)
{
	struct block_key key = part_key(ref);
	struct blob b = { 0 };
	int rc = blob_open(p, p->day, "SELECT steps, steps_sum FROM block WHERE id = ?1", ref,
			   "a sum of time", &b, err);

	if (rc == 0 && block_checksum(&key, NULL, 0, b.data, b.len) != b.sum)
		rc = damaged(p, ref, "a sum of time", err);
	if (rc == 0)
		rc = block_read_windows(p->coder, b.data, b.len, ref->windows, sums, err);
	if (rc == 0 && sum_of(sums, ref->windows) != ref->total)
		rc = damaged(p, ref, "a sum of time", err);
	blob_close(&b);
	return rc;
}

/* The checksum of detail includes the summary's: detail of another block with the same key does not
 * match. */
static int open_detail(struct part *p, const struct part_ref *ref, struct blob *b, struct err *err)
{
	struct block_key key = part_key(ref);
	struct blob summary = { 0 };

	if (!p->detail)
		return err_set(err, ENODATA, "%s: its exact times were deleted", p->path);
	int rc = blob_open(p, p->day, "SELECT x'', sum FROM block WHERE id = ?1", ref,
			   "the summary", &summary, err);
	blob_close(&summary);
	if (rc == 0)
		rc = blob_open(p, p->detail, "SELECT data, sum FROM detail WHERE block = ?1", ref,
			       "the detail", b, err);
	if (rc == 0 && (block_checksum(&key, b->data, b->len, NULL, 0) ^ summary.sum) != b->sum)
		rc = damaged(p, ref, "the detail", err);
	return rc;
}

int part_get_detail(struct part *p, const struct part_ref *ref, const struct block_sums *sums,
		    struct block_row **rows, size_t *n, struct err *err)
{
	struct blob b = { 0 };
	int rc = open_detail(p, ref, &b, err);

	if (rc == 0)
		rc = block_read_detail(p->coder, sums, b.data, b.len, ref->windows, rows, n, err);
	if (rc == 0 && *n != ref->rows) {
		free(*rows);
		rc = damaged(p, ref, "the detail", err);
	}
	blob_close(&b);
	return rc;
}

/* --- reading ---------------------------------------------------------------------------------- */

int part_read_summary(struct part *p, const struct part_ref *ref, struct block_sums *out,
		      struct err *err)
{
	struct err local;
	int rc = part_is_damaged(p, ref->id) ? -EBADMSG
					     : part_get_summary(p, ref, out, err ? err : &local);

	if (rc)
		out->n = 0;
	return set_aside_if_damaged(p, ref, rc);
}

int part_read_windows(struct part *p, const struct part_ref *ref, int64_t *sums, struct err *err)
{
	struct err local;
	int rc = part_is_damaged(p, ref->id) ? -EBADMSG
					     : part_get_windows(p, ref, sums, err ? err : &local);

	if (rc)
		memset(sums, 0, ref->windows * sizeof *sums);
	return set_aside_if_damaged(p, ref, rc);
}

static int get_columns(struct part *p, const struct part_ref *ref, uint32_t from, uint32_t to,
		       struct block_columns *rows, struct err *err)
{
	struct blob b = { 0 };
	int rc = part_get_summary(p, ref, &p->sums, err);

	if (rc == 0)
		rc = open_detail(p, ref, &b, err);
	if (rc == 0)
		rc = block_read_columns(p->coder, &p->sums, b.data, b.len, ref->windows, from, to,
					rows, err);
	if (rc == 0 && from == 0 && to == ref->windows && rows->n != ref->rows)
		rc = damaged(p, ref, "the detail", err);
	blob_close(&b);
	return rc;
}

int part_read_columns(struct part *p, const struct part_ref *ref, uint32_t from, uint32_t to,
		      struct block_columns *rows, struct err *err)
{
	struct err local;
	int rc = part_is_damaged(p, ref->id)
			 ? -EBADMSG
			 : get_columns(p, ref, from, to, rows, err ? err : &local);

	if (rc)
		rows->n = 0;
	return set_aside_if_damaged(p, ref, rc);
}

static int get_window_range(struct part *p, const struct part_ref *ref,
			    const struct block_sums *sums, uint32_t from, uint32_t to,
			    int64_t *totals, struct err *err)
{
	struct blob b = { 0 };
	int rc = open_detail(p, ref, &b, err);

	if (rc == 0)
		rc = block_read_part(p->coder, sums, b.data, b.len, ref->windows, from, to, totals,
				     err);
	blob_close(&b);
	return rc;
}

int part_read_window_range(struct part *p, const struct part_ref *ref,
			   const struct block_sums *sums, uint32_t from, uint32_t to,
			   int64_t *totals, struct err *err)
{
	struct err local;
	int rc = part_is_damaged(p, ref->id)
			 ? -EBADMSG
			 : get_window_range(p, ref, sums, from, to, totals, err ? err : &local);

	if (rc && sums->n)
		memset(totals, 0, sums->n * sizeof *totals);
	return set_aside_if_damaged(p, ref, rc);
}
