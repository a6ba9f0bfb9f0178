/* store/names_db.h: names.db: what addresses are called, apart from the stacks that have them, so that a name that comes late, or is
 * corrected, is what old data shows, too.
 *
 *     version(id, n)                              n goes up with every change
 *     mapping(id, key, day)                       day: the last one it was used on (days since 1970)
 *     names(mapping, first, data)                 names_chunk.h; first: the chunk's first offset, its top bit turned over so that SQLite's
 *                                                 order is that of offsets
 *
 *     key    'B' build id
 *            'T' build id as text
 *            'F' u64 identity  u64 start  u64 offset  name                little endian
 *
 * So what a mapping is called is known by its build id on whatever machine it ran; without one by the hash and the name of the file. Of two lists of
 * lines for one address the one stays that says more; of two that say as much, the later one. */
#ifndef CRESSET_STORE_NAMES_DB_H
#define CRESSET_STORE_NAMES_DB_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct names_db;

struct names_db_opts {
	bool read_only;
	bool foreign; /* db.h */
	uint64_t cache_bytes;
	const char *vfs;
};
int names_db_open(const char *path, const struct names_db_opts *opts, struct names_db **out,
		  struct err *err);
void names_db_close(struct names_db *db); /* NULL is fine */

/* All names that p has of frames with a mapping; and these mappings are used on this day. One transaction, and none when nothing is new, which is
 * the rule: what was offered lately is remembered. */
int names_db_add(struct names_db *db, const struct profile *p, int32_t day, struct err *err);

/* The mappings of p are used on this day. For days' dictionaries: those of a day that stays keep their names. */
int names_db_use(struct names_db *db, const struct profile *p, int32_t day, struct err *err);

/* Forgets the mappings that were not used on this day or later. */
int names_db_collect(struct names_db *db, int32_t before_day, struct err *err);

/* Which frames of one dictionary have the names of which version. Zeroed: none. */
struct names_applied {
	uint64_t version;
	VEC(bool) frames;
	size_t n; /* of those */
};
void names_applied_done(struct names_applied *a);

/* Gives dict the names of these frames (NULL: of all), where the database has any. A second time costs next to nothing unless something changed. */
int names_db_apply(struct names_db *db, struct profile *dict, struct names_applied *applied,
		   const uint32_t *frames, size_t n, struct err *err);

#endif
