/* Opens a store, replays the inbox, and closes it. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/catalog/catalog.h"
#include "store/day/batch_rows.h"
#include "store/day/hot.h"
#include "store/day/inbox.h"
#include "store/day/readers.h"
#include "store/day/store_dict.h"
#include "store/day/store_state.h"
#include "store/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_NS 86400000000000ll

/* The share of memory for types, labels and series, beyond which new series are folded. */
enum { CATALOG_SHARE = 8 };

/* --- opening ---------------------------------------------------------------------------------- */

static int64_t wall_now_ns(void *ctx)
{
	(void)ctx;
	return (int64_t)clock_wall_ns();
}

static int64_t boot_now_ns(void *ctx)
{
	(void)ctx;
	return (int64_t)clock_boot_ns();
}

static struct store_opts with_defaults(const struct store_opts *given)
{
	struct store_opts o = *given;

	o.memory_bytes = o.memory_bytes ?: 256ull << 20;
	o.disk_bytes = o.disk_bytes ?: 10ull << 30;
	o.retention_ns = o.retention_ns ?: 14 * DAY_NS;
	o.detail_retention_ns = o.detail_retention_ns ?: o.retention_ns;
	o.hot_ns = o.hot_ns ?: DAY_NS / 12;
	o.max_series = o.max_series ?: 20000;
	o.boot_ns = o.boot_ns ?: o.now_ns ?: boot_now_ns;
	o.now_ns = o.now_ns ?: wall_now_ns;
	return o;
}

/* Syncs an existing directory as well: its creator may have crashed before the sync. */
static int make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0750) && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	return fs_sync_dir_of(path, err);
}

static int make_dirs(const struct store *s, struct err *err)
{
	char *parts = xasprintf("%s/p", s->dir), *hot = xasprintf("%s/hot", s->dir);
	int rc = make_dir(s->dir, err);

	if (!rc)
		rc = make_dir(parts, err);
	if (!rc)
		rc = make_dir(hot, err);
	free(parts);
	free(hot);
	return rc;
}

static int busy(const struct store *s, struct err *err)
{
	char pid[16];
	ssize_t n = pread(s->lock_fd, pid, sizeof pid - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	err_set(err, EBUSY, "%s: another process writes this store%s%s", s->dir,
		*pid ? ": pid " : "", pid);
	return err_hint(err, "reading it is possible");
}

static int take_lock(struct store *s, struct err *err)
{
	char *path = xasprintf("%s/lock", s->dir);
	char pid[16];
	int rc = 0;

	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (s->lock_fd < 0)
		rc = err_set(err, errno, "cannot open %s: %s", path, strerror(errno));
	else if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
		rc = busy(s, err);
	free(path);
	if (rc)
		return rc;
	struct stat st;
	s->was_killed = fstat(s->lock_fd, &st) == 0 && st.st_size > 0;
	int len = snprintf(pid, sizeof pid, "%d", (int)getpid());
	/* Only messages and the verification of days depend on it. */
	if (ftruncate(s->lock_fd, 0) == 0 && pwrite(s->lock_fd, pid, len, 0) < 0)
		errno = 0;
	return 0;
}

/* A writer makes the file; without it a reader has another directory. */
static int find_inbox(const struct store *s, const char *inbox, struct err *err)
{
	if (s->opts.read_only && access(inbox, F_OK) && errno == ENOENT)
		return err_set(err, ENOENT, "%s: not a store: inbox.db is missing", s->dir);
	return 0;
}

static int open_files(struct store *s, struct err *err)
{
	const struct catalog_opts how = { .read_only = s->opts.read_only,
					  .max_series = s->opts.max_series,
					  .max_bytes = s->opts.memory_bytes / CATALOG_SHARE,
					  .vfs = s->opts.vfs };
	const struct names_db_opts names_how = { .read_only = s->opts.read_only,
						 .cache_bytes = s->opts.memory_bytes / 64,
						 .seen_bytes = s->opts.memory_bytes / 32,
						 .vfs = s->opts.vfs };
	char *inbox = xasprintf("%s/inbox.db", s->dir), *meta = xasprintf("%s/meta.db", s->dir);
	char *names = xasprintf("%s/names.db", s->dir);
	int rc = find_inbox(s, inbox, err);

	if (!rc)
		rc = inbox_open(inbox, s->opts.read_only, s->opts.vfs, &s->inbox, err);
	if (!rc && s->opts.read_only)
		rc = inbox_read_begin(s->inbox, err);
	if (!rc)
		rc = catalog_open(meta, &how, &s->catalog, err);
	if (!rc)
		rc = names_db_open(names, &names_how, &s->names, err);
	if (!rc)
		rc = store_parts_scan(s, err);
	free(inbox);
	free(meta);
	free(names);
	return rc;
}

static int64_t first_hot_ns(const struct store *s)
{
	int64_t now_ns = store_now_ns(s),
		from_ns = now_ns - (s->opts.hot_ns > 0 ? s->opts.hot_ns : 0);

	if (s->parts.n || inbox_last(s->inbox))
		from_ns = now_ns + HEAD_SLOT_NS;
	return from_ns / HEAD_SLOT_NS * HEAD_SLOT_NS;
}

/* Called once the inbox is being read: batches that leave it later are in files that exist by
 * then. */
static int find_hot(struct store *s, struct err *err)
{
	if (s->has_hot)
		return 0;
	int rc = catalog_hot_from(s->catalog, &s->hot_from_ns, err);
	if (rc == 0 && s->opts.read_only) {
		s->hot_from_ns = INT64_MAX;
	} else if (rc == 0) {
		s->hot_from_ns = first_hot_ns(s);
		rc = catalog_hot_keep_from(s->catalog, s->hot_from_ns, err);
	}
	if (rc >= 0)
		rc = store_hot_scan(s, err);
	s->has_hot = rc == 0;
	return rc;
}

/* A full disk must not prevent opening: rows without space for blocks stay in heads. */
static int replay_row(void *ctx, uint64_t seq, int64_t received_ns, const struct cur *row,
		      struct err *err)
{
	struct store *s = ctx;
	int rc = row ? find_hot(s, err) : 0;

	if (rc == 0)
		rc = store_replay_row(s, seq, received_ns, row, err);
	if (rc)
		return rc;
	s->stats.replayed++;
	s->applied = seq;
	if (!s->opts.read_only)
		store_free_memory(s, NULL);
	return 0;
}

/* A full disk does not prevent opening: this is only information. */
static void say_what_is_asked(struct store *s)
{
	const struct store_asked asked = { .retention_ns = s->opts.retention_ns,
					   .detail_retention_ns = s->opts.detail_retention_ns,
					   .hot_ns = s->opts.hot_ns > 0 ? s->opts.hot_ns : 0,
					   .disk_bytes = s->opts.disk_bytes };

	if (s->opts.read_only || (s->opts.is_guest && catalog_asked(s->catalog)->retention_ns))
		return;
	catalog_ask(s->catalog, &asked, NULL);
}

static int fill(struct store *s, struct err *err)
{
	int rc = 0;

	if (!s->opts.read_only)
		rc = make_dirs(s, err);
	if (!rc && !s->opts.read_only)
		rc = take_lock(s, err);
	if (!rc)
		rc = store_gc_open(s, err);
	if (!rc)
		rc = open_files(s, err);
	if (rc)
		return rc;
	s->kept_from_ns = catalog_kept_from(s->catalog);
	say_what_is_asked(s);
	store_lock(s);
	rc = store_clock_open(s, err);
	if (!rc)
		rc = inbox_replay(s->inbox, replay_row, s, err);
	store_replay_end(s);
	store_unlock(s);
	if (s->opts.read_only)
		inbox_read_end(s->inbox);
	s->applied = inbox_last(s->inbox);
	return rc ? rc : find_hot(s, err);
}

static void free_store(struct store *s)
{
	readers_done(s);
	store_hot_free(s);
	store_gc_done(s);
	for (size_t i = 0; i < s->parts.n; i++) {
		store_part_close(s->parts.v[i]);
		free(s->parts.v[i]->path);
		free(s->parts.v[i]);
	}
	vec_done(&s->parts);
	inbox_close(s->inbox);
	catalog_close(s->catalog);
	names_db_close(s->names);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_mutex_destroy(&s->inbox_lock);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->delete_lock);
	free(s->dir);
	free(s);
}

int store_open(const char *dir, const struct store_opts *opts, struct store **out, struct err *err)
{
	struct store *s = xcalloc(1, sizeof *s);
	struct err local;

	pthread_mutex_init(&s->inbox_lock, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->delete_lock, NULL);
	s->dir = xstrdup(dir);
	s->opts = with_defaults(opts);
	s->lock_fd = s->gc.readers_fd = -1;
	s->gc.is_due = !opts->read_only;
	s->names_day = INT32_MIN;
	int rc = fill(s, err ? err : &local);
	if (rc == 0 && !s->opts.read_only) {
		/* A full disk must not prevent opening: store_maintain continues. */
		store_delete_resume(s, &local);
		store_gc_reuse(s);
	}
	if (rc) {
		free_store(s);
		return rc;
	}
	*out = s;
	return 0;
}

void store_abandon(struct store *s)
{
	if (s)
		free_store(s);
}

/* Returns whether the next opening need not verify anything. */
static bool is_sound(const struct store *s)
{
	for (size_t i = 0; i < s->parts.n; i++)
		if (s->parts.v[i]->to_verify)
			return false;
	return true;
}

int store_close(struct store *s, struct err *err)
{
	struct err local;
	int rc = 0;

	if (!s)
		return 0;
	err = err ? err : &local;
	store_lock(s);
	for (size_t i = 0; i < s->parts.n && !s->opts.read_only; i++)
		rc = store_part_flush(s, s->parts.v[i], err) ?: rc;
	store_unlock(s);
	while (!s->opts.read_only && rc == 0 && store_purge(s, err) > 0)
		continue;
	if (rc == 0 && s->lock_fd >= 0 && is_sound(s) && ftruncate(s->lock_fd, 0))
		errno = 0; /* the next opening verifies needlessly */
	free_store(s);
	return rc;
}

/* --- ingest ----------------------------------------------------------------------------------- */

/* State of batches before they are in the inbox. */
struct upload {
	VEC(struct store_part *)
	parts;                   /* of their days, kept open until the batches are applied */
	struct batch_rows *rows; /* by batch */
};

static void upload_done(struct upload *a, size_t n)
{
	for (size_t i = 0; i < a->parts.n; i++)
		a->parts.v[i]->pins--;
	vec_done(&a->parts);
	for (size_t i = 0; i < n; i++)
		batch_rows_done(&a->rows[i]);
	free(a->rows);
}

static int pin_days(struct store *s, const struct store_batch *b, int64_t received_ns,
		    struct upload *arrival, struct batch_rows *rows, struct err *err)
{
	int64_t days[STORE_BATCH_DAYS];
	struct store_part *sp;
	uint64_t sequence;
	size_t n;
	int rc = store_batch_days(s, b->p, received_ns, days, &n, err);

	if (rc == 0)
		rc = metric_samples_check(b->metrics, b->p, err);
	if (rc == 0)
		rc = store_point_days(s, b->metrics, received_ns, days, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = store_day_sequence(s, days[i], &sequence, err);
		if (!rc)
			rc = store_part_with_room(s, days[i], &sp, err);
		if (!rc) {
			sp->pins++;
			vec_push(&arrival->parts, sp);
			vec_push(&rows->parts, (struct batch_part){ .sp = sp });
		}
	}
	return rc;
}

/* Estimates the size of these batches in the inbox. */
static uint64_t bytes_to_come(const struct store_batch *batches, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += batches[i].p->samples.n * STORE_ROW_BYTES +
			 (batches[i].metrics ? batches[i].metrics->n * STORE_ROW_BYTES : 0) +
			 batches[i].p->sink.ops->kept_bytes(&batches[i].p->sink) / 4;
	return bytes;
}

/* Does everything that can fail, before anything is acknowledged. */
static int prepare(struct store *s, const struct store_batch *batches, size_t n,
		   int64_t received_ns, struct upload *arrival, struct err *err)
{
	uint64_t more_bytes = bytes_to_come(batches, n);
	int rc;

	if (s->opts.read_only)
		return err_set(err, EROFS, "%s: nothing can be written", s->dir);
	while ((rc = store_retain(s, more_bytes, err)) > 0)
		continue;
	if (!rc)
		rc = store_free_memory(s, err);
	/* A day may get another piece, so this comes before any lookup in it. */
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = pin_days(s, &batches[i], received_ns, arrival, &arrival->rows[i], err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = batch_rows_resolve(s, &batches[i], received_ns, &arrival->rows[i], err);
	if (rc == 0)
		rc = catalog_sync(s->catalog, err);
	for (size_t i = 0; i < arrival->parts.n; i++)
		arrival->parts.v[i]->logging = arrival->parts.v[i]->logged;
	return rc;
}

static int encode_row(void *ctx, size_t i, struct buf *out, struct err *err)
{
	const struct upload *a = ctx;

	return batch_rows_encode(&a->rows[i], out, err);
}

static void apply_batch(struct store *s, const struct store_batch *b, const struct batch_rows *r,
			uint64_t seq)
{
	uint64_t expired = s->stats.expired_rows;

	if (seq) {
		store_apply(s, seq, r);
		if (b->dict && r->names.p)
			store_dict_took_names(b->dict, b->p, r->names.day);
	} else {
		s->stats.duplicates++;
	}
	if (b->expired)
		*b->expired = s->stats.expired_rows - expired;
}

static void apply_all(struct store *s, const struct upload *arrival,
		      const struct store_batch *batches, size_t n, const uint64_t *seqs)
{
	for (size_t i = 0; i < arrival->parts.n; i++)
		arrival->parts.v[i]->logged = arrival->parts.v[i]->logging;
	for (size_t i = 0; i < n; i++)
		apply_batch(s, &batches[i], &arrival->rows[i], seqs[i]);
}

/* Fills in ids for the caller's next batch: names of these stacks will get to names.db, and their
 * mappings are marked as used on this day. */
static void tell_known(const struct store *s, const struct store_batch *b,
		       const struct batch_rows *r, uint64_t seq)
{
	struct store_known_stacks *k = b->known;

	if (!k)
		return;
	k->dict_id = 0;
	if (!seq || r->parts.n != 1 || !r->parts.v[0].stack)
		return;
	const struct batch_part *part = &r->parts.v[0];
	memcpy(k->id, part->stack, b->p->samples.n * sizeof *k->id);
	batch_known_stamp(s, part->sp, k);
}

static bool all_new(const uint64_t *seqs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!seqs[i])
			return false;
	return true;
}

/* Encodes rows without `lock`: no other thread adds to dictionaries, and their parts are pinned. */
static int ingest(struct store *s, const struct store_batch *batches, size_t n, uint64_t *seqs,
		  struct err *err)
{
	struct upload arrival = { .rows = xcalloc(n + 1, sizeof *arrival.rows) };
	const struct inbox_rows rows = { encode_row, &arrival };

	pthread_mutex_lock(&s->lock);
	store_check_clock(s);
	int64_t received_ns = store_received_ns(s);
	int rc = prepare(s, batches, n, received_ns, &arrival, err);
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		rc = inbox_put(s->inbox, batches, &rows, n, received_ns, seqs, err);
	pthread_mutex_lock(&s->lock);
	if (!rc)
		apply_all(s, &arrival, batches, n, seqs);
	for (size_t i = 0; !rc && i < n; i++)
		tell_known(s, &batches[i], &arrival.rows[i], seqs[i]);
	if (rc || !all_new(seqs, n))
		names_db_forget_offers(s->names);
	upload_done(&arrival, n);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int store_ingest(struct store *s, const struct store_batch *batches, size_t n, bool *duplicate,
		 struct err *err)
{
	uint64_t *seqs = xcalloc(n + 1, sizeof *seqs);
	struct err local;

	pthread_mutex_lock(&s->inbox_lock);
	int rc = ingest(s, batches, n, seqs, err ? err : &local);
	pthread_mutex_unlock(&s->inbox_lock);
	for (size_t i = 0; rc == 0 && duplicate && i < n; i++)
		duplicate[i] = seqs[i] == 0;
	free(seqs);
	return rc;
}

/* Writes names at the same time, as no batch in the inbox has them. */
int store_add_names(struct store *s, const struct profile *p, struct err *err)
{
	struct err local;
	int rc;

	err = err ? err : &local;
	if (s->opts.read_only)
		return err_set(err, EROFS, "%s: nothing can be written", s->dir);
	pthread_mutex_lock(&s->inbox_lock); /* so that sequences only grow: no batch is halfway */
	pthread_mutex_lock(&s->lock);
	names_db_add(s->names, p, store_now_ns(s) / STORE_DAY_NS, s->applied);
	rc = names_db_write(s->names, err);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->inbox_lock);
	return rc;
}

/* --- pinned ranges ---------------------------------------------------------------------------- */

static int change_pin(struct store *s, const struct store_pin *pin,
		      int (*change)(struct catalog *, const struct store_pin *, struct err *),
		      struct err *err)
{
	struct err local;

	err = err ? err : &local;
	if (pin->from_ns >= pin->to_ns)
		return err_set(err, EINVAL, "a range must end after its start");
	if (s->opts.read_only)
		return err_set(err, EROFS, "%s: nothing can be written", s->dir);
	store_lock(s);
	int rc = change(s->catalog, pin, err);
	store_unlock(s);
	return rc;
}

int store_pin(struct store *s, const struct store_pin *pin, struct err *err)
{
	return change_pin(s, pin, catalog_pin, err);
}

int store_unpin(struct store *s, const struct store_pin *pin, struct err *err)
{
	return change_pin(s, pin, catalog_unpin, err);
}

size_t store_pins(struct store *s, struct store_pin **out)
{
	const struct store_pin *pins;

	pthread_mutex_lock(&s->lock);
	size_t n = catalog_pins(s->catalog, &pins);
	*out = xreallocarray(NULL, n + 1, sizeof **out);
	if (n)
		memcpy(*out, pins, n * sizeof *pins);
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* --- status ----------------------------------------------------------------------------------- */

/* Reports a day file that cannot be read. */
static bool part_news(struct store *s, struct err *words)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (sp->is_said || !store_part_is_left_out(sp))
			continue;
		sp->is_said = true;
		err_set(words, EBADMSG, "%s: unreadable, skipped by queries", sp->path);
		err_hint(words, "for the reason: cresset doctor --data %s", s->dir);
		return true;
	}
	return false;
}

bool store_news(struct store *s, struct err *words)
{
	pthread_mutex_lock(&s->lock);
	bool is_any = store_clock_news(s, words) || part_news(s, words) ||
		      catalog_news(s->catalog, words);
	pthread_mutex_unlock(&s->lock);
	return is_any;
}

static uint32_t left_out_parts(const struct store *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->parts.n; i++)
		n += store_part_is_left_out(s->parts.v[i]);
	return n;
}

static uint64_t bad_blocks(const struct store *s)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < s->parts.n; i++)
		bad += s->parts.v[i]->bad_blocks;
	return bad;
}

void store_get_stats(struct store *s, struct store_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	out->disk_bytes = store_disk_bytes(s);
	out->inbox_bytes = inbox_bytes(s->inbox);
	out->hot_bytes = store_hot_bytes(s);
	out->memory_bytes = store_memory_bytes(s);
	out->folded_series = catalog_folded(s->catalog);
	out->bad_blocks += bad_blocks(s);
	out->parts = s->parts.n;
	out->left_out_parts = left_out_parts(s);
	out->series = catalog_count(s->catalog);
	out->kept_from_ns = s->parts.n ? s->parts.v[0]->day_ns : 0;
	out->asked_from_ns = store_now_ns(s) - s->opts.retention_ns;
	pthread_mutex_unlock(&s->lock);
}
