/* tests/unit/lossy_disk.h: the content of a disk after a power failure.
 *
 * A program that includes this, and the libraries that it is linked with, SQLite too, get open, pwrite, fdatasync, rename and so on from here. Calls
 * on files below disk.root are passed to the kernel and noted; all others are only passed on. A file is its content at the last sync, and the writes
 * since; so are a directory's entries. disk_image makes from that a directory as it may be found after a power failure, with any part of the unsynced
 * data. It takes all liberties of a kernel: writes and entries reach the disk in any order, writes in sectors of 512 bytes; only a rename is atomic.
 * Shared memory files (-shm) do not reach it.
 *
 * Syncs are counted but not passed on, as the tests would take for ever. One thread only. */
#ifndef CRESSET_TESTS_LOSSY_DISK_H
#define CRESSET_TESTS_LOSSY_DISK_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rand.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DISK_SECTOR = 512, DISK_FDS = 256, DISK_NONE = -1 };

struct disk_write {
	bool truncate; /* to `at` */
	uint64_t at;
	struct buf data;
};
struct disk_file {
	bool is_dir;
	struct buf synced;
	VEC(struct disk_write) since;
};
struct disk_name {
	char *path;
	int file; /* of disk.files; DISK_NONE: no such name */
};
/* A change that adds, removes or renames. */
struct disk_change {
	char *dir;
	struct disk_name names[2];
	int n;
};

/* Per process: each test has its own. */
static struct {
	const char *root; /* NULL: nothing is noted */
	bool off;         /* power off: writes fail */
	VEC(struct disk_file) files;
	VEC(struct disk_name) now, synced; /* names */
	VEC(struct disk_change) since;
	int open_file[DISK_FDS]; /* + 1 */
	uint64_t changes, syncs; /* so far */
	uint64_t next;           /* at_point is called when `changes` reaches this */
	void (*at_point)(void);
} disk;

/* --- files ------------------------------------------------------------------------------------ */

static inline bool disk_has(const char *path)
{
	size_t n = disk.root ? strlen(disk.root) : 0, len = strlen(path);

	return n && strncmp(path, disk.root, n) == 0 && path[n] == '/' &&
	       !(len > 4 && strcmp(path + len - 4, "-shm") == 0);
}

static inline char *disk_dir_of(const char *path)
{
	return strndup(path, (size_t)(strrchr(path, '/') - path));
}

static inline int disk_new_file(bool is_dir)
{
	vec_push(&disk.files, (struct disk_file){ .is_dir = is_dir });
	return (int)disk.files.n - 1;
}

static inline void disk_resize(struct buf *b, uint64_t len)
{
	if (len > b->len) {
		buf_reserve(b, len - b->len);
		memset(b->data + b->len, 0, len - b->len);
	}
	b->len = len;
}

static inline void disk_put(struct buf *b, uint64_t at, const void *data, size_t n)
{
	if (at + n > b->len)
		disk_resize(b, at + n);
	if (n)
		memcpy(b->data + at, data, n);
}

static inline void disk_apply(struct buf *b, const struct disk_write *w)
{
	if (w->truncate)
		disk_resize(b, w->at);
	else
		disk_put(b, w->at, w->data.data, w->data.len);
}

static inline void disk_sync_file(struct disk_file *f)
{
	for (size_t i = 0; i < f->since.n; i++) {
		disk_apply(&f->synced, &f->since.v[i]);
		buf_done(&f->since.v[i].data);
	}
	vec_clear(&f->since);
}

/* --- names ------------------------------------------------------------------------------------ */

#define disk_find(names_, path_) disk_find_in((names_)->v, (names_)->n, path_)
static inline int disk_find_in(const struct disk_name *v, size_t n, const char *path)
{
	for (size_t i = n; i--;)
		if (strcmp(v[i].path, path) == 0)
			return v[i].file;
	return DISK_NONE;
}

#define disk_set(names_, path_, file_) \
	do { \
		size_t i_ = 0; \
		while (i_ < (names_)->n && strcmp((names_)->v[i_].path, path_) != 0) \
			i_++; \
		if (i_ == (names_)->n) \
			vec_push(names_, (struct disk_name){ strdup(path_), DISK_NONE }); \
		(names_)->v[i_].file = file_; \
	} while (0)

static inline void disk_change(const char *path, int file, const char *gone)
{
	struct disk_change c = { .dir = disk_dir_of(path) };

	c.names[c.n++] = (struct disk_name){ strdup(path), file };
	if (gone)
		c.names[c.n++] = (struct disk_name){ strdup(gone), DISK_NONE };
	for (int i = 0; i < c.n; i++)
		disk_set(&disk.now, c.names[i].path, c.names[i].file);
	vec_push(&disk.since, c);
}

static inline void disk_sync_dir(const char *dir)
{
	size_t kept = 0;

	for (size_t i = 0; i < disk.since.n; i++) {
		struct disk_change c = disk.since.v[i];
		if (strcmp(c.dir, dir) != 0) {
			disk.since.v[kept++] = c;
			continue;
		}
		for (int k = 0; k < c.n; k++) {
			disk_set(&disk.synced, c.names[k].path, c.names[k].file);
			free(c.names[k].path);
		}
		free(c.dir);
	}
	disk.since.n = kept;
}

/* --- possible contents after the loss --------------------------------------------------------- */

/* The share of unsynced data, in eighths, that is on the disk; `torn`: in sectors. */
struct disk_luck {
	struct rng *rng;
	unsigned eighths;
	bool torn;
};

static inline bool disk_is_kept(const struct disk_luck *luck)
{
	return rng_below(luck->rng, 8) < luck->eighths;
}

static inline void disk_keep_write(struct buf *b, const struct disk_write *w,
				   const struct disk_luck *luck)
{
	if (w->truncate || !luck->torn) {
		if (disk_is_kept(luck))
			disk_apply(b, w);
		return;
	}
	for (size_t done = 0, n; done < w->data.len; done += n) {
		n = DISK_SECTOR - (w->at + done) % DISK_SECTOR;
		n = n < w->data.len - done ? n : w->data.len - done;
		if (disk_is_kept(luck))
			disk_put(b, w->at + done, w->data.data + done, n);
	}
}

static inline struct buf disk_content(const struct disk_file *f, const struct disk_luck *luck)
{
	struct buf b = { 0 };

	buf_add(&b, f->synced.data, f->synced.len);
	for (size_t i = 0; i < f->since.n; i++)
		disk_keep_write(&b, &f->since.v[i], luck);
	return b;
}

static inline void disk_write_out(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(b->len ? fwrite(b->data, 1, b->len, f) : 0, b->len);
	ck_assert_int_eq(fclose(f), 0);
}

static inline int disk_by_path(const void *a, const void *b)
{
	const struct disk_name *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* `to` is an empty directory; it gets a possible content of root. */
static inline void disk_image(const char *to, const struct disk_luck *luck)
{
	VEC(struct disk_name) names = { 0 };

	for (size_t i = 0; i < disk.synced.n; i++)
		vec_push(&names,
			 (struct disk_name){ disk.synced.v[i].path, disk.synced.v[i].file });
	for (size_t i = 0; i < disk.since.n; i++) {
		const struct disk_change *c = &disk.since.v[i];
		for (int k = 0, kept = disk_is_kept(luck); kept && k < c->n; k++) {
			size_t at = 0;
			while (at < names.n && strcmp(names.v[at].path, c->names[k].path) != 0)
				at++;
			if (at == names.n)
				vec_push(&names, c->names[k]);
			names.v[at].file = c->names[k].file;
		}
	}
	if (names.n)
		qsort(names.v, names.n, sizeof *names.v, disk_by_path); /* directories first */
	for (size_t i = 0; i < names.n; i++) {
		if (names.v[i].file == DISK_NONE)
			continue;
		const struct disk_file *f = &disk.files.v[names.v[i].file];
		char *path = xasprintf("%s%s", to, names.v[i].path + strlen(disk.root));
		char *dir = disk_dir_of(path);
		if (f->is_dir) {
			mkdir(path, 0755);
		} else if (access(dir, F_OK) == 0) {
			struct buf b = disk_content(f, luck);
			disk_write_out(path, &b);
			buf_done(&b);
		}
		free(dir);
		free(path);
	}
	vec_done(&names);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Called before each change is passed to the kernel. Returns false if the power is off. */
static inline bool disk_step(void)
{
	if (disk.off) {
		errno = EIO;
		return false;
	}
	if (++disk.changes == disk.next)
		disk.at_point();
	if (disk.off)
		errno = EIO;
	return !disk.off;
}

static inline struct disk_file *disk_opened(int fd)
{
	int file = fd >= 0 && fd < DISK_FDS ? disk.open_file[fd] - 1 : -1;

	return file < 0 ? NULL : &disk.files.v[file];
}

static inline void disk_note(struct disk_file *f, const struct disk_write *w)
{
	vec_push(&f->since, *w);
}

#define DISK_CALL(name_) __asm__(#name_) __attribute__((used, visibility("default")))

int disk_open(const char *path, int flags, ...) DISK_CALL(open);
int disk_open64(const char *path, int flags, ...) DISK_CALL(open64);
int disk_close(int fd) DISK_CALL(close);
ssize_t disk_write(int fd, const void *data, size_t n) DISK_CALL(write);
ssize_t disk_pwrite(int fd, const void *data, size_t n, off_t at) DISK_CALL(pwrite);
ssize_t disk_pwrite64(int fd, const void *data, size_t n, off_t at) DISK_CALL(pwrite64);
int disk_ftruncate(int fd, off_t len) DISK_CALL(ftruncate);
int disk_ftruncate64(int fd, off_t len) DISK_CALL(ftruncate64);
int disk_fsync(int fd) DISK_CALL(fsync);
int disk_fdatasync(int fd) DISK_CALL(fdatasync);
int disk_unlink(const char *path) DISK_CALL(unlink);
int disk_mkdir(const char *path, mode_t mode) DISK_CALL(mkdir);
int disk_rename(const char *from, const char *to) DISK_CALL(rename);

static inline int disk_open_file(const char *path, int flags, mode_t mode)
{
	int file = disk_has(path) ? disk_find(&disk.now, path) : DISK_NONE;
	bool is_new = disk_has(path) && file == DISK_NONE && (flags & O_CREAT);

	if (is_new && !disk_step())
		return -1;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (fd < 0 || !disk.root)
		return fd;
	if (strcmp(path, disk.root) == 0)
		file = 0;
	if (is_new) {
		file = disk_new_file(false);
		disk_change(path, file, NULL);
	}
	if (file == DISK_NONE)
		return fd;
	ck_assert_int_lt(fd, DISK_FDS);
	disk.open_file[fd] = file + 1;
	if ((flags & O_TRUNC) && !is_new)
		disk_note(&disk.files.v[file], &(struct disk_write){ .truncate = true });
	return fd;
}

static inline mode_t disk_mode(int flags, va_list ap)
{
	return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

int disk_open(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = disk_mode(flags, ap);
	va_end(ap);
	return disk_open_file(path, flags, mode);
}

int disk_open64(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = disk_mode(flags, ap);
	va_end(ap);
	return disk_open_file(path, flags, mode);
}

int disk_close(int fd)
{
	if (fd >= 0 && fd < DISK_FDS)
		disk.open_file[fd] = 0;
	return (int)syscall(SYS_close, fd);
}

ssize_t disk_pwrite(int fd, const void *data, size_t n, off_t at)
{
	struct disk_file *f = disk_opened(fd);

	if (f) {
		struct disk_write w = { .at = (uint64_t)at };
		buf_add(&w.data, data, n);
		disk_note(f, &w);
		if (!disk_step())
			return -1;
	}
	return syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t disk_pwrite64(int fd, const void *data, size_t n, off_t at)
{
	return disk_pwrite(fd, data, n, at);
}

ssize_t disk_write(int fd, const void *data, size_t n)
{
	if (!disk_opened(fd))
		return syscall(SYS_write, fd, data, n);
	ssize_t got = disk_pwrite(fd, data, n, lseek(fd, 0, SEEK_CUR));
	if (got > 0)
		lseek(fd, got, SEEK_CUR);
	return got;
}

int disk_ftruncate(int fd, off_t len)
{
	struct disk_file *f = disk_opened(fd);

	if (f) {
		disk_note(f, &(struct disk_write){ .truncate = true, .at = (uint64_t)len });
		if (!disk_step())
			return -1;
	}
	return (int)syscall(SYS_ftruncate, fd, len);
}

int disk_ftruncate64(int fd, off_t len)
{
	return disk_ftruncate(fd, len);
}

static inline void disk_sync_open(int file)
{
	if (!disk.files.v[file].is_dir) {
		disk_sync_file(&disk.files.v[file]);
		return;
	}
	for (size_t i = 0; i < disk.now.n; i++)
		if (disk.now.v[i].file == file)
			disk_sync_dir(disk.now.v[i].path);
}

int disk_fsync(int fd)
{
	if (!disk_opened(fd))
		return 0;
	if (!disk_step())
		return -1;
	disk.syncs++;
	disk_sync_open(disk.open_file[fd] - 1);
	return 0;
}

int disk_fdatasync(int fd)
{
	return disk_fsync(fd);
}

int disk_unlink(const char *path)
{
	bool noted = disk_has(path) && disk_find(&disk.now, path) != DISK_NONE;

	if (noted && !disk_step())
		return -1;
	int rc = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	if (rc == 0 && noted)
		disk_change(path, DISK_NONE, NULL);
	return rc;
}

int disk_mkdir(const char *path, mode_t mode)
{
	bool noted = disk_has(path) && disk_find(&disk.now, path) == DISK_NONE;

	if (noted && !disk_step())
		return -1;
	int rc = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	if (rc == 0 && noted)
		disk_change(path, disk_new_file(true), NULL);
	return rc;
}

int disk_rename(const char *from, const char *to)
{
	bool noted = disk_has(from);

	if (noted && !disk_step())
		return -1;
	int rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	if (rc == 0 && noted)
		disk_change(to, disk_find(&disk.now, from), from);
	return rc;
}

/* --- beginning, and whether nothing is missed -------------------------------------------------- */

static inline int disk_take(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	int file = strcmp(path, disk.root) == 0 ? 0 : disk_new_file(type == FTW_D);

	(void)st, (void)ftw;
	if (type == FTW_F) {
		char block[65536];
		FILE *f = fopen(path, "r");
		size_t n;
		while (f && (n = fread(block, 1, sizeof block, f)))
			buf_add(&disk.files.v[file].synced, block, n);
		if (f)
			fclose(f);
	}
	disk_set(&disk.now, path, file);
	disk_set(&disk.synced, path, file);
	return 0;
}

static inline void disk_unmount(void)
{
	for (size_t i = 0; i < disk.files.n; i++) {
		disk_sync_file(&disk.files.v[i]);
		buf_done(&disk.files.v[i].synced);
		vec_done(&disk.files.v[i].since);
	}
	for (size_t i = 0; i < disk.now.n; i++)
		disk_sync_dir(disk.now.v[i].path);
	for (size_t i = 0; i < disk.now.n; i++)
		free(disk.now.v[i].path);
	for (size_t i = 0; i < disk.synced.n; i++)
		free(disk.synced.v[i].path);
	vec_done(&disk.files);
	vec_done(&disk.now);
	vec_done(&disk.synced);
	vec_done(&disk.since);
	memset(&disk, 0, sizeof disk);
}

/* Notes changes below root from now on; its content is on the disk. */
static inline void disk_mount(const char *root)
{
	disk.root = root;
	disk_new_file(true);
	ck_assert_int_eq(nftw(root, disk_take, 16, FTW_PHYS), 0);
}

/* With all unsynced data it equals the kernel's view: no call is missed. */
static inline void disk_check_notes(void)
{
	struct rng rng = { 1 };
	const struct disk_luck all = { &rng, 8, false };

	for (size_t i = 0; i < disk.now.n; i++) {
		const struct disk_name *name = &disk.now.v[i];
		struct stat st;
		ck_assert_msg((stat(name->path, &st) == 0) == (name->file != DISK_NONE), "%s",
			      name->path);
		if (name->file == DISK_NONE || disk.files.v[name->file].is_dir)
			continue;
		struct buf b = disk_content(&disk.files.v[name->file], &all);
		char *have = xcalloc(1, b.len + 1);
		FILE *f = fopen(name->path, "r");
		ck_assert_ptr_nonnull(f);
		ck_assert_msg((uint64_t)st.st_size == b.len, "%s: %llu, noted %zu", name->path,
			      (unsigned long long)st.st_size, b.len);
		ck_assert_uint_eq(fread(have, 1, b.len, f), b.len);
		ck_assert_msg(b.len == 0 || memcmp(have, b.data, b.len) == 0, "%s", name->path);
		fclose(f);
		free(have);
		buf_done(&b);
	}
}

#endif
