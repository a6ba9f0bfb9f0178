/* store/names_db_state.h: what an open names.db is. Only files names_*.c include it.
 *
 * Names come into memory (names_db.c), are merged into the tables now and then (names_write.c), and are asked for in both (names_apply.c). */
#ifndef CRESSET_STORE_NAMES_DB_STATE_H
#define CRESSET_STORE_NAMES_DB_STATE_H

#include "base/buf.h"
#include "base/hash.h"
#include "store/names_db.h"
#include "store/names_gathered.h"
#include "store/names_seen.h"
#include "store/names_table.h"

struct names_db {
	struct db *db;
	struct names_db_opts opts;
	struct names_gathered gathered;
	uint64_t first_sequence; /* of what is gathered; UINT64_MAX: nothing is */
	struct names_seen seen;  /* hashes of (mapping, offset, lines); made with the first */
	struct map used;         /* hash of a mapping's key → the last day that was noted */
	uint64_t epoch;          /* changes when `seen` or `used` are emptied */
	struct buf key;          /* kept from call to call */
};

/* What a mapping is known by; valid until the next call. */
struct names_key names_db_key(struct names_db *db, const struct profile *p, uint32_t mapping);

/* What is gathered comes into the tables, inside of a transaction. */
int names_write_all(struct names_db *db, struct err *err);

#endif
