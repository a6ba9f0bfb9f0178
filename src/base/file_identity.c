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

static int64_t in_ns(struct timespec t)
{
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *st)
{
	return (struct file_stamp){
		.size = (uint64_t)st->st_size,
		.mtime_ns = in_ns(st->st_mtim),
		.ctime_ns = in_ns(st->st_ctim),
	};
}

struct file_stamp file_stamp_of_fd(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? (struct file_stamp){ 0 } : file_stamp_of(&st);
}

bool file_stamp_is(const struct file_stamp *stamp, const struct stat *st)
{
	struct file_stamp now = file_stamp_of(st);

	return now.size == stamp->size && now.mtime_ns == stamp->mtime_ns &&
	       now.ctime_ns == stamp->ctime_ns;
}

bool file_stamp_is_newer(const struct file_stamp *stamp, uint64_t mono_ns)
{
	if (!mono_ns || !stamp->ctime_ns)
		return false;
	int64_t now_ns = (int64_t)clock_wall_ns();
	int64_t at_ns = now_ns - (int64_t)(clock_mono_ns() - mono_ns);
	return stamp->mtime_ns > at_ns && stamp->mtime_ns < now_ns;
}
