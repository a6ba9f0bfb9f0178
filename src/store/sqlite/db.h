/* store/sqlite/db.h: a SQLite file of cresset: opened so that its content can do no harm, with
 * prepared statements and error messages.
 *
 *     struct db *db;
 *     db_open(path, &(struct db_opts){ .schema = &part_schema, .access = DB_WRITE }, &db, &err);
 *     sqlite3_stmt *s = db_prepare(db, "SELECT …", &err);
 *     while ((rc = db_step(db, s, &err)) > 0) …
 *     db_close(db);
 *
 * application_id and user_version identify a file; its tables have to match the schema literally. A
 * file of a newer version is refused. An older one is migrated when it is opened for writing, from
 * version to version, in one transaction: after a crash it is of the old version or of the new
 * one. */
#ifndef CRESSET_STORE_SQLITE_DB_H
#define CRESSET_STORE_SQLITE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* "CRE" and a letter for each kind of file. */
enum db_kind {
	DB_KIND_INBOX = 0x43524549,
	DB_KIND_META = 0x4352454d,
	DB_KIND_NAMES = 0x4352454e,
	DB_KIND_PART = 0x43524550,
	DB_KIND_DETAIL = 0x43524544,
	DB_KIND_HOT = 0x43524548,
	DB_KIND_RECORDING = 0x43524552,
	DB_KIND_SPOOL = 0x43524553,
};

struct db;

/* Migrates from version `from` to the next one, inside a transaction. -EBADMSG, with a hint what to
 * do, if the file has data that cannot be migrated. */
struct db_migration {
	uint32_t from;
	int (*run)(struct db *db, struct err *err);
};

struct db_schema {
	enum db_kind kind;
	uint32_t version;
	/* CREATE statements, each as SQLite retains it (no IF NOT EXISTS, one object a statement);
	 * NULL-terminated. */
	const char *const *objects;
	/* Number of objects, the last ones, that are not in every file of the version: a writer
	 * creates missing ones. */
	uint32_t later;
	/* From the oldest supported version; ends with run NULL. NULL: none. */
	const struct db_migration *migrations;
};

enum db_access {
	DB_READ, /* another process may write it */
	/* from elsewhere: immutable, nothing is written next to it, every cell is checked */
	DB_FOREIGN,
	DB_WRITE, /* created if missing */
};

struct db_opts {
	const struct db_schema *schema;
	enum db_access access;
	uint32_t page_bytes; /* of a new file; 0: 4096 */
	bool wal;            /* journal: WAL; otherwise DELETE, or none (build) */
	bool shrinks;        /* a new file can return free pages: db_shrink */
	/* a new file, of no use until it is complete: no journal, synced at the end */
	bool build;
	bool is_public; /* a new file has the mode that umask leaves; otherwise 0640 or less */
	bool durable; /* a commit returns once it is synced (synchronous=FULL); otherwise NORMAL */
	uint64_t cache_bytes; /* 0: 2 MiB */
	uint32_t busy_ms;     /* how long to wait for another writer; 0: 2000 */
	const char *vfs;      /* NULL: the default one */
};

/* Makes connections allocate page memory on demand. Call it once per process, before anything is
 * opened. SQLite's default is 20 pages at one time, which are 1.3 MB with pages of 64 KiB, for each
 * of the two files of an open day. */
void db_save_memory(void);

/* Opens a file; one of another kind is left unchanged. path: "" is an unnamed file in $TMPDIR,
 * deleted on close; ":memory:" is no file. -ENOENT, -EACCES, -EBADMSG (another kind of file,
 * damaged, of a newer version, or of an older one that is opened read-only or has no migration),
 * -EBUSY, -ENOSPC, -EIO. */
int db_open(const char *path, const struct db_opts *opts, struct db **out, struct err *err);
void db_close(struct db *db); /* NULL is fine */

/* Opens a file from elsewhere (DB_FOREIGN) in memory: data is the caller's, and must stay until
 * db_close. name: for messages. */
int db_open_bytes(const char *name, const void *data, size_t len, const struct db_schema *schema,
		  struct db **out, struct err *err);

/* Sets up a connection for untrusted files or statements: no code of a schema, no extensions, no
 * direct writes to SQLite's internals. */
void db_defend(sqlite3 *sqlite);

sqlite3 *db_handle(struct db *db);
const char *db_path(const struct db *db);

/* Returns whether the first bytes are those of a SQLite file of this kind. */
bool db_is_kind(const char *head, size_t len, enum db_kind kind);
enum { DB_HEAD_BYTES = 100 };

/* Returns the statement of this text, reset and without bindings, or NULL on failure. The
 * connection owns it and caches it by the address of sql, which has to be a literal. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err);

/* Returns 1: there is a row; 0: done, and reset; or -errno, reset. */
int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err);

/* Executes one or more statements, without rows. */
int db_exec(struct db *db, const char *sql, struct err *err);

int db_begin(struct db *db, struct err *err); /* IMMEDIATE */
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* fine outside a transaction */

/* Returns free pages to the file system; does nothing if the file was not created with shrinks. */
int db_shrink(struct db *db, struct err *err);

/* The same for a WAL file, some MiB at a time, and truncates its log; does nothing while little is
 * free. Returns 1 if there is more to do. */
int db_give_back(struct db *db, struct err *err);

/* Syncs the commits of a WAL file to the disk. */
int db_sync_log(struct db *db, struct err *err);

/* Runs SQLite's integrity check over all pages. Returns 0 or -EBADMSG. */
int db_verify(struct db *db, struct err *err);

/* Moves a WAL file's pages into the file; syncs a file built without a journal. Afterwards only the
 * file itself is needed (journal_mode=DELETE). -EBUSY while others have it open. */
int db_finish(struct db *db, struct err *err);

/* db_scrub.c: rewrites the file and empties its log, so that deleted data are gone. -EBUSY: a
 * reader keeps it open. */
int db_scrub(struct db *db, struct err *err);

/* --- a SQLite file and its companions: -wal, -shm, -journal (db_files.c) --- */

/* Returns their size on the disk; 0 if none exists. */
uint64_t db_files_bytes(const char *path);

/* Unlinks them, the file itself first, and syncs: a journal without its file is harmless, a file
 * without its journal lacks data. No process may have it open. */
int db_files_unlink(const char *path, struct err *err);

#endif
