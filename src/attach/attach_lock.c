/* Locks files of the process with flock. */
#include "attach/attach_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* Returns the descriptor, or -errno; -EWOULDBLOCK: another process has the lock. */
static int lock_file(uint32_t pid, const char *name)
{
	char path[48];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

void attach_unlock(struct attach_lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->early >= 0)
		close(l->early);
}

int attach_lock(uint32_t pid, struct attach_lock *l)
{
	*l = (struct attach_lock){ lock_file(pid, "personality"), -EWOULDBLOCK };
	if (l->early != -EWOULDBLOCK)
		l->fd = lock_file(pid, "maps");
	if (l->fd == -EWOULDBLOCK)
		attach_unlock(l);
	return l->fd == -EWOULDBLOCK ? -EWOULDBLOCK : 0;
}
