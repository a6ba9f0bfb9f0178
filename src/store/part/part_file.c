/* Opens and closes partitions: their two files, one snapshot of both, and changes of both. */
#include "store/part/part_file.h"

#include "base/err.h"
#include "base/mem.h"
#include "profile/chunk_write.h"
#include "store/part/part.h"
#include "store/sqlite/db.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PART_PAGE_BYTES = 65536, /* blobs are large: fewer half-filled pages */
	PART_CACHE_BYTES = 8 << 20,
};

/* --- the files -------------------------------------------------------------------------------- */

static int open_db(const struct part *p, const char *path, const struct db_schema *schema,
		   struct db **out, struct err *err)
{
	const struct part_opts *o = &p->opts;
	uint64_t cache = o->cache_bytes ? o->cache_bytes : PART_CACHE_BYTES;
	const struct db_opts opts = {
		.schema = schema,
		.access = o->foreign     ? DB_FOREIGN
			  : o->read_only ? DB_READ
					 : DB_WRITE,
		.page_bytes = PART_PAGE_BYTES,
		.wal = true,
		.shrinks = true,
		.durable = true,
		.cache_bytes = cache / 2,
		.vfs = o->vfs,
	};
	struct db *db;
	int rc = db_open(path, &opts, &db, err);

	if (rc)
		return rc;
	/* A journal of 4 MiB, so that a day does not keep the size of its largest transaction on
	 * the disk. */
	if (!o->read_only)
		rc = db_exec(db, "PRAGMA wal_autocheckpoint=64; PRAGMA journal_size_limit=4194304",
			     err);
	if (rc) {
		db_close(db);
		return rc;
	}
	*out = db;
	return 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* The file is created only with the first blocks of a day: if missing later, it was dropped. A
 * damaged one counts as none. */
static int open_detail(struct part *p, struct err *err)
{
	bool create = !p->opts.read_only && p->state.next_block == 1;

	if (!create && !is_there(p->detail_path))
		return 0;
	int rc = open_db(p, p->detail_path, &part_detail_schema, &p->detail, err);
	if (rc != -EBADMSG)
		return rc;
	p->detail_damaged = true;
	return 0;
}

static int last_id(struct db *db, const char *sql, int64_t *id, struct err *err)
{
	sqlite3_stmt *s = db_prepare(db, sql, err);
	int rc = s ? db_step(db, s, err) : -err->code;

	if (rc > 0) {
		*id = sqlite3_column_int64(s, 0);
		sqlite3_reset(s);
		rc = 0;
	}
	return rc;
}

static const char last_detail_sql[] = "SELECT max(block) FROM detail";

/* --- consistent reads ------------------------------------------------------------------------- */

/* Follows the creation or removal of the detail. */
static int follow_detail(struct part *p, struct err *err)
{
	bool there = is_there(p->detail_path);

	if (p->detail && !there) {
		db_close(p->detail);
		p->detail = NULL;
	}
	return p->detail || !there || p->detail_damaged ? 0 : open_detail(p, err);
}

/* *last stays unchanged if its page is damaged: the next read will notice. */
static int begin_at(struct db *db, const char *sql, int64_t *last, struct err *err)
{
	int rc = db_exec(db, "BEGIN", err);

	if (rc == 0)
		rc = last_id(db, sql, last, err);
	return rc == -EBADMSG ? 0 : rc;
}

/* Detail is written before its block, and deleted after it. So a snapshot of the detail taken first
 * lacks only detail of blocks added since; *missed: then both snapshots have to be taken again. */
static int begin_both(struct part *p, bool *missed, struct err *err)
{
	int64_t detail = INT64_MAX, block = 0;
	int rc = p->detail ? begin_at(p->detail, last_detail_sql, &detail, err) : 0;

	if (rc == 0)
		rc = begin_at(p->day, "SELECT max(id) FROM block", &block, err);
	*missed = rc == 0 && block > detail;
	return rc;
}

static void end_both(struct part *p)
{
	if (p->detail)
		db_rollback(p->detail);
	db_rollback(p->day);
}

int part_version(struct part *p, int64_t *version, struct err *err)
{
	return last_id(p->day, "PRAGMA data_version", version, err);
}

/* Reads what others have written since. */
static int refresh(struct part *p, struct err *err)
{
	int64_t version = 0;
	int rc = part_version(p, &version, err);

	if (rc || version == p->seen_version)
		return rc;
	rc = part_state_read(p, &p->state, err);
	if (rc >= 0)
		rc = p->dict ? part_dict_update(p, err) : 0;
	if (rc == 0) {
		p->seen_version = version;
		p->index = p->metric_index = INDEX_UNKNOWN;
	}
	return rc;
}

int part_read_begin(struct part *p, struct err *err)
{
	enum { TRIES = 16 };
	bool missed = true;
	struct err local;
	int rc = 0;

	err = err ? err : &local;
	assert(!p->reading);
	if (p->opts.read_only && !p->opts.foreign)
		rc = follow_detail(p, err);
	for (int i = 0; rc == 0 && missed && i < TRIES; i++) {
		end_both(p);
		rc = begin_both(p, &missed, err);
	}
	if (rc == 0 && p->opts.read_only)
		rc = refresh(p, err);
	if (rc)
		end_both(p);
	p->reading = rc == 0;
	return rc;
}

void part_read_end(struct part *p)
{
	if (p->reading)
		end_both(p);
	p->reading = false;
}

/* --- superseded detail ------------------------------------------------------------------------ */

static int delete_detail(struct part *p, int64_t block, struct err *err)
{
	sqlite3_stmt *s = db_prepare(p->detail, "DELETE FROM detail WHERE block = ?1", err);

	if (!s)
		return -err->code;
	sqlite3_bind_int64(s, 1, block);
	return db_step(p->detail, s, err);
}

static int drop_superseded(struct part *p, struct err *err)
{
	int rc = 0;

	while (rc == 0 && p->superseded.n) {
		rc = delete_detail(p, p->superseded.v[p->superseded.n - 1], err);
		if (rc == 0)
			p->superseded.n--;
	}
	return rc;
}

int part_clean_detail(struct part *p, struct err *err)
{
	if (!p->superseded.n)
		return 0;
	int rc = db_begin(p->detail, err);
	if (rc)
		return rc;
	rc = drop_superseded(p, err);
	if (rc == 0)
		return db_commit(p->detail, err);
	db_rollback(p->detail);
	return rc;
}

/* --- a transaction on both files -------------------------------------------------------------- */

static void change_roll_back(struct part *p, const struct part_change *c)
{
	if (p->detail)
		db_rollback(p->detail);
	db_rollback(p->day);
	if (p->writer)
		chunk_writer_seek(p->writer, &c->saved);
	p->chunks = c->chunks;
}

int part_change_begin(struct part *p, struct part_change *c, struct err *err)
{
	assert(!p->opts.read_only && !p->reading);
	*c = (struct part_change){ .next = p->state, .chunks = p->chunks };
	if (p->writer)
		c->saved = chunk_writer_tell(p->writer);
	int rc = db_begin(p->day, err);
	if (rc == 0 && p->detail)
		rc = db_begin(p->detail, err);
	if (rc == 0 && p->detail)
		rc = drop_superseded(p, err);
	if (rc)
		change_roll_back(p, c);
	return rc;
}

/* No transaction spans both files. If the second commit is not reached, detail without a block
 * stays, under an id that another block may get, whose detail then replaces it. */
int part_change_end(struct part *p, struct part_change *c, int rc, struct err *err)
{
	if (rc == 0)
		rc = part_state_write(p, &c->next, err);
	if (rc == 0 && p->detail)
		rc = db_commit(p->detail, err);
	if (rc == 0)
		rc = db_commit(p->day, err);
	if (rc) {
		change_roll_back(p, c);
		return rc;
	}
	p->state = c->next;
	p->index = p->metric_index = INDEX_UNKNOWN;
	p->changes++;
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Does not reuse the ids of orphans of a crash: otherwise a reader of both files could see two
 * blocks with one id. */
static int skip_orphans(struct part *p, struct err *err)
{
	int64_t last = 0;
	int rc = last_id(p->detail, last_detail_sql, &last, err);

	if (rc == 0 && last >= (int64_t)p->state.next_block)
		p->state.next_block = (uint64_t)last + 1;
	return rc == -EBADMSG ? 0 : rc;
}

static int write_first_state(struct part *p, struct err *err)
{
	struct part_change c;
	int rc = part_change_begin(p, &c, err);

	return rc ? rc : part_change_end(p, &c, 0, err);
}

/* Opens both files. The detail is created only with the first blocks of a day: a day with blocks
 * and without detail has dropped it. A damaged detail counts as none. */
static int part_files_open(struct part *p, int64_t day_ns, struct err *err)
{
	int rc = open_db(p, p->path, &part_day_schema, &p->day, err);

	p->state = (struct part_state){ .day_ns = day_ns, .next_block = 1, .stacks = 1 };
	if (rc == 0)
		rc = part_state_read(p, &p->state, err);
	bool fresh = rc == 0;
	if (rc >= 0)
		rc = open_detail(p, err);
	if (rc == 0 && p->detail && !p->opts.read_only)
		rc = skip_orphans(p, err);
	return rc == 0 && fresh && !p->opts.read_only ? write_first_state(p, err) : rc;
}

/* --- a partition ------------------------------------------------------------------------------ */

/* p/2026-11-21.db → p/2026-11-21.det.db */
static char *detail_path(const char *path)
{
	size_t len = strlen(path);
	size_t stem = len > 3 && strcmp(path + len - 3, ".db") == 0 ? len - 3 : len;

	return xasprintf("%.*s.det.db", (int)stem, path);
}

int part_open(const char *path, int64_t day_ns, const struct part_opts *opts, struct part **out,
	      struct err *err)
{
	struct part *p = xcalloc(1, sizeof *p);
	struct err local;

	err = err ? err : &local;
	p->opts = *opts;
	p->opts.read_only |= opts->foreign;
	p->path = xstrdup(path);
	p->detail_path = detail_path(path);
	p->coder = block_coder_new();
	int rc = part_files_open(p, day_ns, err);
	if (rc) {
		part_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

void part_close(struct part *p)
{
	if (!p)
		return;
	part_read_end(p);
	struct err left; /* what fails stays until the day is sealed */
	if (p->detail)
		part_clean_detail(p, &left);
	part_dict_done(p);
	db_close(p->detail);
	db_close(p->day);
	block_coder_free(p->coder);
	block_blobs_done(&p->encoded.blobs);
	block_sums_done(&p->sums);
	map_done(&p->bad);
	vec_done(&p->superseded);
	free(p->path);
	free(p->detail_path);
	free(p);
}

/* --- information ------------------------------------------------------------------------------ */

static uint64_t file_bytes(const char *path)
{
	char *journal = xasprintf("%s-wal", path);
	struct stat file, wal;
	uint64_t bytes = stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;

	if (stat(journal, &wal) == 0)
		bytes += (uint64_t)wal.st_size;
	free(journal);
	return bytes;
}

void part_get_info(struct part *p, struct part_info *out)
{
	const struct part_state *s = &p->state;

	*out = (struct part_info){
		.from_ns = s->day_ns,
		.inbox_sequence = s->inbox,
		.rows = s->rows,
		.blocks = s->blocks,
		.points = s->points,
		.metric_blocks = s->metrics,
		.bad_blocks = p->bad.n + p->missing + p->missing_metrics + p->detail_damaged,
		.bytes = file_bytes(p->path),
		.detail_bytes = p->detail ? file_bytes(p->detail_path) : 0,
		.sealed = s->sealed,
		.has_detail = p->detail,
	};
}

/* --- dropping the detail ---------------------------------------------------------------------- */

int part_drop_detail(struct part *p, struct err *err)
{
	db_close(p->detail);
	p->detail = NULL;
	vec_clear(&p->superseded);
	return db_files_unlink(p->detail_path, err);
}
