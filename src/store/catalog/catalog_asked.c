/* Retention settings of the store, as rows of meta.db. */
#include "store/catalog/catalog_state.h"

#include "base/err.h"
#include "store/catalog/catalog.h"
#include "store/sqlite/db.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *key;
	size_t member; /* 8 bytes */
} rows[] = {
	{ "retention_ns", offsetof(struct store_asked, retention_ns) },
	{ "detail_retention_ns", offsetof(struct store_asked, detail_retention_ns) },
	{ "hot_ns", offsetof(struct store_asked, hot_ns) },
	{ "disk_bytes", offsetof(struct store_asked, disk_bytes) },
};
enum { ROWS = sizeof rows / sizeof *rows };

int catalog_read_asked(struct catalog *c, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "SELECT key, value FROM asked", err);
	int rc = s ? 0 : -err->code;

	while (rc == 0 && (rc = db_step(c->db, s, err)) > 0) {
		const char *key = (const char *)sqlite3_column_text(s, 0);
		int64_t value = sqlite3_column_int64(s, 1);
		for (size_t i = 0; key && i < ROWS; i++)
			if (strcmp(rows[i].key, key) == 0)
				memcpy((char *)&c->asked + rows[i].member, &value, sizeof value);
		rc = 0;
	}
	return rc;
}

static int write_row(struct catalog *c, const char *key, int64_t value, struct err *err)
{
	sqlite3_stmt *s = db_prepare(c->db, "INSERT OR REPLACE INTO asked VALUES(?, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, value);
	return db_step(c->db, s, err);
}

static int write_rows(struct catalog *c, const struct store_asked *asked, struct err *err)
{
	int rc = db_begin(c->db, err);

	for (size_t i = 0; rc == 0 && i < ROWS; i++) {
		int64_t value;
		memcpy(&value, (const char *)asked + rows[i].member, sizeof value);
		rc = write_row(c, rows[i].key, value, err);
	}
	if (rc == 0)
		return db_commit(c->db, err);
	db_rollback(c->db);
	return rc;
}

const struct store_asked *catalog_asked(const struct catalog *c)
{
	return &c->asked;
}

int catalog_ask(struct catalog *c, const struct store_asked *asked, struct err *err)
{
	struct err local;

	if (memcmp(&c->asked, asked, sizeof *asked) == 0)
		return 0;
	int rc = write_rows(c, asked, err ? err : &local);
	if (rc == 0)
		c->asked = *asked;
	return rc;
}
