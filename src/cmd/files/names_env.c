/* Reads CRESSET_CACHE and the DEBUGINFOD_ variables. */
#include "cmd/files/names_env.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/parse.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/process/elf_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
