/* collect/proc/user_names.h: user names from the host's passwd file (passwd(5)).
 *
 * The file is read without any name service, so that nothing waits for a network, and again after a
 * change. */
#ifndef CRESSET_COLLECT_PROC_USER_NAMES_H
#define CRESSET_COLLECT_PROC_USER_NAMES_H

#include "base/hash.h"
#include "profile/strtab.h"

#include <stddef.h>
#include <stdint.h>

enum { USER_NAMES_MAX = 65536, USER_NAME_BYTES = 64 };

struct user_names {        /* zeroed = empty */
	struct map by_uid; /* → string of names */
	struct strtab names;
	int64_t mtime_ns;
	uint64_t size, looked_ns;
};
void user_names_done(struct user_names *u);

/* Adds the lines NAME:PASSWORD:UID:… of a file; the first name of a uid counts. Other lines are
 * ignored. */
void user_names_add(struct user_names *u, const char *text, size_t len);

/* Returns the name, or the number in digits if the file has no name. root: the host's "/". Valid
 * until the next call. */
const char *user_name(struct user_names *u, int root, uint32_t uid, uint64_t now_ns,
		      char digits[16]);

#endif
