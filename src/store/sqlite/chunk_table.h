/* store/sqlite/chunk_table.h: stores chunks (profile/chunk.h) as rows of a table chunk(id, type,
 * flags, sum, data), ordered by id; sum is chunk_checksum. */
#ifndef CRESSET_STORE_SQLITE_CHUNK_TABLE_H
#define CRESSET_STORE_SQLITE_CHUNK_TABLE_H

#include "profile/chunk.h"

struct db;
struct err;

int chunk_table_add(struct db *db, enum chunk_type type, uint32_t flags, const void *payload,
		    size_t len, struct err *err);

#endif
