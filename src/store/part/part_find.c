/* Finds blocks by series and time. */
#include "base/err.h"
#include "base/vec.h"
#include "store/part/part_file.h"

#include <errno.h>

/* Number of ids that are tried one by one if the index is damaged. */
enum { FIND_MAX_IDS = 1 << 22 };

/* A block that overlaps a time starts at most this much earlier. */
#define LONGEST_BLOCK_NS (BLOCK_MAX_WINDOWS * BLOCK_WINDOW_NS)

struct finder {
	struct part *p;
	const bool *wanted;
	uint32_t n_wanted;
	int64_t from_ns, to_ns;
	VEC(struct part_ref) found;
};

/* Reads a row of SELECT id, series, start, windows, rows, total. Returns false if part_add cannot
 * have written it. */
static bool ref_of_row(sqlite3_stmt *s, struct part_ref *out)
{
	int64_t series = sqlite3_column_int64(s, 1), windows = sqlite3_column_int64(s, 3);

	*out = (struct part_ref){
		.id = sqlite3_column_int64(s, 0),
		.series = (uint32_t)series,
		.from_ns = sqlite3_column_int64(s, 2),
		.windows = (uint32_t)windows,
		.rows = (uint64_t)sqlite3_column_int64(s, 4),
		.total = sqlite3_column_int64(s, 5),
	};
	return series >= 0 && series < UINT32_MAX && windows > 0 && windows <= BLOCK_MAX_WINDOWS &&
	       out->rows <= BLOCK_MAX_ROWS && out->from_ns >= 0 &&
	       out->from_ns <= INT64_MAX - LONGEST_BLOCK_NS;
}

static bool is_asked(const struct finder *f, const struct part_ref *r)
{
	return (!f->wanted || (r->series < f->n_wanted && f->wanted[r->series])) &&
	       r->from_ns < f->to_ns && r->from_ns + r->windows * BLOCK_WINDOW_NS > f->from_ns;
}

static int take(void *ctx, const struct part_ref *r)
{
	struct finder *f = ctx;

	if (is_asked(f, r))
		vec_push(&f->found, *r);
	return 0;
}

/* --- the index -------------------------------------------------------------------------------- */

#define INDEX_COLUMNS \
	"SELECT id, series, start, windows, rows, total FROM block INDEXED BY block_slot "

/* A damaged index would miss blocks: reads it once and compares it with the state. */
static int check_index(struct part *p, struct err *err)
{
	uint64_t n = 0, refs = 0;
	struct part_ref ref;
	int rc;

	if (p->index != INDEX_UNKNOWN)
		return 0;
	sqlite3_stmt *s =
		db_prepare(p->day, INDEX_COLUMNS "ORDER BY series, start, windows, rows", err);
	if (!s)
		return -err->code;
	while ((rc = db_step(p->day, s, err)) > 0) {
		refs ^= ref_of_row(s, &ref) ? part_ref_hash(&ref) : 0;
		n++;
	}
	if (rc && rc != -EBADMSG)
		return rc;
	bool good = rc == 0 && n == p->state.blocks && refs == p->state.refs;
	p->index = good ? INDEX_GOOD : INDEX_BAD;
	return 0;
}

static int each_row(struct part *p, sqlite3_stmt *s, part_ref_fn fn, void *ctx, struct err *err)
{
	struct part_ref ref;
	int rc, stop = 0;

	while (!stop && (rc = db_step(p->day, s, err)) > 0)
		if (ref_of_row(s, &ref))
			stop = fn(ctx, &ref);
	sqlite3_reset(s);
	return stop ? stop : rc;
}

int part_each_ref(struct part *p, uint32_t series, int64_t from_ns, part_ref_fn fn, void *ctx,
		  struct err *err)
{
	int rc = check_index(p, err);

	if (rc || p->index == INDEX_BAD)
		return rc;
	sqlite3_stmt *s = db_prepare(p->day,
				     INDEX_COLUMNS "WHERE (series, start) >= (?1, ?2) "
						   "ORDER BY series, start, windows, rows",
				     err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, series);
	sqlite3_bind_int64(s, 2, from_ns);
	return each_row(p, s, fn, ctx, err);
}

int part_mark_by(struct part *p, const char *sql, bool *marks, uint32_t n, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, sql, err);
	bool has_more = true;
	int rc = s ? 0 : -err->code;

	for (int64_t from = 0; rc == 0 && has_more;) {
		sqlite3_bind_int64(s, 1, from);
		rc = db_step(p->day, s, err);
		has_more = rc > 0 && sqlite3_column_type(s, 0) == SQLITE_INTEGER;
		if (has_more) {
			from = sqlite3_column_int64(s, 0);
			if (from >= 0 && from < n)
				marks[from] = true;
			has_more = ++from < n;
		}
		rc = rc < 0 ? rc : 0;
		sqlite3_reset(s);
	}
	return rc;
}

int part_mark_series(struct part *p, bool *marks, uint32_t n, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	int rc = part_read_begin(p, err);
	if (rc)
		return rc;
	rc = check_index(p, err);
	if (rc == 0 && p->index == INDEX_BAD)
		rc = err_set(err, EBADMSG, "%s: the index of blocks is damaged", p->path);
	if (rc == 0)
		rc = part_mark_by(p, "SELECT min(series) FROM block WHERE series >= ?1", marks, n,
				  err);
	if (rc == 0)
		rc = part_mark_metric_series(p, marks, n, err);
	part_read_end(p);
	return rc;
}

static int find_series(struct finder *f, uint32_t series, struct err *err)
{
	int64_t earliest = f->from_ns > INT64_MIN + LONGEST_BLOCK_NS ? f->from_ns - LONGEST_BLOCK_NS
								     : INT64_MIN;
	sqlite3_stmt *s =
		db_prepare(f->p->day,
			   INDEX_COLUMNS "WHERE series = ?1 AND start > ?2 AND start < ?3 "
					 "ORDER BY start, windows, rows",
			   err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, series);
	sqlite3_bind_int64(s, 2, earliest);
	sqlite3_bind_int64(s, 3, f->to_ns);
	return each_row(f->p, s, take, f, err);
}

/* Looks up series one by one if they are few: a scan of the index finds some 100 blocks in the time
 * of one look-up. */
static int find_by_index(struct finder *f, struct err *err)
{
	uint64_t asked = 0;
	int rc = 0;

	for (uint32_t i = 0; f->wanted && i < f->n_wanted; i++)
		asked += f->wanted[i];
	if (!f->wanted || asked > f->p->state.blocks / 100 + 1)
		return part_each_ref(f->p, 0, INT64_MIN, take, f, err);
	for (uint32_t i = 0; rc == 0 && i < f->n_wanted; i++)
		if (f->wanted[i])
			rc = find_series(f, i, err);
	return rc;
}

/* --- without the index ------------------------------------------------------------------------ */

static int try_id(struct finder *f, int64_t id, uint64_t *n, struct err *err)
{
	struct part_ref ref;

	sqlite3_stmt *s = db_prepare(f->p->day,
				     "SELECT id, series, start, windows, rows, total FROM block "
				     "NOT INDEXED WHERE id = ?1",
				     err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, id);
	int rc = db_step(f->p->day, s, err);
	if (rc <= 0)
		return rc == -EBADMSG ? 0 : rc;
	if (ref_of_row(s, &ref)) {
		take(f, &ref);
		++*n;
	}
	sqlite3_reset(s);
	return 0;
}

static int ref_cmp(const void *a, const void *b)
{
	const struct part_ref *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int find_by_id(struct finder *f, struct err *err)
{
	struct part *p = f->p;
	uint64_t n = 0;
	int rc = 0;

	for (int64_t id = 1; rc == 0 && id < (int64_t)p->state.next_block && id < FIND_MAX_IDS;
	     id++)
		rc = try_id(f, id, &n, err);
	if (rc)
		return rc;
	p->missing = p->state.blocks > n ? p->state.blocks - n : 0;
	if (f->found.n)
		qsort(f->found.v, f->found.n, sizeof *f->found.v, ref_cmp);
	return 0;
}

/* --- both ------------------------------------------------------------------------------------- */

static int find(struct finder *f, struct err *err)
{
	struct part *p = f->p;
	int rc = check_index(p, err);

	if (rc == 0)
		rc = p->index == INDEX_GOOD ? find_by_index(f, err) : find_by_id(f, err);
	if (rc == 0)
		rc = part_version(p, &p->found_version, err);
	p->found_changes = p->changes;
	return rc;
}

int part_find(struct part *p, const bool *wanted, uint32_t n_wanted, int64_t from_ns, int64_t to_ns,
	      struct part_ref **refs, size_t *n, struct err *err)
{
	struct finder f = { p, wanted, n_wanted, from_ns, to_ns, { 0 } };
	bool alone = p->opts.read_only && !p->reading;
	struct err local;

	err = err ? err : &local;
	int rc = alone ? part_read_begin(p, err) : 0;
	if (rc)
		return rc;
	rc = find(&f, err);
	if (alone)
		part_read_end(p);
	if (rc) {
		vec_done(&f.found);
		return rc;
	}
	*refs = f.found.v;
	*n = f.found.n;
	return 0;
}
