/* Opens the file of a mapping through /proc/PID/map_files or the process's root, and checks device
 * and inode. */
#include "collect/proc/mapped_file.h"

#include "collect/proc/proc_maps.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Takes over path_fd, an O_PATH descriptor, and opens what it points to for reading. */
static int open_regular(int path_fd, struct stat *st)
{
	char path[40];
	int fd;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, st)) {
		fd = -errno;
	} else if (!S_ISREG(st->st_mode)) {
		fd = -EINVAL;
	} else {
		snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(path_fd);
	return fd;
}

int mapped_file_open_at(int process, const char *name, struct stat *st)
{
	return open_regular(openat(process, name, O_PATH | O_CLOEXEC), st);
}

int plain_file_open(const char *path, struct stat *st)
{
	return open_regular(open(path, O_PATH | O_CLOEXEC), st);
}

static int open_in_root(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = syscall(SYS_openat2, root, path, &how, sizeof how);

	return fd < 0 ? -errno : fd;
}

int root_file_open(int root, const char *path, struct stat *st)
{
	int fd = open_in_root(root, path, O_PATH);

	return fd < 0 ? fd : open_regular(fd, st);
}

int root_dir_open(int root, const char *path)
{
	return open_in_root(root, path, O_RDONLY | O_DIRECTORY);
}

int process_root_dir(uint32_t pid)
{
	char root[32];

	snprintf(root, sizeof root, "/proc/%" PRIu32 "/root", pid);
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int process_root_open(uint32_t pid, const char *path, struct stat *st)
{
	int root_fd = process_root_dir(pid);

	if (root_fd < 0)
		return root_fd;
	int fd = root_file_open(root_fd, path, st);
	close(root_fd);
	return fd;
}

static bool has_build_id(int fd, const struct mapped_file *f)
{
	uint8_t id[64];
	int len = elf_build_id(fd, id, sizeof id);

	return len == f->build_id_len && memcmp(id, f->build_id, len) == 0;
}

static bool same_device(const struct mapped_file *f, const struct stat *st)
{
	return major(st->st_dev) == f->maj && minor(st->st_dev) == f->min;
}

/* Closes fd and returns -ESTALE unless it is the file that f describes. On btrfs and overlayfs stat
 * and mappings have different devices, so the device is compared only if the path could lead to an
 * unrelated file system. */
static int keep_if_right(int fd, const struct mapped_file *f, const struct stat *st, bool device)
{
	bool right;

	if (fd < 0)
		return fd;
	if (f->build_id_len)
		right = has_build_id(fd, f);
	else
		right = f->ino && st->st_ino == f->ino && (!device || same_device(f, st));
	if (right)
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_map_file(uint32_t pid, uint64_t start, uint64_t end, struct stat *st)
{
	char path[80];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		 end);
	return plain_file_open(path, st);
}

struct vma_search {
	const struct mapped_file *file;
	uint64_t start, end; /* found when end is not 0 */
	bool same_inode;
};

static bool visit_vma(void *ctx, const struct proc_map *m)
{
	struct vma_search *s = ctx;
	const struct mapped_file *f = s->file;

	if (f->start < m->start || f->start >= m->end)
		return m->start <= f->start;
	if (f->start - m->start + m->pgoff == f->pgoff) {
		s->start = m->start;
		s->end = m->end;
		s->same_inode = f->ino && m->ino == f->ino && m->maj == f->maj && m->min == f->min;
	}
	return false;
}

/* The kernel merges and splits mappings; map_files has their exact current bounds. */
static int open_grown(const struct mapped_file *f, struct stat *st)
{
	struct vma_search s = { .file = f };
	int rc = proc_maps_read(f->pid, visit_vma, &s);

	if (rc < 0 || !s.end)
		return rc < 0 ? rc : -ENOENT;
	int fd = open_map_file(f->pid, s.start, s.end, st);
	if (!f->build_id_len && s.same_inode)
		return fd; /* the kernel reported the same device and inode */
	return keep_if_right(fd, f, st, false);
}

int mapped_file_open_mapping(const struct mapped_file *f, struct stat *st)
{
	int fd = keep_if_right(open_map_file(f->pid, f->start, f->end, st), f, st, false);

	return fd < 0 ? open_grown(f, st) : fd;
}

int mapped_file_open(const struct mapped_file *f, struct stat *st)
{
	int fd = mapped_file_open_mapping(f, st);

	if (fd < 0 && f->path[0] == '/')
		fd = keep_if_right(process_root_open(f->pid, f->path, st), f, st, false);
	if (fd < 0 && f->path[0] == '/')
		fd = keep_if_right(plain_file_open(f->path, st), f, st, true);
	return fd;
}
