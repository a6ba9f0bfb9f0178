/* Reads CRESSET_CACHE and the DEBUGINFOD_ variables. */
#include "cmd/files/names_env.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/err.h"
#include "base/log.h"
#include "base/parse.h"
#include "collect/kernel/types_part.h"
#include "collect/process/elf_names.h"
#include "unwind/table_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LEAST_FREE = 1 << 20 };

static const char *joined(struct arena *a, const char *dir, const char *below)
{
	struct buf path = { 0 };
	buf_addf(&path, "%s%s", dir, below);
	const char *copy = arena_dup(a, path.data, path.len);
	buf_done(&path);
	return copy;
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

const char *cache_root(struct arena *a)
{
	const char *own = getenv("CRESSET_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	if (own)
		return *own ? own : NULL;
	if (geteuid() == 0)
		return "/var/cache/cresset";
	if (is_absolute(xdg))
		return joined(a, xdg, "/cresset");
	return is_absolute(home) ? joined(a, home, "/.cache/cresset") : NULL;
}

static int try_writing(int dir)
{
	struct statvfs fs;

	if (faccessat(dir, ".", W_OK, AT_EACCESS) || fstatvfs(dir, &fs))
		return -errno;
	uint64_t blocks = geteuid() ? fs.f_bavail : fs.f_bfree;
	return blocks * fs.f_frsize < LEAST_FREE ? -ENOSPC : 0;
}

static int check_one(const char *root, const char *name, struct err *err)
{
	int dir = cache_dir_open(root, name, err);

	if (dir < 0)
		return dir;
	int rc = try_writing(dir);
	close(dir);
	return rc ? err_set(err, -rc, "cannot write to %s/%s: %s", root, name, strerror(-rc)) : 0;
}

int cache_root_check(const char *root, struct err *err)
{
	static const char *const names[] = { NAME_FILES_CACHE, TABLE_CACHE, TYPES_PART_CACHE };
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++)
		rc = check_one(root, names[i], err);
	return rc;
}

void cache_root_say(const char *root)
{
	struct err err = { 0 };

	if (root && log_level() >= LOG_VERBOSE && cache_root_check(root, &err))
		log_verbose("nothing is cached for the next run: %s", err.text);
}

/* Returns 0 if unset or invalid. */
static uint64_t number(const char *name, uint64_t max)
{
	const char *text = getenv(name);
	uint64_t v;
	return text && parse_u64(text, &v) == 0 && v <= max ? v : 0;
}

void names_env(struct arena *a, struct name_files_opts *out)
{
	enum { DAY_S = 86400 };
	*out = (struct name_files_opts){
		.cache_dir = cache_root(a),
		.debuginfod = { .urls = getenv("DEBUGINFOD_URLS"),
				.stall_s = number("DEBUGINFOD_TIMEOUT", DAY_S),
				.total_s = number("DEBUGINFOD_MAXTIME", DAY_S),
				.max_bytes = number("DEBUGINFOD_MAXSIZE", INT64_MAX) },
	};
}

void names_say_failures(const struct name_failures *f)
{
	if (f->n)
		log_warn("%u debug file%s could not be fetched: %s", f->n, f->n == 1 ? "" : "s",
			 f->first.text);
}
