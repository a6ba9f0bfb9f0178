/* collect/user_names.h: users as the host's passwd file calls them (passwd(5)).
 *
 * The file is read without any name service, so that nothing waits for a network, and again when it has changed. */
#ifndef CRESSET_COLLECT_USER_NAMES_H
#define CRESSET_COLLECT_USER_NAMES_H

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

/* Adds the lines NAME:PASSWORD:UID:… of a file; of a uid's names the first counts. Others are passed over. */
void user_names_add(struct user_names *u, const char *text, size_t len);

/* The number in digits where the file has no name. root: the folder that is the host's "/". Valid until the next call. */
const char *user_name(struct user_names *u, int root, uint32_t uid, uint64_t now_ns,
		      char digits[16]);

#endif
