/* Sizes and deletion of a database with its WAL files. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffixes[] = { "", "-wal", "-journal", "-shm" };
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes };

static const char *name_of(struct buf *name, const char *path, int i)
{
	buf_clear(name);
	buf_adds(name, path);
	buf_adds(name, suffixes[i]);
	return buf_cstr(name);
}

uint64_t db_files_bytes(const char *path)
{
	struct buf name = { 0 };
	uint64_t bytes = 0;
	struct stat st;

	for (int i = 0; i < SUFFIXES; i++)
		if (stat(name_of(&name, path, i), &st) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	buf_done(&name);
	return bytes;
}

int db_files_unlink(const char *path, struct err *err)
{
	struct buf name = { 0 };
	int rc = 0;

	for (int i = 0; rc == 0 && i < SUFFIXES; i++) {
		if (unlink(name_of(&name, path, i)) && errno != ENOENT)
			rc = err_set(err, errno, "cannot remove %s: %s", name.data,
				     strerror(errno));
		else if (i == 0)
			rc = fs_sync_dir_of(path, err);
	}
	buf_done(&name);
	return rc;
}
