/* Recognizes local file systems by their type. */
#include "collect/worker/far_device.h"

#include "base/mem.h"
#include "symbol/lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* File systems of the kernel itself without a block device. */
static const char *const near_kinds[] = { "tmpfs", "ramfs",     "devtmpfs", "btrfs",   "bcachefs",
					  "zfs",   "hugetlbfs", "rootfs",   "overlay", "shiftfs" };

static bool is_word(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(at, word, len);
}

/* Returns the next word, up to a space; NULL at the end. */
static const char *next_word(const char *p, const char *end, size_t *len)
{
	while (p < end && *p == ' ')
		p++;
	const char *space = memchr(p, ' ', end - p);

	*len = (space ? space : end) - p;
	return *len ? p : NULL;
}

int mount_line_is_near(const char *line, size_t len, uint32_t maj, uint32_t min, bool other_user_ns)
{
	const char *end = line + len, *word = line;
	size_t n = 0;
	char device[32];

	snprintf(device, sizeof device, "%" PRIu32 ":%" PRIu32, maj, min);
	for (int i = 0; i < 3; i++)
		if (!(word = next_word(word + n, end, &n)))
			return -1;
	if (!is_word(word, n, device))
		return -1;
	while (!is_word(word, n,
			"-")) /* ends optional fields; mount points have no space in them */
		if (!(word = next_word(word + n, end, &n)))
			return -1;
	if (!(word = next_word(word + n, end, &n)))
		return -1;
	/* The layers of an overlay are its owner's choice. */
	if (other_user_ns && is_word(word, n, "overlay"))
		return 0;
	for (size_t i = 0; i < sizeof near_kinds / sizeof *near_kinds; i++)
		if (is_word(word, n, near_kinds[i]))
			return 1;
	return 0;
}

static bool is_in_our_user_ns(uint32_t pid)
{
	struct stat ours, its;
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/ns/user", pid);
	return stat("/proc/self/ns/user", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_ino == its.st_ino;
}

bool mounts_are_near(int mountinfo, uint32_t maj, uint32_t min, bool other_user_ns)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	int is_near = -1;
	char *line;
	size_t len;

	lines->fd = mountinfo;
	while (is_near < 0 && lines->offset <= FAR_MAX_MOUNTS_BYTES &&
	       lines_next(lines, &line, &len, NULL) > 0)
		is_near = mount_line_is_near(line, len, maj, min, other_user_ns);
	free(lines);
	return is_near > 0;
}

static bool is_mounted_near(uint32_t pid, uint32_t maj, uint32_t min)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/mountinfo", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_near = mounts_are_near(fd, maj, min, !is_in_our_user_ns(pid));
	close(fd);
	return is_near;
}

/* Unnamed memory, which is in no list, is on the device of a memory file of ours. */
static bool is_in_memory(uint32_t maj, uint32_t min)
{
	int fd = memfd_create("device", MFD_CLOEXEC);
	struct stat st = { 0 };
	bool is_same = fd >= 0 && fstat(fd, &st) == 0 && major(st.st_dev) == maj &&
		       minor(st.st_dev) == min;

	if (fd >= 0)
		close(fd);
	return is_same;
}

bool device_is_near_here(uint32_t maj, uint32_t min)
{
	return maj || is_in_memory(maj, min) || is_mounted_near(getpid(), maj, min);
}

bool device_is_far(uint32_t pid, uint32_t maj, uint32_t min)
{
	return !device_is_near_here(maj, min) && !is_mounted_near(pid, maj, min);
}
