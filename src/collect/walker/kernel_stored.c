/* Reads and writes one file for each kernel. */
#include "collect/walker/kernel_stored.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/fs.h"
#include "base/hash.h"
#include "symbol/kallsyms.h"
#include "symbol/symbol.h"

#include <fcntl.h>
#include <unistd.h>

#define KERNEL_NOTES  "/sys/kernel/notes"
#define STORED_SUFFIX "-names"
enum { NOTES_MAX_BYTES = 1 << 16, STORED_MAX_BYTES = 64 << 20 };
/* limit: stored names of all kernels */
enum { STORED_ALL_BYTES = 16 << 20 };

/* The notes have the build id. */
static bool kernel_key(uint64_t *key)
{
	struct buf notes = { 0 };
	bool good =
		fs_read_at(AT_FDCWD, KERNEL_NOTES, NOTES_MAX_BYTES, &notes, NULL) == 0 && notes.len;

	if (good)
		*key = hash_bytes(notes.data, notes.len);
	buf_done(&notes);
	return good;
}

static struct symbol_source *read_stored(int fd, uint64_t start)
{
	struct symbol_source *names = NULL;
	struct buf b = { 0 };

	if (fs_read_fd(fd, STORED_MAX_BYTES, &b, NULL) ||
	    kernel_table_read(b.data, b.len, start, &names))
		names = NULL;
	buf_done(&b);
	return names;
}

struct symbol_source *kernel_stored_open(const char *cache_root, uint64_t start)
{
	uint64_t key;
	int dir = cache_root && kernel_key(&key)
			  ? cache_dir_open(cache_root, KERNEL_STORED_CACHE, NULL)
			  : -1;
	int fd = dir < 0 ? -1 : cache_file_open(dir, &key, sizeof key, STORED_SUFFIX);
	struct symbol_source *names = fd < 0 ? NULL : read_stored(fd, start);

	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return names;
}

static void write_stored(int dir, uint64_t key, const struct symbol_source *table)
{
	struct cache_file f;
	struct buf b = { 0 };

	kernel_table_write(table, &b);
	if (cache_file_create(dir, &key, sizeof key, STORED_SUFFIX, &f) == 0) {
		if (fs_write_fd(f.fd, b.data, b.len))
			cache_file_abort(&f);
		else if (cache_file_commit(&f, false) == 0)
			cache_dir_trim(dir, STORED_ALL_BYTES);
	}
	buf_done(&b);
}

void kernel_stored_save(const char *cache_root, const struct symbol_source *kallsyms,
			uint64_t start, uint64_t end)
{
	struct symbol_source *table;
	uint64_t key;
	int dir = cache_root && kernel_key(&key)
			  ? cache_dir_open(cache_root, KERNEL_STORED_CACHE, NULL)
			  : -1;

	if (dir < 0)
		return;
	if (kernel_table_of(kallsyms, start, end, &table) == 0) {
		write_stored(dir, key, table);
		symbol_close(table);
	}
	close(dir);
}
