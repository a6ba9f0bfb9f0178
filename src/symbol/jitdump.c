#include "base/buf.h"
#include "base/mem.h"
#include "symbol/name_cache.h"
#include "symbol/ranges.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The format: tools/perf/Documentation/jitdump-specification.txt in the Linux sources. All numbers in the writer's byte order.
 *
 *     file    u32 magic "JiTD", version, size of this header, ELF machine, padding, pid; u64 time, flags
 *     record  u32 id, size with this header; u64 time
 *     load    record, u32 pid, tid; u64 vma, code address, code size, index; name, NUL, code
 *     move    record, u32 pid, tid; u64 vma, old code address, new code address, code size, index */
enum {
	JITDUMP_MAGIC = 0x4a695444,
	JITDUMP_MAGIC_SWAPPED = 0x4454694a,
	JITDUMP_HEADER = 40,
	JITDUMP_ARCH_TIMESTAMPS =
		1, /* flag: times are of the CPU's counter, not of CLOCK_MONOTONIC */
	JITDUMP_RECORD = 16,
	JITDUMP_LOAD = 56,
	JITDUMP_MOVE = 64,
};
enum jitdump_id { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1 };

enum {
	JITDUMP_MAX_EVENTS = 1 << 20,
	JITDUMP_MAX_NAMES_BYTES = 256 << 20,
	JITDUMP_MAX_NAME = 1024, /* longer names are cut */
	JITDUMP_DEPTH =
		16, /* how often code at one place can be replaced and still be told apart */
	JITDUMP_GONE = UINT32_MAX, /* name of a range that code was moved away from */
};

/* One change of what lies where, in the order of the file until they are sorted by time. */
struct jitdump_event {
	uint64_t time_ns, start, size;
	uint32_t name, order;
};

struct jitdump {
	struct symbol_source base;
	VEC(uint64_t) times_ns; /* of the ranges, ascending */
	struct ranges ranges;   /* name: offset in text, or JITDUMP_GONE */
	struct buf text;        /* NUL-terminated names */
	struct name_cache names;
	size_t n_valid; /* ranges loaded up to the time asked for */
	bool has_times;
};

static void jitdump_close(struct symbol_source *s)
{
	struct jitdump *j = (struct jitdump *)s;
	vec_done(&j->times_ns);
	ranges_done(&j->ranges);
	buf_done(&j->text);
	name_cache_done(&j->names);
	free(j);
}

static bool jitdump_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	struct jitdump *j = (struct jitdump *)s;
	const struct range *range = ranges_find(&j->ranges, addr, j->n_valid);
	if (!range || range->name == JITDUMP_GONE)
		return false;
	const struct cached_name *known = name_cache_get(&j->names, range->name);
	struct cached_name name =
		known ? *known
		      : name_cache_add(&j->names, range->name, j->text.data + range->name, "");
	*out = (struct symbol){
		.name = name.name,
		.linkage = name.linkage,
		.start = range->start,
		.size = range->size,
	};
	return true;
}

static const struct symbol_source_ops jitdump_ops = { .lookup = jitdump_lookup,
						      .close = jitdump_close };

void symbol_jitdump_at(struct symbol_source *s, uint64_t time_ns)
{
	struct jitdump *j = (struct jitdump *)s;
	size_t lo = 0, hi = j->times_ns.n;
	while (j->has_times && lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (j->times_ns.v[mid] <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	j->n_valid = hi;
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

struct jitdump_reader {
	int fd;
	uint64_t offset; /* of the record */
	size_t len;      /* of what is in the window */
	char window[JITDUMP_LOAD + JITDUMP_MAX_NAME];
	struct map index; /* code index -> name */
	VEC(struct jitdump_event) events;
};

static int jitdump_fill(struct jitdump_reader *r, struct err *err)
{
	r->len = 0;
	while (r->len < sizeof r->window) {
		ssize_t n = pread(r->fd, r->window + r->len, sizeof r->window - r->len,
				  r->offset + r->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "cannot read: %s", strerror(errno));
		if (n == 0)
			break;
		r->len += n;
	}
	return 0;
}

static uint32_t jitdump_u32(const struct jitdump_reader *r, size_t at)
{
	uint32_t v;
	memcpy(&v, r->window + at, sizeof v);
	return v;
}

static uint64_t jitdump_u64(const struct jitdump_reader *r, size_t at)
{
	uint64_t v;
	memcpy(&v, r->window + at, sizeof v);
	return v;
}

static void jitdump_push(struct jitdump_reader *r, uint64_t start, uint64_t size, uint32_t name)
{
	vec_push(&r->events,
		 (struct jitdump_event){ jitdump_u64(r, 8), start, size, name, r->events.n });
}

static bool jitdump_load(struct jitdump *j, struct jitdump_reader *r, uint32_t size)
{
	size_t end = size < r->len ? size : r->len;
	const char *text = r->window + JITDUMP_LOAD;
	if (end <= JITDUMP_LOAD || !*text || j->text.len >= JITDUMP_MAX_NAMES_BYTES)
		return false;
	uint32_t name = j->text.len;
	buf_add(&j->text, text, strnlen(text, end - JITDUMP_LOAD));
	buf_addc(&j->text, '\0');
	map_put(&r->index, jitdump_u64(r, 48), name);
	jitdump_push(r, jitdump_u64(r, 32), jitdump_u64(r, 40), name);
	return true;
}

static bool jitdump_move(struct jitdump_reader *r, uint32_t size)
{
	if (size < JITDUMP_MOVE || r->len < JITDUMP_MOVE)
		return false;
	const uint32_t *name = map_get(&r->index, jitdump_u64(r, 56));
	if (!name)
		return false;
	uint64_t code_size = jitdump_u64(r, 48);
	jitdump_push(r, jitdump_u64(r, 32), code_size, JITDUMP_GONE);
	jitdump_push(r, jitdump_u64(r, 40), code_size, *name);
	return true;
}

/* The record in the window; what is neither a load nor a move says nothing about names. */
static bool jitdump_record(struct jitdump *j, struct jitdump_reader *r, uint32_t size)
{
	switch (jitdump_u32(r, 0)) {
	case JIT_CODE_LOAD:
		return jitdump_load(j, r, size);
	case JIT_CODE_MOVE:
		return jitdump_move(r, size);
	default:
		return true;
	}
}

static int jitdump_header(struct jitdump *j, struct jitdump_reader *r, struct err *err)
{
	int rc = jitdump_fill(r, err);
	if (rc < 0)
		return rc;
	if (r->len >= 4 && jitdump_u32(r, 0) == JITDUMP_MAGIC_SWAPPED)
		return err_set(err, ENOTSUP,
			       "jitdump is in the other byte order than this machine");
	if (r->len < 4 || jitdump_u32(r, 0) != JITDUMP_MAGIC)
		return err_set(err, EBADMSG, "not a jitdump file");
	if (r->len < JITDUMP_HEADER || jitdump_u32(r, 8) < JITDUMP_HEADER)
		return err_set(err, EBADMSG, "the header of the jitdump file is too short");
	if (jitdump_u32(r, 4) != 1)
		return err_set(err, ENOTSUP, "jitdump version %u is not known", jitdump_u32(r, 4));
	j->has_times = !(jitdump_u64(r, 32) & JITDUMP_ARCH_TIMESTAMPS);
	r->offset = jitdump_u32(r, 8);
	return 0;
}

/* All records up to the end of the file; a last one that is cut off (the program may still be writing it) is counted. */
static int jitdump_records(struct jitdump *j, struct jitdump_reader *r, uint64_t file_size,
			   struct err *err)
{
	while (r->offset < file_size) {
		int rc = jitdump_fill(r, err);
		if (rc < 0)
			return rc;
		uint32_t size = r->len >= JITDUMP_RECORD ? jitdump_u32(r, 4) : 0;
		if (size < JITDUMP_RECORD || size > file_size - r->offset ||
		    r->events.n + 2 > JITDUMP_MAX_EVENTS) {
			j->base.skipped++;
			break;
		}
		j->base.skipped += !jitdump_record(j, r, size);
		r->offset += size;
	}
	return 0;
}

static int event_compare(const void *a, const void *b)
{
	const struct jitdump_event *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Threads write their records when they get to it, so the file is nearly, but not quite, in the order of time. */
static void jitdump_build(struct jitdump *j, struct jitdump_reader *r)
{
	if (j->has_times && r->events.n)
		qsort(r->events.v, r->events.n, sizeof *r->events.v, event_compare);
	for (size_t i = 0; i < r->events.n; i++) {
		const struct jitdump_event *e = &r->events.v[i];
		if (ranges_add(&j->ranges, e->start, e->size, e->name))
			vec_push(&j->times_ns, e->time_ns);
		else
			j->base.skipped++;
	}
	ranges_build(&j->ranges, JITDUMP_DEPTH);
	j->n_valid = j->ranges.v.n;
}

int symbol_open_jitdump(int fd, struct symbol_source **out, struct err *err)
{
	struct jitdump *j = xcalloc(1, sizeof *j);
	j->base = (struct symbol_source){ .ops = &jitdump_ops, .origin = "jitdump" };
	struct jitdump_reader r = { .fd = fd };
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? err_set(err, errno, "cannot read: %s", strerror(errno))
				    : jitdump_header(j, &r, err);
	if (rc == 0)
		rc = jitdump_records(j, &r, st.st_size, err);
	if (rc == 0) {
		jitdump_build(j, &r);
		if (j->ranges.v.n == 0)
			rc = err_set(err, ENODATA, "jitdump file names no code");
	}
	vec_done(&r.events);
	map_done(&r.index);
	if (rc < 0)
		symbol_close(&j->base);
	else
		*out = &j->base;
	return rc;
}
