#include "store/store_state.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_NS 86400000000000ll

/* --- opening ---------------------------------------------------------------------------------- */

static int64_t wall_now_ns(void *ctx)
{
	(void)ctx;
	return (int64_t)clock_wall_ns();
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
	o.now_ns = o.now_ns ?: wall_now_ns;
	return o;
}

static int make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0750) && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", path, strerror(errno));
	return 0;
}

static int make_dirs(const struct store *s, struct err *err)
{
	char *parts = xasprintf("%s/p", s->dir);
	int rc = make_dir(s->dir, err);

	if (!rc)
		rc = make_dir(parts, err);
	free(parts);
	return rc;
}

static int busy(const struct store *s, struct err *err)
{
	char pid[16];
	ssize_t n = pread(s->lock_fd, pid, sizeof pid - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	err_set(err, EBUSY, "%s: another process writes this store%s%s", s->dir,
		*pid ? ": pid " : "", pid);
	return err_hint(err, "it can be read meanwhile");
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
	int len = snprintf(pid, sizeof pid, "%d", (int)getpid());
	/* Only words for others depend on it. */
	if (ftruncate(s->lock_fd, 0) == 0 && pwrite(s->lock_fd, pid, len, 0) < 0)
		errno = 0;
	return 0;
}

static int open_files(struct store *s, struct err *err)
{
	const struct catalog_opts how = { .read_only = s->opts.read_only,
					  .max_series = s->opts.max_series,
					  .vfs = s->opts.vfs };
	const struct names_db_opts names_how = { .read_only = s->opts.read_only,
						 .cache_bytes = s->opts.memory_bytes / 64,
						 .vfs = s->opts.vfs };
	char *inbox = xasprintf("%s/inbox.db", s->dir), *meta = xasprintf("%s/meta.db", s->dir);
	char *names = xasprintf("%s/names.db", s->dir);
	int rc = catalog_open(meta, &how, &s->catalog, err);

	if (!rc)
		rc = inbox_open(inbox, s->opts.read_only, s->opts.vfs, &s->inbox, err);
	if (!rc)
		rc = names_db_open(names, &names_how, &s->names, err);
	if (!rc)
		rc = store_parts_scan(s, err);
	free(inbox);
	free(meta);
	free(names);
	return rc;
}

/* A full disk must not keep a store from opening: what finds no room as blocks stays in heads. */
static int replay_batch(void *ctx, uint64_t seq, int64_t received_ns, struct profile *p,
			struct err *err)
{
	struct store *s = ctx;
	int rc = 0;

	if (p)
		rc = store_apply(s, seq, received_ns, p, err);
	else
		s->stats.bad_batches++;
	profile_free(p);
	s->stats.replayed++;
	s->applied = rc ? s->applied : seq;
	if (!rc && !s->opts.read_only)
		store_make_room(s, NULL);
	return rc;
}

static int fill(struct store *s, struct err *err)
{
	int rc = 0;

	if (!s->opts.read_only)
		rc = make_dirs(s, err);
	if (!rc && !s->opts.read_only)
		rc = take_lock(s, err);
	if (!rc)
		rc = open_files(s, err);
	if (rc)
		return rc;
	s->kept_from_ns = catalog_kept_from(s->catalog);
	rc = inbox_replay(s->inbox, replay_batch, s, err);
	s->applied = inbox_last(s->inbox);
	return rc;
}

static void free_store(struct store *s)
{
	readers_done(s);
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
	free(s->dir);
	free(s);
}

int store_open(const char *dir, const struct store_opts *opts, struct store **out, struct err *err)
{
	struct store *s = xcalloc(1, sizeof *s);
	struct err local;

	pthread_mutex_init(&s->inbox_lock, NULL);
	pthread_mutex_init(&s->lock, NULL);
	s->dir = xstrdup(dir);
	s->opts = with_defaults(opts);
	s->lock_fd = -1;
	int rc = fill(s, err ? err : &local);
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

int store_close(struct store *s, struct err *err)
{
	struct err local;
	int rc = 0;

	if (!s)
		return 0;
	err = err ? err : &local;
	for (size_t i = 0; i < s->parts.n && !s->is_broken && !s->opts.read_only; i++)
		rc = store_part_flush(s, s->parts.v[i], err) ?: rc;
	while (!s->opts.read_only && !s->is_broken && rc == 0 && store_purge(s, err) > 0)
		continue;
	free_store(s);
	return rc;
}

/* --- ingest ----------------------------------------------------------------------------------- */

/* Parts of the days that batches touch, open and to stay so until they are applied. */
struct pinned {
	VEC(struct store_part *) parts;
};

static void unpin(struct pinned *pinned)
{
	for (size_t i = 0; i < pinned->parts.n; i++)
		pinned->parts.v[i]->pins--;
	vec_done(&pinned->parts);
}

/* Its names are kept from here on: if the batch is not, they harm nobody. */
static int pin_days(struct store *s, const struct profile *p, int64_t received_ns,
		    struct pinned *pinned, struct err *err)
{
	int64_t days[STORE_BATCH_DAYS];
	struct store_part *sp;
	uint64_t sequence;
	int64_t newest_ns = 0;
	size_t n;
	int rc = store_batch_days(s, p, received_ns, days, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		newest_ns = days[i] > newest_ns ? days[i] : newest_ns;
		rc = store_day_sequence(s, days[i], &sequence, err);
		if (!rc)
			rc = store_part_with_room(s, days[i], &sp, err);
		if (!rc) {
			sp->pins++;
			vec_push(&pinned->parts, sp);
		}
	}
	return rc ? rc : names_db_add(s->names, p, newest_ns / STORE_DAY_NS, err);
}

/* About what the inbox will take of these batches. */
static uint64_t bytes_to_come(const struct store_batch *batches, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += batches[i].p->samples.n * STORE_ROW_BYTES +
			 batches[i].p->sink.ops->kept_bytes(&batches[i].p->sink) / 4;
	return bytes;
}

/* All that can fail, before anything is acknowledged. */
static int prepare(struct store *s, const struct store_batch *batches, size_t n,
		   int64_t received_ns, struct pinned *pinned, struct err *err)
{
	uint64_t more_bytes = bytes_to_come(batches, n);
	int rc;

	if (s->is_broken || s->opts.read_only)
		return err_set(err, s->is_broken ? EIO : EROFS, "%s: nothing can be written",
			       s->dir);
	while ((rc = store_retain(s, more_bytes, err)) > 0)
		continue;
	if (!rc)
		rc = store_make_room(s, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = pin_days(s, batches[i].p, received_ns, pinned, err);
	return rc;
}

static int apply_all(struct store *s, const struct store_batch *batches, size_t n,
		     int64_t received_ns, const uint64_t *seqs, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (seqs[i])
			rc = store_apply(s, seqs[i], received_ns, batches[i].p, err);
		s->stats.duplicates += !seqs[i];
	}
	s->is_broken = rc != 0;
	return rc;
}

static int ingest(struct store *s, const struct store_batch *batches, size_t n, uint64_t *seqs,
		  struct err *err)
{
	struct pinned pinned = { 0 };
	int64_t received_ns = store_now_ns(s);

	pthread_mutex_lock(&s->lock);
	int rc = prepare(s, batches, n, received_ns, &pinned, err);
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		rc = inbox_put(s->inbox, batches, n, received_ns, seqs, err);
	pthread_mutex_lock(&s->lock);
	if (!rc)
		rc = apply_all(s, batches, n, received_ns, seqs, err);
	unpin(&pinned);
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

/* --- what it is like -------------------------------------------------------------------------- */

static uint64_t bad_blocks(const struct store *s)
{
	struct part_info info;
	uint64_t bad = 0;

	for (size_t i = 0; i < s->parts.n; i++) {
		if (!s->parts.v[i]->part)
			continue;
		part_get_info(s->parts.v[i]->part, &info);
		bad += info.bad_blocks;
	}
	return bad;
}

void store_get_stats(struct store *s, struct store_stats *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	out->disk_bytes = store_disk_bytes(s);
	out->inbox_bytes = inbox_bytes(s->inbox);
	out->memory_bytes = store_memory_bytes(s);
	out->folded_series = catalog_folded(s->catalog);
	out->bad_blocks = bad_blocks(s);
	out->parts = s->parts.n;
	out->series = catalog_profile(s->catalog)->series.series.n;
	out->kept_from_ns = s->parts.n ? s->parts.v[0]->day_ns : 0;
	out->asked_from_ns = store_now_ns(s) - s->opts.retention_ns;
	pthread_mutex_unlock(&s->lock);
}
