/* symbol/debuginfod.h: separate debug files from debuginfod servers (elfutils; debuginfod(8)):
 *
 *     GET URL/buildid/HEX/debuginfo
 *
 * Off unless URLs are given, and the build id is all that leaves this machine. What comes is kept in a cache folder
 * (base/cache_dir.h) as ab/cdef….debug, after its build id was compared with the one asked for. That all servers said "no such
 * file" is remembered for DEBUGINFOD_NONE_S as ab/cdef….none, whose content are the URLs that were asked.
 *
 * Servers are asked in order. One that cannot be reached, is too slow or answers nonsense is not asked again by the
 * same struct debuginfod, and all downloads of one together take at most its total_s: so a dead server costs a recording
 * DEBUGINFOD_CONNECT_MS or the stall time once, and no server can hold it up for longer than total_s. */
#ifndef CRESSET_SYMBOL_DEBUGINFOD_H
#define CRESSET_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DEBUGINFOD_CONNECT_MS = 5000,
	DEBUGINFOD_STALL_S = 20, /* see HTTP_MIN_BYTES_PER_S; a server may unpack a package first */
	DEBUGINFOD_TOTAL_S = 60,
	DEBUGINFOD_NONE_S = 24 * 3600,
	DEBUGINFOD_MAX_SERVERS = 16,
};
#define DEBUGINFOD_MAX_BYTES       (2ull << 30) /* of one file */
#define DEBUGINFOD_CACHE_MAX_BYTES (4ull << 30) /* of all that are kept */

struct debuginfod_opts {
	const char *urls;          /* as in DEBUGINFOD_URLS, separated by blanks; copied */
	int cache_dir;             /* from cache_dir_open; stays the caller's */
	uint32_t stall_s, total_s; /* 0: the defaults above */
	uint64_t max_bytes;        /* of one file, 0: DEBUGINFOD_MAX_BYTES */
};

struct debuginfod;

/* NULL when opts name no server. */
struct debuginfod *debuginfod_new(const struct debuginfod_opts *opts);
void debuginfod_free(struct debuginfod *d); /* NULL is fine */

/* An open descriptor, the caller's, of the debug file of this build id, from the cache or a server; -1 when there is none. */
int debuginfod_find(struct debuginfod *d, const uint8_t *build_id, size_t len);

/* The same without asking anybody. */
int debuginfod_kept(struct debuginfod *d, const uint8_t *build_id, size_t len);

/* A number that tells lists of servers apart. */
uint64_t debuginfod_urls_hash(const struct debuginfod *d);

/* Whether debuginfod_find would say -1 without asking anybody, because all servers have said no lately. */
bool debuginfod_has_none(struct debuginfod *d, const uint8_t *build_id, size_t len);

struct debuginfod_stats {
	uint32_t downloaded;
	uint32_t failed;  /* files that were not got although no server said that it has none */
	struct err first; /* the first failure of a server */
};
const struct debuginfod_stats *debuginfod_stats(const struct debuginfod *d);

#endif
