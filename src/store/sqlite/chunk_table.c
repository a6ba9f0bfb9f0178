/* Statements for the table of chunks. */
#include "store/sqlite/chunk_table.h"

#include "base/err.h"
#include "store/sqlite/db.h"

#include <sqlite3.h>

int chunk_table_add(struct db *db, enum chunk_type type, uint32_t flags, const void *payload,
		    size_t len, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(db, "INSERT INTO chunk(type, flags, sum, data) VALUES(?, ?, ?, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, type);
	sqlite3_bind_int64(s, 2, flags);
	sqlite3_bind_int64(s, 3, (int64_t)chunk_checksum(type, flags, payload, len));
	sqlite3_bind_blob64(s, 4, payload, len, SQLITE_STATIC);
	return db_step(db, s, err);
}
