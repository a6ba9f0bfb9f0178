/* Rewrites a database without its deleted content (VACUUM), and empties the WAL file. */
#include "base/err.h"
#include "store/sqlite/db.h"

#include <errno.h>

/* Returns 1 if a reader still uses it after db_opts.busy_ms. */
static int empty_log(struct db *db, struct err *err)
{
	sqlite3_stmt *st = db_prepare(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	int rc = st ? db_step(db, st, err) : -err->code;

	if (rc <= 0)
		return rc;
	rc = sqlite3_column_int(st, 0) != 0;
	sqlite3_reset(st);
	return rc;
}

int db_scrub(struct db *db, struct err *err)
{
	int rc = db_exec(db, "VACUUM", err);

	if (rc == 0)
		rc = empty_log(db, err);
	if (rc > 0)
		return err_set(err, EBUSY, "%s: in use by another reader, nothing was deleted",
			       db_path(db));
	return rc;
}
