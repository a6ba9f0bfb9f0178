/* SQL statements of the tables of names.db. */
#include "store/names/names_db_state.h"

#include <errno.h>

static const char *const objects[] = {
	"CREATE TABLE version(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)",
	"CREATE TABLE mapping(id INTEGER PRIMARY KEY, key BLOB NOT NULL, day INTEGER NOT NULL)",
	"CREATE UNIQUE INDEX mapping_key ON mapping(key)",
	"CREATE INDEX mapping_day ON mapping(day)",
	"CREATE TABLE names(mapping INTEGER NOT NULL, first INTEGER NOT NULL, data BLOB NOT NULL)",
	"CREATE UNIQUE INDEX names_first ON names(mapping, first)",
	NULL,
};
const struct db_schema names_schema = { .kind = DB_KIND_NAMES, .version = 1, .objects = objects };

/* --- one value -------------------------------------------------------------------------------- */

/* Returns 1 with *out, 0 if none exists, or -errno. */
static int read_int(struct db *db, sqlite3_stmt *s, int64_t *out, struct err *err)
{
	int rc = db_step(db, s, err);

	if (rc > 0) {
		*out = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return rc;
}

static int run(struct db *db, sqlite3_stmt *s, struct err *err)
{
	int rc = db_step(db, s, err);

	return rc < 0 ? rc : 0;
}

int names_version_read(struct db *db, uint64_t *version, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "SELECT n FROM version WHERE id=1", err);
	int64_t n = 0;
	int rc = s ? read_int(db, s, &n, err) : -EIO;

	*version = n;
	return rc < 0 ? rc : 0;
}

int names_version_next(struct db *db, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		db, "INSERT INTO version VALUES(1,1) ON CONFLICT(id) DO UPDATE SET n=n+1", err);

	return s ? run(db, s, err) : -EIO;
}

/* --- mappings --------------------------------------------------------------------------------- */

int names_mapping_find(struct db *db, struct names_key key, int64_t *id, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "SELECT id FROM mapping WHERE key=?1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, key.data, (int)key.len, SQLITE_STATIC);
	return read_int(db, s, id, err);
}

static int add_mapping(struct db *db, struct names_key key, int32_t day, int64_t *id,
		       struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "INSERT INTO mapping(key,day) VALUES(?1,?2)", err);

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, key.data, (int)key.len, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, day);
	int rc = run(db, s, err);
	*id = sqlite3_last_insert_rowid(db_handle(db));
	return rc;
}

int names_mapping_make(struct db *db, struct names_key key, int32_t day, int64_t *id,
		       struct err *err)
{
	int rc = names_mapping_find(db, key, id, err);

	if (rc == 0)
		return add_mapping(db, key, day, id, err);
	return rc < 0 ? rc : names_mapping_use(db, key, day, err);
}

int names_mapping_use(struct db *db, struct names_key key, int32_t day, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "UPDATE mapping SET day=?2 WHERE key=?1 AND day<?2", err);

	if (!s)
		return -EIO;
	sqlite3_bind_blob(s, 1, key.data, (int)key.len, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, day);
	return run(db, s, err);
}

/* About 4 MiB of names, and as many mappings, in one transaction. */
enum { DROP_CHUNKS = 256, DROP_MAPPINGS = 1024 };

static int oldest_mapping(struct db *db, int32_t before_day, int64_t *id, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db, "SELECT id FROM mapping WHERE day<?1 ORDER BY day LIMIT 1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int(s, 1, before_day);
	return read_int(db, s, id, err);
}

static int delete_names(struct db *db, int64_t mapping, int64_t max, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db,
				     "DELETE FROM names WHERE rowid IN (SELECT rowid FROM names "
				     "WHERE mapping=?1 LIMIT ?2)",
				     err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	sqlite3_bind_int64(s, 2, max);
	return run(db, s, err);
}

static int delete_mapping(struct db *db, int64_t mapping, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "DELETE FROM mapping WHERE id=?1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	return run(db, s, err);
}

/* Deletes a mapping once all its names are deleted. *left: number of chunks that may be deleted. */
static int drop_mapping(struct db *db, int64_t mapping, int *left, struct err *err)
{
	int rc = delete_names(db, mapping, *left, err);

	if (rc)
		return rc;
	*left -= sqlite3_changes(db_handle(db));
	return *left ? delete_mapping(db, mapping, err) : 0;
}

int names_mapping_drop(struct db *db, int32_t before_day, struct err *err)
{
	int left = DROP_CHUNKS, dropped = 0;
	int64_t mapping;
	int rc = 0;

	while (left && dropped < DROP_MAPPINGS &&
	       (rc = oldest_mapping(db, before_day, &mapping, err)) > 0) {
		rc = drop_mapping(db, mapping, &left, err);
		if (rc)
			return rc;
		dropped++;
	}
	return rc < 0 ? rc : dropped != 0;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* SQLite's integers are signed. */
static int64_t to_column(uint64_t offset)
{
	return (int64_t)(offset ^ 1ull << 63);
}

static uint64_t from_column(int64_t first)
{
	return (uint64_t)first ^ 1ull << 63;
}

void names_stretch_done(struct names_stretch *t)
{
	names_chunk_done(&t->chunk);
}

/* Returns 1 with a chunk in t, or 0 if none exists. */
static int read_chunk(struct db *db, sqlite3_stmt *s, struct names_stretch *t, struct err *err)
{
	int rc = db_step(db, s, err);

	if (rc <= 0)
		return rc;
	t->row = sqlite3_column_int64(s, 0);
	t->first = from_column(sqlite3_column_int64(s, 1));
	if (names_chunk_decode(sqlite3_column_blob(s, 2), sqlite3_column_bytes(s, 2), &t->chunk,
			       NULL)) { /* a damaged chunk counts as empty */
		names_chunk_done(&t->chunk);
		names_chunk_init(&t->chunk);
	}
	sqlite3_reset(s);
	return 1;
}

/* Sets t->last, the offset before the next chunk. */
static int read_last(struct db *db, int64_t mapping, struct names_stretch *t, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db,
				     "SELECT first FROM names WHERE mapping=?1 AND first>?2 ORDER "
				     "BY first LIMIT 1",
				     err);
	int64_t next;

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	sqlite3_bind_int64(s, 2, to_column(t->first));
	int rc = read_int(db, s, &next, err);
	t->last = rc > 0 ? from_column(next) - 1 : UINT64_MAX;
	return rc < 0 ? rc : 0;
}

static sqlite3_stmt *chunk_before(struct db *db, struct err *err)
{
	return db_prepare(db,
			  "SELECT rowid, first, data FROM names WHERE mapping=?1 AND first<=?2 "
			  "ORDER BY first DESC LIMIT 1",
			  err);
}

static sqlite3_stmt *chunk_behind(struct db *db, struct err *err)
{
	return db_prepare(db,
			  "SELECT rowid, first, data FROM names WHERE mapping=?1 AND first>?2 "
			  "ORDER BY first LIMIT 1",
			  err);
}

int names_stretch_find(struct db *db, int64_t mapping, uint64_t offset, struct names_stretch *t,
		       struct err *err)
{
	sqlite3_stmt *(*const looks[])(struct db *, struct err *) = { chunk_before, chunk_behind };
	int rc = 0;

	*t = (struct names_stretch){ .last = UINT64_MAX };
	names_chunk_init(&t->chunk);
	for (int i = 0; rc == 0 && i < 2; i++) {
		sqlite3_stmt *s = looks[i](db, err);

		if (!s)
			return -EIO;
		sqlite3_bind_int64(s, 1, mapping);
		sqlite3_bind_int64(s, 2, to_column(offset));
		rc = read_chunk(db, s, t, err);
	}
	return rc > 0 ? read_last(db, mapping, t, err) : rc;
}

static int delete_chunk(struct db *db, int64_t row, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "DELETE FROM names WHERE rowid=?1", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, row);
	return run(db, s, err);
}

int names_chunk_insert(struct db *db, int64_t mapping, uint64_t first, const struct buf *data,
		       struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db, "INSERT INTO names(mapping,first,data) VALUES(?1,?2,?3)", err);

	if (!s)
		return -EIO;
	sqlite3_bind_int64(s, 1, mapping);
	sqlite3_bind_int64(s, 2, to_column(first));
	sqlite3_bind_blob64(s, 3, data->data, data->len, SQLITE_STATIC);
	return run(db, s, err);
}

static void append_range(const struct names_chunk *from, size_t first, size_t n,
			 struct names_chunk *into)
{
	struct names_copy copy;

	names_copy_init(&copy, &from->strings, &from->names);
	names_copy_alone(&copy, into);
	for (size_t i = first; i < first + n; i++) {
		struct names_lines l = names_chunk_lines(from, &from->entries.v[i]);

		names_chunk_append(into, from->entries.v[i].offset, &l, &copy);
	}
	names_copy_done(&copy);
}

static int insert_pieces(struct db *db, int64_t mapping, const struct names_chunk *c,
			 struct names_packer *packer, struct err *err)
{
	if (c->entries.n <= NAMES_CHUNK_ENTRIES && names_chunk_encode(c, packer))
		return names_chunk_insert(db, mapping, c->entries.v[0].offset, &packer->packed,
					  err);

	size_t half = c->entries.n / 2, from[] = { 0, half, c->entries.n };
	int rc = 0;
	for (int i = 0; rc == 0 && i < 2; i++) {
		struct names_chunk part;

		names_chunk_init(&part);
		append_range(c, from[i], from[i + 1] - from[i], &part);
		rc = insert_pieces(db, mapping, &part, packer, err);
		names_chunk_done(&part);
	}
	return rc;
}

int names_stretch_write(struct db *db, int64_t mapping, const struct names_stretch *t,
			const struct names_chunk *c, struct names_packer *packer, struct err *err)
{
	int rc = t->row ? delete_chunk(db, t->row, err) : 0;

	if (rc == 0)
		rc = insert_pieces(db, mapping, c, packer, err);
	return rc;
}
