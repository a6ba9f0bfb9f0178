/* store/chunk_table.h: chunks (profile/chunk.h) as rows of a table chunk(id, type, flags, sum, data), in the order of their ids; sum is
 * chunk_checksum. */
#ifndef CRESSET_STORE_CHUNK_TABLE_H
#define CRESSET_STORE_CHUNK_TABLE_H

#include "profile/chunk.h"
#include "store/db.h"

int chunk_table_add(struct db *db, enum chunk_type type, uint32_t flags, const void *payload,
		    size_t len, struct err *err);

#endif
