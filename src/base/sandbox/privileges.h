/* base/sandbox/privileges.h: changes a root process to an unprivileged user. Call before any thread
 * is started. */
#ifndef CRESSET_BASE_SANDBOX_PRIVILEGES_H
#define CRESSET_BASE_SANDBOX_PRIVILEGES_H

#include <sys/types.h>

struct err;

/* Becomes this user permanently. The sandbox (base/sandbox/sandbox.h) drops the remaining
 * privileges. Users other than root keep their ids. */
int privileges_drop(uid_t uid, gid_t gid, struct err *err);

enum privileges_left {
	PRIVILEGES_NONE,
	/* can still read any file, like root: retains CAP_DAC_READ_SEARCH, or else
	 * CAP_DAC_OVERRIDE */
	PRIVILEGES_READ_ALL,
};
/* If this process is root and dir belongs to another user, permanently becomes that user, so that
 * files made in dir are usable without root. Returns 1 if done, 0 if nothing changed or dir does
 * not exist, or -errno with err and a hint set. */
int privileges_become_owner(const char *dir, enum privileges_left left, struct err *err);

#endif
