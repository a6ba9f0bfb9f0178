/* Opens files with limits and checks, and wraps statements. */
#include "store/sqlite/db.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct prepared {
	const char *sql; /* the caller's, compared by address */
	sqlite3_stmt *stmt;
};
struct db {
	sqlite3 *sqlite;
	char *path;
	bool build;
	VEC(struct prepared) prepared;
};

/* --- errors ----------------------------------------------------------------------------------- */

static int errno_of(int rc)
{
	static const struct {
		int sqlite, code;
	} codes[] = {
		{ SQLITE_FULL, ENOSPC },     { SQLITE_IOERR, EIO },
		{ SQLITE_CORRUPT, EBADMSG }, { SQLITE_NOTADB, EBADMSG },
		{ SQLITE_BUSY, EBUSY },      { SQLITE_LOCKED, EBUSY },
		{ SQLITE_CANTOPEN, ENOENT }, { SQLITE_PERM, EACCES },
		{ SQLITE_READONLY, EROFS },  { SQLITE_NOMEM, ENOMEM },
		{ SQLITE_INTERRUPT, EINTR }, { SQLITE_TOOBIG, E2BIG },
		{ SQLITE_AUTH, EPERM },      { SQLITE_ERROR, EINVAL },
	};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].sqlite == (rc & 0xff))
			return codes[i].code;
	return EIO;
}

static int db_error(struct db *db, const char *doing, struct err *err)
{
	int rc = sqlite3_errcode(db->sqlite), code = errno_of(rc);
	int os = sqlite3_system_errno(db->sqlite);

	if ((code == EIO || code == ENOENT) && os)
		code = os;
	return err_set(err, code, "%s: cannot %s: %s", *db->path ? db->path : "a temporary file",
		       doing,
		       code == os || code == ENOSPC ? strerror(code) : sqlite3_errmsg(db->sqlite));
}

/* --- identifying a file ----------------------------------------------------------------------- */

bool db_is_kind(const char *head, size_t len, enum db_kind kind)
{
	static const char magic[] = "SQLite format 3";
	const uint8_t *id = (const uint8_t *)head +
			    68; /* sqlite.org/fileformat2.html: application_id, big endian */

	return len >= DB_HEAD_BYTES && memcmp(head, magic, sizeof magic) == 0 &&
	       ((uint32_t)id[0] << 24 | id[1] << 16 | id[2] << 8 | id[3]) == (uint32_t)kind;
}

static int get_pragma(struct db *db, const char *sql, int64_t *out, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : db_error(db, "read it", err);
}

/* Marks the schema's objects in the file; any other object is an error. */
static int find_objects(struct db *db, const struct db_schema *schema, bool *found, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", err);
	int rc;

	if (!s)
		return -err->code;
	while ((rc = db_step(db, s, err)) > 0) {
		const char *sql = (const char *)sqlite3_column_text(s, 0);
		size_t i = 0;

		while (schema->objects[i] && (!sql || strcmp(schema->objects[i], sql) != 0))
			i++;
		if (!schema->objects[i]) {
			sqlite3_reset(s);
			err_set(err, EBADMSG, "%s: has an unknown table", db->path);
			return err_hint(err, "another program made it, or an unreleased cresset");
		}
		found[i] = true;
	}
	return rc;
}

static size_t count_objects(const struct db_schema *schema)
{
	size_t n = 0;

	while (schema->objects[n])
		n++;
	return n;
}

/* Returns 1 if only later objects are missing. */
static int check_found(const struct db *db, const struct db_schema *schema, const bool *found,
		       struct err *err)
{
	size_t n = count_objects(schema);
	int lacks = 0;

	for (size_t i = 0; i < n; i++) {
		if (!found[i] && i + schema->later < n)
			return err_set(err, EBADMSG, "%s: lacks a table", db->path);
		lacks |= !found[i];
	}
	return lacks;
}

static int make_objects(struct db *db, const struct db_schema *schema, const bool *found,
			struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && schema->objects[i]; i++)
		if (!found[i])
			rc = db_exec(db, schema->objects[i], err);
	return rc;
}

/* Compares the file's objects with the schema. Returns 1 if only later ones are missing. writes:
 * creates these, inside a transaction. */
static int check_objects(struct db *db, const struct db_schema *schema, bool writes,
			 struct err *err)
{
	bool *found = xcalloc(count_objects(schema) + 1, sizeof *found);
	int rc = find_objects(db, schema, found, err);

	if (rc == 0)
		rc = check_found(db, schema, found, err);
	if (rc > 0 && writes)
		rc = make_objects(db, schema, found, err);
	free(found);
	return rc;
}

static int refuse_newer(const struct db *db, const struct db_schema *schema, int64_t version,
			struct err *err)
{
	err_set(err, EBADMSG, "%s: was written by a newer cresset (format version %lld)", db->path,
		(long long)version);
	return err_hint(err, "this one reads up to version %u", schema->version);
}

static int refuse_older(const struct db *db, int64_t version, struct err *err)
{
	return err_set(err, EBADMSG, "%s: made by an older cresset, format %lld", db->path,
		       (long long)version);
}

static const struct db_migration *migration_of(const struct db_schema *schema, int64_t version)
{
	for (const struct db_migration *m = schema->migrations; m && m->run; m++)
		if (m->from == version)
			return m;
	return NULL;
}

static int set_version(struct db *db, int64_t version, struct err *err)
{
	struct buf sql = { 0 };

	buf_addf(&sql, "PRAGMA user_version=%lld", (long long)version);
	int rc = db_exec(db, buf_cstr(&sql), err);
	buf_done(&sql);
	return rc;
}

/* A file of a version that was never released, say, cannot be migrated to the right objects. */
static void blame_age(int64_t version, struct err *err)
{
	err_prefix(err, "made by an older cresset, format %lld", (long long)version);
	err_hint(err, "it cannot be upgraded: read it with the cresset that made it");
}

/* Migrates step by step, and compares the result with the schema, as for any file, before the
 * commit. */
static int run_migrations(struct db *db, const struct db_schema *schema, struct err *err)
{
	const struct db_migration *m;
	int64_t version = 0;
	int rc = get_pragma(db, "PRAGMA user_version", &version,
			    err); /* another process may have been first */
	const int64_t made = version;

	for (; rc == 0 && version < schema->version; version++) {
		m = migration_of(schema, version);
		if (!m) {
			refuse_older(db, version, err);
			return err_hint(
				err, "unsupported format: read it with the cresset that made it");
		}
		rc = m->run(db, err);
	}
	if (rc == 0)
		rc = set_version(db, version, err);
	if (rc == 0) {
		rc = check_objects(db, schema, true, err);
		if (rc)
			blame_age(made, err);
	}
	return rc;
}

static int migrate(struct db *db, const struct db_schema *schema, struct err *err)
{
	int rc = db_begin(db, err);

	if (rc == 0)
		rc = run_migrations(db, schema, err);
	if (rc == 0)
		rc = db_commit(db, err);
	db_rollback(db);
	return rc;
}

static int check_schema(struct db *db, const struct db_opts *o, struct err *err)
{
	const struct db_schema *schema = o->schema;
	int64_t kind = 0, version = 0;
	int rc = get_pragma(db, "PRAGMA application_id", &kind, err);

	if (!rc)
		rc = get_pragma(db, "PRAGMA user_version", &version, err);
	if (rc)
		return rc;
	if (kind != (int64_t)schema->kind)
		return err_set(err, EBADMSG, "%s: is a different kind of file", db->path);
	if (version > schema->version)
		return refuse_newer(db, schema, version, err);
	rc = version == schema->version ? check_objects(db, schema, false, err) : 1;
	if (rc <= 0)
		return rc;
	if (o->access == DB_WRITE)
		return migrate(db, schema, err);
	refuse_older(db, version, err);
	return err_hint(err, "open it once with write access to upgrade it");
}

static bool is_empty(struct db *db)
{
	int64_t tables = 1;

	return get_pragma(db, "SELECT count(*) FROM sqlite_schema", &tables, NULL) == 0 &&
	       tables == 0;
}

/* If several processes do this at the same time, the first one creates the schema. */
static int make_schema(struct db *db, const struct db_schema *schema, struct err *err)
{
	struct buf sql = { 0 };
	int rc = db_begin(db, err);

	if (rc)
		return rc;
	if (is_empty(db)) {
		buf_addf(&sql, "PRAGMA application_id=%d; PRAGMA user_version=%u;",
			 (int)schema->kind, schema->version);
		for (size_t i = 0; schema->objects[i]; i++)
			buf_addf(&sql, "%s;", schema->objects[i]);
	}
	rc = db_exec(db, buf_cstr(&sql), err);
	buf_done(&sql);
	if (rc == 0)
		return db_commit(db, err);
	db_rollback(db);
	return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Appends a file name as a URI, escaped. */
static void add_uri(struct buf *b, const char *path, bool immutable)
{
	/* Otherwise a path that starts with two slashes would have a host. */
	buf_adds(b, *path == '/' ? "file://" : "file:");
	for (; *path; path++)
		if (strchr("?#%", *path))
			buf_addf(b, "%%%02x", (unsigned char)*path);
		else
			buf_addc(b, *path);
	if (immutable)
		buf_adds(b, "?immutable=1");
}

/* SQLite would make a file that all may read. An empty one is a new one to it, and journals get the
 * mode of their file. A file that is there stays as it is: to close it would drop the locks that
 * this process has on it. */
static void make_file(const struct db *db, const struct db_opts *o)
{
	enum { PRIVATE_MODE = 0640 };
	bool is_named = *db->path && strcmp(db->path, ":memory:") != 0;
	int fd = -1;

	if (o->access == DB_WRITE && !o->is_public && is_named)
		fd = open(db->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE_MODE);
	if (fd >= 0)
		close(fd);
}

static int open_file(struct db *db, const struct db_opts *o, struct err *err)
{
	int flags = o->access == DB_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
					  : SQLITE_OPEN_READONLY;
	struct buf uri = { 0 };

	make_file(db, o); /* SQLite says what is wrong */
	add_uri(&uri, db->path, o->access == DB_FOREIGN);
	int rc = sqlite3_open_v2(
		buf_cstr(&uri), &db->sqlite,
		flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, o->vfs);
	buf_done(&uri);
	if (!db->sqlite)
		return err_set(err, ENOMEM, "%s: no memory to open it", db->path);
	return rc == SQLITE_OK ? 0 : db_error(db, "open it", err);
}

/* Whatever is in the file, none of its code is run. */
void db_defend(sqlite3 *sqlite)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		sqlite3_db_config(sqlite, options[i].option, options[i].value, NULL);
}

static int set_up(struct db *db, const struct db_opts *o, struct err *err)
{
	uint64_t cache = o->cache_bytes ? o->cache_bytes : 2 << 20;
	struct buf sql = { 0 };

	buf_addf(&sql,
		 "PRAGMA cache_size=-%llu; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; "
		 "PRAGMA mmap_size=0;",
		 (unsigned long long)cache / 1024);
	if (o->access == DB_WRITE && o->page_bytes)
		buf_addf(&sql, "PRAGMA page_size=%u;", o->page_bytes);
	if (o->access == DB_WRITE && o->shrinks)
		buf_adds(&sql, "PRAGMA auto_vacuum=INCREMENTAL;");
	int rc = db_exec(db, buf_cstr(&sql), err);
	buf_done(&sql);
	return rc;
}

enum { BUSY_STEP_MS = 5 };

static uint32_t busy_ms(const struct db_opts *o)
{
	return o->busy_ms ? o->busy_ms : 2000;
}

/* Writes to the file, so only for our own. */
static int set_journal(struct db *db, const struct db_opts *o, struct err *err)
{
	struct buf sql = { 0 };

	buf_addf(&sql, "PRAGMA journal_mode=%s; PRAGMA synchronous=%s; PRAGMA secure_delete=OFF",
		 o->build ? "OFF"
		 : o->wal ? "WAL"
			  : "DELETE",
		 o->build     ? "OFF"
		 : o->durable ? "FULL"
			      : "NORMAL");
	int rc = -EBUSY;
	/* Changing to WAL and back does not invoke the busy handler. */
	for (uint32_t ms = 0; rc == -EBUSY && ms <= busy_ms(o); ms += BUSY_STEP_MS) {
		if (ms)
			sqlite3_sleep(BUSY_STEP_MS);
		rc = db_exec(db, buf_cstr(&sql), err);
	}
	buf_done(&sql);
	return rc;
}

static int set_up_file(struct db *db, const struct db_opts *o, struct err *err)
{
	int rc = set_up(db, o, err);
	bool fresh = rc == 0 && o->access == DB_WRITE && is_empty(db);

	if (rc == 0 && !fresh)
		rc = check_schema(db, o, err);
	if (rc == 0 && o->access == DB_WRITE)
		rc = set_journal(db, o, err);
	if (rc == 0 && fresh)
		rc = make_schema(db, o->schema, err);
	if (rc == 0 && fresh)
		rc = check_schema(db, o, err);
	if (rc != -EINVAL)
		return rc;
	err->code = EBADMSG; /* our SQL is right: SQLite rejects the file */
	return -EBADMSG;
}

void db_save_memory(void)
{
	sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
}

static struct db *db_new(const char *path, const struct db_opts *opts)
{
	struct db *db = xcalloc(1, sizeof *db);

	db->path = xstrdup(path);
	db->build = opts->build;
	return db;
}

/* Checks an open file; sets *out, or closes it on failure. */
static int db_begin_use(struct db *db, const struct db_opts *opts, struct db **out, struct err *err)
{
	sqlite3_busy_timeout(db->sqlite, (int)busy_ms(opts));
	db_defend(db->sqlite);
	int rc = set_up_file(db, opts, err);

	if (rc)
		db_close(db);
	else
		*out = db;
	return rc;
}

static int open_once(const char *path, const struct db_opts *opts, struct db **out, struct err *err)
{
	struct db *db = db_new(path, opts);
	int rc = open_file(db, opts, err);

	if (rc) {
		db_close(db);
		return rc;
	}
	return db_begin_use(db, opts, out, err);
}

/* Whether a journal of the file is there that this user may not write. */
static bool has_foreign_journal(const char *path)
{
	static const char *const endings[] = { "-wal", "-shm" };
	bool has = false;

	for (size_t i = 0; i < sizeof endings / sizeof *endings && !has; i++) {
		char *journal = xasprintf("%s%s", path, endings[i]);

		has = faccessat(AT_FDCWD, journal, R_OK | W_OK, AT_EACCESS) && errno == EACCES;
		free(journal);
	}
	return has;
}

/* SQLite run by root, even to read, makes journals, and a moment later gives them to the file's
 * owner: tries again as long as these are there, and once more after that. */
int db_open(const char *path, const struct db_opts *opts, struct db **out, struct err *err)
{
	struct err local;
	int rc, tries = 2;

	err = err ? err : &local;
	for (uint32_t ms = 0;; ms += BUSY_STEP_MS) {
		rc = open_once(path, opts, out, err);
		tries = has_foreign_journal(path) && ms < busy_ms(opts) ? 2 : tries - 1;
		if (rc != -EACCES || !tries)
			return rc;
		sqlite3_sleep(BUSY_STEP_MS);
	}
}

int db_open_bytes(const char *name, const void *data, size_t len, const struct db_schema *schema,
		  struct db **out, struct err *err)
{
	const struct db_opts opts = { .schema = schema, .access = DB_FOREIGN };
	struct db *db = db_new(name, &opts);
	struct err local;

	err = err ? err : &local;
	if (sqlite3_open_v2(":memory:", &db->sqlite,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    NULL) == SQLITE_OK &&
	    sqlite3_deserialize(db->sqlite, "main", (unsigned char *)data, (sqlite3_int64)len,
				(sqlite3_int64)len, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK)
		return db_begin_use(db, &opts, out, err);
	int rc = db->sqlite ? db_error(db, "open it", err)
			    : err_set(err, ENOMEM, "%s: no memory to open it", name);
	db_close(db);
	return rc;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < db->prepared.n; i++)
		sqlite3_finalize(db->prepared.v[i].stmt);
	vec_done(&db->prepared);
	sqlite3_close_v2(db->sqlite);
	free(db->path);
	free(db);
}

sqlite3 *db_handle(struct db *db)
{
	return db->sqlite;
}

const char *db_path(const struct db *db)
{
	return db->path;
}

/* --- statements ------------------------------------------------------------------------------- */

sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err)
{
	struct prepared p = { .sql = sql };

	for (size_t i = 0; i < db->prepared.n; i++)
		if (db->prepared.v[i].sql == sql) {
			sqlite3_reset(db->prepared.v[i].stmt);
			sqlite3_clear_bindings(db->prepared.v[i].stmt);
			return db->prepared.v[i].stmt;
		}
	if (sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &p.stmt, NULL) !=
	    SQLITE_OK) {
		db_error(db, "use it", err);
		return NULL;
	}
	vec_push(&db->prepared, p);
	return p.stmt;
}

int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		rc = db_error(db, sqlite3_stmt_readonly(stmt) ? "read it" : "write it", err);
	else
		rc = 0;
	sqlite3_reset(stmt);
	return rc;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : db_error(db, "set it up", err);
}

int db_begin(struct db *db, struct err *err)
{
	return db_exec(db, "BEGIN IMMEDIATE", err);
}

int db_commit(struct db *db, struct err *err)
{
	int rc = db_exec(db, "COMMIT", err);

	if (rc)
		db_rollback(db);
	return rc;
}

void db_rollback(struct db *db)
{
	if (!sqlite3_get_autocommit(db->sqlite))
		sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

int db_shrink(struct db *db, struct err *err)
{
	return db_exec(db, "PRAGMA incremental_vacuum", err);
}

/* Pages of 4 KiB: how many free ones are worth returning, and how many at the same time. */
enum { SPARE_PAGES = 256, SHRINK_PAGES = 1024 };

static int free_pages(struct db *db, int64_t *n, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "PRAGMA freelist_count", err);
	int rc = s ? db_step(db, s, err) : -err->code;

	if (rc > 0) {
		*n = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return rc < 0 ? rc : 0;
}

/* A file created before db_opts.shrinks existed stays as it is. */
int db_give_back(struct db *db, struct err *err)
{
	int64_t before = 0, after = 0;
	int rc = free_pages(db, &before, err);

	if (rc || before < SPARE_PAGES)
		return rc;
	_Static_assert(SHRINK_PAGES == 1024, "as below");
	rc = db_exec(db, "PRAGMA incremental_vacuum(1024)", err);
	if (!rc)
		rc = free_pages(db, &after, err);
	if (!rc && after >= SPARE_PAGES && after < before)
		return 1;
	return rc ? rc : db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int db_verify(struct db *db, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "PRAGMA integrity_check(1)", err);
	int rc = s ? db_step(db, s, err) : -err->code;

	if (rc <= 0)
		return rc;
	const char *text = (const char *)sqlite3_column_text(s, 0);
	rc = text && strcmp(text, "ok") == 0
		     ? 0
		     : err_set(err, EBADMSG, "%s: %s", db->path, text ? text : "is damaged");
	sqlite3_reset(s);
	return rc;
}

/* which: SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER. */
static int sync_file(struct db *db, int which, struct err *err)
{
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(db->sqlite, "main", which, &file);

	if (rc == SQLITE_OK && file->pMethods)
		rc = file->pMethods->xSync(file, SQLITE_SYNC_FULL);
	return rc == SQLITE_OK ? 0 : err_set(err, errno_of(rc), "%s: cannot sync it", db->path);
}

int db_sync_log(struct db *db, struct err *err)
{
	return sync_file(db, SQLITE_FCNTL_JOURNAL_POINTER, err);
}

/* If others have the file open, SQLite retains the log and reports no error. The change is a few
 * bytes of the header, in one write. A journal for it next to a log would prevent a reader without
 * write access from reading the file after a crash. */
static int drop_wal(struct db *db, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "PRAGMA journal_mode=MEMORY", err);
	int rc = s ? db_step(db, s, err) : -EIO;

	if (rc > 0) {
		const char *mode = (const char *)sqlite3_column_text(s, 0);
		rc = mode && strcmp(mode, "memory") == 0
			     ? 0
			     : err_set(err, EBUSY, "%s: is open elsewhere", db->path);
	}
	if (s)
		sqlite3_reset(s);
	return rc;
}

int db_finish(struct db *db, struct err *err)
{
	for (size_t i = 0; i < db->prepared.n; i++)
		sqlite3_finalize(db->prepared.v[i].stmt);
	vec_clear(&db->prepared);
	int rc = db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	if (rc == 0)
		rc = drop_wal(db, err);
	return rc == 0 && db->build ? sync_file(db, SQLITE_FCNTL_FILE_POINTER, err) : rc;
}
