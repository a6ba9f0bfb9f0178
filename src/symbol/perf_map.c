#include "base/buf.h"
#include "base/mem.h"
#include "symbol/lines.h"
#include "symbol/name_cache.h"
#include "symbol/ranges.h"
#include "symbol/symbol.h"

#include <errno.h>

enum {
	PERF_MAP_MAX_ENTRIES = 4 << 20, /* some 36 bytes each, without the name */
	PERF_MAP_MAX_NAMES_BYTES = 256 << 20,
	PERF_MAP_MAX_NAME = 1024, /* longer names are cut */
};

struct perf_map {
	struct symbol_source base;
	struct ranges ranges; /* name: offset in text */
	struct buf text;      /* NUL-terminated names */
	struct name_cache names;
};

static void perf_map_close(struct symbol_source *s)
{
	struct perf_map *m = (struct perf_map *)s;
	ranges_done(&m->ranges);
	buf_done(&m->text);
	name_cache_done(&m->names);
	free(m);
}

static bool perf_map_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct perf_map *m = (struct perf_map *)s;
	const struct range *range = ranges_find(&m->ranges, addr, SIZE_MAX);
	if (!range)
		return false;
	const struct cached_name *known = name_cache_get(&m->names, range->name);
	struct cached_name name =
		known ? *known
		      : name_cache_add(&m->names, range->name, m->text.data + range->name, "");
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.start = range->start,
		.size = range->size,
	};
	return true;
}

static const struct symbol_source_ops perf_map_ops = { .lookup = perf_map_lookup,
						       .close = perf_map_close };

/* "START SIZE NAME": numbers in hex, the name goes to the end of the line. */
static bool perf_map_add(struct perf_map *m, char *line, size_t len)
{
	char *p = line;
	uint64_t start, size;
	if (!hex_take(&p, &start) || *p++ != ' ' || !hex_take(&p, &size) || *p++ != ' ' || !*p)
		return false;
	if (m->ranges.v.n >= PERF_MAP_MAX_ENTRIES || m->text.len >= PERF_MAP_MAX_NAMES_BYTES ||
	    !ranges_add(&m->ranges, start, size, m->text.len))
		return false;
	size_t name_len = line + len - p;
	buf_add(&m->text, p, name_len < PERF_MAP_MAX_NAME ? name_len : PERF_MAP_MAX_NAME);
	buf_addc(&m->text, '\0');
	return true;
}

int symbol_open_perf_map(int fd, struct symbol_source **out, struct err *err)
{
	struct perf_map *m = xcalloc(1, sizeof *m);
	m->base = (struct symbol_source){ .ops = &perf_map_ops, .origin = "perf map" };
	struct lines *lines = xcalloc(1, sizeof *lines);
	lines->fd = fd;
	char *line;
	size_t len;
	int rc;
	while ((rc = lines_next(lines, &line, &len, err)) > 0)
		m->base.skipped += len > 0 && !perf_map_add(m, line, len);
	free(lines);
	if (rc == 0 && m->ranges.v.n == 0)
		rc = err_set(err, ENODATA, "perf map has no usable line (%llu skipped)",
			     (unsigned long long)m->base.skipped);
	if (rc < 0) {
		symbol_close(&m->base);
		return rc;
	}
	ranges_build(&m->ranges, 1);
	*out = &m->base;
	return 0;
}
