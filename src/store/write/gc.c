/* Removes series that nothing refers to from the catalog.
 *
 * A run starts after days were deleted, and after opening. It reads which series the files have:
 * blocks and metrics of all parts, samples of the hot tier, step by step, through handles of its
 * own and without a lock. Whatever was not in files at the start is newer than `sequence`: batches
 * in the inbox, which heads and buffers come from (store_state.h, 4). The catalog knows the last
 * batch of each series. A series in neither is removed. Open views have no part that is not in the
 * list, and never see a row of another series under an old number: a view's rows of heads and
 * buffers are counted when it opens, and its parts' blocks are those before anything is added
 * (store_views_hold).
 *
 * Other reading processes have a separate catalog, and open parts later. So they hold a shared
 * lock on DIR/readers as long as they have the store open. A free place is not reused before the
 * writer has once got that lock exclusively. */
#include "base/err.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/catalog/catalog.h"
#include "store/codec/hot_block.h"
#include "store/day/hot.h"
#include "store/day/store_dict.h"
#include "store/day/store_state.h"
#include "store/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Blocks of the hot tier in one step. */
enum { COLLECT_BLOCKS = 16 };
/* A step takes some ms. */
enum { PIECE_WAIT_US = 1000 };

/* --- other processes -------------------------------------------------------------------------- */

/* Opens the file that readers lock. Without it no version that makes one has written this store; a
 * writer that makes it later does not know of readers that are open already. */
int store_gc_open(struct store *s, struct err *err)
{
	char *path = xasprintf("%s/readers", s->dir);
	int flags = s->opts.read_only ? O_RDONLY : O_RDWR | O_CREAT;
	int rc = 0;

	s->gc.readers_fd = open(path, flags | O_CLOEXEC, 0640);
	if (s->gc.readers_fd >= 0 && s->opts.read_only)
		while (flock(s->gc.readers_fd, LOCK_SH) && errno == EINTR)
			continue;
	else if (s->gc.readers_fd < 0 && !s->opts.read_only)
		rc = err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	free(path);
	return rc;
}

void store_gc_done(struct store *s)
{
	free(s->gc.kept);
	if (s->gc.readers_fd >= 0)
		close(s->gc.readers_fd);
}

/* Returns whether no other process reads now; a later one sees that the places are free. */
static bool is_alone(const struct store *s)
{
	if (flock(s->gc.readers_fd, LOCK_EX | LOCK_NB))
		return false;
	flock(s->gc.readers_fd, LOCK_UN);
	return true;
}

/* --- a run ------------------------------------------------------------------------------------ */

static void begin(struct store *s)
{
	struct store_gc *c = &s->gc;

	c->is_due = false;
	c->is_running = true;
	c->sequence = s->purged;
	c->n = catalog_profile(s->catalog)->series.series.n;
	free(c->kept);
	c->kept = xcalloc(c->n + 1, sizeof *c->kept);
	c->part_ns = c->hot_ns = INT64_MIN;
	c->piece = 0;
	c->hot_block = 0;
}

/* Returns the part to read next; NULL: all were read. */
static struct store_part *next_part(const struct store *s)
{
	const struct store_gc *c = &s->gc;

	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (sp->day_ns > c->part_ns || (sp->day_ns == c->part_ns && sp->piece >= c->piece))
			return sp;
	}
	return NULL;
}

static int read_part(struct store *s, const struct store_part *sp, struct err *err)
{
	const struct part_opts opts = { .read_only = true,
					.cache_bytes = 1 << 20,
					.vfs = s->opts.vfs };
	struct part *p;
	int rc = part_open(sp->path, sp->day_ns, &opts, &p, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* not written yet */
	rc = part_mark_series(p, s->gc.kept, s->gc.n, err);
	part_close(p);
	return rc;
}

static struct hot_hour *next_hour(const struct store *s)
{
	for (size_t i = 0; i < s->hot.n; i++)
		if (s->hot.v[i]->from_ns >= s->gc.hot_ns && !s->hot.v[i]->is_bad)
			return s->hot.v[i];
	return NULL;
}

static void mark_rows(struct store_gc *c, const struct hot_rows *rows)
{
	for (size_t i = 0; i < rows->rows.n; i++)
		if (rows->rows.v[i].series < c->n)
			c->kept[rows->rows.v[i].series] = true;
}

/* Skips damaged blocks, which no reader can use. */
static int read_blocks(struct store_gc *c, struct db *db, int *read, struct err *err)
{
	sqlite3_stmt *st =
		db_prepare(db, "SELECT id, data FROM block WHERE id > ? ORDER BY id LIMIT ?", err);
	struct hot_rows rows = { 0 };
	int rc;

	if (!st)
		return -err->code;
	sqlite3_bind_int64(st, 1, c->hot_block);
	sqlite3_bind_int64(st, 2, COLLECT_BLOCKS);
	for (*read = 0; (rc = db_step(db, st, err)) > 0; ++*read) {
		if (hot_block_decode(sqlite3_column_blob(st, 1), sqlite3_column_bytes(st, 1), &rows,
				     NULL) == 0)
			mark_rows(c, &rows);
		c->hot_block = sqlite3_column_int64(st, 0);
	}
	hot_rows_done(&rows);
	return rc;
}

/* Skips a damaged hour as well. */
static int read_hour(struct store *s, const struct hot_hour *h, struct err *err)
{
	const struct db_opts opts = { .schema = &hot_schema,
				      .access = DB_READ,
				      .wal = true,
				      .cache_bytes = 256 * 1024,
				      .vfs = s->opts.vfs };
	struct db *db = NULL;
	int read = 0;
	int rc = db_open(h->path, &opts, &db, err);

	if (rc == 0)
		rc = read_blocks(&s->gc, db, &read, err);
	db_close(db);
	if (rc && rc != -ENOENT && rc != -EBADMSG)
		return rc;
	if (rc || read < COLLECT_BLOCKS) {
		s->gc.hot_ns = h->from_ns + 1;
		s->gc.hot_block = 0;
	}
	return 0;
}

/* Writes the catalog without `lock`. */
static int end(struct store *s, struct err *err)
{
	struct store_gc *c = &s->gc;

	c->is_running = false;
	pthread_mutex_lock(&s->inbox_lock);
	int rc = catalog_gc(s->catalog, c->kept, c->n, c->sequence, err);
	pthread_mutex_lock(&s->lock);
	if (rc == 0 && catalog_take_rest(s->catalog))
		store_dicts_forget_series(s);
	store_unlock(s);
	free(c->kept);
	c->kept = NULL;
	return rc;
}

/* Reads the next part or hour, which is pinned in the meantime. Returns 1, or 0 if none exists
 * left. */
static int read_next(struct store *s, struct err *err)
{
	struct store_gc *c = &s->gc;
	struct store_part *sp;
	struct hot_hour *h = NULL;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	sp = next_part(s);
	if (sp)
		sp->pins++;
	else if ((h = next_hour(s)))
		h->readers++;
	pthread_mutex_unlock(&s->lock);
	if (sp)
		rc = read_part(s, sp, err);
	else if (h)
		rc = read_hour(s, h, err);
	pthread_mutex_lock(&s->lock);
	if (sp) {
		sp->pins--;
		c->part_ns = sp->day_ns;
		c->piece = sp->piece + 1;
	} else if (h) {
		h->readers--;
	}
	pthread_mutex_unlock(&s->lock);
	return rc ? rc : sp || h;
}

/* If anything cannot be read, no series is removed, as it may be readable another time. */
static int run_step(struct store *s, struct err *err)
{
	int rc = read_next(s, err);

	if (rc > 0)
		return 1;
	if (rc == 0)
		return end(s, err);
	s->gc.is_running = false;
	return rc == -EBADMSG ? 0 : rc;
}

void store_gc_reuse(struct store *s)
{
	store_lock(s);
	if (catalog_has_waiting(s->catalog) && is_alone(s))
		catalog_reuse(s->catalog);
	store_unlock(s);
}

static bool take_turn(struct store *s)
{
	struct store_gc *c = &s->gc;

	pthread_mutex_lock(&s->inbox_lock); /* purged */
	pthread_mutex_lock(&s->lock);
	bool is_mine = !c->is_busy && !c->is_held;
	if (is_mine && c->is_due && !c->is_running)
		begin(s);
	c->is_busy |= is_mine;
	store_unlock(s);
	return is_mine;
}

void store_gc_pause(struct store *s)
{
	bool is_busy = true;

	while (is_busy) {
		pthread_mutex_lock(&s->lock);
		s->gc.is_held = true;
		is_busy = s->gc.is_busy;
		pthread_mutex_unlock(&s->lock);
		if (is_busy)
			usleep(PIECE_WAIT_US);
	}
}

void store_gc_resume(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	s->gc.is_held = false;
	s->gc.is_due = true;
	pthread_mutex_unlock(&s->lock);
}

int store_gc_step(struct store *s, struct err *err)
{
	struct err local;

	if (!take_turn(s))
		return 0;
	int rc = s->gc.is_running ? run_step(s, err ? err : &local) : 0;
	if (rc == 0)
		store_gc_reuse(s);
	pthread_mutex_lock(&s->lock);
	s->gc.is_busy = false;
	pthread_mutex_unlock(&s->lock);
	return rc;
}
