/* Opens cache directories, and checks the owner and mode of each. */
#include "base/cache_dir.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_TMP_TRIES = 16 };

/* --- directories ----------------------------------------------------------------------------- */

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_own_dir(int at, const char *path)
{
	struct stat st;
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = fstat(fd, &st) < 0 ? -errno : is_ours(&st) ? 0 : -EPERM;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* Makes a directory and all its parents. */
static void make_dirs(const char *path)
{
	char *part = xstrdup(path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0700);
		*slash = '/';
	}
	mkdir(part, 0700);
	free(part);
}

int cache_dir_open(const char *root, const char *name, struct err *err)
{
	make_dirs(root);
	int at = open_own_dir(AT_FDCWD, root), fd = at;
	if (at >= 0) {
		mkdirat(at, name, 0700);
		fd = open_own_dir(at, name);
		close(at);
	}
	if (fd == -EPERM)
		return err_set(err, EPERM, "%s/%s: owned by another user or writable by others",
			       root, name);
	return fd < 0 ? err_set(err, -fd, "cannot open %s/%s: %s", root, name, strerror(-fd)) : fd;
}

/* --- files ------------------------------------------------------------------------------------ */

static int file_path(const void *key, size_t len, const char *suffix, char *path, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = key;
	char hex[2 * CACHE_MAX_KEY + 1];
	if (len < 2 || len > CACHE_MAX_KEY)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex[2 * len] = '\0';
	size_t n = snprintf(path, size, "%.2s/%s%s", hex, hex + 2, suffix);
	return n < size ? 0 : -ENAMETOOLONG;
}

int cache_file_open(int dir, const void *key, size_t len, const char *suffix)
{
	const struct timespec used[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };
	char path[2 * CACHE_MAX_KEY + 32];
	struct stat st;
	int rc = file_path(key, len, suffix, path, sizeof path);
	if (rc)
		return rc;
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_ours(&st)) {
		close(fd);
		return -EPERM;
	}
	futimens(fd, used);
	return fd;
}

int cache_file_create(int dir, const void *key, size_t len, const char *suffix,
		      struct cache_file *f)
{
	*f = (struct cache_file){ .fd = -1, .dir = dir };
	int rc = file_path(key, len, suffix, f->path, sizeof f->path);
	if (rc)
		return rc;
	char first[3] = { f->path[0], f->path[1], '\0' };
	mkdirat(dir, first, 0700);
	for (int i = 0; f->fd < 0 && i < CACHE_TMP_TRIES; i++) {
		snprintf(f->tmp, sizeof f->tmp, "%s.%d-%d.tmp", f->path, (int)getpid(), i);
		f->fd = openat(dir, f->tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
		if (f->fd < 0 && errno != EEXIST)
			return -errno;
	}
	return f->fd < 0 ? -EEXIST : 0;
}

void cache_file_abort(struct cache_file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	unlinkat(f->dir, f->tmp, 0);
	f->fd = -1;
}

int cache_file_commit(struct cache_file *f, bool sync)
{
	int rc = sync && fdatasync(f->fd) < 0 && errno != EINVAL ? -errno : 0;
	if (rc == 0 && renameat(f->dir, f->tmp, f->dir, f->path) < 0)
		rc = -errno;
	if (rc)
		cache_file_abort(f);
	else
		close(f->fd);
	f->fd = -1;
	return rc;
}

/* --- room ------------------------------------------------------------------------------------- */

struct kept_file {
	int64_t used_ns;
	uint64_t bytes;
	char *path;
};
struct kept_files {
	VEC(struct kept_file) v;
	uint64_t bytes;
};

static int64_t time_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static void list_file(struct kept_files *all, int dir, const char *directory, const char *name)
{
	struct stat st;
	char *path = xasprintf("%s/%s", directory, name);
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode)) {
		free(path);
		return;
	}
	int64_t read_ns = time_ns(&st.st_atim), written_ns = time_ns(&st.st_mtim);
	struct kept_file f = {
		.used_ns = read_ns > written_ns ? read_ns : written_ns,
		.bytes = st.st_blocks * 512ull,
		.path = path,
	};
	vec_push(&all->v, f);
	all->bytes += f.bytes;
}

static DIR *open_listing(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	if (!listing && fd >= 0)
		close(fd);
	return listing;
}

static void list_directory(struct kept_files *all, int dir, const char *directory)
{
	DIR *listing = open_listing(dir, directory);
	for (struct dirent *e; listing && (e = readdir(listing));)
		if (e->d_name[0] != '.')
			list_file(all, dir, directory, e->d_name);
	if (listing)
		closedir(listing);
}

static int by_last_use(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;
	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

void cache_dir_trim(int dir, uint64_t max_bytes)
{
	struct kept_files all = { 0 };
	DIR *directories = open_listing(dir, ".");
	for (struct dirent *e; directories && (e = readdir(directories));)
		if (e->d_name[0] != '.')
			list_directory(&all, dir, e->d_name);
	if (directories)
		closedir(directories);
	bool full = all.bytes > max_bytes || all.v.n > CACHE_MAX_FILES;
	if (full)
		qsort(all.v.v, all.v.n, sizeof *all.v.v, by_last_use);
	size_t left = all.v.n;
	for (size_t i = 0; full && i < all.v.n; i++) {
		if (all.bytes <= max_bytes / 4 * 3 && left <= CACHE_MAX_FILES / 4 * 3)
			break;
		if (unlinkat(dir, all.v.v[i].path, 0) == 0) {
			all.bytes -= all.v.v[i].bytes;
			left--;
		}
	}
	for (size_t i = 0; i < all.v.n; i++)
		free(all.v.v[i].path);
	vec_done(&all.v);
}
