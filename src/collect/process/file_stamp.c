#include "collect/process/file_stamp.h"

#include "base/clock.h"

#include <sys/stat.h>

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
