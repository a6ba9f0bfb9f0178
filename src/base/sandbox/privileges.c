/* Sets the groups, user and capabilities of the process. */
#include "base/sandbox/privileges.h"

#include "base/err.h"
#include "base/sandbox/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Groups first: after the change of user this may not be permitted. */
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
	return rc ? err_set(err, -rc, "cannot drop privileges: %s", strerror(-rc)) : 0;
}

/* Both capabilities are in the first word. In a container root may lack the first one. */
static int keep_reading(void)
{
	const uint32_t search = 1u << CAP_DAC_READ_SEARCH, override = 1u << CAP_DAC_OVERRIDE;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, caps))
		return -errno;
	uint32_t kept = caps[0].permitted & (caps[0].permitted & search ? search : override);
	memset(caps, 0, sizeof caps);
	caps[0].permitted = caps[0].effective = kept;
	return syscall(SYS_capset, &head, caps) ? -errno : 0;
}

static int become_with(uid_t uid, gid_t gid, enum privileges_left left)
{
	int rc = sandbox_bound_capabilities();

	if (rc == 0 && left == PRIVILEGES_READ_ALL && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		rc = -errno;
	if (rc == 0)
		rc = become(uid, gid);
	if (rc == 0 && left == PRIVILEGES_READ_ALL)
		rc = keep_reading();
	return rc;
}

int privileges_become_owner(const char *dir, enum privileges_left left, struct err *err)
{
	struct stat st;

	if (geteuid() != 0 || stat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid == 0)
		return 0;
	int rc = become_with(st.st_uid, st.st_gid, left);
	if (rc == 0)
		return 1;
	err_set(err, -rc, "%s belongs to user %u, and this process cannot switch to that user: %s",
		dir, (unsigned)st.st_uid, strerror(-rc));
	return err_hint(err, "run it as that user:  sudo -u '#%u' cresset …", (unsigned)st.st_uid);
}
