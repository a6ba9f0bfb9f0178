/* Parses lines and records of both forms. */
#include "symbol/code_scan.h"

#include "base/err.h"
#include "symbol/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int64_t code_read_at(int fd, void *to, size_t len, uint64_t at)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(fd, (char *)to + got, len - got, at + got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += n;
	}
	return got;
}

static int cannot_read(int64_t rc, struct err *err)
{
	return err_set(err, -rc, "cannot read: %s", strerror(-rc));
}

/* --- perf maps -------------------------------------------------------------------------------- */

/* Parses "START SIZE NAME": numbers in hex; the name extends to the end of the line, which is
 * NUL-terminated here. */
static bool parse_line(char *line, size_t len, struct code_event *e)
{
	char *p = line;

	if (!hex_take(&p, &e->start) || *p++ != ' ' || !hex_take(&p, &e->size) || *p++ != ' ' ||
	    !*p)
		return false;
	size_t name_len = strnlen(p, line + len - p);

	e->name = p;
	e->len = name_len < CODE_LOG_MAX_NAME ? name_len : CODE_LOG_MAX_NAME;
	return true;
}

static bool is_range(const struct code_event *e)
{
	return e->size && e->size <= UINT32_MAX && e->start <= UINT64_MAX - e->size;
}

/* A text line contains no NUL: if there is one, the file has a hole or another format. */
static int take_line(struct code_scan *s, char *line, size_t len, uint64_t at, struct err *err)
{
	struct code_event e = { .kind = CODE_LOADED, .at = at };

	line[len] = '\0';
	if (!len)
		return 0;
	if (parse_line(line, len, &e) && is_range(&e)) {
		s->event(s->ctx, &e);
		return 0;
	}
	s->skipped++;
	return memchr(line, '\0', len) ? err_set(err, EBADMSG, "not the text of a perf map") : 0;
}

/* Skips the rest of an overlong line, which was already handled; returns its length in the
 * window. */
static size_t skip_rest(struct code_scan *s, size_t filled)
{
	char *newline = s->in_rest ? memchr(s->window, '\n', filled) : NULL;

	if (!s->in_rest)
		return 0;
	s->in_rest = !newline;
	return newline ? (size_t)(newline + 1 - s->window) : filled;
}

/* Handles the lines in the window; returns their length. */
static int64_t take_lines(struct code_scan *s, size_t filled, bool is_end, struct err *err)
{
	char *p = s->window + skip_rest(s, filled), *stop = s->window + filled, *newline;

	while ((newline = memchr(p, '\n', stop - p)) || (is_end && p < stop)) {
		char *end = newline ? newline : stop;
		int rc = take_line(s, p, end - p, s->at + (p - s->window), err);

		if (rc)
			return rc;
		p = newline ? newline + 1 : stop;
	}
	if (stop - p <= CODE_LOG_MAX_LINE)
		return p - s->window;
	int rc = take_line(s, p, CODE_LOG_MAX_LINE, s->at + (p - s->window), err);

	s->in_rest = true;
	return rc ? rc : (int64_t)filled;
}

int code_scan_map(struct code_scan *s, uint64_t end, bool is_last, struct err *err)
{
	size_t filled = 0;

	while (s->at + filled < end) {
		size_t want = CODE_WINDOW - filled;

		if (want > end - s->at - filled)
			want = end - s->at - filled;
		int64_t n = code_read_at(s->fd, s->window + filled, want, s->at + filled);
		if (n < 0)
			return cannot_read(n, err);
		s->read_bytes += n;
		filled += n;
		bool is_end = n == 0 || s->at + filled >= end;
		int64_t taken = take_lines(s, filled, is_last && is_end, err);
		if (taken < 0)
			return taken;
		filled -= taken;
		s->at += taken;
		memmove(s->window, s->window + taken, filled);
		if (n == 0)
			break;
	}
	return 0;
}

/* --- jitdumps ---
 *
 * The format: tools/perf/Documentation/jitdump-specification.txt in the Linux sources. All numbers
 * in the writer's byte order.
 *
 *     file    u32 magic "JiTD", version, size of this header, ELF machine, padding, pid; u64 time,
 *             flags
 *     record  u32 id, size with this header; u64 time
 *     load    record, u32 pid, tid; u64 vma, code address, code size, index; name, NUL, code
 *     move    record, u32 pid, tid; u64 vma, old code address, new code address, code size,
 *             index */
enum {
	JITDUMP_MAGIC = 0x4a695444,
	JITDUMP_MAGIC_SWAPPED = 0x4454694a,
	JITDUMP_HEADER = 40,
	JITDUMP_ARCH_TIMESTAMPS = 1, /* times are a CPU counter's, not CLOCK_MONOTONIC */
	JITDUMP_RECORD = 16,
	JITDUMP_LOAD = 56,
	JITDUMP_MOVE = 64,
	JITDUMP_MOST = JITDUMP_LOAD + CODE_LOG_MAX_NAME, /* bytes of a record that are read */
};
enum jitdump_id { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1 };

static uint32_t get_u32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t get_u64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

int code_dump_header(int fd, uint64_t *begin, bool *has_times, struct err *err)
{
	char h[JITDUMP_HEADER];
	int64_t len = code_read_at(fd, h, sizeof h, 0);

	if (len < 0)
		return cannot_read(len, err);
	if (len >= 4 && get_u32(h) == JITDUMP_MAGIC_SWAPPED)
		return err_set(err, ENOTSUP,
			       "jitdump is in the other byte order than this machine");
	if (len < 4 || get_u32(h) != JITDUMP_MAGIC)
		return err_set(err, EBADMSG, "not a jitdump file");
	if (len < JITDUMP_HEADER || get_u32(h + 8) < JITDUMP_HEADER)
		return err_set(err, EBADMSG, "the header of the jitdump file is too short");
	if (get_u32(h + 4) != 1)
		return err_set(err, ENOTSUP, "jitdump version %u is not known", get_u32(h + 4));
	*has_times = !(get_u64(h + 32) & JITDUMP_ARCH_TIMESTAMPS);
	*begin = get_u32(h + 8);
	return 0;
}

static bool take_load(struct code_scan *s, const char *p, size_t len)
{
	const char *name = p + JITDUMP_LOAD;

	if (len <= JITDUMP_LOAD || !*name)
		return false;
	struct code_event e = { .kind = CODE_LOADED,
				.at = s->at,
				.time_ns = get_u64(p + 8),
				.start = get_u64(p + 32),
				.size = get_u64(p + 40),
				.index = get_u64(p + 48),
				.name = name };
	e.len = strnlen(name, len - JITDUMP_LOAD);
	if (is_range(&e))
		s->event(s->ctx, &e);
	return is_range(&e);
}

static bool take_move(struct code_scan *s, const char *p, size_t len)
{
	if (len < JITDUMP_MOVE)
		return false;
	struct code_event e = { .kind = CODE_MOVED,
				.at = s->at,
				.time_ns = get_u64(p + 8),
				.start = get_u64(p + 32),
				.to = get_u64(p + 40),
				.size = get_u64(p + 48),
				.index = get_u64(p + 56) };
	bool is_good = is_range(&e) && e.to <= UINT64_MAX - e.size;
	if (is_good)
		s->event(s->ctx, &e);
	return is_good;
}

/* Ignores records other than loads and moves: they have no names. */
static bool take_record(struct code_scan *s, const char *p, size_t len)
{
	switch (get_u32(p)) {
	case JIT_CODE_LOAD:
		return take_load(s, p, len);
	case JIT_CODE_MOVE:
		return take_move(s, p, len);
	default:
		return true;
	}
}

int code_scan_dump(struct code_scan *s, uint64_t end, uint64_t max, struct err *err)
{
	uint64_t from = s->at; /* start of the window */
	size_t filled = 0;

	for (; max && end - s->at >= JITDUMP_RECORD; max--) {
		size_t want = end - s->at < JITDUMP_MOST ? end - s->at : JITDUMP_MOST;

		if (s->at + want > from + filled) {
			/* Reads many short records at once, but not the code between them. */
			int64_t n = code_read_at(s->fd, s->window, 2 * JITDUMP_MOST, s->at);
			if (n < 0)
				return cannot_read(n, err);
			from = s->at;
			filled = n;
			s->read_bytes += n;
			if (filled < want) /* the file got shorter */
				return 0;
		}
		const char *p = s->window + (s->at - from);
		uint32_t size = get_u32(p + 4);
		if (size < JITDUMP_RECORD) { /* invalid size: the next record cannot be found */
			s->is_broken = true;
			s->skipped++;
			return 0;
		}
		if (size > end - s->at)
			return 0;
		s->skipped += !take_record(s, p, size < want ? size : want);
		s->at += size;
	}
	return 0;
}
