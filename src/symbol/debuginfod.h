/* symbol/debuginfod.h: separate debug files from debuginfod servers (elfutils; debuginfod(8)):
 *
 *     GET URL/buildid/HEX/debuginfo
 *
 * Off unless URLs are given, and only the build id leaves this machine. Files are cached in a
 * cache directory (base/cache_dir.h) as ab/cdef….debug, after their build id was verified. If
 * all servers answer "no such file", this is cached for DEBUGINFOD_NONE_S as ab/cdef….none, with
 * the URLs of the servers as content.
 *
 * Servers are queried in order. A server that is unreachable, too slow or gives invalid answers is
 * not queried again by the same struct debuginfod, whose downloads together take at most total_s.
 * So a dead server costs a recording DEBUGINFOD_CONNECT_MS or the stall time once, and servers
 * cannot delay it for longer than total_s. */
#ifndef CRESSET_SYMBOL_DEBUGINFOD_H
#define CRESSET_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DEBUGINFOD_CONNECT_MS = 5000,
	DEBUGINFOD_STALL_S = 20, /* see HTTP_MIN_BYTES_PER_S; a server may unpack a package first */
	DEBUGINFOD_TOTAL_S = 60, /* limit: all downloads of a run */
	DEBUGINFOD_NONE_S = 24 * 3600,
	DEBUGINFOD_MAX_SERVERS = 16,
};
#define DEBUGINFOD_MAX_BYTES       (2ull << 30) /* limit: a fetched debug file */
#define DEBUGINFOD_CACHE_MAX_BYTES (4ull << 30) /* limit: all kept ones */

struct debuginfod_opts {
	const char *urls;          /* as in DEBUGINFOD_URLS, separated by blanks; copied */
	int cache_dir;             /* from cache_dir_open; stays the caller's */
	uint32_t stall_s, total_s; /* 0: the defaults above */
	uint64_t max_bytes;        /* of one file, 0: DEBUGINFOD_MAX_BYTES */
};

struct debuginfod;

/* Returns NULL if opts name no server. */
struct debuginfod *debuginfod_new(const struct debuginfod_opts *opts);
void debuginfod_free(struct debuginfod *d); /* NULL is fine */

/* Returns an open descriptor, which the caller owns, of the debug file with this build id, from the
 * cache or a server; -1 if none exists. */
int debuginfod_find(struct debuginfod *d, const uint8_t *build_id, size_t len);

/* Does the same from the cache only. */
int debuginfod_kept(struct debuginfod *d, const uint8_t *build_id, size_t len);

/* Returns a hash of the list of servers. */
uint64_t debuginfod_urls_hash(const struct debuginfod *d);

/* Whether debuginfod_find would return -1 without a query, because recently no server had the
 * file. */
bool debuginfod_has_none(struct debuginfod *d, const uint8_t *build_id, size_t len);

struct debuginfod_stats {
	uint32_t downloaded;
	uint32_t failed;  /* files that were not found because of failures */
	struct err first; /* the first failure of a server */
};
const struct debuginfod_stats *debuginfod_stats(const struct debuginfod *d);

#endif
