/* Parses the names of memfds in /proc/PID/maps. */
#include "gpu/ring/ring_find.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 }; /* descriptors of the process that are searched */

uint32_t ring_owner(pid_t pid)
{
	char path[64], line[512];
	uint32_t found = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		char *last = strrchr(line, '\t');

		found = last ? strtoul(last + 1, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return found;
}

int ring_check_file(int fd, size_t *size, struct err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st))
		return err_set(err, EPROTO, "ring: no sealed memfd");
	if (st.st_size < RING_NAMES_AT || st.st_size > RING_SIZE_MAX ||
	    st.st_blksize != sysconf(_SC_PAGESIZE))
		return err_set(err, EPROTO, "ring: %lld bytes", (long long)st.st_size);
	*size = st.st_size;
	return 0;
}

/* Through the program's own descriptor if it is still open: that needs fewer permissions than
 * map_files. */
static int open_mapped(pid_t pid, const char *range, uint64_t inode, int flags)
{
	char path[96];
	struct stat st;

	for (int n = 0; n < DESCRIPTORS; n++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, n);
		if (stat(path, &st) || st.st_ino != inode || !S_ISREG(st.st_mode))
			continue;
		int fd = open(path, flags | O_CLOEXEC);

		if (fd >= 0 && fcntl(fd, F_GET_SEALS) >= 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	snprintf(path, sizeof path, "/proc/%d/map_files/%s", pid, range);
	return open(path, flags | O_CLOEXEC);
}

int ring_find(pid_t pid, const char *name, int flags, ring_found_fn *fn, void *ctx, struct err *err)
{
	char path[64], want[64], line[PATH_MAX + 256];
	int rc = err_set(err, ENOENT, "process %d has no ring", pid), fd;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	snprintf(want, sizeof want, "/memfd:%s ", name);
	FILE *f = fopen(path, "re");

	if (!f)
		return err_set(err, errno, "%s: cannot be read", path);
	while (rc && fgets(line, sizeof line, f)) {
		char range[64];
		unsigned long inode;

		if (!strstr(line, want) || sscanf(line, "%63s %*s %*s %*s %lu", range, &inode) != 2)
			continue;
		fd = open_mapped(pid, range, inode, flags);
		if (fd < 0) {
			rc = err_set(err, errno, "ring of process %d: cannot be opened", pid);
			continue;
		}
		rc = fn(ctx, fd, err);
		close(fd);
	}
	fclose(f);
	if (!rc && err) /* forgets errors of earlier matches */
		*err = (struct err){ 0 };
	return rc;
}
