/* The dictionary of a partition in memory. */
#include "store/part/part_file.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	DICT_MAX_BYTES = 512 << 20, /* of all chunks, decompressed; maximum for readers */
	DICT_SEALED_CHUNK = 4 << 20,
	DICT_SEALED_LEVEL = 6, /* of zstd; the higher levels are much slower and save little more */
};

/* --- reading ---------------------------------------------------------------------------------- */

static int damaged(const struct part *p, struct err *err)
{
	return err_set(err, EBADMSG, "%s: its dictionary is damaged", p->path);
}

/* Applies a row of SELECT id, type, flags, sum, data. */
static int apply_row(struct part *p, struct chunk_reader *reader, sqlite3_stmt *s, struct buf *raw,
		     uint64_t *bytes, struct err *err)
{
	int64_t type = sqlite3_column_int64(s, 1), flags = sqlite3_column_int64(s, 2);
	const void *data = sqlite3_column_blob(s, 4);
	size_t len = sqlite3_column_bytes(s, 4);
	struct cur payload;

	if (type < 0 || type >= CHUNK_TYPES_END || !(CHUNK_DICTIONARY & 1 << type) ||
	    (flags != 0 && flags != CHUNK_ZSTD))
		return damaged(p, err);
	if (chunk_checksum(type, flags, data, len) != (uint64_t)sqlite3_column_int64(s, 3) ||
	    !chunk_unpack(flags, data, len, raw, &payload))
		return damaged(p, err);
	*bytes += cur_left(&payload);
	if (*bytes > DICT_MAX_BYTES)
		return err_set(err, EBADMSG, "%s: its dictionary is too large", p->path);
	return chunk_apply(reader, type, payload) ? 0 : damaged(p, err);
}

/* Applies the rows after at->last. */
static int apply_rows(struct part *p, struct chunk_reader *reader, struct part_chunks *at,
		      struct err *err)
{
	struct buf raw = { 0 };
	int rc;

	sqlite3_stmt *s = db_prepare(p->day,
				     "SELECT id, type, flags, sum, data FROM dict WHERE id > ?1 "
				     "ORDER BY id",
				     err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, at->last);
	while ((rc = db_step(p->day, s, err)) > 0) {
		rc = apply_row(p, reader, s, &raw, &at->bytes, err);
		if (rc)
			break;
		at->last = sqlite3_column_int64(s, 0);
	}
	sqlite3_reset(s);
	buf_done(&raw);
	return rc;
}

static int first_row(struct part *p, int64_t *first, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->day, "SELECT min(id) FROM dict", err);
	int rc = s ? db_step(p->day, s, err) : -err->code;

	if (rc > 0) {
		*first = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
		rc = 0;
	}
	return rc;
}

/* After sealing, the dictionary is read again from the start; known entries are skipped. */
static int restart_if_rewritten(struct part *p, struct err *err)
{
	int64_t first = 0;
	int rc = first_row(p, &first, err);

	if (rc || first == p->chunks.first)
		return rc;
	if (p->chunks.first) {
		chunk_reader_done(&p->reader);
		chunk_reader_restore(&p->reader, p->dict);
	}
	p->chunks = (struct part_chunks){ .first = first };
	return 0;
}

int part_dict_update(struct part *p, struct err *err)
{
	int rc = restart_if_rewritten(p, err);

	if (rc == 0)
		rc = apply_rows(p, &p->reader, &p->chunks, err);
	if (rc == 0 && p->reader.stacks.v.n != p->state.stacks)
		rc = damaged(p, err);
	return rc;
}

/* Adding needs the same ids as the file has; equal stacks of a foreign file are checked as well. */
static int check_dict(struct part *p, struct err *err)
{
	bool same = p->opts.read_only || p->dict->strings.all.n == p->reader.strings.v.n;

	if (same && (p->opts.foreign || !p->opts.read_only))
		same = stack_table_index(&p->dict->stacks);
	return same ? 0 : damaged(p, err);
}

void part_dict_done(struct part *p)
{
	if (!p->dict)
		return;
	chunk_reader_done(&p->reader);
	chunk_writer_free(p->writer);
	profile_free(p->dict);
	p->writer = NULL;
	p->dict = NULL;
	p->chunks = (struct part_chunks){ 0 };
}

static int read_dict(struct part *p, struct err *err)
{
	p->dict = profile_new();
	chunk_reader_restore(&p->reader, p->dict);
	int rc = part_dict_update(p, err);
	if (rc == 0)
		rc = check_dict(p, err);
	if (rc) {
		part_dict_done(p);
		return rc;
	}
	struct chunk_position all = chunk_position_of(p->dict);
	p->writer = chunk_writer_new();
	chunk_writer_seek(p->writer, &all);
	if (!p->opts.read_only)
		chunk_reader_done(&p->reader); /* only the owner adds to it */
	return 0;
}

int part_load(struct part *p, struct err *err)
{
	struct err local;
	bool alone = p->opts.read_only && !p->reading;

	err = err ? err : &local;
	if (p->dict)
		return 0;
	int rc = alone ? part_read_begin(p, err) : 0;
	if (rc)
		return rc;
	rc = read_dict(p, err);
	if (alone)
		part_read_end(p);
	return rc;
}

void part_unload(struct part *p)
{
	part_dict_done(p);
}

struct profile *part_dict(struct part *p)
{
	part_load(p, NULL);
	return p->dict;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int put_row(void *ctx, enum chunk_type type, uint32_t flags, const void *payload, size_t len,
		   struct err *err)
{
	struct part *p = ctx;
	uint64_t bytes = flags & CHUNK_ZSTD ? ZSTD_getFrameContentSize(payload, len) : len;

	if (p->chunks.bytes + bytes > DICT_MAX_BYTES)
		return err_set(err, E2BIG, "%s: has too many stacks", p->path);
	sqlite3_stmt *s = db_prepare(p->day, "INSERT INTO dict VALUES(?1, ?2, ?3, ?4, ?5)", err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, p->chunks.last + 1);
	sqlite3_bind_int64(s, 2, type);
	sqlite3_bind_int64(s, 3, flags);
	sqlite3_bind_int64(s, 4, (int64_t)chunk_checksum(type, flags, payload, len));
	sqlite3_bind_blob64(s, 5, payload, len, SQLITE_STATIC);
	int rc = db_step(p->day, s, err);
	if (rc)
		return rc;
	p->chunks.last++;
	p->chunks.first = p->chunks.first ? p->chunks.first : p->chunks.last;
	p->chunks.bytes += bytes;
	return 0;
}

int part_dict_save(struct part *p, struct err *err)
{
	const struct chunk_out out = { .put = put_row, .ctx = p };

	return chunk_write(p->writer, p->dict, CHUNK_DICTIONARY, &out, err);
}

int part_dict_check(struct part *p, uint64_t stacks, struct err *err)
{
	struct part_chunks from_start = { 0 };
	struct chunk_reader reader;

	chunk_reader_restore(&reader, p->dict);
	int rc = apply_rows(p, &reader, &from_start, err);
	if (rc == 0 && reader.stacks.v.n != stacks)
		rc = damaged(p, err);
	chunk_reader_done(&reader);
	return rc;
}

int part_dict_rewrite(struct part *p, struct err *err)
{
	const struct chunk_out out = { .put = put_row, .ctx = p };
	struct chunk_writer *w = chunk_writer_new();

	chunk_writer_size(w, DICT_SEALED_CHUNK, DICT_SEALED_LEVEL);
	p->chunks.first = 0;
	p->chunks.bytes = 0;
	int rc = db_exec(p->day, "DELETE FROM dict", err);
	if (rc == 0)
		rc = chunk_write(w, p->dict, CHUNK_DICTIONARY, &out, err);
	struct chunk_position all = chunk_writer_tell(w);
	chunk_writer_free(w);
	chunk_writer_seek(p->writer, &all);
	return rc ? rc : part_dict_check(p, all.stacks, err);
}
