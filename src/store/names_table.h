/* store/names_table.h: the tables of names.db (names_db.h), row by row. */
#ifndef CRESSET_STORE_NAMES_TABLE_H
#define CRESSET_STORE_NAMES_TABLE_H

#include "base/buf.h"
#include "store/db.h"
#include "store/names_chunk.h"

#include <stdint.h>

extern const struct db_schema names_schema;

/* 0 before the first change. */
int names_version_read(struct db *db, uint64_t *version, struct err *err);
int names_version_next(struct db *db, struct err *err);

struct names_key {
	const void *data;
	size_t len;
};
/* 1: it is in *id, 0: there is none. */
int names_mapping_find(struct db *db, struct names_key key, int64_t *id, struct err *err);
/* Used on this day; made when there is none. */
int names_mapping_make(struct db *db, struct names_key key, int32_t day, int64_t *id,
		       struct err *err);
/* Used on this day, if there is one. */
int names_mapping_use(struct db *db, struct names_key key, int32_t day, struct err *err);
/* Some of those not used on this day or later go, with their names: 1; 0: there are none. */
int names_mapping_drop(struct db *db, int32_t before_day, struct err *err);

/* A chunk as it is in the table, and up to where its offsets may go. */
struct names_stretch {
	int64_t row; /* 0: there is none yet */
	uint64_t first, last;
	struct names_chunk chunk;
};
/* The chunk in which this offset is, or would be: the first one has what is before it, too. t: to be given to names_stretch_done whatever is
 * returned. */
int names_stretch_find(struct db *db, int64_t mapping, uint64_t offset, struct names_stretch *t,
		       struct err *err);
void names_stretch_done(struct names_stretch *t);
/* Chunk c, in as many pieces as it needs, in place of what is there. */
int names_stretch_write(struct db *db, int64_t mapping, const struct names_stretch *t,
			const struct names_chunk *c, struct names_packer *packer, struct err *err);
/* What was packed, as one more chunk. first: its first offset. */
int names_chunk_insert(struct db *db, int64_t mapping, uint64_t first, const struct buf *data,
		       struct err *err);

#endif
