/* Reads the stat data of files. */
#include "base/file_identity.h"

#include "base/clock.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static bool has_settled(const struct stat *st)
{
	int64_t now_ns = (int64_t)clock_wall_ns();
	int64_t changed_ns = st->st_ctim.tv_sec * 1000000000ll + st->st_ctim.tv_nsec;

	return now_ns - changed_ns >= FILE_SETTLED_NS;
}

static bool keeps_times(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC &&
	       fs.f_type != HUGETLBFS_MAGIC && fs.f_type != FUSE_SUPER_MAGIC;
}

bool file_identity_of(int fd, struct file_identity *out)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !has_settled(&st) || !keeps_times(fd))
		return false;
	*out = (struct file_identity){ st.st_ino,          st.st_size,        st.st_mtim.tv_sec,
				       st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec };
	return true;
}

bool file_identity_is(int fd, const struct file_identity *id)
{
	struct file_identity now;

	return file_identity_of(fd, &now) && memcmp(&now, id, sizeof now) == 0;
}
