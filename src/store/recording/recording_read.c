/* Applies the chunks of a recording to a sink. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "base/mem.h"
#include "profile/chunk.h"
#include "profile/chunk_read.h"
#include "store/recording/recording.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	COPY_STEP_BYTES = 64 * 1024,
	MAX_UNREADABLE = 4096, /* rows that are skipped where pages are damaged */
	/* Tables whose ids are row counts: after a missing row all later ids are wrong. */
	COUNTED = 1 << CHUNK_STRINGS | 1 << CHUNK_MAPPINGS | 1 << CHUNK_FRAMES |
		  1 << CHUNK_FUNCTIONS | 1 << CHUNK_TYPES | 1 << CHUNK_LABELS | 1 << CHUNK_SERIES |
		  1 << CHUNK_STACKS | 1 << CHUNK_LINKS,
};

struct recording_reader {
	struct input *in;
	char *copy; /* of a file that cannot be opened by name */
	size_t copy_len;
	struct db *db;
	struct chunk_reader tables;
	struct buf raw;
	bool unfinished; /* known to be unfinished */
	int64_t last;    /* id */
	bool ended;      /* the chunk of that id was the end */
	uint32_t broken; /* bits of types: a chunk of that table is missing */
	uint64_t unpacked_bytes, left_out;
};

bool recording_detect(const char *head, size_t len)
{
	return db_is_kind(head, len, DB_KIND_RECORDING);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* sqlite.org/fileformat2.html, "the database header" */
enum { HEAD_PAGE_SIZE = 16, HEAD_WRITE_VERSION = 18, HEAD_READ_VERSION = 19, HEAD_PAGES = 28 };
enum { VERSION_DELETE = 1, VERSION_WAL = 2 };

static uint32_t get_be(const char *at, int bytes)
{
	uint32_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | (uint8_t)at[i];
	return v;
}

static uint32_t page_bytes(const char *head)
{
	uint32_t n = get_be(head + HEAD_PAGE_SIZE, 2);

	return n == 1 ? 65536 : n;
}

/* Returns whether the file is finished and not truncated. */
static bool is_whole(const char *head, const struct stat *st)
{
	return (uint64_t)get_be(head + HEAD_PAGES, 4) * page_bytes(head) <= (uint64_t)st->st_size &&
	       head[HEAD_READ_VERSION] != VERSION_WAL;
}

/* Repairs the header: SQLite refuses files shorter than their header says, or without their log. */
static void mend_head(char *head, size_t len)
{
	uint32_t size = page_bytes(head);
	uint32_t there = size ? (uint32_t)(len / size) : 0;

	head[HEAD_WRITE_VERSION] = head[HEAD_READ_VERSION] = VERSION_DELETE;
	for (int i = 0; there < get_be(head + HEAD_PAGES, 4) && i < 4; i++)
		head[HEAD_PAGES + i] = (char)(there >> (24 - 8 * i));
}

static int copy_to(int fd, struct recording_reader *r, struct err *err)
{
	uint64_t max = input_is_memory(r->in) ? RECORDING_MAX_HELD : RECORDING_MAX_COPIED;
	char piece[COPY_STEP_BYTES];
	long n;

	while ((n = input_read(r->in, piece, sizeof piece, err)) > 0) {
		r->copy_len += n;
		if (r->copy_len > max)
			return err_set(err, EFBIG, "%s holds more than %llu MiB", input_name(r->in),
				       (unsigned long long)max >> 20);
		if (write(fd, piece, n) != n)
			return err_set(err, errno ? errno : ENOSPC,
				       "cannot copy %s to a temporary file: %s", input_name(r->in),
				       strerror(errno));
	}
	return (int)n;
}

/* A process that reads from memory may not be allowed to create files. */
static int open_room(const struct recording_reader *r, struct err *err)
{
	if (!input_is_memory(r->in))
		return fs_open_unnamed(err);
	int fd = memfd_create("cresset recording", MFD_CLOEXEC);
	return fd < 0 ? err_set(err, errno, "no memory for %s: %s", input_name(r->in),
				strerror(errno))
		      : fd;
}

/* Copies input from a pipe, compressed input, or a file to be repaired into a private file, so that
 * it cannot change. */
static int open_copy(struct recording_reader *r, struct err *err)
{
	int fd = open_room(r, err), rc;

	if (fd < 0)
		return fd;
	rc = copy_to(fd, r, err);
	if (rc == 0) {
		r->copy = mmap(NULL, r->copy_len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (r->copy == MAP_FAILED) {
			r->copy = NULL;
			rc = err_set(err, errno, "cannot map %s: %s", input_name(r->in),
				     strerror(errno));
		}
	}
	close(fd);
	if (rc)
		return rc;
	mend_head(r->copy, r->copy_len);
	return db_open_bytes(input_name(r->in), r->copy, r->copy_len, &recording_schema, &r->db,
			     err);
}

/* Returns whether there is a log: the file is being written, or its writer has crashed. */
static bool has_log(const char *path)
{
	char *log = xasprintf("%s-wal", path);
	struct stat st;
	bool has = stat(log, &st) == 0 && st.st_size > 0;

	free(log);
	return has;
}

static int open_unfinished(struct recording_reader *r, const char *path, struct err *err)
{
	const struct db_opts opts = { .schema = &recording_schema, .access = DB_READ };
	int rc = db_open(path, &opts, &r->db, err);

	r->unfinished = true;
	if (rc == -EACCES || rc == -ENOENT || rc == -EROFS)
		err_hint(err, "it is unfinished: copy it, with %s-wal, to a writable directory",
			 path);
	return rc;
}

static int open_recording(struct recording_reader *r, struct err *err)
{
	const struct db_opts opts = { .schema = &recording_schema, .access = DB_FOREIGN };
	const char *head, *path = input_path(r->in);
	struct stat st;
	size_t len;
	int rc = input_peek(r->in, &head, &len, err);

	if (rc)
		return rc;
	if (!recording_detect(head, len))
		return err_set(err, EBADMSG, "%s is not a cresset recording", input_name(r->in));
	if (path && has_log(path))
		return open_unfinished(r, path, err);
	if (path && stat(path, &st) == 0 && is_whole(head, &st))
		return db_open(path, &opts, &r->db, err);
	return open_copy(r, err);
}

/* --- chunks ----------------------------------------------------------------------------------- */

struct chunk {
	int64_t id, type, flags, sum;
	const void *data;
	size_t len;
};

static struct chunk row_chunk(sqlite3_stmt *s)
{
	struct chunk c = {
		.id = sqlite3_column_int64(s, 0),
		.type = sqlite3_column_int64(s, 1),
		.flags = sqlite3_column_int64(s, 2),
		.sum = sqlite3_column_int64(s, 3),
	};

	c.data = sqlite3_column_blob(s, 4);
	c.len = (size_t)sqlite3_column_bytes(s, 4);
	return c;
}

static bool is_intact(const struct chunk *c)
{
	return c->len <= CHUNK_MAX_BYTES && c->type == (uint32_t)c->type &&
	       c->flags == (uint32_t)c->flags &&
	       chunk_checksum((uint32_t)c->type, (uint32_t)c->flags, c->data, c->len) ==
		       (uint64_t)c->sum;
}

static bool is_known(const struct chunk *c)
{
	return c->type >= CHUNK_STRINGS && c->type < CHUNK_TYPES_END &&
	       !(c->flags & ~(int64_t)(CHUNK_ZSTD | CHUNK_OPTIONAL));
}

static bool apply(struct recording_reader *r, const struct chunk *c)
{
	struct cur payload;

	if (r->broken & 1u << c->type ||
	    !chunk_unpack((uint32_t)c->flags, c->data, c->len, &r->raw, &payload))
		return false;
	r->unpacked_bytes += cur_left(&payload);
	return r->unpacked_bytes <= RECORDING_MAX_BYTES &&
	       chunk_apply(&r->tables, (uint32_t)c->type, payload);
}

/* Notes n missing chunks, which may have been of any table. */
static void miss(struct recording_reader *r, uint64_t n)
{
	r->left_out += n;
	r->broken |= COUNTED;
}

/* Takes a chunk; -EBADMSG if only a newer version understands it. */
static int take_chunk(struct recording_reader *r, const struct chunk *c, struct err *err)
{
	if (c->id <= r->last) {
		miss(r, 1);
		return 0;
	}
	if (c->id > r->last + 1)
		miss(r, c->id - r->last - 1);
	r->last = c->id;
	r->ended = false;
	if (!is_intact(c)) {
		miss(r, 1);
	} else if (!is_known(c)) {
		if (!(c->flags & CHUNK_OPTIONAL))
			return err_set(err, EBADMSG, "%s holds data of a newer cresset",
				       input_name(r->in));
	} else if (c->type == CHUNK_COMMIT) {
		r->ended = true;
	} else if (!apply(r, c)) {
		r->left_out++;
		r->broken |= 1u << c->type & COUNTED;
	}
	return input_ask(r->in, err);
}

/* Reads rows after r->last. *unreadable: the next one cannot be read. */
static int take_rows(struct recording_reader *r, bool *unreadable, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		r->db, "SELECT id, type, flags, sum, data FROM chunk WHERE id > ? ORDER BY id",
		err);
	int rc;

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, r->last);
	while ((rc = db_step(r->db, s, err)) > 0) {
		struct chunk c = row_chunk(s);
		rc = take_chunk(r, &c, err);
		if (rc) {
			sqlite3_reset(s);
			return rc;
		}
	}
	*unreadable = rc == -EBADMSG || rc == -E2BIG;
	return *unreadable ? 0 : rc;
}

/* Returns the last id; 0 if unknown. */
static int64_t last_id(struct recording_reader *r)
{
	struct err err;
	sqlite3_stmt *s = db_prepare(r->db, "SELECT max(id) FROM chunk", &err);
	int64_t id = s && db_step(r->db, s, &err) > 0 ? sqlite3_column_int64(s, 0) : 0;

	if (s)
		sqlite3_reset(s);
	return id;
}

static int read_chunks(struct recording_reader *r, struct err *err)
{
	int64_t until = last_id(r);
	bool unreadable = true;
	int rc = 0;

	for (int n = 0; rc == 0 && unreadable && n < MAX_UNREADABLE; n++) {
		rc = take_rows(r, &unreadable, err);
		if (rc == 0 && unreadable) {
			miss(r, 1);
			if (++r->last >= until)
				break;
		}
	}
	if (rc == 0 && r->last == 0)
		rc = err_set(err, EBADMSG, "%s ends before its first commit: nothing to read",
			     input_name(r->in));
	return rc;
}

int recording_read(struct input *in, struct sink *sink, struct err *err)
{
	struct recording_reader r = { .in = in };
	struct err local;

	err = err ? err : &local;
	int rc = open_recording(&r, err);
	if (rc == 0) {
		/* Limit rows to the size of a chunk and its other columns. */
		sqlite3_limit(db_handle(r.db), SQLITE_LIMIT_LENGTH, CHUNK_MAX_BYTES + 64);
		chunk_reader_init(&r.tables, sink);
		rc = read_chunks(&r, err);
		if (rc == 0)
			chunk_reader_end(&r.tables);
		r.left_out += !r.ended && !r.unfinished;
		if (rc == 0 && r.left_out)
			sink->ops->loss(sink, LOSS_INPUT_SKIPPED, r.left_out);
		chunk_reader_done(&r.tables);
	}
	db_close(r.db);
	if (r.copy)
		munmap(r.copy, r.copy_len);
	buf_done(&r.raw);
	return rc;
}
