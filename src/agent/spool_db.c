/* The spool's file: statements. */
#include "agent/spool_state.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "store/sqlite/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/random.h>

enum { CACHE_BYTES = 256 << 10 };

static const char *const objects[] = {
	"CREATE TABLE entry(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, base INTEGER NOT NULL, "
	"made INTEGER NOT NULL, "
	"samples INTEGER NOT NULL, sum INTEGER NOT NULL, done INTEGER NOT NULL, packed BLOB NOT "
	"NULL)",
	"CREATE INDEX entry_base ON entry(base) WHERE base > 0 AND done = 0",
	"CREATE TABLE state(id INTEGER PRIMARY KEY, agent BLOB NOT NULL, next INTEGER NOT NULL, "
	"shift INTEGER NOT NULL, "
	"source BLOB NOT NULL, source_sequence INTEGER NOT NULL, added INTEGER NOT NULL, "
	"added_samples INTEGER NOT NULL, "
	"sent INTEGER NOT NULL, sent_samples INTEGER NOT NULL, dropped INTEGER NOT NULL, "
	"dropped_samples INTEGER NOT NULL, "
	"refused INTEGER NOT NULL, refused_samples INTEGER NOT NULL, peer INTEGER NOT NULL, "
	"peer_key INTEGER NOT NULL)",
	NULL,
};
static const struct db_schema schema = { .kind = DB_KIND_SPOOL, .version = 1, .objects = objects };

/* The numbers in a row of `state`, after its two blobs, in the order of its columns. */
enum { NUMBERS = 13 };

static void numbers_of(struct spool_row *r, uint64_t *to[NUMBERS])
{
	uint64_t *const all[NUMBERS] = {
		&r->next,
		&r->shift,
		&r->source.sequence,
		&r->counts.added,
		&r->counts.added_samples,
		&r->counts.sent,
		&r->counts.sent_samples,
		&r->counts.dropped,
		&r->counts.dropped_samples,
		&r->counts.refused,
		&r->counts.refused_samples,
		&r->peer.url_hash,
		&r->peer.key,
	};

	memcpy(to, all, sizeof all);
}

/* UUID version 4 of RFC 9562. */
int spool_db_new_agent(struct spool *s, struct err *err)
{
	uint8_t *id = s->row.agent;

	if (getrandom(id, SPOOL_ID_BYTES, 0) != SPOOL_ID_BYTES)
		return err_set(err, EIO, "cannot read random numbers for an agent's UUID");
	id[6] = (id[6] & 0x0f) | 0x40;
	id[8] = (id[8] & 0x3f) | 0x80;
	return 0;
}

static int spool_db_save(struct spool *s, struct err *err)
{
	uint64_t *numbers[NUMBERS];
	sqlite3_stmt *q = db_prepare(s->db,
				     "INSERT OR REPLACE INTO state(id, agent, source, next, shift, "
				     "source_sequence, added, added_samples, "
				     "sent, sent_samples, dropped, dropped_samples, refused, "
				     "refused_samples, peer, peer_key) "
				     "VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				     err);

	if (!q)
		return -err->code;
	sqlite3_bind_blob(q, 1, s->row.agent, SPOOL_ID_BYTES, SQLITE_STATIC);
	sqlite3_bind_blob(q, 2, s->row.source.id, SPOOL_ID_BYTES, SQLITE_STATIC);
	numbers_of(&s->row, numbers);
	for (int i = 0; i < NUMBERS; i++)
		sqlite3_bind_int64(q, 3 + i, (int64_t)*numbers[i]);
	return db_step(s->db, q, err);
}

static bool take_id(sqlite3_stmt *q, int column, uint8_t id[SPOOL_ID_BYTES])
{
	const void *blob = sqlite3_column_blob(q, column);

	if (!blob || sqlite3_column_bytes(q, column) != SPOOL_ID_BYTES)
		return false;
	memcpy(id, blob, SPOOL_ID_BYTES);
	return true;
}

static int load_state(struct spool *s, struct err *err)
{
	uint64_t *numbers[NUMBERS];
	sqlite3_stmt *q = db_prepare(s->db,
				     "SELECT agent, source, next, shift, source_sequence, added, "
				     "added_samples, sent, sent_samples, "
				     "dropped, dropped_samples, refused, refused_samples, peer, "
				     "peer_key FROM state WHERE id = 1",
				     err);
	int rc = q ? db_step(s->db, q, err) : -err->code;

	if (rc <= 0)
		return rc;
	bool fits = take_id(q, 0, s->row.agent) && take_id(q, 1, s->row.source.id);
	numbers_of(&s->row, numbers);
	for (int i = 0; i < NUMBERS; i++)
		*numbers[i] = (uint64_t)sqlite3_column_int64(q, 2 + i);
	sqlite3_reset(q);
	if (!fits || !s->row.next || s->row.shift >= s->row.next)
		return err_set(err, EBADMSG, "%s: its state is damaged", s->path);
	return 1;
}

static int begin_state(struct spool *s, struct err *err)
{
	s->row = (struct spool_row){ .next = 1 };
	int rc = spool_db_new_agent(s, err);

	return rc ? rc : spool_db_save(s, err);
}

int spool_db_open(struct spool *s, struct err *err)
{
	const struct db_opts opts = { .schema = &schema,
				      .access = DB_WRITE,
				      .durable = true,
				      .cache_bytes = CACHE_BYTES,
				      .vfs = s->opts.vfs };
	int rc = db_open(s->path, &opts, &s->db, err);

	if (!rc)
		rc = load_state(s, err);
	if (rc == 0)
		return s->db ? begin_state(s, err) : 0;
	return rc < 0 ? rc : 0;
}

static uint64_t pragma(struct spool *s, const char *sql)
{
	sqlite3_stmt *q = db_prepare(s->db, sql, NULL);
	uint64_t n = 0;

	if (q && db_step(s->db, q, NULL) > 0)
		n = (uint64_t)sqlite3_column_int64(q, 0);
	if (q)
		sqlite3_reset(q);
	return n;
}

uint64_t spool_db_used(struct spool *s)
{
	uint64_t pages = pragma(s, "PRAGMA page_count") - pragma(s, "PRAGMA freelist_count");

	return pages * pragma(s, "PRAGMA page_size");
}

/* --- entries ---------------------------------------------------------------------------------- */

int spool_db_put(struct spool *s, const struct spool_entry *e, struct err *err)
{
	sqlite3_stmt *q = db_prepare(s->db,
				     "INSERT INTO entry(id, kind, base, made, samples, sum, done, "
				     "packed) VALUES(?, ?, ?, ?, ?, ?, 0, ?)",
				     err);

	if (!q)
		return -err->code;
	sqlite3_bind_int64(q, 1, (int64_t)e->id);
	sqlite3_bind_int64(q, 2, e->kind);
	sqlite3_bind_int64(q, 3, (int64_t)e->base);
	sqlite3_bind_int64(q, 4, e->made_ns);
	sqlite3_bind_int64(q, 5, (int64_t)e->samples);
	sqlite3_bind_int64(q, 6, (int64_t)hash_bytes(e->packed.data, e->packed.len));
	sqlite3_bind_blob64(q, 7, e->packed.data, e->packed.len, SQLITE_STATIC);
	return db_step(s->db, q, err);
}

/* id, kind, base, made, samples, sum, packed */
static int take_entry(struct spool *s, sqlite3_stmt *q, struct spool_entry *out, struct err *err)
{
	int rc = q ? db_step(s->db, q, err) : -err->code;

	if (rc <= 0)
		return rc;
	const void *data = sqlite3_column_blob(q, 6);
	size_t len = sqlite3_column_bytes(q, 6);
	uint64_t sum = (uint64_t)sqlite3_column_int64(q, 5);
	int64_t kind = sqlite3_column_int64(q, 1);
	*out = (struct spool_entry){ .id = (uint64_t)sqlite3_column_int64(q, 0),
				     .kind = kind,
				     .base = (uint64_t)sqlite3_column_int64(q, 2),
				     .made_ns = sqlite3_column_int64(q, 3),
				     .samples = (uint64_t)sqlite3_column_int64(q, 4) };
	bool sound = data && kind >= 0 && kind < SPOOL_KINDS && hash_bytes(data, len) == sum;
	if (sound)
		buf_add(&out->packed, data, len);
	sqlite3_reset(q);
	return 1; /* a damaged entry has no bytes */
}

#define ENTRY "SELECT id, kind, base, made, samples, sum, packed FROM entry "

int spool_db_get(struct spool *s, uint64_t id, struct spool_entry *out, struct err *err)
{
	sqlite3_stmt *q = db_prepare(s->db, ENTRY "WHERE id = ?", err);

	if (q)
		sqlite3_bind_int64(q, 1, (int64_t)id);
	return take_entry(s, q, out, err);
}

int spool_db_first(struct spool *s, struct spool_entry *out, struct err *err)
{
	return take_entry(s, db_prepare(s->db, ENTRY "WHERE done = 0 ORDER BY id LIMIT 1", err),
			  out, err);
}

int spool_db_last_key(struct spool *s, struct spool_entry *out, struct err *err)
{
	return take_entry(s,
			  db_prepare(s->db,
				     ENTRY "WHERE base = 0 AND kind = 0 ORDER BY id DESC LIMIT 1",
				     err),
			  out, err);
}

int spool_db_oldest(struct spool *s, uint64_t but, struct spool_head *out, struct err *err)
{
	sqlite3_stmt *q = db_prepare(s->db,
				     "SELECT id, kind, base, samples, length(packed) FROM entry "
				     "WHERE done = 0 AND id <> ? ORDER BY id LIMIT 1",
				     err);

	if (!q)
		return -err->code;
	sqlite3_bind_int64(q, 1, (int64_t)but);
	int rc = db_step(s->db, q, err);
	if (rc <= 0)
		return rc;
	*out = (struct spool_head){ .id = (uint64_t)sqlite3_column_int64(q, 0),
				    .kind = sqlite3_column_int64(q, 1) == SPOOL_PROFILES
						    ? SPOOL_PROFILES
						    : SPOOL_METRICS,
				    .base = (uint64_t)sqlite3_column_int64(q, 2),
				    .samples = (uint64_t)sqlite3_column_int64(q, 3),
				    .bytes = (uint64_t)sqlite3_column_int64(q, 4) };
	sqlite3_reset(q);
	return 1;
}

int spool_db_count(struct spool *s, struct err *err)
{
	sqlite3_stmt *q = db_prepare(
		s->db, "SELECT count(*), sum(length(packed)) FROM entry WHERE done = 0", err);
	int rc = q ? db_step(s->db, q, err) : -err->code;

	if (rc <= 0)
		return rc;
	s->waiting = (uint64_t)sqlite3_column_int64(q, 0);
	s->waiting_bytes = (uint64_t)sqlite3_column_int64(q, 1);
	sqlite3_reset(q);
	return 0;
}

static int run_with(struct spool *s, sqlite3_stmt *q, uint64_t n, struct err *err)
{
	if (!q)
		return -err->code;
	sqlite3_bind_int64(q, 1, (int64_t)n);
	return db_step(s->db, q, err);
}

/* Entries refer to ever newer keys, so all keys before the oldest one in use can go. */
static int first_needed(struct spool *s, uint64_t *id, struct err *err)
{
	sqlite3_stmt *q =
		db_prepare(s->db, "SELECT min(base) FROM entry WHERE base > 0 AND done = 0", err);
	int rc = q ? db_step(s->db, q, err) : -err->code;

	if (rc <= 0)
		return rc;
	uint64_t base = (uint64_t)sqlite3_column_int64(q, 0);
	*id = s->key.id ? s->key.id : s->row.next;
	if (base && base < *id)
		*id = base;
	sqlite3_reset(q);
	return 0;
}

int spool_db_end(struct spool *s, uint64_t id, bool may_be_key, struct err *err)
{
	uint64_t needed = 0;
	int rc =
		may_be_key
			? run_with(s,
				   db_prepare(s->db, "UPDATE entry SET done = 1 WHERE id = ?", err),
				   id, err)
			: run_with(s, db_prepare(s->db, "DELETE FROM entry WHERE id = ?", err), id,
				   err);

	if (!rc)
		rc = first_needed(s, &needed, err);
	if (!rc)
		rc = run_with(s,
			      db_prepare(s->db, "DELETE FROM entry WHERE id < ? AND done = 1", err),
			      needed, err);
	return rc;
}

/* --- transactions ----------------------------------------------------------------------------- */

int spool_begin(struct spool *s, struct spool_change *before, struct err *err)
{
	*before = (struct spool_change){ s->row, s->waiting, s->waiting_bytes };
	return db_begin(s->db, err);
}

int spool_end(struct spool *s, const struct spool_change *before, int rc, struct err *err)
{
	if (!rc)
		rc = spool_db_save(s, err);
	if (!rc)
		rc = db_commit(s->db, err);
	if (rc) {
		db_rollback(s->db);
		s->row = before->row;
		s->waiting = before->waiting;
		s->waiting_bytes = before->waiting_bytes;
	}
	return rc;
}
