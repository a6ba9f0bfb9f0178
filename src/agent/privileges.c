#include "agent/up.h"
#include "base/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

/* Groups first: without the user that may no longer be done. */
static int become(uid_t uid, gid_t gid)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

int privileges_drop(uid_t uid, gid_t gid, struct err *err)
{
	int rc = sandbox_bound_capabilities();

	if (!rc)
		rc = become(uid, gid);
	return rc ? err_set(err, -rc, "cannot give up privileges: %s", strerror(-rc)) : 0;
}
