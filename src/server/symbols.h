/* server/symbols.h: symbol tables sent by agents (symbol/symbol_table.h). They name the frames of
 * batches before these are stored, and frames already stored, when a table arrives: in two passes
 * through the dictionaries of all days, SYMBOLS_SETTLE_NS apart.
 *
 *     DIR/symbols/BUILDID        a table, as received; the file's time is its last use
 *     DIR/symbols/BUILDID.new    the same, before all stored frames are named by it
 *     DIR/symbols/BUILDID.tmp    is being written
 *
 * Each tenant has a separate directory, so its tables do not affect other tenants. The first
 * table of a build id stays; a different one is refused. When there are more bytes than allowed,
 * the least recently used tables are deleted. Any thread may call. */
#ifndef CRESSET_SERVER_SYMBOLS_H
#define CRESSET_SERVER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

enum { SYMBOLS_MAX = 65536 }; /* tables */
#define SYMBOLS_SETTLE_NS \
	UINT64_C(60000000000) /* by then, batches that came next to a table are stored */

struct store;
struct symbols;

struct symbols_opts {
	uint64_t disk_bytes;  /* of all tables, compressed */
	uint64_t cache_bytes; /* of the tables in memory */
	int64_t retention_ns; /* a table unused for longer is deleted */
};
/* Opens the directory symbols/ in dir, the store's; creates it if needed. */
int symbols_open(const char *dir, const struct symbols_opts *opts, struct symbols **out,
		 struct err *err);
void symbols_close(struct symbols *s); /* NULL is fine */

bool symbols_has(struct symbols *s, const uint8_t *id, size_t len);
/* The table is synced when this returns 0. *is_new false: the same one was there. -EEXIST: there is
 * a different one; -EBADMSG, -EFBIG: it is no table, or of another build id; -ENOSPC, -EIO. */
int symbols_put(struct symbols *s, const uint8_t *id, size_t len, const void *data, size_t n,
		bool *is_new, struct err *err);

/* Names the frames that have no name. */
void symbols_name(struct symbols *s, struct profile *p);

/* Names stored frames by new tables, and deletes old tables. */
int symbols_maintain(struct symbols *s, struct store *store, struct err *err);

struct symbols_stats {
	uint64_t tables, disk_bytes, memory_bytes, named_frames, unreadable;
};
void symbols_get_stats(struct symbols *s, struct symbols_stats *out);

#endif
