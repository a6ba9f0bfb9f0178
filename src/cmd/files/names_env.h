/* cmd/files/names_env.h: settings for names from the environment: where names and unwind tables
 * are retained between runs, and whether servers are queried.
 *
 *     CRESSET_CACHE       the directory; empty: nothing is retained, and no server queried. Unset,
 *     it is
 *                         /var/cache/cresset for root, so that sudo leaves no files of root's in a
 *                         home; $XDG_CACHE_HOME/cresset or ~/.cache/cresset for others
 *     DEBUGINFOD_URLS     debuginfod servers, separated by blanks; unset or empty: none is queried
 *     DEBUGINFOD_TIMEOUT  seconds that a server may be slow, DEBUGINFOD_MAXTIME that all downloads
 *                         of a run may take;
 *     DEBUGINFOD_MAXSIZE  bytes of one file */
#ifndef CRESSET_CMD_FILES_NAMES_ENV_H
#define CRESSET_CMD_FILES_NAMES_ENV_H

struct arena;
struct err;
struct name_failures;
struct name_files_opts;

/* Returns the cache directory of this user; NULL: nothing is saved. The string is in the arena or
 * the environment, or constant. */
const char *cache_root(struct arena *a);

/* Returns 0 if names, unwind tables and kernel types can be saved there now. -EPERM: others could
 * write there; -EROFS, -EACCES; -ENOSPC: less than 1 MiB is free. */
int cache_root_check(const char *root, struct err *err);
/* With -v: prints a failed check. root NULL: nothing. */
void cache_root_say(const char *root);

/* Strings are in the arena or the environment. */
void names_env(struct arena *a, struct name_files_opts *out);

/* Prints one warning if servers failed. */
void names_say_failures(const struct name_failures *f);

#endif
