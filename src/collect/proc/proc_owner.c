/* Finds the user of a process, across user namespaces. */
#include "collect/proc/proc_owner.h"

#include "collect/proc/proc_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 33 }; /* of user namespaces: user_namespaces(7) */

static int open_user_ns(uint32_t pid, struct stat *st)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/ns/user", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, st) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int proc_owner(uint32_t pid, uint32_t *uid)
{
	struct stat ours, its;
	int rc = proc_uid(pid, uid);
	int fd = rc ? -1 : open_user_ns(pid, &its);

	if (rc || fd < 0 || stat("/proc/self/ns/user", &ours)) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (int i = 0; i < MAX_DEPTH && fd >= 0 && its.st_ino != ours.st_ino; i++) {
		uid_t owner;
		int parent = ioctl(fd, NS_GET_PARENT);

		if (ioctl(fd, NS_GET_OWNER_UID, &owner) == 0)
			*uid = owner;
		close(fd);
		fd = parent;
		if (fd >= 0 && fstat(fd, &its))
			break;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
