/* Hours of the hot tier: taking samples, and writing them as blocks. */
#include "store/day/hot.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "profile/tree/time_range.h"
#include "store/catalog/catalog.h"
#include "store/codec/hot_block.h"
#include "store/day/store_state.h"
#include "store/sqlite/db.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

static const char *const hot_objects[] = {
	"CREATE TABLE block(id INTEGER PRIMARY KEY, piece INT, first INT, last INT, rows INT, sum "
	"INT, data BLOB)",
	"CREATE TABLE state(id INTEGER PRIMARY KEY, hour INT, sequence INT, rows INT)",
	NULL,
};
const struct db_schema hot_schema = { .kind = DB_KIND_HOT, .version = 1, .objects = hot_objects };

uint64_t hot_checksum(int64_t hour_ns, int64_t piece, const void *data, size_t len)
{
	return hash_mix(hash_mix((uint64_t)hour_ns, (uint64_t)piece), hash_bytes(data, len));
}

void hot_buffer_unref(struct hot_buffer *b)
{
	if (!b || --b->refs)
		return;
	vec_done(&b->rows);
	link_table_done(&b->links);
	free(b);
}

/* --- the list --------------------------------------------------------------------------------- */

static char *hour_path(const struct store *s, int64_t from_ns)
{
	time_t hour_s = from_ns / 1000000000;
	char name[32];
	struct tm tm;

	gmtime_r(&hour_s, &tm);
	strftime(name, sizeof name, "%Y-%m-%dT%H", &tm);
	return xasprintf("%s/hot/%s.db", s->dir, name);
}

static struct hot_hour *insert_hour(struct store *s, int64_t from_ns)
{
	struct hot_hour *h = xcalloc(1, sizeof *h);
	size_t at = s->hot.n;

	*h = (struct hot_hour){ .from_ns = from_ns,
				.path = hour_path(s, from_ns),
				.first_sequence = UINT64_MAX };
	vec_push(&s->hot, h);
	for (; at && s->hot.v[at - 1]->from_ns > from_ns; at--)
		s->hot.v[at] = s->hot.v[at - 1];
	s->hot.v[at] = h;
	return h;
}

static struct hot_hour *find_hour(const struct store *s, int64_t from_ns)
{
	for (size_t i = s->hot.n; i--;)
		if (s->hot.v[i]->from_ns == from_ns)
			return s->hot.v[i];
	return NULL;
}

static void free_hour(struct hot_hour *h)
{
	hot_buffer_unref(h->buffer);
	free(h->path);
	free(h);
}

static void forget_hour(struct store *s, struct hot_hour *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->hot.n; i++)
		if (s->hot.v[i] != h)
			s->hot.v[kept++] = s->hot.v[i];
	s->hot.n = kept;
	free_hour(h);
}

void store_hot_free(struct store *s)
{
	for (size_t i = 0; i < s->hot.n; i++)
		free_hour(s->hot.v[i]);
	vec_done(&s->hot);
}

/* Accepts "2026-11-21T09.db" and nothing else. */
static bool parse_name(const char *name, int64_t *from_ns)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, "%Y-%m-%dT%H", &tm);

	if (!end || end - name != 13 || strcmp(end, ".db") != 0)
		return false;
	*from_ns = (int64_t)timegm(&tm) * 1000000000;
	return true;
}

int store_hot_scan(struct store *s, struct err *err)
{
	char *path = xasprintf("%s/hot", s->dir);
	DIR *dir = opendir(path);
	struct dirent *entry;
	int64_t from_ns;
	int rc = 0;

	while (dir && (entry = readdir(dir)))
		if (parse_name(entry->d_name, &from_ns)) {
			struct hot_hour *h = insert_hour(s, from_ns);
			h->bytes = db_files_bytes(h->path);
		}
	if (dir)
		closedir(dir);
	else if (errno != ENOENT)
		rc = err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	free(path);
	return rc;
}

/* --- an hour's file --------------------------------------------------------------------------- */

static int open_file(const struct store *s, const struct hot_hour *h, bool write, struct db **out,
		     struct err *err)
{
	const struct db_opts opts = { .schema = &hot_schema,
				      .access = write ? DB_WRITE : DB_READ,
				      .wal = true,
				      .durable = true,
				      .cache_bytes = 256 * 1024,
				      .vfs = s->opts.vfs };

	return db_open(h->path, &opts, out, err);
}

int store_hot_open(const struct store *s, const struct hot_hour *h, struct db **out,
		   struct err *err)
{
	return open_file(s, h, true, out, err);
}

/* Returns 1 if there is a state. */
static int read_state(struct hot_hour *h, struct db *db, struct err *err)
{
	sqlite3_stmt *st = db_prepare(db,
				      "SELECT hour, sequence, state.rows, (SELECT max(id) FROM "
				      "block) FROM state WHERE id = 1",
				      err);
	int rc = st ? db_step(db, st, err) : -err->code;

	if (rc <= 0)
		return rc;
	if (sqlite3_column_int64(st, 0) != h->from_ns)
		rc = err_set(err, EBADMSG, "%s has samples of another hour", h->path);
	h->sequence = sqlite3_column_int64(st, 1);
	h->rows = sqlite3_column_int64(st, 2);
	h->last_block = sqlite3_column_int64(st, 3);
	sqlite3_reset(st);
	return rc;
}

/* Returns 1 if the last writer stopped before writing any block: the inbox has all of the hour. */
static int is_empty(struct db *db, struct err *err)
{
	sqlite3_stmt *st = db_prepare(db, "SELECT count(*) = 0 FROM block", err);
	int rc = st ? db_step(db, st, err) : -err->code;

	if (rc > 0) {
		rc = sqlite3_column_int(st, 0);
		sqlite3_reset(st);
	}
	return rc;
}

void store_hot_use(struct store *s, struct hot_hour *h)
{
	struct err err;
	struct db *db = NULL;

	if (h->is_known)
		return;
	h->is_known = true;
	int rc = open_file(s, h, !s->opts.read_only, &db, &err);
	if (rc == 0)
		rc = read_state(h, db, &err) ?: is_empty(db, &err);
	db_close(db);
	h->is_bad = rc <= 0;
}

/* --- taking samples --------------------------------------------------------------------------- */

static struct hot_hour *hour_for(struct hot_cursor *c, int64_t hour_ns)
{
	struct store *s = c->s;
	struct hot_hour *h = find_hour(s, hour_ns);

	if (!h && (s->opts.hot_ns < 0 || hour_ns < s->hot_from_ns))
		return NULL;
	if (!h) {
		h = insert_hour(s, hour_ns);
		h->is_known = true;
	}
	store_hot_use(s, h);
	return c->seq > h->sequence ? h : NULL;
}

static void take_part(struct hot_cursor *c, const struct hot_row *part,
		      const struct trace_link *link)
{
	int64_t hour_ns = part->time_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;

	if (!c->has_hour || c->hour_ns != hour_ns) {
		c->hour = hour_for(c, hour_ns);
		c->hour_ns = hour_ns;
		c->has_hour = true;
	}
	struct hot_hour *h = c->hour;
	if (!h)
		return;
	if (h->first_sequence == UINT64_MAX)
		h->first_sequence = c->seq;
	if (!h->buffer) {
		h->buffer = xcalloc(1, sizeof *h->buffer);
		h->buffer->refs = 1;
		h->buffer->piece = c->sp->piece;
	}
	if (h->is_bad)
		return;
	struct hot_row row = *part;
	row.link = link ? link_intern(&h->buffer->links, link) : 0;
	vec_push(&h->buffer->rows, row);
	c->s->stats.hot_rows++;
}

static bool is_of_day(const struct hot_cursor *c, int64_t time_ns)
{
	return time_ns >= c->sp->day_ns && time_ns < c->sp->day_ns + STORE_DAY_NS;
}

/* Splits the sample at the end of each hour. */
void store_hot_take(struct hot_cursor *c, const struct hot_row *row, const struct trace_link *link,
		    bool spread)
{
	int64_t length_ns = row->length_ns > 0 ? row->length_ns : 0, before = 0;
	int64_t from_ns = row->time_ns, end_ns = from_ns + length_ns, t = from_ns;

	do {
		int64_t next = (t / HEAD_SLOT_NS + 1) * HEAD_SLOT_NS;
		struct hot_row part = *row;
		next = next < end_ns ? next : end_ns;
		part.time_ns = t;
		part.length_ns = next - t;
		if (spread && length_ns)
			part.value =
				sample_worth_up_to(row->value, length_ns, next - from_ns) - before;
		before += part.value;
		/* Zero values have no windows either. */
		if (is_of_day(c, t) && (part.value || !spread))
			take_part(c, &part, link);
		t = next;
	} while (spread && t < end_ns);
}

/* --- writing buffers as blocks ---------------------------------------------------------------- */

enum { HOT_BLOCK_ROWS = 1 << 16 };

struct row_extent {
	int64_t first_ns, last_ns;
};

static struct row_extent extent_of(const struct hot_row *rows, size_t n)
{
	struct row_extent e = { INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < n; i++) {
		int64_t end_ns = rows[i].time_ns + rows[i].length_ns;
		e.first_ns = rows[i].time_ns < e.first_ns ? rows[i].time_ns : e.first_ns;
		e.last_ns = end_ns > e.last_ns ? end_ns : e.last_ns;
	}
	return e;
}

static int insert_block(struct db *db, const struct hot_hour *h, const struct hot_row *rows,
			size_t n, const struct buf *data, struct err *err)
{
	struct row_extent e = extent_of(rows, n);
	sqlite3_stmt *st = db_prepare(
		db,
		"INSERT INTO block(piece, first, last, rows, sum, data) VALUES(?, ?, ?, ?, ?, ?)",
		err);

	if (!st)
		return -err->code;
	sqlite3_bind_int64(st, 1, h->buffer->piece);
	sqlite3_bind_int64(st, 2, e.first_ns);
	sqlite3_bind_int64(st, 3, e.last_ns);
	sqlite3_bind_int64(st, 4, (int64_t)n);
	sqlite3_bind_int64(
		st, 5, (int64_t)hot_checksum(h->from_ns, h->buffer->piece, data->data, data->len));
	sqlite3_bind_blob64(st, 6, data->data, data->len, SQLITE_STATIC);
	return db_step(db, st, err);
}

/* Copies rows with their links only, renumbered, so that a block has no more than it needs. */
static void own_links(const struct hot_buffer *b, const struct hot_row *from, size_t n,
		      struct hot_rows *out, uint32_t *number)
{
	vec_clear(&out->rows);
	vec_clear(&out->links);
	for (size_t i = 0; i < n; i++) {
		struct hot_row row = from[i];
		uint32_t *at = &number[row.link];
		if (row.link && !*at) {
			vec_push(&out->links, b->links.all.v[row.link - 1]);
			*at = out->links.n;
		}
		row.link = row.link ? *at : 0;
		vec_push(&out->rows, row);
	}
	for (size_t i = 0; i < n; i++)
		number[from[i].link] = 0;
}

static int insert_blocks(struct db *db, const struct hot_hour *h, struct err *err)
{
	const struct hot_buffer *b = h->buffer;
	uint32_t *number = xcalloc(b->links.all.n + 1, sizeof *number);
	struct hot_rows rows = { 0 };
	struct buf data = { 0 };
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < b->rows.n; at += HOT_BLOCK_ROWS) {
		size_t n = b->rows.n - at;
		n = n < HOT_BLOCK_ROWS ? n : HOT_BLOCK_ROWS;
		const struct hot_row *part = b->rows.v + at;
		if (b->links.all.n) {
			own_links(b, part, n, &rows, number);
			part = rows.rows.v;
		}
		hot_block_encode(part, n, rows.links.v, rows.links.n, &data);
		rc = insert_block(db, h, part, n, &data, err);
	}
	hot_rows_done(&rows);
	buf_done(&data);
	free(number);
	return rc;
}

static int save_state(struct db *db, const struct hot_hour *h, uint64_t sequence, struct err *err)
{
	sqlite3_stmt *st = db_prepare(db,
				      "INSERT OR REPLACE INTO state(id, hour, sequence, rows) "
				      "VALUES(1, ?, ?, ?)",
				      err);

	if (!st)
		return -err->code;
	sqlite3_bind_int64(st, 1, h->from_ns);
	sqlite3_bind_int64(st, 2, (int64_t)sequence);
	sqlite3_bind_int64(st, 3, (int64_t)(h->rows + h->buffer->rows.n));
	return db_step(db, st, err);
}

static int write_blocks(struct store *s, const struct hot_hour *h, struct db *db, struct err *err)
{
	int rc = db_begin(db, err);

	if (rc)
		return rc;
	rc = insert_blocks(db, h, err);
	if (rc == 0)
		rc = save_state(db, h, s->applied, err);
	if (rc == 0)
		rc = db_commit(db, err);
	if (rc)
		db_rollback(db);
	return rc;
}

/* Sets *now to the hour's new state. Without lock. */
static int write_hour(struct store *s, const struct hot_hour *h, struct hot_hour *now,
		      struct err *err)
{
	struct db *db = NULL;
	int rc = open_file(s, h, true, &db, err);

	if (rc == 0)
		rc = write_blocks(s, h, db, err);
	if (rc == 0)
		rc = read_state(now, db, err) < 0 ? -err->code : 0;
	db_close(db);
	now->bytes = db_files_bytes(h->path);
	return rc;
}

static int flush_hour(struct store *s, struct hot_hour *h, struct err *err)
{
	struct hot_hour now = *h;

	pthread_mutex_unlock(&s->lock);
	int rc = write_hour(s, h, &now, err);
	pthread_mutex_lock(&s->lock);
	h->bytes = now.bytes;
	if (rc)
		return rc;
	h->sequence = now.sequence;
	h->last_block = now.last_block;
	h->rows = now.rows;
	hot_buffer_unref(h->buffer);
	h->buffer = NULL;
	h->first_sequence = UINT64_MAX;
	return 0;
}

/* Bars new rows from the hour, and from older hours that do not exist, then deletes it. Views
 * opened in the meantime use windows. */
static int give_up(struct store *s, struct hot_hour *h, struct err *err)
{
	int64_t end_ns = h->from_ns + HEAD_SLOT_NS;

	if (end_ns > store_now_ns(s) + STORE_HOT_AHEAD_NS)
		end_ns = s->hot_from_ns;
	h->is_bad = true;
	pthread_mutex_unlock(&s->lock);
	int rc = catalog_hot_keep_from(s->catalog, end_ns, err);
	if (rc == 0)
		rc = db_files_unlink(h->path, err);
	pthread_mutex_lock(&s->lock);
	if (rc)
		return rc;
	s->hot_from_ns = end_ns > s->hot_from_ns ? end_ns : s->hot_from_ns;
	h->first_sequence = UINT64_MAX;
	hot_buffer_unref(h->buffer);
	h->buffer = NULL;
	h->bytes = 0;
	if (!h->readers)
		forget_hour(s, h);
	return 0;
}

static bool has_rows(const struct hot_hour *h, int64_t day_ns)
{
	return h->first_sequence != UINT64_MAX && h->from_ns >= day_ns &&
	       h->from_ns < day_ns + STORE_DAY_NS;
}

/* Writes what blocks refer to: series and the dictionary. */
static int write_tables(struct store *s, struct store_part *sp, struct err *err)
{
	pthread_mutex_unlock(&s->lock);
	int rc = catalog_sync(s->catalog, err);
	if (rc == 0)
		rc = part_add(sp->part, NULL, 0, sp->inbox_sequence, err);
	pthread_mutex_lock(&s->lock);
	return rc;
}

int store_hot_flush(struct store *s, struct store_part *sp, struct err *err)
{
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < s->hot.n; i++)
		any |= has_rows(s->hot.v[i], sp->day_ns);
	if (!any)
		return 0;
	rc = write_tables(s, sp, err);
	for (size_t i = 0; rc == 0 && i < s->hot.n; i++) {
		struct hot_hour *h = s->hot.v[i];
		if (!has_rows(h, sp->day_ns))
			continue;
		rc = h->is_bad ? give_up(s, h, err) : flush_hour(s, h, err);
		i -= i < s->hot.n && s->hot.v[i] != h;
	}
	return rc;
}

/* --- figures ---------------------------------------------------------------------------------- */

uint64_t store_hot_buffer_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->hot.n; i++) {
		const struct hot_buffer *b = s->hot.v[i]->buffer;
		bytes += b ? vec_size_bytes(&b->rows) + link_table_bytes(&b->links) : 0;
	}
	return bytes;
}

uint64_t store_hot_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->hot.n; i++)
		bytes += s->hot.v[i]->bytes;
	return bytes;
}

uint64_t store_hot_first_sequence(const struct store *s)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < s->hot.n; i++)
		first = s->hot.v[i]->first_sequence < first ? s->hot.v[i]->first_sequence : first;
	return first;
}

/* --- retention -------------------------------------------------------------------------------- */

static bool is_pinned(const struct store *s, const struct hot_hour *h)
{
	return catalog_is_pinned(s->catalog, h->from_ns, h->from_ns + HEAD_SLOT_NS);
}

bool store_hot_holds(const struct store *s, int64_t day_ns)
{
	for (size_t i = 0; i < s->hot.n; i++)
		if (s->hot.v[i]->from_ns >= day_ns &&
		    s->hot.v[i]->from_ns < day_ns + STORE_DAY_NS && is_pinned(s, s->hot.v[i]))
			return true;
	return false;
}

int store_hot_drop(struct store *s, bool pinned, struct err *err)
{
	for (size_t i = 0; i < s->hot.n; i++) {
		struct hot_hour *h = s->hot.v[i];
		if (h->readers || is_pinned(s, h) != pinned)
			continue;
		s->stats.hot_dropped_rows += h->rows + (h->buffer ? h->buffer->rows.n : 0);
		return give_up(s, h, err) ?: 1;
	}
	return 0;
}

int store_hot_drop_day(struct store *s, int64_t day_ns, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->hot.n; i++) {
		struct hot_hour *h = s->hot.v[i];
		if (h->from_ns < day_ns || h->from_ns >= day_ns + STORE_DAY_NS || h->readers)
			continue;
		rc = give_up(s, h, err);
		i -= rc == 0; /* it is no longer in the list */
	}
	return rc;
}

int store_hot_retain(struct store *s, struct err *err)
{
	int64_t age_ns = store_age_ns(s), kept_ns = s->opts.hot_ns > 0 ? s->opts.hot_ns : 0;

	for (size_t i = 0; i < s->hot.n; i++) {
		struct hot_hour *h = s->hot.v[i];
		bool is_old = h->from_ns + HEAD_SLOT_NS <= age_ns - kept_ns && !is_pinned(s, h);
		if (!h->readers && (is_old || h->is_bad))
			return give_up(s, h, err) ?: 1;
	}
	return 0;
}
