/* Appends chunks while recording, and finishes the file. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/pb.h"
#include "profile/chunk_read.h"
#include "profile/chunk_write.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "store/recording/recording.h"
#include "store/sqlite/chunk_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const recording_objects[] = {
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, type INT, flags INT, sum INT, data BLOB)",
	NULL,
};

const struct db_schema recording_schema = {
	.kind = DB_KIND_RECORDING,
	.version = RECORDING_VERSION,
	.objects = recording_objects,
};

/* How long to wait for a reader that has the file open. */
enum { RECORDER_BUSY_MS = 10000 };

/* How often commits are synced: a power failure loses later ones. */
#define SYNC_EVERY_NS 10000000000ull

struct recorder {
	struct out out; /* creates PATH.tmp and renames it; zeroed: no PATH */
	struct db *db;
	struct chunk_writer *chunks;
	uint64_t dropped; /* samples */
	bool is_synced;   /* a commit was synced, at synced_ns */
	uint64_t synced_ns;
};

/* --- chunks ----------------------------------------------------------------------------------- */

static int put_chunk(void *ctx, enum chunk_type type, uint32_t flags, const void *payload,
		     size_t len, struct err *err)
{
	struct recorder *r = ctx;

	return chunk_table_add(r->db, type, flags, payload, len, err);
}

/* Writes the last chunk of a complete recording. */
static int put_end(struct recorder *r, struct err *err)
{
	struct buf samples = { 0 };

	pb_put_varint(&samples, chunk_writer_samples(r->chunks));
	int rc = put_chunk(r, CHUNK_COMMIT, 0, samples.data, samples.len, err);
	buf_done(&samples);
	return rc;
}

static int commit(struct recorder *r, const struct profile *p, bool end, struct err *err)
{
	const struct chunk_out out = { .put = put_chunk, .ctx = r };
	int rc = db_begin(r->db, err);

	if (rc)
		return rc;
	rc = chunk_write(r->chunks, p, CHUNK_ALL, &out, err);
	if (rc == 0 && end)
		rc = put_end(r, err);
	if (rc == 0)
		return db_commit(r->db, err);
	db_rollback(r->db);
	return rc;
}

/* Syncs the first commit, then one whenever it is due. */
static int sync_commits(struct recorder *r, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();

	if (!r->out.tmp || (r->is_synced && now_ns - r->synced_ns < SYNC_EVERY_NS))
		return 0;
	r->is_synced = true;
	r->synced_ns = now_ns;
	return db_sync_log(r->db, err);
}

int recorder_commit(struct recorder *r, const struct profile *p, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	int rc = commit(r, p, false, err);
	return rc ? rc : sync_commits(r, err);
}

/* --- dropping and restoring samples ----------------------------------------------------------- */

void recorder_drop_samples(struct recorder *r, struct profile *p)
{
	chunk_writer_drop_samples(r->chunks);
	r->dropped = chunk_writer_samples(r->chunks);
	p->samples.n = 0;
}

_Static_assert(CHUNK_SAMPLES == 10 && CHUNK_SPANS == 14 && CHUNK_LINKED == 17,
	       "as in the statement below");

/* Reads chunks of samples until all dropped ones are restored. */
static int read_dropped(struct recorder *r, struct chunk_reader *t, struct err *err)
{
	sqlite3_stmt *s = db_prepare(
		r->db, "SELECT type, flags, data FROM chunk WHERE type IN (10, 14, 17) ORDER BY id",
		err);
	struct buf raw = { 0 };
	int rc = s ? 0 : -err->code;

	while (rc == 0 && t->samples_given < r->dropped) {
		struct cur payload;

		rc = db_step(r->db, s, err);
		if (rc > 0 &&
		    chunk_unpack((uint32_t)sqlite3_column_int64(s, 1), sqlite3_column_blob(s, 2),
				 sqlite3_column_bytes(s, 2), &raw, &payload) &&
		    chunk_apply(t, (uint32_t)sqlite3_column_int64(s, 0), payload))
			rc = 0;
		else if (rc >= 0)
			rc = err_set(err, EBADMSG, "%s: the samples cannot be read back",
				     db_path(r->db));
	}
	if (s)
		sqlite3_reset(s);
	buf_done(&raw);
	return rc;
}

static void append_samples(struct profile *p, const struct sample_columns *c)
{
	struct sink *sink = profile_sink(p);

	for (size_t i = 0; i < c->n; i++) {
		const struct sample s = { .time_ns = c->time_ns[i],
					  .length_ns = sample_length_ns(c, i),
					  .value = c->value[i],
					  .series = c->series[i],
					  .stack = c->stack[i],
					  .pid = c->pid[i],
					  .tid = c->tid[i],
					  .cpu = c->cpu[i],
					  .link = sample_link(c, i) };
		sink->ops->sample(sink, &s);
	}
}

int recorder_restore_samples(struct recorder *r, struct profile *p, struct err *err)
{
	struct sample_columns later = p->samples;
	struct chunk_reader t;
	struct err local;

	if (!r->dropped)
		return 0;
	p->samples = (struct sample_columns){ 0 };
	chunk_reader_init_own(&t, p);
	int rc = read_dropped(r, &t, err ? err : &local);
	chunk_reader_done(&t);
	if (rc) {
		sample_columns_done(&p->samples);
		p->samples = later;
		return rc;
	}
	append_samples(p, &later);
	sample_columns_done(&later);
	chunk_writer_restore_samples(r->chunks);
	r->dropped = 0;
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Removes SQLite's files next to PATH.tmp. */
static void remove_beside(const char *tmp)
{
	static const char *const endings[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		char *path = xasprintf("%s%s", tmp, endings[i]);
		unlink(path);
		free(path);
	}
}

/* Creates PATH.tmp, empty and our own, as SQLite would open an existing file. */
static int create_file(struct recorder *r, const char *path, struct err *err)
{
	int rc = out_open(&r->out, path, err);

	if (rc)
		return rc;
	if (!r->out.tmp)
		return err_set(err, ESPIPE, "cannot write %s: a recording needs a regular file",
			       path);
	remove_beside(r->out.tmp);
	return 0;
}

static int open_db(struct recorder *r, const char *path, bool wal, struct err *err)
{
	const struct db_opts opts = { .schema = &recording_schema,
				      .access = DB_WRITE,
				      .is_public = true,
				      .wal = wal,
				      .busy_ms = RECORDER_BUSY_MS };
	int rc = db_open(path, &opts, &r->db, err);

	/* so that the file itself has its header */
	return rc || !wal ? rc : db_exec(r->db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

static void recorder_free(struct recorder *r)
{
	db_close(r->db);
	chunk_writer_free(r->chunks);
	free(r);
}

static struct recorder *recorder_new(void)
{
	struct recorder *r = xcalloc(1, sizeof *r);

	r->out.fd = -1;
	r->chunks = chunk_writer_new();
	return r;
}

int recorder_open(const char *path, struct recorder **out, struct err *err)
{
	struct recorder *r = recorder_new();
	int rc = path ? create_file(r, path, err) : 0;

	if (rc == 0)
		rc = open_db(r, path ? r->out.tmp : "", path, err);
	if (rc)
		recorder_abort(r);
	else
		*out = r;
	return rc;
}

/* Another process is still reading the file: leaves it, complete, under its temporary name. */
static int leave_file(struct recorder *r, struct err *err)
{
	char *tmp = r->out.tmp;

	r->out.tmp = NULL;
	err_set(err, EBUSY, "%s is being read by another process and could not be renamed", tmp);
	int rc = err_hint(err, "it is complete, together with %s-wal", tmp);
	free(tmp);
	return rc;
}

/* Moves everything into the file, then syncs and renames it. */
static int finish_file(struct recorder *r, struct err *err)
{
	int rc = db_finish(r->db, err);

	if (rc == -EBUSY)
		return leave_file(r, err);
	db_close(r->db);
	r->db = NULL;
	if (rc == 0 && fsync(r->out.fd) != 0 && errno != EINVAL && errno != EROFS)
		rc = err_set(err, errno, "cannot write %s to the disk: %s", r->out.path,
			     strerror(errno));
	char *path = xstrdup(r->out.path);
	if (rc == 0)
		rc = out_commit(&r->out, err);
	if (rc == 0)
		rc = fs_sync_dir_of(path, err);
	free(path);
	return rc;
}

int recorder_finish(struct recorder *r, const struct profile *p, struct err *err)
{
	struct err local;

	err = err ? err : &local;
	int rc = commit(r, p, true, err);
	if (rc == 0)
		rc = finish_file(r, err);
	recorder_abort(r);
	return rc;
}

void recorder_abort(struct recorder *r)
{
	if (!r)
		return;
	/* first: closing a descriptor of the file would drop SQLite's locks on it */
	db_close(r->db);
	r->db = NULL;
	if (r->out.tmp)
		remove_beside(r->out.tmp);
	out_abort(&r->out);
	recorder_free(r);
}

/* --- all at once ------------------------------------------------------------------------------ */

static int write_bytes(struct recorder *r, struct out *out, struct err *err)
{
	sqlite3_int64 len = 0;
	unsigned char *data = sqlite3_serialize(db_handle(r->db), "main", &len, 0);

	if (!data)
		return err_set(err, ENOMEM, "no memory to write a recording");
	int rc = out_write(out, data, (size_t)len, err);
	sqlite3_free(data);
	return rc;
}

int recording_write(const struct profile *p, struct out *out, struct err *err)
{
	struct recorder *r = recorder_new();
	struct err local;

	err = err ? err : &local;
	int rc = open_db(r, ":memory:", false, err);
	if (rc == 0)
		rc = commit(r, p, true, err);
	if (rc == 0)
		rc = write_bytes(r, out, err);
	recorder_free(r);
	return rc;
}
