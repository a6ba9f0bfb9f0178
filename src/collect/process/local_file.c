/* Searches the recorded path, perf's cache and the debug directories for a file, and verifies its
 * build id or inode. */
#include "collect/process/local_file.h"

#include "base/buf.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/process_memory.h"
#include "profile/frame.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A file system that does not report generations is trusted. */
static bool is_generation(int fd, uint64_t generation)
{
	unsigned now = 0;

	return !generation || ioctl(fd, FS_IOC_GETVERSION, &now) || now == generation;
}

bool local_file_is_replaced(const char *path, uint32_t dev_major, uint32_t dev_minor,
			    uint64_t inode, uint64_t generation)
{
	struct stat st;

	if (*path != '/' || stat(path, &st) < 0 || st.st_dev != makedev(dev_major, dev_minor))
		return false;
	if (st.st_ino != inode)
		return true;
	int fd = generation ? plain_file_open(path, &st) : -1;
	bool same = fd < 0 || is_generation(fd, generation);
	if (fd >= 0)
		close(fd);
	return !same;
}

bool local_file_is_newer(const char *path, int64_t than_ns)
{
	struct stat st;

	return *path == '/' && stat(path, &st) == 0 &&
	       st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec > than_ns;
}

static bool is_same(const struct local_file *f, int fd)
{
	uint8_t id[BUILD_ID_MAX];
	struct stat st;

	if (f->build_id_len)
		return elf_build_id(fd, id, sizeof id) == f->build_id_len &&
		       memcmp(id, f->build_id, f->build_id_len) == 0;
	if (!f->inode)
		return true;
	return fstat(fd, &st) == 0 && st.st_ino == f->inode && is_generation(fd, f->generation);
}

static bool fingerprints_differ(int a, int b)
{
	uint64_t code_a = elf_fingerprint(a), code_b = elf_fingerprint(b);
	uint64_t names_a = elf_names_fingerprint(a), names_b = elf_names_fingerprint(b);

	return (code_a && code_b && code_a != code_b) || (names_a && names_b && names_a != names_b);
}

bool local_files_differ(const char *a, const char *b, const uint8_t *build_id, size_t len)
{
	struct local_file one = { .path = a, .build_id = build_id, .build_id_len = len };
	struct local_file other = { .path = b, .build_id = build_id, .build_id_len = len };
	int fd_a = local_file_open(&one, NULL), fd_b = local_file_open(&other, NULL);
	bool differ = fd_a >= 0 && fd_b >= 0 && fingerprints_differ(fd_a, fd_b);

	if (fd_a >= 0)
		close(fd_a);
	if (fd_b >= 0)
		close(fd_b);
	return differ;
}

int local_file_keep(const struct local_file *f, int fd)
{
	if (fd < 0 || is_same(f, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

int local_file_open_kept(const struct local_file *f, const char *home, const char *name)
{
	struct buf path = { 0 };
	struct stat st;

	if (!home || f->build_id_len < 2)
		return -ENOENT;
	buf_addf(&path, "%s/.debug/.build-id/%02x/", home, f->build_id[0]);
	for (int i = 1; i < f->build_id_len; i++)
		buf_addf(&path, "%02x", f->build_id[i]);
	buf_addf(&path, "/%s", name);
	int fd = plain_file_open(buf_cstr(&path), &st);
	buf_done(&path);
	return fd;
}

int local_file_open(const struct local_file *f, const char *home)
{
	struct stat st;
	int fd = -ENOENT;

	if (strcmp(f->path, "[vdso]") == 0)
		fd = local_file_keep(f, vdso_open());
	else if (*f->path == '/')
		fd = local_file_keep(f, plain_file_open(f->path, &st));
	if (fd >= 0)
		return fd;
	int kept = local_file_keep(f, local_file_open_kept(f, home, "elf"));
	return kept >= 0 ? kept : fd;
}
