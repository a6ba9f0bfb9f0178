/* Metrics in a partition: blocks of points, each of one series. Blocks of a series may overlap
 * (late points). */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/codec/metric_samples.h"
#include "store/part/part_file.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>

enum {
	FIND_MAX_IDS = 1 << 22,
	STEP_POINTS = 1 << 17, /* small slots share a transaction up to this number */
};

/* --- checksums -------------------------------------------------------------------------------- */

/* Checksum over a block's key and data. */
static uint64_t metric_checksum(const struct part_metric_ref *r, const void *data, size_t len)
{
	const uint64_t words[] = { htole64(r->series), htole64((uint64_t)r->first_ns),
				   htole64((uint64_t)r->last_ns), htole64(r->points),
				   htole64(hash_bytes(data, len)) };

	return hash_bytes(words, sizeof words);
}

/* Hash of a row of the index. */
static uint64_t row_hash(const struct part_metric_ref *r)
{
	return hash_mix((uint64_t)r->id, r->sum);
}

static void count_block(struct part_state *s, const struct part_metric_ref *r, int sign)
{
	s->metrics += (uint64_t)sign;
	s->points += (uint64_t)sign * r->points;
	s->metric_sums ^= row_hash(r);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int put_block(struct part *p, const struct part_metric_ref *r, const struct buf *b,
		     struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(p->day, "INSERT INTO metric VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", err);
	const int64_t numbers[] = { r->id,      r->series,          r->first_ns,
				    r->last_ns, (int64_t)r->points, (int64_t)r->sum };

	if (!s)
		return -err->code;
	for (int i = 0; i < 6; i++)
		sqlite3_bind_int64(s, 1 + i, numbers[i]);
	sqlite3_bind_blob64(s, 7, b->data, b->len, SQLITE_STATIC);
	return db_step(p->day, s, err);
}

static int add_block(struct part *p, struct part_change *c, const struct part_metric *m,
		     struct err *err)
{
	struct part_metric_ref r = { .id = (int64_t)c->next.next_block,
				     .series = m->series,
				     .first_ns = m->points[0].time_ns,
				     .last_ns = m->points[m->n - 1].time_ns,
				     .points = m->n };
	struct buf b = { 0 };

	metric_encode(m->points, m->n, &b);
	r.sum = metric_checksum(&r, b.data, b.len);
	int rc = put_block(p, &r, &b, err);
	buf_done(&b);
	if (rc)
		return rc;
	c->next.next_block++;
	count_block(&c->next, &r, 1);
	return 0;
}

int part_change_add_metric(struct part *p, struct part_change *c, const struct part_metric *m,
			   struct err *err)
{
	struct part_metric piece = *m;
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < m->n; at += piece.n) {
		size_t left = m->n - at;
		piece.points = m->points + at;
		piece.n = left < METRIC_MAX_POINTS ? left : METRIC_MAX_POINTS;
		rc = add_block(p, c, &piece, err);
	}
	return rc;
}

int part_change_remove_metric(struct part *p, struct part_change *c,
			      const struct part_metric_ref *r, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "DELETE FROM metric WHERE id = ?1", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, r->id);
	int rc = db_step(p->day, s, err);
	if (rc == 0)
		count_block(&c->next, r, -1);
	return rc;
}

/* --- finding ---------------------------------------------------------------------------------- */

struct metric_finder {
	struct part *p;
	uint32_t series; /* UINT32_MAX: all */
	int64_t from_ns, to_ns;
	VEC(struct part_metric_ref) found;
};

/* Reads a row of SELECT id, series, first, last, points, sum. */
static bool ref_of_row(sqlite3_stmt *s, struct part_metric_ref *out)
{
	int64_t series = sqlite3_column_int64(s, 1), points = sqlite3_column_int64(s, 4);

	*out = (struct part_metric_ref){ .id = sqlite3_column_int64(s, 0),
					 .series = (uint32_t)series,
					 .first_ns = sqlite3_column_int64(s, 2),
					 .last_ns = sqlite3_column_int64(s, 3),
					 .points = (uint32_t)points,
					 .sum = (uint64_t)sqlite3_column_int64(s, 5) };
	return series >= 0 && series < UINT32_MAX && points > 0 && points <= METRIC_MAX_POINTS;
}

static void take(struct metric_finder *f, sqlite3_stmt *s)
{
	struct part_metric_ref r;

	if (ref_of_row(s, &r) && (f->series == UINT32_MAX || f->series == r.series) &&
	    r.first_ns < f->to_ns && r.last_ns >= f->from_ns)
		vec_push(&f->found, r);
}

#define METRIC_COLUMNS "SELECT id, series, first, last, points, sum FROM metric "

/* As for the index of blocks: a damaged index would miss blocks. */
static int check_index(struct part *p, struct err *err)
{
	uint64_t n = 0, sums = 0;
	struct part_metric_ref r;
	int rc;

	if (p->metric_index != INDEX_UNKNOWN)
		return 0;
	sqlite3_stmt *s = db_prepare(
		p->day, METRIC_COLUMNS "INDEXED BY metric_slot ORDER BY series, first, last", err);
	if (!s)
		return -err->code;
	for (; (rc = db_step(p->day, s, err)) > 0; n++)
		sums ^= ref_of_row(s, &r) ? row_hash(&r) : 0;
	if (rc && rc != -EBADMSG)
		return rc;
	bool good = rc == 0 && n == p->state.metrics && sums == p->state.metric_sums;
	p->metric_index = good ? INDEX_GOOD : INDEX_BAD;
	return 0;
}

int part_mark_metric_series(struct part *p, bool *marks, uint32_t n, struct err *err)
{
	int rc = check_index(p, err);

	if (rc == 0 && p->metric_index == INDEX_BAD)
		rc = err_set(err, EBADMSG, "%s: the index of metrics is damaged", p->path);
	return rc ? rc
		  : part_mark_by(p, "SELECT min(series) FROM metric WHERE series >= ?1", marks, n,
				 err);
}

static int find_by_index(struct metric_finder *f, struct err *err)
{
	bool all = f->series == UINT32_MAX;
	sqlite3_stmt *s = db_prepare(
		f->p->day,
		all ? METRIC_COLUMNS "INDEXED BY metric_slot ORDER BY series, first, last"
		    : METRIC_COLUMNS
			"INDEXED BY metric_slot WHERE series = ?1 ORDER BY first, last",
		err);
	int rc;

	if (!s)
		return -err->code;
	if (!all)
		sqlite3_bind_int64(s, 1, f->series);
	while ((rc = db_step(f->p->day, s, err)) > 0)
		take(f, s);
	return rc;
}

static int find_by_id(struct metric_finder *f, struct err *err)
{
	struct part *p = f->p;
	uint64_t n = 0;

	for (int64_t id = 1; id < (int64_t)p->state.next_block && id < FIND_MAX_IDS; id++) {
		sqlite3_stmt *s =
			db_prepare(p->day, METRIC_COLUMNS "NOT INDEXED WHERE id = ?1", err);
		if (!s)
			return -err->code;
		sqlite3_bind_int64(s, 1, id);
		int rc = db_step(p->day, s, err);
		if (rc < 0 && rc != -EBADMSG)
			return rc;
		if (rc <= 0)
			continue;
		take(f, s);
		n++;
		sqlite3_reset(s);
	}
	p->missing_metrics = p->state.metrics > n ? p->state.metrics - n : 0;
	return 0;
}

static int ref_cmp(const void *a, const void *b)
{
	const struct part_metric_ref *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int find(struct part *p, uint32_t series, int64_t from_ns, int64_t to_ns,
		struct metric_finder *f, struct err *err)
{
	*f = (struct metric_finder){ .p = p, .series = series, .from_ns = from_ns, .to_ns = to_ns };
	int rc = p->state.metrics ? check_index(p, err) : 0;

	if (rc == 0 && p->state.metrics)
		rc = p->metric_index == INDEX_GOOD ? find_by_index(f, err) : find_by_id(f, err);
	if (rc) {
		vec_done(&f->found);
		return rc;
	}
	if (f->found.n)
		qsort(f->found.v, f->found.n, sizeof *f->found.v, ref_cmp);
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_what_it_says(const struct part_metric_ref *r, const struct metric_point *v, size_t n)
{
	return n == r->points && v[0].time_ns == r->first_ns && v[n - 1].time_ns == r->last_ns;
}

static int decode_block(const struct part *p, const struct part_metric_ref *r, sqlite3_stmt *s,
			struct metric_points *out, struct err *err)
{
	const void *data = sqlite3_column_blob(s, 0);
	size_t len = sqlite3_column_bytes(s, 0), before = out->n;
	bool whole = metric_checksum(r, data, len) == r->sum &&
		     (uint64_t)sqlite3_column_int64(s, 1) == r->sum &&
		     metric_decode(data, len, out, NULL) == 0;

	if (whole && is_what_it_says(r, out->v + before, out->n - before))
		return 0;
	out->n = before;
	return err_set(err, EBADMSG, "%s: points %" PRId64 " (series %u) are damaged", p->path,
		       r->id, r->series);
}

/* Reads a block; -EBADMSG if damaged. */
static int get_block(struct part *p, const struct part_metric_ref *r, struct metric_points *out,
		     struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "SELECT data, sum FROM metric WHERE id = ?1", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, r->id);
	int rc = db_step(p->day, s, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(err, EBADMSG, "%s: points %" PRId64 " are gone", p->path, r->id);
	rc = decode_block(p, r, s, out, err);
	sqlite3_reset(s);
	return rc;
}

static int read_block(struct part *p, const struct part_metric_ref *r, struct metric_points *out,
		      struct err *err)
{
	int rc = part_is_damaged(p, r->id) ? -EBADMSG : get_block(p, r, out, err);

	if (rc != -EBADMSG)
		return rc;
	part_mark_damaged(p, r->id);
	return 0;
}

int part_read_points(struct part *p, uint32_t series, int64_t from_ns, int64_t to_ns,
		     struct metric_points *out, struct err *err)
{
	struct metric_finder f;
	struct err local;
	int rc = find(p, series, from_ns, to_ns, &f, err ? err : &local);

	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && i < f.found.n; i++)
		rc = read_block(p, &f.found.v[i], out, err ? err : &local);
	vec_done(&f.found);
	return rc;
}

int part_points_range(struct part *p, int64_t *first_ns, int64_t *last_ns, struct err *err)
{
	struct metric_finder f;
	struct err local;
	int rc = find(p, UINT32_MAX, INT64_MIN, INT64_MAX, &f, err ? err : &local);

	if (rc)
		return rc;
	for (size_t i = 0; i < f.found.n; i++) {
		const struct part_metric_ref *r = &f.found.v[i];
		*first_ns = i == 0 || r->first_ns < *first_ns ? r->first_ns : *first_ns;
		*last_ns = i == 0 || r->last_ns > *last_ns ? r->last_ns : *last_ns;
	}
	vec_done(&f.found);
	return 0;
}

/* --- compaction: the blocks of a series in a slot become one ---------------------------------- */

static bool share_slot(const struct part_metric_ref *a, const struct part_metric_ref *b,
		       int64_t slot_ns)
{
	return a->series == b->series && a->first_ns / slot_ns == b->first_ns / slot_ns;
}

/* Reads the blocks of a slot; damaged ones stay where they are. */
static int read_slot(struct part *p, const struct part_metric_ref *refs, size_t n,
		     struct metric_points *points, struct err *err)
{
	int rc = 0;

	vec_clear(points);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_block(p, &refs[i], points, err);
	metric_points_order(points);
	return rc;
}

static int replace_slot(struct part *p, struct part_change *c, const struct part_metric_ref *refs,
			size_t n, const struct metric_points *points, struct err *err)
{
	const struct part_metric m = { refs[0].series, points->v, points->n };
	int rc = part_change_add_metric(p, c, &m, err);

	for (size_t i = 0; rc == 0 && i < n; i++)
		if (!part_is_damaged(p, refs[i].id))
			rc = part_change_remove_metric(p, c, &refs[i], err);
	return rc;
}

static uint64_t count_points(const struct part *p, const struct part_metric_ref *refs, size_t n)
{
	uint64_t points = 0;

	for (size_t i = 0; i < n; i++)
		points += part_is_damaged(p, refs[i].id) ? 0 : refs[i].points;
	return points;
}

static size_t count_whole(const struct part *p, const struct part_metric_ref *refs, size_t n)
{
	size_t whole = 0;

	for (size_t i = 0; i < n; i++)
		whole += !part_is_damaged(p, refs[i].id);
	return whole;
}

static int slot_cmp(const void *a, const void *b)
{
	const struct part_metric_ref *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Merges slots until the step has enough points. */
static int merge_slots(struct part *p, struct part_change *c, struct metric_finder *f,
		       int64_t slot_ns, bool *any, bool *more, struct err *err)
{
	struct metric_points points = { 0 };
	uint64_t done = 0;
	int rc = 0;

	for (size_t i = 0, k; rc == 0 && i < f->found.n; i += k) {
		struct part_metric_ref *refs = f->found.v + i;
		for (k = 1; i + k < f->found.n && share_slot(refs, &refs[k], slot_ns); k++)
			continue;
		uint64_t n = count_points(p, refs, k);
		if (count_whole(p, refs, k) < 2 || n > METRIC_MAX_POINTS)
			continue;
		*more = done >= STEP_POINTS;
		if (*more)
			break;
		/* of several points at one time the last one written counts */
		qsort(refs, k, sizeof *refs, ref_cmp);
		rc = read_slot(p, refs, k, &points, err);
		if (rc == 0 && count_whole(p, refs, k) >= 2) {
			rc = replace_slot(p, c, refs, k, &points, err);
			done += n;
			*any = true;
		}
	}
	vec_done(&points);
	return rc;
}

static bool has_shared_slot(const struct metric_finder *f, int64_t slot_ns)
{
	for (size_t i = 1; i < f->found.n; i++)
		if (share_slot(&f->found.v[i - 1], &f->found.v[i], slot_ns))
			return true;
	return false;
}

int part_compact_metrics(struct part *p, int64_t slot_ns, struct err *err)
{
	struct metric_finder f;
	struct part_change c;
	struct err local;
	bool any, more;

	err = err ? err : &local;
	int rc = find(p, UINT32_MAX, INT64_MIN, INT64_MAX, &f, err);
	if (rc)
		return rc;
	if (f.found.n)
		qsort(f.found.v, f.found.n, sizeof *f.found.v, slot_cmp);
	any = more = false;
	if (has_shared_slot(&f, slot_ns))
		rc = part_change_begin(p, &c, err)
			     ?: part_change_end(p, &c,
						merge_slots(p, &c, &f, slot_ns, &any, &more, err),
						err);
	vec_done(&f.found);
	return rc ? rc : any && more;
}

/* --- verifying -------------------------------------------------------------------------------- */

int part_verify_metrics(struct part *p, struct err *err)
{
	struct part_state seen = { 0 };
	struct metric_points points = { 0 };
	struct metric_finder f;
	int rc = find(p, UINT32_MAX, INT64_MIN, INT64_MAX, &f, err), bad = 0;

	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && i < f.found.n; i++) {
		vec_clear(&points);
		rc = get_block(p, &f.found.v[i], &points, err);
		count_block(&seen, &f.found.v[i], 1);
		if (rc == -EBADMSG) {
			part_mark_damaged(p, f.found.v[i].id);
			bad = rc;
			rc = 0;
		}
	}
	vec_done(&points);
	vec_done(&f.found);
	if (rc || bad)
		return rc ? rc : bad; /* err is of the last damaged one */
	if (seen.metrics != p->state.metrics || seen.points != p->state.points ||
	    seen.metric_sums != p->state.metric_sums)
		return err_set(err, EBADMSG, "%s: the points of metrics are not those written",
			       p->path);
	return 0;
}
