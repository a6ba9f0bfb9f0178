/* cmd/reach.h: whether a user can get to a folder, and work in it: said at the start, by the folder on the way that does not let it in. */
#ifndef CRESSET_CMD_REACH_H
#define CRESSET_CMD_REACH_H

#include "base/err.h"

#include <sys/types.h>

/* Tries it in a process that becomes this user, without further groups. -EACCES, or what stopped it, with words and a remedy. Not root: 0, as the process
 * that will work there is the same user. process: who that is. */
int reach_check(const char *dir, uid_t uid, gid_t gid, const char *process, struct err *err);

#endif
