/* Finds the directory of the running program, and files in it or in ../lib/cresset. */
#include "cmd/cli/installed.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int installed_dirs(struct installed_dirs *dirs, struct err *err)
{
	char *own = dirs->v[INSTALLED_BESIDE], *lib = dirs->v[INSTALLED_LIB];
	ssize_t n = readlink("/proc/self/exe", own, INSTALLED_DIR_MAX);
	if (n < 0 || n == INSTALLED_DIR_MAX)
		return err_set(err, n < 0 ? errno : ENAMETOOLONG,
			       "cannot find the path of this program: %s",
			       strerror(n < 0 ? errno : ENAMETOOLONG));
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	const char *slash = strrchr(own, '/');
	snprintf(lib, INSTALLED_DIR_MAX, "%.*s/lib/cresset", (int)(slash ? slash - own : 0), own);
	return 0;
}

int installed_library(const char *name, char path[INSTALLED_PATH_MAX], struct err *err)
{
	struct installed_dirs dirs;

	if (installed_dirs(&dirs, err))
		return -ENOENT;
	for (size_t i = 0; i < INSTALLED_PLACES; i++) {
		snprintf(path, INSTALLED_PATH_MAX, "%s/%s", dirs.v[i], name);
		if (access(path, F_OK) == 0)
			return 0;
	}
	err_set(err, ENOENT, "%s does not exist", name);
	return err_hint(err, "searched the directory of this program and ../lib/cresset from "
			     "there\n--library FILE names another place");
}
