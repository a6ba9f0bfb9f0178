#include "store/inbox.h"

#include "base/mem.h"
#include "base/vec.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "store/db.h"
#include "store/db_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zstd.h>

enum {
	INBOX_LEVEL = 1, /* of zstd */
	FRAME_BYTES = 6, /* in front of a payload */
	/* Free pages of 4 KiB: what is worth being given back, and so many at once. */
	SPARE_PAGES = 256,
	SHRINK_PAGES = 1024,
};
/* What is read again: exact times of threads and where names came from are not. */
enum { INBOX_TABLES = CHUNK_ALL & ~(1 << CHUNK_ORIGINS | 1 << CHUNK_THREADS) };

static const char *const inbox_objects[] = {
	"CREATE TABLE batch(seq INTEGER PRIMARY KEY, received INT, data BLOB, sum INT)",
	"CREATE TABLE sender(id BLOB PRIMARY KEY, high INT, window BLOB)",
	"CREATE TABLE last(id INTEGER PRIMARY KEY, seq INT)",
	NULL,
};
static const struct db_schema inbox_schema = { DB_KIND_INBOX, 1, inbox_objects };

struct inbox {
	struct db *db;
	uint64_t last;
	struct buf plain, packed;
	struct metric_samples points; /* of the batch that is replayed */
	ZSTD_CCtx *zstd;
};

/* --- a batch as bytes ------------------------------------------------------------------------- */

static int frame(struct buf *b, uint8_t type, uint32_t flags, const void *payload, size_t len,
		 struct err *err)
{
	uint32_t len_le = htole32(len);

	if (b->len + len > INBOX_MAX_BATCH_BYTES)
		return err_set(err, EFBIG, "a batch of more than %d MiB",
			       INBOX_MAX_BATCH_BYTES >> 20);
	buf_addc(b, type);
	buf_addc(b, flags);
	buf_add(b, &len_le, sizeof len_le);
	buf_add(b, payload, len);
	return 0;
}

static int frame_chunk(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		       size_t len, struct err *err)
{
	return frame(ctx, type, flags, payload, len, err);
}

static int frame_points(struct inbox *in, const struct metric_samples *points, struct err *err)
{
	struct buf payload = { 0 };

	if (!points || !points->n)
		return 0;
	metric_samples_encode(points, &payload);
	int rc = frame(&in->plain, INBOX_POINTS, 0, payload.data, payload.len, err);
	buf_done(&payload);
	return rc;
}

/* Less than an eighth saved is not worth the time to unpack it. */
static void pack(struct inbox *in)
{
	buf_clear(&in->packed);
	buf_reserve(&in->packed, 1 + ZSTD_compressBound(in->plain.len));
	size_t n = ZSTD_compressCCtx(in->zstd, in->packed.data + 1, in->packed.cap - 1,
				     in->plain.data, in->plain.len, INBOX_LEVEL);
	bool pays = !ZSTD_isError(n) && n < in->plain.len - in->plain.len / 8;
	if (!pays) {
		memcpy(in->packed.data + 1, in->plain.data, in->plain.len);
		n = in->plain.len;
	}
	in->packed.data[0] = pays;
	in->packed.len = 1 + n;
}

/* Into in->packed. */
static int encode(struct inbox *in, const struct store_batch *batch, const struct chunk_kept *kept,
		  struct err *err)
{
	const struct chunk_out out = { .put = frame_chunk, .ctx = &in->plain, .plain = true };
	struct chunk_writer *w = chunk_writer_new();

	buf_clear(&in->plain);
	chunk_writer_keep(w, kept);
	int rc = chunk_write(w, batch->p, INBOX_TABLES, &out, err);
	chunk_writer_free(w);
	if (rc == 0)
		rc = frame_points(in, batch->metrics, err);
	if (rc == 0)
		pack(in);
	return rc;
}

static bool unpack(const void *data, size_t len, struct buf *plain, struct cur *out)
{
	*out = cur_of(data, len);
	uint8_t packed = cur_u8(out);

	if (out->bad || packed > 1)
		return false;
	if (!packed)
		return true;
	unsigned long long size = ZSTD_getFrameContentSize(out->p, cur_left(out));
	if (size > INBOX_MAX_BATCH_BYTES) /* unknown and error are huge */
		return false;
	buf_clear(plain);
	buf_reserve(plain, size + 1);
	size_t got = ZSTD_decompress(plain->data, size, out->p, cur_left(out));
	*out = cur_of(plain->data, got);
	return !ZSTD_isError(got);
}

/* Into the profile's ids. */
static bool apply_points(const struct chunk_reader *reader, struct cur c,
			 struct metric_samples *points)
{
	if (points->n || !metric_samples_decode(c, points))
		return false;
	for (size_t i = 0; i < points->n; i++) {
		uint32_t *series = &points->v[i].series;
		if (*series >= reader->series.v.n)
			return false;
		*series = reader->series.v.v[*series];
	}
	return true;
}

static bool apply_chunk(struct chunk_reader *reader, uint8_t type, struct cur c,
			struct metric_samples *points)
{
	if (type == INBOX_POINTS)
		return apply_points(reader, c, points);
	return type >= 1 && type < CHUNK_TYPES_END && INBOX_TABLES & 1 << type &&
	       chunk_apply(reader, type, c);
}

static bool apply_chunks(struct chunk_reader *reader, struct cur c, struct metric_samples *points)
{
	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c), flags = cur_u8(&c);
		uint32_t len = cur_u32(&c);
		const void *payload = cur_take(&c, len);
		if (!payload || flags || !apply_chunk(reader, type, cur_of(payload, len), points))
			return false;
	}
	return !c.bad;
}

/* NULL: it is damaged. */
static struct profile *decode(const void *data, size_t len, struct buf *plain,
			      struct metric_samples *points)
{
	struct profile *p = profile_new();
	struct chunk_reader reader;
	struct cur c;

	chunk_reader_init(&reader, profile_sink(p));
	vec_clear(points);
	bool ok = unpack(data, len, plain, &c) && apply_chunks(&reader, c, points) &&
		  metric_samples_check(points, p, NULL) == 0;
	if (ok)
		chunk_reader_end(&reader);
	chunk_reader_done(&reader);
	if (ok)
		return p;
	profile_free(p);
	return NULL;
}

/* --- what a sender has sent ------------------------------------------------------------------- */

enum { WINDOW_WORDS = INBOX_WINDOW / 64 };
struct sender {
	uint64_t high;
	uint64_t window[WINDOW_WORDS]; /* bit i: number high + 1 + i is here; bit 0 is never set */
};

/* What is without a gap now goes into high. */
static void sender_advance(struct sender *s)
{
	while (s->window[0] & 1) {
		for (int i = 0; i < WINDOW_WORDS; i++) {
			uint64_t next = i + 1 < WINDOW_WORDS ? s->window[i + 1] : 0;
			s->window[i] = s->window[i] >> 1 | next << 63;
		}
		s->high++;
	}
}

/* 1: it is new, and noted; 0: it was here before. */
static int sender_take(struct sender *s, uint64_t number, struct err *err)
{
	if (number == 0 || number > INT64_MAX)
		return err_set(err, EINVAL, "a batch's sequence is not 1 or more");
	if (number <= s->high)
		return 0;
	uint64_t i = number - s->high - 1;
	if (i >= INBOX_WINDOW) {
		err_set(err, ERANGE,
			"batch %" PRIu64 " is too far ahead: of this sender, %" PRIu64
			" has not come yet",
			number, s->high + 1);
		return err_hint(err, "a sender that has lost batches begins anew with another id");
	}
	if (s->window[i / 64] >> i % 64 & 1)
		return 0;
	s->window[i / 64] |= 1ull << i % 64;
	sender_advance(s);
	return 1;
}

static int load_sender(struct inbox *in, const uint8_t *id, struct sender *out, struct err *err)
{
	sqlite3_stmt *s = db_prepare(in->db, "SELECT high, window FROM sender WHERE id = ?", err);
	int rc;

	if (!s)
		return -err->code;
	*out = (struct sender){ 0 };
	sqlite3_bind_blob(s, 1, id, STORE_SENDER_BYTES, SQLITE_STATIC);
	rc = db_step(in->db, s, err);
	if (rc > 0) {
		const void *window = sqlite3_column_blob(s, 1);
		out->high = sqlite3_column_int64(s, 0);
		rc = sqlite3_column_bytes(s, 1) == sizeof out->window && window
			     ? 0
			     : err_set(err, EBADMSG, "%s: a sender's window is damaged",
				       db_path(in->db));
		for (int i = 0; rc == 0 && i < WINDOW_WORDS; i++) {
			memcpy(&out->window[i], (const char *)window + 8 * i, 8);
			out->window[i] = le64toh(out->window[i]);
		}
		sqlite3_reset(s);
	}
	return rc;
}

static int save_sender(struct inbox *in, const uint8_t *id, const struct sender *sender,
		       struct err *err)
{
	uint64_t window[WINDOW_WORDS];
	sqlite3_stmt *s = db_prepare(
		in->db, "INSERT OR REPLACE INTO sender(id, high, window) VALUES(?, ?, ?)", err);

	if (!s)
		return -err->code;
	for (int i = 0; i < WINDOW_WORDS; i++)
		window[i] = htole64(sender->window[i]);
	sqlite3_bind_blob(s, 1, id, STORE_SENDER_BYTES, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (int64_t)sender->high);
	sqlite3_bind_blob(s, 3, window, sizeof window, SQLITE_STATIC);
	return db_step(in->db, s, err);
}

/* 1: the batch is new. */
static int take_number(struct inbox *in, const struct store_batch *b, struct err *err)
{
	struct sender sender = { 0 };

	if (!b->sender)
		return 1;
	int rc = load_sender(in, b->sender, &sender, err);
	if (rc == 0)
		rc = sender_take(&sender, b->sequence, err);
	if (rc > 0)
		rc = save_sender(in, b->sender, &sender, err) ?: 1;
	return rc;
}

/* --- putting ---------------------------------------------------------------------------------- */

static int insert_batch(struct inbox *in, uint64_t seq, int64_t received_ns, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		in->db, "INSERT INTO batch(seq, received, data, sum) VALUES(?, ?, ?, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, (int64_t)seq);
	sqlite3_bind_int64(s, 2, received_ns);
	sqlite3_bind_blob64(s, 3, in->packed.data, in->packed.len, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, (int64_t)hash_bytes(in->packed.data, in->packed.len));
	return db_step(in->db, s, err);
}

static int save_last(struct inbox *in, uint64_t seq, struct err *err)
{
	sqlite3_stmt *s =
		db_prepare(in->db, "INSERT OR REPLACE INTO last(id, seq) VALUES(1, ?)", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, (int64_t)seq);
	return db_step(in->db, s, err);
}

static int put_batches(struct inbox *in, const struct store_batch *batches,
		       const struct chunk_kept *kept, size_t n, int64_t received_ns, uint64_t *seqs,
		       struct err *err)
{
	uint64_t last = in->last;

	for (size_t i = 0; i < n; i++) {
		int rc = take_number(in, &batches[i], err);
		if (rc < 0)
			return rc;
		seqs[i] = rc ? ++last : 0;
		if (rc)
			rc = encode(in, &batches[i], kept ? &kept[i] : NULL, err);
		if (rc == 0 && seqs[i])
			rc = insert_batch(in, seqs[i], received_ns, err);
		if (rc)
			return rc;
	}
	return last == in->last ? 0 : save_last(in, last, err);
}

int inbox_put(struct inbox *in, const struct store_batch *batches, const struct chunk_kept *kept,
	      size_t n, int64_t received_ns, uint64_t *seqs, struct err *err)
{
	struct err local;
	int rc;

	err = err ? err : &local;
	rc = db_begin(in->db, err);
	if (!rc)
		rc = put_batches(in, batches, kept, n, received_ns, seqs, err);
	if (!rc)
		rc = db_commit(in->db, err);
	if (rc) {
		db_rollback(in->db);
		return rc;
	}
	for (size_t i = 0; i < n; i++)
		in->last = seqs[i] ? seqs[i] : in->last;
	return 0;
}

uint64_t inbox_last(const struct inbox *in)
{
	return in->last;
}

/* --- reading again, and taking away ----------------------------------------------------------- */

static int replay_row(struct inbox *in, sqlite3_stmt *s, struct buf *plain, inbox_batch_fn batch,
		      void *ctx, struct err *err)
{
	const void *data = sqlite3_column_blob(s, 2);
	size_t len = sqlite3_column_bytes(s, 2);
	bool whole = data && sqlite3_column_int64(s, 3) == (int64_t)hash_bytes(data, len);
	struct profile *p = whole ? decode(data, len, plain, &in->points) : NULL;

	return batch(ctx, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), p, err);
}

int inbox_replay(struct inbox *in, inbox_batch_fn batch, void *ctx, struct err *err)
{
	struct buf plain = { 0 };
	struct err local;
	sqlite3_stmt *s;
	int rc;

	err = err ? err : &local;
	s = db_prepare(in->db, "SELECT seq, received, data, sum FROM batch ORDER BY seq", err);
	if (!s)
		return -err->code;
	while ((rc = db_step(in->db, s, err)) > 0) {
		rc = replay_row(in, s, &plain, batch, ctx, err);
		if (rc)
			break;
	}
	sqlite3_reset(s);
	buf_done(&plain);
	return rc;
}

const struct metric_samples *inbox_points(const struct inbox *in)
{
	return &in->points;
}

/* The last batch of the first `max_bytes` up to seq; 0: there are none. At least one, however large. */
static int slice_end(struct inbox *in, uint64_t seq, uint64_t max_bytes, uint64_t *end,
		     struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		in->db, "SELECT seq, length(data) FROM batch WHERE seq <= ? ORDER BY seq", err);
	uint64_t bytes = 0;
	int rc;

	if (!s)
		return -err->code;
	*end = 0;
	sqlite3_bind_int64(s, 1, (int64_t)seq);
	while ((rc = db_step(in->db, s, err)) > 0) {
		bytes += sqlite3_column_int64(s, 1);
		if (*end && bytes > max_bytes)
			break;
		*end = sqlite3_column_int64(s, 0);
	}
	sqlite3_reset(s);
	return rc < 0 ? rc : 0;
}

static int free_pages(struct inbox *in, int64_t *n, struct err *err)
{
	sqlite3_stmt *s = db_prepare(in->db, "PRAGMA freelist_count", err);
	int rc = s ? db_step(in->db, s, err) : -err->code;

	if (rc > 0) {
		*n = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return rc < 0 ? rc : 0;
}

/* The file gets smaller by what is free in it, and the journal ends. 1: there is more. A file of before it could shrink stays as it is. */
static int give_back(struct inbox *in, struct err *err)
{
	int64_t before = 0, after = 0;
	int rc = free_pages(in, &before, err);

	if (rc || before < SPARE_PAGES)
		return rc;
	_Static_assert(SHRINK_PAGES == 1024, "as below");
	rc = db_exec(in->db, "PRAGMA incremental_vacuum(1024)", err);
	if (!rc)
		rc = free_pages(in, &after, err);
	if (!rc && after >= SPARE_PAGES && after < before)
		return 1;
	return rc ? rc : db_exec(in->db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int inbox_purge(struct inbox *in, uint64_t seq, uint64_t max_bytes, struct err *err)
{
	struct err local;
	sqlite3_stmt *s;
	uint64_t end = 0;
	int rc;

	err = err ? err : &local;
	rc = slice_end(in, seq, max_bytes, &end, err);
	if (rc || end == 0)
		return rc ? rc : give_back(in, err);
	s = db_prepare(in->db, "DELETE FROM batch WHERE seq <= ?", err);
	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, (int64_t)end);
	rc = db_step(in->db, s, err);
	return rc ? rc : 1;
}

uint64_t inbox_bytes(const struct inbox *in)
{
	return db_files_bytes(db_path(in->db));
}

/* --- opening ---------------------------------------------------------------------------------- */

static int load_last(struct inbox *in, struct err *err)
{
	sqlite3_stmt *s = db_prepare(in->db,
				     "SELECT max(ifnull((SELECT max(seq) FROM last), 0), "
				     "ifnull((SELECT max(seq) FROM batch), 0))",
				     err);
	int rc = s ? db_step(in->db, s, err) : -err->code;

	if (rc > 0) {
		in->last = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	return rc < 0 ? rc : 0;
}

int inbox_open(const char *path, bool read_only, const char *vfs, struct inbox **out,
	       struct err *err)
{
	struct inbox *in = xcalloc(1, sizeof *in);
	struct db_opts opts = { .schema = &inbox_schema,
				.access = read_only ? DB_READ : DB_WRITE,
				.page_bytes = 4096,
				.wal = true,
				.shrinks = true,
				.durable = true,
				.vfs = vfs };
	struct err local;
	int rc;

	err = err ? err : &local;
	in->zstd = ZSTD_createCCtx();
	if (!in->zstd)
		mem_gone();
	rc = db_open(path, &opts, &in->db, err);
	if (!rc)
		rc = load_last(in, err);
	if (rc) {
		inbox_close(in);
		return rc;
	}
	*out = in;
	return 0;
}

void inbox_close(struct inbox *in)
{
	if (!in)
		return;
	db_close(in->db);
	ZSTD_freeCCtx(in->zstd);
	buf_done(&in->plain);
	buf_done(&in->packed);
	vec_done(&in->points);
	free(in);
}

int inbox_verify(struct inbox *in, struct err *err)
{
	return db_verify(in->db, err);
}
