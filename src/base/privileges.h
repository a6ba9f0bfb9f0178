/* base/privileges.h: a process of root's that becomes a user who needs less. Before the first thread that does anything. */
#ifndef CRESSET_BASE_PRIVILEGES_H
#define CRESSET_BASE_PRIVILEGES_H

#include "base/err.h"

#include <sys/types.h>

/* Becomes this user for good. What is left goes with the sandbox (base/sandbox.h). Who is not root stays who he is. */
int privileges_drop(uid_t uid, gid_t gid, struct err *err);

enum privileges_left {
	PRIVILEGES_NONE,
	PRIVILEGES_READ_ALL, /* any file can still be read, as root can: CAP_DAC_READ_SEARCH, or what is there of CAP_DAC_OVERRIDE */
};
/* Root, and dir is a folder of somebody else's: becomes its owner for good, so that what is made in it is the owner's, who works with it without
 * root. 1: so it is now; 0: nothing changed, also when dir is not there; -errno with words and a remedy. */
int privileges_become_owner(const char *dir, enum privileges_left left, struct err *err);

#endif
