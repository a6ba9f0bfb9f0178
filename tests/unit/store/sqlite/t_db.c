// tier: test
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "nobodies.h"
#include "store/sqlite/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const objects[] = {
	"CREATE TABLE thing(id INTEGER PRIMARY KEY, data BLOB)",
	"CREATE INDEX thing_data ON thing(data)",
	"CREATE TABLE word(key TEXT PRIMARY KEY, value)",
	NULL,
};
static const struct db_schema schema = { .kind = DB_KIND_META, .version = 3, .objects = objects };

struct place {
	char dir[32], path[64];
};

static void place_init(struct place *p)
{
	strcpy(p->dir, "/tmp/cresset-db-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(p->dir));
	snprintf(p->path, sizeof p->path, "%s/a.db", p->dir);
}

static void place_done(const struct place *p)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", p->dir);
	ck_assert_int_eq(system(command), 0);
}

/* Does what SQLite's own program would do to the file. */
static void plain_sql(const char *path, const char *sql)
{
	sqlite3 *s;
	char *error = NULL;

	ck_assert_int_eq(sqlite3_open(path, &s), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(s, sql, NULL, NULL, &error) == SQLITE_OK, "%s", error);
	sqlite3_close(s);
}

static struct db *open_ok(const char *path, const struct db_opts *opts)
{
	struct err err = { 0 };
	struct db *db = NULL;

	ck_assert_msg(db_open(path, opts, &db, &err) == 0, "%s", err.text);
	return db;
}

static void refused(const char *path, const struct db_opts *opts, int code, const char *words)
{
	struct err err = { 0 };
	struct db *db = NULL;

	ck_assert_int_eq(db_open(path, opts, &db, &err), -code);
	ck_assert_msg(strstr(err.text, words) && strstr(err.text, path), "%s", err.text);
	ck_assert_ptr_null(db);
}

static void run(struct db *db, const char *sql)
{
	struct err err = { 0 };

	ck_assert_msg(db_exec(db, sql, &err) == 0, "%s", err.text);
}

static int64_t ask(struct db *db, const char *sql)
{
	struct err err = { 0 };
	sqlite3_stmt *s = db_prepare(db, sql, &err);

	ck_assert_msg(s != NULL, "%s", err.text);
	ck_assert_int_eq(db_step(db, s, &err), 1);
	int64_t value = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return value;
}

static const struct db_opts writing = { .schema = &schema, .access = DB_WRITE, .wal = true };
static const struct db_opts reading = { .schema = &schema, .access = DB_READ };
static const struct db_opts foreign = { .schema = &schema, .access = DB_FOREIGN };

static void make(const char *path)
{
	struct db *db = open_ok(path, &writing);

	run(db, "INSERT INTO thing VALUES(7, x'0102')");
	db_close(db);
}

START_TEST(written_data_is_there)
{
	const struct db_opts *const ways[] = { &writing, &reading, &foreign };
	struct place p;

	place_init(&p);
	make(p.path);
	for (int i = 0; i < 3; i++) {
		struct db *db = open_ok(p.path, ways[i]);
		ck_assert_int_eq(ask(db, "SELECT id FROM thing"), 7);
		ck_assert_str_eq(db_path(db), p.path);
		db_close(db);
	}
	place_done(&p);
}
END_TEST

START_TEST(any_name_is_a_name)
{
	static const char *const names[] = { "a b", "50%41",  "x?mode=memory",
					     "y#z", "file:q", "\xff" };
	struct place p;
	char path[80];

	place_init(&p);
	ck_assert_int_eq(chdir(p.dir), 0);
	for (int i = 0; i < 6; i++)
		for (int absolute = 0; absolute < 3; absolute++) {
			snprintf(path, sizeof path, "%s%s%s", absolute == 2 ? "/" : "",
				 absolute ? p.dir : "", absolute ? "/" : "");
			strcat(path, names[i]);
			db_close(open_ok(path, &writing));
			ck_assert_int_eq(access(names[i], F_OK), 0);
			ck_assert_int_eq(unlink(names[i]), 0);
		}
	place_done(&p);
}
END_TEST

START_TEST(other_schemas_are_refused)
{
	static const char *const changes[] = {
		"CREATE TABLE more(x)",
		"CREATE VIEW v AS SELECT 1",
		"CREATE INDEX more ON thing(id)",
		"CREATE TRIGGER t AFTER INSERT ON thing BEGIN SELECT 1; END",
		"DROP TABLE word",
		"DROP INDEX thing_data",
		"ALTER TABLE thing ADD COLUMN more",
		"ALTER TABLE thing RENAME COLUMN data TO other",
		"DROP TABLE word; CREATE TABLE word(key TEXT PRIMARY KEY,value)",
		"DROP TABLE word; CREATE TABLE Word(key TEXT PRIMARY KEY, value)",
		"DROP TABLE word; CREATE VIEW word AS SELECT 1 key, 2 value",
		"ANALYZE; INSERT INTO thing VALUES(9, x'03'); ANALYZE",
		"PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = sql || ' ' WHERE "
		"name='word'",
		"PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = "
		"'CREATE TABLE word(key TEXT PRIMARY KEY, value DEFAULT (1))' WHERE name='word'",
	};
	struct place p;

	place_init(&p);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		make(p.path);
		plain_sql(p.path, changes[i]);
		refused(p.path, &writing, EBADMSG, "table");
		refused(p.path, &reading, EBADMSG, "table");
		refused(p.path, &foreign, EBADMSG, "table");
		ck_assert_int_eq(unlink(p.path), 0);
	}
	place_done(&p);
}
END_TEST

static void read_whole(const char *path, struct buf *b)
{
	struct err err = { 0 };

	buf_clear(b);
	ck_assert_msg(fs_read_at(AT_FDCWD, path, 1 << 24, b, &err) == 0, "%s", err.text);
}

/* It is refused, and unchanged byte for byte. */
static void left_alone(const char *path, const char *words)
{
	struct buf before = { 0 }, after = { 0 };

	read_whole(path, &before);
	refused(path, &writing, EBADMSG, words);
	read_whole(path, &after);
	ck_assert(before.len == after.len && memcmp(before.data, after.data, before.len) == 0);
	buf_done(&before);
	buf_done(&after);
}

START_TEST(other_files_are_left_alone)
{
	struct place p;
	FILE *f;

	place_init(&p);
	plain_sql(p.path, "CREATE TABLE somebody(elses)");
	left_alone(p.path, "is a different kind of file");
	ck_assert_int_eq(unlink(p.path), 0);
	f = fopen(p.path, "w");
	fputs("these are words, and more of them than a header of a file of SQLite has bytes, "
	      "which are 100 or so",
	      f);
	fclose(f);
	left_alone(p.path, "not a database");
	place_done(&p);
}
END_TEST

/* --- versions --------------------------------------------------------------------------------- */

static int to_2(struct db *db, struct err *err)
{
	return db_exec(db, "CREATE TABLE word(key TEXT PRIMARY KEY, value)", err);
}

static int to_3(struct db *db, struct err *err)
{
	int rc = db_exec(db, "CREATE INDEX thing_data ON thing(data)", err);

	return rc ? rc : db_exec(db, "UPDATE thing SET data = CAST(data || x'ff' AS BLOB)", err);
}

static int refuse(struct db *db, struct err *err)
{
	int rc = to_3(db, err);

	if (rc)
		return rc;
	err_set(err, EBADMSG, "%s: cannot be taken over", db_path(db));
	return err_hint(err, "do this");
}

static const struct db_migration migrations[] = { { 1, to_2 }, { 2, to_3 }, { 0, NULL } };
static const struct db_migration broken[] = { { 1, to_2 }, { 2, refuse }, { 0, NULL } };
static const struct db_migration half[] = { { 1, to_2 }, { 0, NULL } };
static const struct db_migration wrong[] = { { 1, to_2 }, { 2, to_2 }, { 0, NULL } };

/* Its result lacks the other table. */
static int nothing(struct db *db, struct err *err)
{
	(void)db;
	(void)err;
	return 0;
}
static const struct db_migration lacking[] = { { 1, to_2 }, { 2, nothing }, { 0, NULL } };

static struct db_schema with(const struct db_migration *m)
{
	struct db_schema now = schema;

	now.migrations = m;
	return now;
}

/* As version 1 made it. */
static void make_old(const char *path)
{
	plain_sql(path, "PRAGMA application_id=0x4352454d; PRAGMA user_version=1;"
			"CREATE TABLE thing(id INTEGER PRIMARY KEY, data BLOB);"
			"INSERT INTO thing VALUES(7, x'0102')");
}

START_TEST(an_older_version_is_brought_up_to_date)
{
	struct db_schema now = with(migrations);
	const struct db_opts write = { .schema = &now, .access = DB_WRITE, .wal = true };
	const struct db_opts read = { .schema = &now, .access = DB_READ };
	struct place p;

	place_init(&p);
	make_old(p.path);
	refused(p.path, &read, EBADMSG, "made by an older cresset, format 1");
	for (int i = 0; i < 2; i++) { /* once */
		struct db *db = open_ok(p.path, &write);
		ck_assert_int_eq(ask(db, "PRAGMA user_version"), 3);
		ck_assert_int_eq(ask(db, "SELECT data = x'0102ff' FROM thing WHERE id = 7"), 1);
		db_close(db);
	}
	db_close(open_ok(p.path, &read));
	place_done(&p);
}
END_TEST

/* All of it or nothing: the file stays unchanged, and opens once the obstacle is gone. */
START_TEST(an_incompatible_one_is_unchanged)
{
	static const struct {
		const struct db_migration *migrations;
		const char *words, *hint;
	} cases[] = {
		{ NULL, "made by an older cresset, format 1", "the cresset that made it" },
		{ half, "made by an older cresset, format 2", "the cresset that made it" },
		{ broken, "cannot be taken over", "do this" },
		{ wrong, "already exists", "" },
		{ lacking, "made by an older cresset, format 1: ", "the cresset that made it" },
		{ lacking, "lacks a table", "" },
	};
	struct place p;

	place_init(&p);
	make_old(p.path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct db_schema now = with(cases[i].migrations);
		const struct db_opts write = { .schema = &now, .access = DB_WRITE, .wal = true };
		struct err err = { 0 };
		struct db *db = NULL;
		ck_assert_int_eq(db_open(p.path, &write, &db, &err), -EBADMSG);
		ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s", err.text);
		ck_assert_msg(strstr(err.hint, cases[i].hint) != NULL, "%s", err.hint);
	}
	struct db_schema now = with(migrations);
	struct db *db = open_ok(p.path, &(struct db_opts){ .schema = &now, .access = DB_WRITE });
	ck_assert_int_eq(ask(db, "SELECT data = x'0102ff' FROM thing WHERE id = 7"), 1);
	db_close(db);
	place_done(&p);
}
END_TEST

START_TEST(a_newer_version_is_refused)
{
	struct place p;
	struct err err = { 0 };
	struct db *db;

	place_init(&p);
	make(p.path);
	plain_sql(p.path, "PRAGMA user_version=4");
	left_alone(p.path, "newer cresset (format version 4)");
	ck_assert_int_eq(db_open(p.path, &foreign, &db, &err), -EBADMSG);
	ck_assert_str_eq(err.hint, "this one reads up to version 3");
	place_done(&p);
}
END_TEST

START_TEST(reading_creates_no_files)
{
	struct place p;

	place_init(&p);
	refused(p.path, &reading, ENOENT, "cannot open it");
	refused(p.path, &foreign, ENOENT, "cannot open it");
	ck_assert_int_ne(access(p.path, F_OK), 0);
	place_done(&p);
}
END_TEST

static int count_files(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* What a read-only directory would show: SQLite creates no file beside this one. */
START_TEST(a_foreign_file_is_read_alone)
{
	struct place p;

	place_init(&p);
	make(p.path);
	ck_assert_int_eq(chmod(p.path, 0444), 0);
	ck_assert_int_eq(chmod(p.dir, 0555), 0);
	ck_assert_int_eq(count_files(p.dir), 1);
	struct db *db = open_ok(p.path, &foreign);
	ck_assert_int_eq(ask(db, "SELECT id FROM thing"), 7);
	ck_assert_int_eq(count_files(p.dir), 1);
	struct err err = { 0 };
	ck_assert_int_eq(db_exec(db, "INSERT INTO thing VALUES(1, 2)", &err), -EROFS);
	db_close(db);
	ck_assert_int_eq(chmod(p.dir, 0755), 0);
	place_done(&p);
}
END_TEST

START_TEST(a_full_disk_is_reported_as_full)
{
	struct place p;
	struct err err = { 0 };
	int rc = 0;

	place_init(&p);
	struct db *db = open_ok(p.path, &writing);
	run(db, "PRAGMA max_page_count=20");
	int64_t committed = 0;
	while (rc == 0) {
		ck_assert_int_eq(db_begin(db, &err), 0);
		rc = db_exec(db, "INSERT INTO thing(data) VALUES(randomblob(5000))", &err);
		rc = rc ? rc : db_commit(db, &err);
		db_rollback(db);
		committed += rc == 0;
	}
	ck_assert_int_eq(rc, -ENOSPC);
	ck_assert_msg(strstr(err.text, "No space left"), "%s", err.text);
	ck_assert_int_gt(committed, 0);
	ck_assert_int_eq(ask(db, "SELECT count(*) FROM thing"), committed);
	run(db, "PRAGMA max_page_count=1000");
	run(db, "INSERT INTO thing(data) VALUES(randomblob(5000))");
	db_close(db);
	place_done(&p);
}
END_TEST

START_TEST(another_writer_is_waited_for_and_named)
{
	struct db_opts hasty = writing;
	struct place p;
	struct err err = { 0 };

	place_init(&p);
	hasty.busy_ms = 1;
	struct db *first = open_ok(p.path, &writing), *second = open_ok(p.path, &hasty);
	ck_assert_int_eq(db_begin(first, &err), 0);
	ck_assert_int_eq(db_begin(second, &err), -EBUSY);
	ck_assert_int_eq(db_finish(first, &err) != 0, 1);
	db_rollback(first);
	ck_assert_int_eq(db_begin(second, &err), 0);
	db_rollback(second);
	db_close(first);
	db_close(second);
	place_done(&p);
}
END_TEST

START_TEST(several_make_one_file)
{
	struct place p;

	place_init(&p);
	for (int i = 0; i < 6; i++)
		if (fork() == 0) {
			struct err err = { 0 };
			struct db *db;
			if (db_open(p.path, &writing, &db, &err))
				_exit(1);
			run(db, "INSERT INTO thing(data) VALUES(1)");
			db_close(db);
			_exit(0);
		}
	for (int i = 0, status = 0; i < 6; i++) {
		wait(&status);
		ck_assert_int_eq(status, 0);
	}
	struct db *db = open_ok(p.path, &reading);
	ck_assert_int_eq(ask(db, "SELECT count(*) FROM thing"), 6);
	db_close(db);
	place_done(&p);
}
END_TEST

START_TEST(a_finished_file_stands_alone)
{
	struct db_opts build = { .schema = &schema, .access = DB_WRITE, .build = true };
	struct place p;
	struct err err = { 0 };

	place_init(&p);
	for (int i = 0; i < 2; i++) {
		struct db *db = open_ok(p.path, i ? &build : &writing);
		run(db, "INSERT INTO thing(data) VALUES(1)");
		struct db *other = i ? NULL : open_ok(p.path, &reading);
		if (other) {
			ck_assert_int_eq(ask(other, "SELECT count(*) FROM thing"), 1);
			ck_assert_int_eq(db_finish(db, &err), -EBUSY);
		}
		db_close(other);
		ck_assert_msg(db_finish(db, &err) == 0, "%s", err.text);
		ck_assert_int_eq(count_files(p.dir), 1);
		db_close(db);
		db = open_ok(p.path, &foreign);
		ck_assert_int_eq(ask(db, "SELECT count(*) FROM thing"), 1);
		db_close(db);
		ck_assert_int_eq(unlink(p.path), 0);
	}
	place_done(&p);
}
END_TEST

START_TEST(free_pages_are_given_back)
{
	struct db_opts opts = writing;
	struct stat full, empty;
	struct place p;
	struct err err = { 0 };

	place_init(&p);
	opts.shrinks = true;
	opts.wal = false;
	struct db *db = open_ok(p.path, &opts);
	for (int i = 0; i < 50; i++)
		run(db, "INSERT INTO thing(data) VALUES(randomblob(9000))");
	stat(p.path, &full);
	run(db, "DELETE FROM thing WHERE id > 5");
	ck_assert_int_eq(db_shrink(db, &err), 0);
	stat(p.path, &empty);
	ck_assert_int_lt(empty.st_size, full.st_size / 5);
	ck_assert_int_eq(ask(db, "SELECT count(*) FROM thing"), 5);
	db_close(db);
	place_done(&p);
}
END_TEST

START_TEST(a_statement_has_no_old_bindings)
{
	static const char sql[] = "SELECT ?1 IS NULL";
	struct place p;
	struct err err = { 0 };

	place_init(&p);
	struct db *db = open_ok(p.path, &writing);
	sqlite3_stmt *s = db_prepare(db, sql, &err);
	sqlite3_bind_int(s, 1, 5);
	ck_assert_int_eq(db_step(db, s, &err), 1);
	ck_assert_int_eq(sqlite3_column_int(s, 0), 0);
	ck_assert_ptr_eq(db_prepare(db, sql, &err), s);
	ck_assert_int_eq(db_step(db, s, &err), 1);
	ck_assert_int_eq(sqlite3_column_int(s, 0), 1);
	ck_assert_ptr_null(db_prepare(db, "SELECT x FROM nowhere", &err));
	ck_assert_msg(strstr(err.text, "nowhere"), "%s", err.text);
	db_close(db);
	place_done(&p);
}
END_TEST

START_TEST(a_file_is_known_by_its_head)
{
	struct place p;
	struct buf b = { 0 };

	place_init(&p);
	make(p.path);
	read_whole(p.path, &b);
	ck_assert(db_is_kind(b.data, b.len, DB_KIND_META));
	ck_assert(!db_is_kind(b.data, b.len, DB_KIND_PART));
	ck_assert(!db_is_kind(b.data, DB_HEAD_BYTES - 1, DB_KIND_META));
	b.data[3] ^= 1;
	ck_assert(!db_is_kind(b.data, b.len, DB_KIND_META));
	buf_done(&b);
	place_done(&p);
}
END_TEST

START_TEST(a_connection_takes_few_pages)
{
	const struct db_opts opts = { .schema = &schema,
				      .access = DB_WRITE,
				      .page_bytes = 65536,
				      .wal = true,
				      .cache_bytes = 256 << 10 };
	struct place p;
	struct db *db[8];

	place_init(&p);
	db_save_memory();
	for (size_t i = 0; i < 8; i++)
		db[i] = open_ok(p.path, &opts);
	ck_assert_int_lt(sqlite3_memory_used() / 8, 400 << 10);
	for (size_t i = 0; i < 8; i++)
		db_close(db[i]);
	place_done(&p);
}
END_TEST

/* As a user without rights. Returns the result of db_open. */
static int open_as_nobody(const char *path, const struct db_opts *opts)
{
	struct db *db = NULL;

	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return -EPERM;
	int rc = db_open(path, opts, &db, NULL);
	if (rc == 0)
		db_close(db);
	return rc;
}

static int wait_for_open(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* Journals that root's SQLite has made, and not yet given to the file's owner. */
START_TEST(journals_of_root_are_waited_for)
{
	struct db_opts opts = { .schema = &schema, .access = DB_WRITE, .wal = true };
	struct place p;
	char journal[80];

	if (geteuid() != 0)
		T_SKIP("not root");
	place_init(&p);
	ck_assert_int_eq(chown(p.dir, NOBODY, NOBODY), 0);
	db_close(open_ok(p.path, &opts));
	ck_assert_int_eq(chown(p.path, NOBODY, NOBODY), 0);
	snprintf(journal, sizeof journal, "%s-shm", p.path);
	for (int is_given = 0; is_given < 2; is_given++) {
		int fd = open(journal, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		ck_assert_int_ge(fd, 0);
		opts.busy_ms = is_given ? 60000 : 20;
		pid_t pid = fork();
		if (pid == 0)
			_exit(-open_as_nobody(p.path, &opts));
		usleep(is_given ? 50000 : 0);
		if (is_given)
			ck_assert_int_eq(fchown(fd, NOBODY, NOBODY), 0);
		ck_assert_int_eq(wait_for_open(pid), is_given ? 0 : -EACCES);
		close(fd);
	}
	place_done(&p);
}
END_TEST

UNIT_MAIN("db", written_data_is_there, any_name_is_a_name, other_schemas_are_refused,
	  other_files_are_left_alone, a_newer_version_is_refused,
	  an_older_version_is_brought_up_to_date, an_incompatible_one_is_unchanged,
	  reading_creates_no_files, a_foreign_file_is_read_alone, a_full_disk_is_reported_as_full,
	  another_writer_is_waited_for_and_named, several_make_one_file,
	  a_finished_file_stands_alone, free_pages_are_given_back, a_statement_has_no_old_bindings,
	  a_file_is_known_by_its_head, a_connection_takes_few_pages,
	  journals_of_root_are_waited_for)
