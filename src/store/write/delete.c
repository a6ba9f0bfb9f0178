/* Deletes the rows of series permanently.
 *
 *     DIR/deleting     numbers of the series, during the deletion
 *
 * First everything in memory becomes blocks, and its batches leave the inbox. Then the rows are
 * deleted from each hour of the hot tier and from each part, in a transaction, and the files are
 * rewritten, so that nothing is left in free pages or journals. Each step may be repeated: a
 * deletion that a crash interrupts is resumed when the store is next opened. Open views keep what
 * they see. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/catalog/catalog.h"
#include "store/day/hot.h"
#include "store/day/inbox.h"
#include "store/day/readers.h"
#include "store/day/store_state.h"
#include "store/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_MAX_BYTES = 64 << 20 };

struct deletion {
	struct store *s;
	struct store_wanted w;
	uint64_t rows;
};

/* --- the note of a deletion ------------------------------------------------------------------- */

static char *note_path(const struct store *s)
{
	return xasprintf("%s/deleting", s->dir);
}

/* Writes one number per line; the last line marks the end. */
static int write_note(const struct store *s, const struct store_wanted *w, struct err *err)
{
	char *path = note_path(s);
	struct buf b = { 0 };
	struct out out;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->series[i])
			buf_addf(&b, "%u\n", i);
	buf_adds(&b, "end\n");
	int rc = out_open(&out, path, err);
	if (rc == 0)
		rc = out_write(&out, b.data, b.len, err);
	if (rc == 0)
		rc = out_flush(&out, err);
	if (rc == 0 && fsync(out.fd) < 0)
		rc = err_set(err, errno, "%s: %s", path, strerror(errno));
	if (rc == 0)
		rc = out_commit(&out, err);
	else
		out_abort(&out);
	if (rc == 0)
		rc = fs_sync_dir_of(path, err);
	buf_done(&b);
	free(path);
	return rc;
}

static int remove_note(const struct store *s, struct err *err)
{
	char *path = note_path(s);
	int rc = 0;

	if (unlink(path) < 0 && errno != ENOENT)
		rc = err_set(err, errno, "%s: %s", path, strerror(errno));
	if (rc == 0)
		rc = fs_sync_dir_of(path, err);
	free(path);
	return rc;
}

/* Sets the series that a note lists. Returns 1, or 0 if none exists, or an incomplete one. */
static int read_note(const struct store *s, bool *series, uint32_t n, struct err *err)
{
	char *path = note_path(s);
	struct buf b = { 0 };
	size_t lines = 0;
	uint64_t id;
	int rc = fs_read_at(AT_FDCWD, path, NOTE_MAX_BYTES, &b, err);

	char **line = rc == 0 ? str_split(buf_cstr(&b), '\n', &lines) : NULL;
	bool is_whole = lines >= 2 && strcmp(line[lines - 2], "end") == 0;
	for (size_t i = 0; is_whole && i + 2 < lines; i++)
		if (parse_u64(line[i], &id) == 0 && id < n)
			series[id] = true;
	free(line);
	buf_done(&b);
	free(path);
	return rc == -ENOENT ? 0 : rc ? rc : is_whole;
}

/* --- memory and inbox ------------------------------------------------------------------------- */

static bool is_purged(struct store *s, uint64_t sequence)
{
	pthread_mutex_lock(&s->inbox_lock);
	bool is = s->purged >= sequence;
	pthread_mutex_unlock(&s->inbox_lock);
	return is;
}

/* Writes everything in memory to files, then purges its batches from the inbox. */
static int settle(struct store *s, struct err *err)
{
	int rc = 0;

	store_lock(s);
	uint64_t sequence = s->applied;
	for (size_t i = 0; rc == 0 && i < s->parts.n; i++)
		rc = store_part_flush(s, s->parts.v[i], err);
	store_unlock(s);
	while (rc == 0 && !is_purged(s, sequence) && (rc = store_purge(s, err)) >= 0)
		rc = 0;
	pthread_mutex_lock(&s->inbox_lock);
	if (rc == 0)
		rc = inbox_scrub(s->inbox, err);
	pthread_mutex_unlock(&s->inbox_lock);
	return rc;
}

/* --- files ------------------------------------------------------------------------------------ */

static int delete_of_hour(struct deletion *d, struct hot_hour *h, struct err *err)
{
	struct db *db = NULL;
	int rc = store_hot_open(d->s, h, &db, err);

	if (rc == 0)
		rc = hot_delete(db, h->from_ns, &d->w, &d->rows, err);
	db_close(db);
	return rc;
}

/* The list of hours does not change in the meantime, as that needs inbox_lock. */
static int delete_of_hours(struct deletion *d, struct err *err)
{
	struct store *s = d->s;
	int rc = 0;

	pthread_mutex_lock(&s->inbox_lock);
	for (size_t i = 0; rc == 0 && i < s->hot.n; i++) {
		struct hot_hour *h = s->hot.v[i];
		pthread_mutex_lock(&s->lock);
		store_hot_use(s, h);
		bool has_file = !h->is_bad && h->last_block;
		pthread_mutex_unlock(&s->lock);
		uint64_t before = d->rows;
		rc = has_file ? delete_of_hour(d, h, err) : 0;
		h->rows -= d->rows - before;
		d->rows = before; /* its rows are counted in windows */
	}
	pthread_mutex_unlock(&s->inbox_lock);
	return rc;
}

static bool is_empty(const struct store_part *sp)
{
	struct part_info info;

	part_get_info(sp->part, &info);
	return !info.blocks && !info.metric_blocks && sp->first_sequence == UINT64_MAX && !sp->pins;
}

/* Open views get the part's state before the deletion. Unlinks an empty part, with its
 * dictionary. */
static int delete_of_part(struct deletion *d, struct store_part *sp, bool *gone, struct err *err)
{
	struct store *s = d->s;
	int rc = store_part_use(s, sp, err);

	*gone = false;
	if (rc == 0)
		rc = store_views_hold(s, sp, err);
	if (rc)
		return rc;
	readers_drop(s, sp); /* idle readers would keep the old pages */
	sp->pins++;
	pthread_mutex_unlock(&s->lock);
	rc = part_delete(sp->part, &d->w, &d->rows, err);
	pthread_mutex_lock(&s->lock);
	sp->pins--;
	if (rc == 0 && is_empty(sp)) {
		*gone = true;
		return store_part_unlink(s, sp, err);
	}
	if (rc == 0)
		store_part_measure(sp);
	store_part_idle(sp);
	return rc;
}

static int delete_of_parts(struct deletion *d, struct err *err)
{
	struct store *s = d->s;
	bool gone;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->parts.n; i += !gone) {
		store_lock(s);
		gone = false;
		if (i < s->parts.n && !s->parts.v[i]->is_bad)
			rc = delete_of_part(d, s->parts.v[i], &gone, err);
		store_unlock(s);
	}
	return rc;
}

static int delete_all(struct deletion *d, struct err *err)
{
	int rc = settle(d->s, err);

	if (rc == 0)
		rc = delete_of_hours(d, err);
	if (rc == 0)
		rc = delete_of_parts(d, err);
	return rc ? rc : remove_note(d->s, err);
}

/* --- entry points ----------------------------------------------------------------------------- */

/* One deletion at a time. After a failure the rest is done later; until then series keep their
 * numbers. */
static void begin(struct store *s)
{
	pthread_mutex_lock(&s->delete_lock);
	store_gc_pause(s);
}

static void end(struct store *s, int rc)
{
	s->delete_is_left = rc < 0;
	if (rc >= 0)
		store_gc_resume(s);
	pthread_mutex_unlock(&s->delete_lock);
}

static bool wants_any(const struct store_choice *c)
{
	return c->n && memchr(c->wanted, true, c->n * sizeof *c->wanted);
}

/* Deletes these series, and those left over from a failed deletion. */
static int delete_series(struct deletion *d, const struct store_choice *c, struct err *err)
{
	bool *series = xcalloc(c->n + 1, sizeof *series);

	memcpy(series, c->wanted, c->n * sizeof *series);
	d->w = (struct store_wanted){ series, c->n };
	int rc = read_note(d->s, series, c->n, err);
	if (rc >= 0)
		rc = write_note(d->s, &d->w, err);
	if (rc == 0)
		rc = delete_all(d, err);
	free(series);
	return rc;
}

int store_delete_chosen(struct store *s,
			int (*choose)(void *ctx, struct store_choice *out, struct err *err),
			void *ctx, uint64_t *rows, struct err *err)
{
	struct store_choice c = { 0 };
	struct deletion d = { .s = s };
	struct err local;

	err = err ? err : &local;
	if (s->opts.read_only)
		return err_set(err, EROFS, "%s: nothing can be written", s->dir);
	begin(s);
	int rc = choose(ctx, &c, err);
	if (rc || !wants_any(&c)) {
		/* Nothing was started: an earlier failed deletion is still pending. */
		end(s, s->delete_is_left ? -EAGAIN : 0);
		return rc;
	}
	rc = delete_series(&d, &c, err);
	end(s, rc);
	if (rc == 0 && rows)
		*rows = d.rows;
	return rc;
}

static int choose_given(void *ctx, struct store_choice *out, struct err *err)
{
	(void)err;
	*out = *(struct store_choice *)ctx;
	return 0;
}

int store_delete(struct store *s, const bool *wanted, uint32_t n, uint64_t *rows, struct err *err)
{
	struct store_choice given = { wanted, n };

	return store_delete_chosen(s, choose_given, &given, rows, err);
}

int store_delete_resume(struct store *s, struct err *err)
{
	begin(s);
	uint32_t n = catalog_profile(s->catalog)->series.series.n;
	bool *series = xcalloc(n + 1, sizeof *series);
	struct deletion d = { .s = s, .w = { series, n } };
	int rc = read_note(s, series, n, err);

	if (rc > 0)
		rc = delete_all(&d, err);
	else if (rc == 0)
		rc = remove_note(s, err);
	end(s, rc);
	free(series);
	return rc;
}

void store_delete_rest(struct store *s)
{
	struct err err;

	pthread_mutex_lock(&s->delete_lock);
	bool is_left = s->delete_is_left;
	pthread_mutex_unlock(&s->delete_lock);
	if (is_left)
		store_delete_resume(s, &err);
}
