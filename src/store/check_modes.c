/* File modes of a store. */
#include "store/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0640, DIR_MODE = 0750, OTHERS = 07 };

static bool is_ours(const char *name)
{
	return strstr(name, ".db") || strcmp(name, "lock") == 0 || strcmp(name, "readers") == 0;
}

/* Takes rights away, and gives none. A link, or a file with a second name, may be anybody's. */
static bool mend(int dir, const char *name, const struct stat *st, mode_t most)
{
	struct stat now;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_same = fd >= 0 && fstat(fd, &now) == 0 && now.st_ino == st->st_ino &&
		       now.st_dev == st->st_dev && (S_ISDIR(now.st_mode) || now.st_nlink == 1);
	bool is_mended = is_same && fchmod(fd, st->st_mode & most) == 0;

	if (fd >= 0)
		close(fd);
	return is_mended;
}

static void look_at(int dir, const char *name, uid_t owner, struct store_modes *out)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0777 & ~FILE_MODE))
		return;
	if (st.st_uid == owner && mend(dir, name, &st, FILE_MODE))
		out->mended++;
	else
		out->left++;
}

static void look_into(int at, const char *name, uid_t owner, struct store_modes *out)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	bool is_room = strcmp(name, ".") != 0; /* the directory itself is its owner's to close */
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (is_ours(e->d_name))
			look_at(dirfd(d), e->d_name, owner, out);
	if (d && is_room && fstat(fd, &st) == 0 && st.st_uid == owner && st.st_mode & OTHERS)
		mend(at, name, &st, DIR_MODE);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

void store_check_modes(const char *dir, struct store_modes *out)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	*out = (struct store_modes){ 0 };
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0) {
		out->is_open = st.st_mode & OTHERS;
		look_into(fd, ".", st.st_uid, out);
		look_into(fd, "p", st.st_uid, out);
		look_into(fd, "hot", st.st_uid, out);
	}
	close(fd);
}
