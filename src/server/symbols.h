/* server/symbols.h: symbol tables that agents have sent (symbol/symbol_table.h), and the names that frames get of them: those of batches before
 * they are stored, and those that are stored, once, when a table comes.
 *
 *     DIR/symbols/BUILDID        a table, as it came; when it was used last is the file's time
 *     DIR/symbols/BUILDID.new    the same, and frames that are stored are not all named by it yet
 *     DIR/symbols/BUILDID.tmp    is being written
 *
 * One folder for each tenant: what one says of a build id is nothing to the others. A table stays as it came first: another one for the same
 * build id is refused. Those not used for the longest go when there are more bytes than may be. Any thread may call. */
#ifndef CRESSET_SERVER_SYMBOLS_H
#define CRESSET_SERVER_SYMBOLS_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS_MAX = 65536 }; /* tables */
#define SYMBOLS_SETTLE_NS \
	UINT64_C(60000000000) /* a batch that came beside a table is stored by then */

struct store;
struct symbols;

struct symbols_opts {
	uint64_t disk_bytes;  /* of all tables, packed */
	uint64_t cache_bytes; /* of those in memory */
	int64_t retention_ns; /* a table that was not used for so long goes */
};
/* dir: of the store; its folder symbols/ is made. */
int symbols_open(const char *dir, const struct symbols_opts *opts, struct symbols **out,
		 struct err *err);
void symbols_close(struct symbols *s); /* NULL is fine */

/* "0f8fad5b…", up to 64 digits. The length in bytes, 0 when it is none. */
size_t symbols_id_parse(const char *text, uint8_t *id);

bool symbols_has(struct symbols *s, const uint8_t *id, size_t len);
/* Is synced when it returns 0. *is_new false: it was there already, the same. -EEXIST: there is another one; -EBADMSG, -EFBIG: it is no table, or
 * none of this build id; -ENOSPC, -EIO. */
int symbols_put(struct symbols *s, const uint8_t *id, size_t len, const void *data, size_t n,
		bool *is_new, struct err *err);

/* Names what has none. */
void symbols_name(struct symbols *s, struct profile *p);

/* Names what is stored of tables that are new, and lets go of those that are old. */
int symbols_maintain(struct symbols *s, struct store *store, struct err *err);

struct symbols_stats {
	uint64_t tables, disk_bytes, memory_bytes, named_frames, unreadable;
};
void symbols_get_stats(struct symbols *s, struct symbols_stats *out);

#endif
