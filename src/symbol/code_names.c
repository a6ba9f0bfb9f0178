/* symbol_open_perf_map, symbol_open_jitdump: a whole perf map or jitdump as a source of symbols. */

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "profile/identity_generated.h"
#include "symbol/code_log.h"
#include "symbol/name_cache.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct code_names {
	struct symbol_source base;
	struct code_log *log;
	int fd;
	uint64_t time_ns;
	struct name_cache names; /* by their text in the file */
};

static void code_names_close(struct symbol_source *s)
{
	struct code_names *c = (struct code_names *)s;

	code_log_free(c->log);
	name_cache_done(&c->names);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

/* The function's name, with the name of this code as its linkage name. */
static struct cached_name add_name(struct code_names *c, uint64_t key, const char *linkage)
{
	struct cached_name made = name_cache_make(&c->names, linkage, "");
	struct buf function = { 0 };
	if (identity_code(made.name, strlen(made.name), &function)) {
		const char *copy = name_cache_copy(&c->names, function.data, function.len);
		made.name = copy ? copy : made.name;
	}
	buf_done(&function);
	name_cache_put(&c->names, key, made);
	return made;
}

static bool code_names_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct code_names *c = (struct code_names *)s;
	const struct code_ask ask = { addr, c->time_ns };
	struct code_answer a;
	if (!code_log_ask(c->log, c->fd, &ask, 1, UINT64_MAX / 2, &a) || !a.size || !a.len)
		return false;
	uint64_t key = hash_bytes(a.name, a.len);
	const struct cached_name *known = name_cache_get(&c->names, key);
	const char *copy = known ? NULL : name_cache_copy(&c->names, a.name, a.len);
	if (!known && !copy)
		return false;
	struct cached_name name = known ? *known : add_name(c, key, copy);
	*out = (struct symbol){
		.name = name.name, .linkage = name.linkage, .start = a.start, .size = a.size
	};
	return true;
}

static const struct symbol_source_ops code_names_ops = { .lookup = code_names_lookup,
							 .close = code_names_close };

static const struct {
	const char *origin, *no_names;
} kinds[] = {
	[CODE_LOG_MAP] = { "perf map", "perf map has no usable line" },
	[CODE_LOG_DUMP] = { "jitdump", "jitdump file names no code" },
};

/* Returns -ENODATA with err set if the file names no code. */
static int code_names_open(int fd, enum code_log_kind kind, struct symbol_source **out,
			   struct err *err)
{
	struct code_names *c = xcalloc(1, sizeof *c);
	struct code_log_stats stats;

	c->base = (struct symbol_source){ .ops = &code_names_ops, .origin = kinds[kind].origin };
	c->log = code_log_new(kind);
	c->time_ns = UINT64_MAX;
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int rc = c->fd < 0 ? err_set(err, errno, "cannot read: %s", strerror(errno))
			   : code_log_read(c->log, c->fd, true, err);
	code_log_get_stats(c->log, &stats);
	c->base.skipped = stats.skipped;
	if (!rc && !stats.events)
		rc = err_set(err, ENODATA, "%s (%llu skipped)", kinds[kind].no_names,
			     (unsigned long long)stats.skipped);
	if (rc)
		code_names_close(&c->base);
	else
		*out = &c->base;
	return rc;
}

int symbol_open_perf_map(int fd, struct symbol_source **out, struct err *err)
{
	return code_names_open(fd, CODE_LOG_MAP, out, err);
}

int symbol_open_jitdump(int fd, struct symbol_source **out, struct err *err)
{
	return code_names_open(fd, CODE_LOG_DUMP, out, err);
}

void symbol_jitdump_at(struct symbol_source *s, uint64_t time_ns)
{
	((struct code_names *)s)->time_ns = time_ns;
}
