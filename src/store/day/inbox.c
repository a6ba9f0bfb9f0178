/* Adds, reads and removes batches. */
#include "store/day/inbox.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/codec/store.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zstd.h>

enum {
	INBOX_LEVEL = 1, /* of zstd */
};
static const char *const inbox_objects[] = {
	"CREATE TABLE batch(seq INTEGER PRIMARY KEY, received INT, data BLOB, sum INT)",
	"CREATE TABLE sender(id BLOB PRIMARY KEY, high INT, window BLOB)",
	"CREATE TABLE last(id INTEGER PRIMARY KEY, seq INT)",
	NULL,
};
/* In version 1 a batch was its whole profile, as chunks, and no part's dictionary has its stacks.
 * So a file of that version is migrated only if it has no batches. */
static int take_version_1(struct db *db, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, "SELECT count(*) FROM batch", err);
	int64_t n = 0;
	int rc = s ? db_step(db, s, err) : -err->code;

	if (rc > 0) {
		n = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
	}
	if (rc < 0 || n == 0)
		return rc < 0 ? rc : 0;
	err_set(err, EBADMSG,
		"%s: made by an older cresset, format 1, with pending batches: %" PRId64,
		db_path(db), n);
	return err_hint(err, "start and stop the cresset that made it: this stores them");
}
static const struct db_migration inbox_migrations[] = { { 1, take_version_1 }, { 0, NULL } };
static const struct db_schema inbox_schema = { .kind = DB_KIND_INBOX,
					       .version = 2,
					       .objects = inbox_objects,
					       .migrations = inbox_migrations };

struct inbox {
	struct db *db;
	uint64_t last;
	struct buf plain, packed;
	ZSTD_CCtx *zstd;
};

/* --- encoding a row --------------------------------------------------------------------------- */

/* Stores the row uncompressed if compression saves less than an eighth. */
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

/* --- senders ---------------------------------------------------------------------------------- */

enum { WINDOW_WORDS = INBOX_WINDOW / 64 };
struct sender {
	uint64_t high;
	uint64_t window[WINDOW_WORDS]; /* bit i: number high + 1 + i is here; bit 0 is never set */
};

/* Advances high over numbers without a gap. */
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

/* Returns 1 if the number is new, and notes it; 0: a duplicate. */
static int sender_take(struct sender *s, uint64_t number, struct err *err)
{
	if (number == 0 || number > INT64_MAX)
		return err_set(err, EINVAL, "X-Cresset-Seq must be at least 1");
	if (number <= s->high)
		return 0;
	uint64_t i = number - s->high - 1;
	if (i >= INBOX_WINDOW) {
		err_set(err, ERANGE,
			"batch %" PRIu64 " is too far ahead: for this sender, %" PRIu64
			" is still missing",
			number, s->high + 1);
		return err_hint(err, "a sender that has lost batches starts over with another id");
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

/* Returns 1 if the batch is new. */
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

/* --- adding batches --------------------------------------------------------------------------- */

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

/* Encodes batch i into in->packed. */
static int encode(struct inbox *in, const struct inbox_rows *rows, size_t i, struct err *err)
{
	buf_clear(&in->plain);
	int rc = rows->encode(rows->ctx, i, &in->plain, err);
	if (rc == 0)
		pack(in);
	return rc;
}

static int put_batches(struct inbox *in, const struct store_batch *batches,
		       const struct inbox_rows *rows, size_t n, int64_t received_ns, uint64_t *seqs,
		       struct err *err)
{
	uint64_t last = in->last;

	for (size_t i = 0; i < n; i++) {
		int rc = take_number(in, &batches[i], err);
		if (rc < 0)
			return rc;
		seqs[i] = rc ? ++last : 0;
		if (rc)
			rc = encode(in, rows, i, err);
		if (rc == 0 && seqs[i])
			rc = insert_batch(in, seqs[i], received_ns, err);
		if (rc)
			return rc;
	}
	return last == in->last ? 0 : save_last(in, last, err);
}

int inbox_put(struct inbox *in, const struct store_batch *batches, const struct inbox_rows *rows,
	      size_t n, int64_t received_ns, uint64_t *seqs, struct err *err)
{
	struct err local;
	int rc;

	err = err ? err : &local;
	rc = db_begin(in->db, err);
	if (!rc)
		rc = put_batches(in, batches, rows, n, received_ns, seqs, err);
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

/* --- replay and purge ------------------------------------------------------------------------- */

static int replay_row(sqlite3_stmt *s, struct buf *plain, inbox_row_fn row, void *ctx,
		      struct err *err)
{
	const void *data = sqlite3_column_blob(s, 2);
	size_t len = sqlite3_column_bytes(s, 2);
	bool whole = data && sqlite3_column_int64(s, 3) == (int64_t)hash_bytes(data, len);
	struct cur c;

	whole = whole && unpack(data, len, plain, &c);
	return row(ctx, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), whole ? &c : NULL,
		   err);
}

int inbox_replay(struct inbox *in, inbox_row_fn row, void *ctx, struct err *err)
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
		rc = replay_row(s, &plain, row, ctx, err);
		if (rc)
			break;
	}
	sqlite3_reset(s);
	buf_done(&plain);
	return rc;
}

/* Sets *end to the last batch of the first `max_bytes` up to seq; 0: none. Takes at least one
 * batch, however large. */
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

int inbox_scrub(struct inbox *in, struct err *err)
{
	return db_scrub(in->db, err);
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
		return rc ? rc : db_give_back(in->db, err);
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

int inbox_read_begin(struct inbox *in, struct err *err)
{
	int rc = db_exec(in->db, "BEGIN", err);

	return rc ? rc : load_last(in, err);
}

void inbox_read_end(struct inbox *in)
{
	db_rollback(in->db);
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
		mem_exhausted();
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
	free(in);
}

int inbox_verify(struct inbox *in, struct err *err)
{
	return db_verify(in->db, err);
}
