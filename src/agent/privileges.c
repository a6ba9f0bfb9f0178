#include "agent/up.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

int privileges_drop(uid_t uid, gid_t gid, struct err *err)
{
	int rc = become(uid, gid);

	if (!rc)
		rc = drop_capabilities();
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = -errno;
	return rc ? err_set(err, -rc, "cannot give up privileges: %s", strerror(-rc)) : 0;
}
