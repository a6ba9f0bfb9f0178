/* Reads and writes the files of symbol tables. */
#include "server/symbols_files.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/parse.h"
#include "symbol/symbol_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_NS INT64_C(86400000000000)
enum { NAME_BYTES = 2 * BUILD_ID_MAX + 8 };

static void name_of(const struct symbols_file *f, const char *suffix, char *name)
{
	for (size_t i = 0; i < f->id_len; i++)
		snprintf(name + 2 * i, 3, "%02x", f->id[i]);
	snprintf(name + 2 * f->id_len, NAME_BYTES - 2 * f->id_len, "%s", suffix);
}

static const char *suffix_of(const struct symbols_file *f)
{
	return f->is_new ? ".new" : "";
}

int symbols_dir_open(const char *store_dir, struct err *err)
{
	char *path = xasprintf("%s/symbols", store_dir);
	int fd = -1, rc = 0;

	if (mkdir(path, 0750) && errno != EEXIST)
		rc = err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	if (rc == 0)
		rc = fs_sync_dir_of(path, err);
	if (rc == 0 && (fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		rc = err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	free(path);
	return rc ? rc : fd;
}

void symbols_dir_close(int dir)
{
	close(dir);
}

/* --- reading the directory -------------------------------------------------------------------- */

static bool parse_name(const char *name, struct symbols_file *f)
{
	char id[NAME_BYTES];
	size_t n = strcspn(name, ".");

	if (n >= sizeof id || (name[n] && strcmp(name + n, ".new") != 0))
		return false;
	memcpy(id, name, n);
	id[n] = '\0';
	f->is_new = name[n] == '.';
	f->id_len = parse_hex(id, strlen(id), f->id, sizeof f->id);
	return f->id_len > 0;
}

static void look_at(int dir, const char *name,
		    void (*file)(void *ctx, const struct symbols_file *f), void *ctx)
{
	struct symbols_file f = { 0 };
	struct stat st;

	if (*name == '.')
		return;
	if (!parse_name(name, &f)) {
		if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".tmp") == 0)
			unlinkat(dir, name, 0); /* its writer was killed */
		return;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	f.bytes = (uint64_t)st.st_size;
	f.used_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	file(ctx, &f);
}

int symbols_dir_read(int dir, void (*file)(void *ctx, const struct symbols_file *f), void *ctx,
		     struct err *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		int rc = err_set(err, errno, "cannot read the directory of symbols: %s",
				 strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while ((e = readdir(d)))
		look_at(dir, e->d_name, file, ctx);
	closedir(d);
	return 0;
}

/* --- one file --------------------------------------------------------------------------------- */

static int write_synced(int fd, const void *data, size_t len)
{
	int rc = fs_write_fd(fd, data, len);

	return rc ? rc : fsync(fd) ? -errno : 0;
}

int symbols_file_write(int dir, const struct symbols_file *f, const void *data, struct err *err)
{
	char name[NAME_BYTES], tmp[NAME_BYTES];

	name_of(f, suffix_of(f), name);
	name_of(f, ".tmp", tmp);
	int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	int rc = fd < 0 ? -errno : write_synced(fd, data, f->bytes);
	if (fd >= 0)
		close(fd);
	if (rc == 0 && renameat(dir, tmp, dir, name))
		rc = -errno;
	if (rc == 0 && fsync(dir)) {
		rc = -errno;
		unlinkat(dir, name, 0);
	}
	if (rc == 0)
		return 0;
	unlinkat(dir, tmp, 0);
	return err_set(err, -rc, "cannot store the symbol table: %s", strerror(-rc));
}

int symbols_file_read(int dir, const struct symbols_file *f, struct buf *out)
{
	char name[NAME_BYTES];

	name_of(f, suffix_of(f), name);
	return fs_read_at(dir, name, SYMBOL_TABLE_MAX_PACKED, out, NULL);
}

void symbols_file_unlink(int dir, const struct symbols_file *f)
{
	char name[NAME_BYTES];

	name_of(f, suffix_of(f), name);
	unlinkat(dir, name, 0);
}

/* If a crash undoes this, it is done again. */
void symbols_file_commit(int dir, struct symbols_file *f)
{
	char from[NAME_BYTES], to[NAME_BYTES];

	name_of(f, ".new", from);
	name_of(f, "", to);
	if (renameat(dir, from, dir, to) == 0)
		f->is_new = false;
}

void symbols_file_use(int dir, struct symbols_file *f, int64_t now_ns)
{
	char name[NAME_BYTES];

	if (now_ns - f->used_ns < DAY_NS)
		return;
	f->used_ns = now_ns;
	name_of(f, suffix_of(f), name);
	utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW);
}
