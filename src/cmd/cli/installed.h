/* cmd/cli/installed.h: where the files are that are installed with this program: next to it, as in
 * the archive of a release and after a build, or in ../lib/cresset from there, as in packages. */
#ifndef CRESSET_CMD_CLI_INSTALLED_H
#define CRESSET_CMD_CLI_INSTALLED_H

struct err;

enum installed_place { INSTALLED_BESIDE, INSTALLED_LIB, INSTALLED_PLACES };
enum { INSTALLED_DIR_MAX = 960 };

/* Absolute paths, without a slash at the end; whether they exist is not known. */
struct installed_dirs {
	char v[INSTALLED_PLACES][INSTALLED_DIR_MAX];
};

/* Returns -errno if /proc does not say where this program is. */
int installed_dirs(struct installed_dirs *dirs, struct err *err);

enum { INSTALLED_PATH_MAX = 1024 };
/* Finds a library that programs load. Returns -ENOENT if it is at neither place. */
int installed_library(const char *name, char path[INSTALLED_PATH_MAX], struct err *err);

#endif
