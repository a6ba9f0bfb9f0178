/* store/db.h: one SQLite file of ours: opened so that nothing in it can harm, prepared statements, errors in words.
 *
 *     struct db *db;
 *     db_open(path, &(struct db_opts){ .schema = &part_schema, .access = DB_WRITE }, &db, &err);
 *     sqlite3_stmt *s = db_prepare(db, "SELECT …", &err);
 *     while ((rc = db_step(db, s, &err)) > 0) …
 *     db_close(db);
 *
 * A file carries in application_id and user_version what it is; its tables are compared with the schema, to the letter. A file of a
 * newer version is refused. One of an older version is brought up to date by who opens it to write, from version to version, in one
 * transaction: it is the old one or the new one, whenever the process ends. */
#ifndef CRESSET_STORE_DB_H
#define CRESSET_STORE_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* From version `from` to the next one. Inside of a transaction. When the file holds what cannot be taken over: -EBADMSG, and a hint that says
 * what to do. */
struct db_migration {
	uint32_t from;
	int (*run)(struct db *db, struct err *err);
};

struct db_schema {
	enum db_kind kind;
	uint32_t version;
	/* CREATE statements, each as SQLite keeps it (no IF NOT EXISTS, one object a statement); NULL-terminated. */
	const char *const *objects;
	/* So many of the objects, the last ones, are not in every file of the version: who writes makes those that lack. */
	uint32_t later;
	/* From the oldest version that is taken; ends with run NULL. NULL: there are none. */
	const struct db_migration *migrations;
};

enum db_access {
	DB_READ, /* another process may write it */
	DB_FOREIGN, /* from elsewhere: immutable, nothing is written beside it, every cell is checked */
	DB_WRITE, /* made when it is not there */
};

struct db_opts {
	const struct db_schema *schema;
	enum db_access access;
	uint32_t page_bytes; /* of a new file; 0: 4096 */
	bool wal;            /* journal: WAL; else DELETE, or none while it is built (build) */
	bool shrinks;        /* a new file can give back free pages: db_shrink */
	bool build; /* a new file that is worth nothing until it is complete: no journal, synced at its end */
	bool durable; /* a commit returns once it is synced (synchronous=FULL); else NORMAL */
	uint64_t cache_bytes; /* 0: 2 MiB */
	uint32_t busy_ms;     /* how long to wait for another writer; 0: 2000 */
	const char *vfs;      /* NULL: the default one */
};

/* For a process, before anything is opened: a connection takes memory for pages when it needs them. SQLite's way is 20 pages at once, which are 1.3 MB
 * where a page has 64 KiB, of each of the two files of a day that is looked at. */
void db_save_memory(void);

/* A file that is not of this kind is left as it is. path: "" is a file in $TMPDIR without a name, gone once it is closed; ":memory:" is none.
 * -ENOENT, -EACCES, -EBADMSG (no file of this kind, damaged, of a newer version, or of an older one that is only read, or that nothing
 * brings up to date), -EBUSY, -ENOSPC, -EIO. */
int db_open(const char *path, const struct db_opts *opts, struct db **out, struct err *err);
void db_close(struct db *db); /* NULL is fine */

/* A file from elsewhere (DB_FOREIGN) that is in memory: data stays the caller's, and there until db_close. name: for messages. */
int db_open_bytes(const char *name, const void *data, size_t len, const struct db_schema *schema,
		  struct db **out, struct err *err);

/* Settings of any connection that runs what others wrote: no code of a schema, no extensions, no writing around SQLite. */
void db_defend(sqlite3 *sqlite);

sqlite3 *db_handle(struct db *db);
const char *db_path(const struct db *db);

/* Whether the first bytes of a file are those of a SQLite file of this kind. */
bool db_is_kind(const char *head, size_t len, enum db_kind kind);
enum { DB_HEAD_BYTES = 100 };

/* The statement of this text, reset and without parameters; the connection keeps it, found by the text's address: texts are literals.
 * NULL on failure. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err);

/* 1: there is a row; 0: it is done, and reset; else -errno, reset. */
int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err);

/* Several statements, no rows. */
int db_exec(struct db *db, const char *sql, struct err *err);

int db_begin(struct db *db, struct err *err); /* IMMEDIATE */
int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db); /* fine outside of a transaction */

/* What the last failure was, as -errno, in words with the file's name. */
int db_error(struct db *db, const char *doing, struct err *err);

/* What is free in the file goes back to the file system; nothing where it was not made with shrinks. */
int db_shrink(struct db *db, struct err *err);

/* The same of a WAL file, some MiB at a time, and its journal is cut; nothing while little is free. 1: there is more. */
int db_give_back(struct db *db, struct err *err);

/* Of a WAL file: what was committed gets to the disk. */
int db_sync_log(struct db *db, struct err *err);

/* Whether all pages are what they should be, as SQLite sees it: 0, or -EBADMSG. */
int db_verify(struct db *db, struct err *err);

/* A WAL file's pages go into the file; what was built without a journal is synced. After this nothing but the file is needed
 * (journal_mode=DELETE). -EBUSY while others have it open. */
int db_finish(struct db *db, struct err *err);

#endif
