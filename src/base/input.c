/* Reads a window from a descriptor or memory, and decompresses it with unpack.h. */
#include "base/input.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INPUT_WINDOW = 256 * 1024, /* grows only for a longer line */
	INPUT_PACKED = 64 * 1024,
	INPUT_MAGIC = 6, /* bytes that unpack_detect needs */
	INPUT_BOM = 3,
};

/* The plain bytes not yet consumed are [p, end): in the window, or in the caller's memory if it is
 * not compressed. */
struct input {
	char *name;
	int fd;            /* -1: all data are in packed or [p, end) */
	off_t origin;      /* offset of its start in the file; -1: no offsets */
	struct cur memory; /* all data, if fd is -1 */
	struct unpack *unpack;
	char *packed_buf;
	struct cur packed;
	bool is_utf16;
	struct utf16 utf16;
	char *coded_buf;
	struct cur coded; /* decompressed, not decoded yet */
	const char *p, *end;
	const char *memory_end; /* end of memory that is passed on in pieces; NULL: all was */
	char *window;
	size_t cap;
	uint64_t total;     /* plain bytes so far */
	bool source_ended;  /* nothing follows packed, or end if not compressed */
	bool ended;         /* nothing follows end */
	bool dropping_line; /* the rest of an overlong line must be dropped */
	struct err failure; /* sticky */
	int (*may_go_on)(void *ctx, const char *name, struct err *err);
	void *watcher;
};

void input_watch(struct input *in, int (*may_go_on)(void *ctx, const char *name, struct err *err),
		 void *ctx)
{
	in->may_go_on = may_go_on;
	in->watcher = ctx;
	/* Memory is passed on in pieces as well. */
	if (in->ended && !in->window && in->end - in->p > INPUT_WINDOW) {
		in->memory_end = in->end;
		in->end = in->p + INPUT_WINDOW;
		in->ended = false;
	}
}

static int input_fail(struct input *in, struct err *err)
{
	if (err)
		*err = in->failure;
	return -in->failure.code;
}

/* Whether there was a failure before, or the watcher reports one now. */
static bool input_has_failed(struct input *in)
{
	if (in->failure.code == 0 && in->may_go_on)
		in->may_go_on(in->watcher, in->name, &in->failure);
	return in->failure.code != 0;
}

int input_ask(struct input *in, struct err *err)
{
	return input_has_failed(in) ? input_fail(in, err) : 0;
}

/* Reads up to n bytes of the file; returns 0 and sets source_ended at its end. */
static long input_source(struct input *in, char *data, size_t n)
{
	ssize_t got;
	do
		got = read(in->fd, data, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set(&in->failure, errno, "cannot read %s: %s", in->name,
			       strerror(errno));
	in->source_ended = got == 0;
	return got;
}

/* Decompresses more bytes to `data`; returns 0 at the end. */
static long input_unpack(struct input *in, char *data, size_t n)
{
	size_t got = 0;
	int rc = 1;
	while (rc == 1 && got == 0) {
		if (!cur_left(&in->packed) && !in->source_ended) {
			long more = input_source(in, in->packed_buf, INPUT_PACKED);
			if (more < 0)
				return more;
			in->packed = cur_of(in->packed_buf, more);
		}
		rc = unpack_step(in->unpack, &in->packed, in->source_ended, data, n, &got,
				 &in->failure);
	}
	return rc < 0 ? err_prefix(&in->failure, "%s", in->name) : (long)got;
}

/* Reads more decompressed bytes to `data`; returns 0 at the end. */
static long input_more(struct input *in, char *data, size_t n)
{
	if (in->unpack)
		return input_unpack(in, data, n);
	return in->source_ended ? 0 : input_source(in, data, n);
}

/* Converts more UTF-16 to UTF-8 at `data`; returns 0 at the end. */
static long input_decode(struct input *in, char *data, size_t n)
{
	size_t got = 0;
	while (got == 0) {
		size_t left = cur_left(&in->coded);
		if (left) {
			left = UTF16_ROOM(left) <= n ? left : n / 2;
			got = utf16_decode(&in->utf16, cur_take(&in->coded, left), left, data);
			continue;
		}
		long more = input_more(in, in->coded_buf, INPUT_PACKED);
		if (more < 0)
			return more;
		if (more == 0)
			return utf16_end(&in->utf16, data);
		in->coded = cur_of(in->coded_buf, more);
	}
	return got;
}

/* Moves the unread bytes to the start of the window and makes space for at least one more byte. */
static void input_make_room(struct input *in)
{
	size_t left = in->end - in->p;
	if (left + 1 > in->cap / 2 || !in->window) {
		in->cap = in->window ? 2 * in->cap : INPUT_WINDOW;
		char *wider = xmalloc(in->cap);
		if (left)
			memcpy(wider, in->p, left);
		free(in->window);
		in->window = wider;
	} else if (left && in->p != in->window) {
		memmove(in->window, in->p, left);
	}
	in->p = in->window;
	in->end = in->window + left;
}

/* Adds one more piece of the caller's memory. */
static void input_show_more(struct input *in)
{
	size_t left = in->memory_end - in->end;
	in->end += left < INPUT_WINDOW ? left : INPUT_WINDOW;
	in->ended = in->end == in->memory_end;
	if (in->ended)
		in->memory_end = NULL;
}

/* Adds at least one byte after end, or detects the end of the data. */
static int input_fill(struct input *in, struct err *err)
{
	if (input_has_failed(in))
		return input_fail(in, err);
	if (in->ended)
		return 0;
	if (in->memory_end) {
		input_show_more(in);
		return 0;
	}
	input_make_room(in);
	char *at = in->window + (in->end - in->p);
	size_t room = in->window + in->cap - at;
	long got = in->is_utf16 ? input_decode(in, at, room) : input_more(in, at, room);
	if (got < 0)
		return input_fail(in, err);
	in->end = at + got;
	in->ended = got == 0;
	in->total += got;
	if (in->total > INPUT_MAX_BYTES) {
		err_set(&in->failure, EFBIG, "%s holds more than %llu GiB", in->name,
			INPUT_MAX_BYTES >> 30);
		return input_fail(in, err);
	}
	return 0;
}

/* [p, end) holds the first bytes of the source; if they are compressed, moves them to packed. */
static void input_choose(struct input *in)
{
	size_t len = in->end - in->p;
	enum unpack_kind kind = unpack_detect(in->p, len);
	if (kind == UNPACK_NONE)
		return;
	in->unpack = unpack_new(kind);
	in->packed = cur_of(in->p, len);
	if (in->fd >= 0) { /* they are in the window, which is needed for plain bytes */
		in->packed_buf = xmalloc(INPUT_WINDOW);
		memcpy(in->packed_buf, in->p, len);
		in->packed = cur_of(in->packed_buf, len);
	}
	in->p = in->end = NULL;
	in->total = 0;
	in->ended = false;
}

/* Skips a byte order mark. After one of UTF-16 the bytes go to coded. An error here is reported
 * again by the first read. */
static void input_choose_text(struct input *in)
{
	while (!in->ended && in->end - in->p < INPUT_BOM && input_fill(in, NULL) == 0)
		;
	size_t len = in->end - in->p;
	if (len >= INPUT_BOM && memcmp(in->p, "\xef\xbb\xbf", INPUT_BOM) == 0) {
		in->p += INPUT_BOM;
		return;
	}
	if (len < 2 || (memcmp(in->p, "\xff\xfe", 2) && memcmp(in->p, "\xfe\xff", 2)))
		return;
	in->is_utf16 = true;
	in->utf16.is_big_endian = in->p[0] == '\xfe';
	in->coded_buf = xmalloc(INPUT_WINDOW);
	in->coded = cur_of(in->p + 2, len - 2);
	if (in->window) { /* the window is needed for decoded bytes */
		memcpy(in->coded_buf, in->p + 2, len - 2);
		in->coded = cur_of(in->coded_buf, len - 2);
	}
	in->p = in->end = NULL;
	in->total = 0;
	in->ended = false;
}

int input_open(const char *path, struct input **out, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	struct input *in = xcalloc(1, sizeof *in);
	in->fd = fd;
	in->name = xstrdup(is_stdin ? "standard input" : path);
	in->origin = lseek(fd, 0, SEEK_CUR);
	int rc = 0;
	while (rc == 0 && !in->ended && in->end - in->p < INPUT_MAGIC)
		rc = input_fill(in, err);
	if (rc) {
		input_close(in);
		return rc;
	}
	input_choose(in);
	input_choose_text(in);
	*out = in;
	return 0;
}

int input_open_memory(const void *data, size_t len, struct input **out, struct err *err)
{
	struct input *in = xcalloc(1, sizeof *in);
	(void)err;
	in->fd = -1;
	in->name = xstrdup("the data");
	in->p = data;
	in->end = in->p + len;
	in->memory = cur_of(data, len);
	in->total = len;
	in->source_ended = in->ended = true;
	input_choose(in);
	input_choose_text(in);
	*out = in;
	return 0;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	unpack_free(in->unpack);
	free(in->packed_buf);
	free(in->coded_buf);
	free(in->window);
	free(in->name);
	free(in);
}

const char *input_name(const struct input *in)
{
	return in->name;
}

bool input_is_memory(const struct input *in)
{
	return in->fd < 0;
}

const char *input_path(const struct input *in)
{
	struct stat st;

	if (in->fd <= STDIN_FILENO || in->unpack || fstat(in->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	return in->name;
}

int input_peek(struct input *in, const char **data, size_t *len, struct err *err)
{
	while (!in->ended && in->end - in->p < INPUT_PEEK) {
		int rc = input_fill(in, err);
		if (rc)
			return rc;
	}
	*data = in->p;
	*len = in->end - in->p < INPUT_PEEK ? in->end - in->p : INPUT_PEEK;
	return 0;
}

/* Consumes up to and including the next newline. */
static int input_drop_line(struct input *in, struct err *err)
{
	while (in->dropping_line) {
		const char *nl = in->p < in->end ? memchr(in->p, '\n', in->end - in->p) : NULL;
		in->p = nl ? nl + 1 : in->end;
		in->dropping_line = !nl && !in->ended;
		int rc = in->dropping_line ? input_fill(in, err) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int input_line(struct input *in, const char **line, size_t *len, bool *cut, struct err *err)
{
	int rc = input_drop_line(in, err);
	const char *nl = NULL;
	for (size_t seen = 0; rc == 0 && !nl;) {
		size_t left = in->end - in->p;
		if (left > seen)
			nl = memchr(in->p + seen, '\n', left - seen);
		if (nl || in->ended || left > INPUT_MAX_LINE)
			break;
		seen = left;
		rc = input_fill(in, err);
	}
	if (rc)
		return rc;
	if (in->p == in->end)
		return 0;
	size_t n = (nl ? nl : in->end) - in->p;
	*line = in->p;
	*cut = n > INPUT_MAX_LINE;
	in->p += *cut ? INPUT_MAX_LINE : nl ? n + 1 : n;
	in->dropping_line = *cut;
	*len = *cut ? INPUT_MAX_LINE : n > 0 && (*line)[n - 1] == '\r' ? n - 1 : n;
	return 1;
}

long input_read(struct input *in, void *data, size_t n, struct err *err)
{
	while (in->p == in->end && !in->ended) {
		int rc = input_fill(in, err);
		if (rc)
			return rc;
	}
	size_t left = in->end - in->p;
	n = n < left ? n : left;
	if (n)
		memcpy(data, in->p, n);
	in->p += n;
	return n;
}

bool input_has_offsets(const struct input *in)
{
	return in->origin >= 0 && !in->unpack;
}

static long input_file_at(struct input *in, uint64_t offset, char *data, size_t n, struct err *err)
{
	size_t got = 0;
	while (got < n && offset + got <= INT64_MAX - (uint64_t)in->origin) {
		ssize_t more = pread(in->fd, data + got, n - got, in->origin + offset + got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return err_set(err, errno, "cannot read %s: %s", in->name, strerror(errno));
		if (more == 0)
			break;
		got += more;
	}
	return got;
}

long input_read_at(struct input *in, uint64_t offset, void *data, size_t n, struct err *err)
{
	if (!input_has_offsets(in))
		return err_set(err, ESPIPE, "%s can only be read from start to end", in->name);
	if (input_has_failed(in))
		return input_fail(in, err);
	if (in->fd >= 0)
		return input_file_at(in, offset, data, n, err);
	size_t size = cur_left(&in->memory);
	size_t there = offset < size ? size - offset : 0;
	n = n < there ? n : there;
	if (n)
		memcpy(data, in->memory.p + offset, n);
	return n;
}

int input_all(struct input *in, size_t max, struct buf *b, struct err *err)
{
	size_t start = b->len;
	for (;;) {
		size_t left = in->end - in->p;
		if (left > max - (b->len - start)) {
			b->len = start;
			return err_set(err, EFBIG, "%s holds more than %zu bytes", in->name, max);
		}
		if (left)
			buf_add(b, in->p, left);
		in->p = in->end;
		if (in->ended)
			return 0;
		int rc = input_fill(in, err);
		if (rc) {
			b->len = start;
			return rc;
		}
	}
}
