/* Retention: deletes data that are too old, and the oldest when space is short. Both unlink files,
 * so that the space is free immediately. */
#include "store/day/store_state.h"

#include "base/err.h"
#include "base/mem.h"
#include "store/catalog/catalog.h"
#include "store/day/hot.h"
#include "store/day/inbox.h"
#include "store/sqlite/db.h"
#include "store/write/write.h"

#include <errno.h>

/* The share of the disk for hours that are not pinned; a single hour beyond it is given up. */
enum { HOT_SHARE = 4 };

uint64_t store_disk_bytes(const struct store *s)
{
	char *names = xasprintf("%s/names.db", s->dir);
	uint64_t bytes = inbox_bytes(s->inbox) + catalog_file_bytes(s->catalog) +
			 db_files_bytes(names) + store_hot_bytes(s);

	for (size_t i = 0; i < s->parts.n; i++)
		bytes += s->parts.v[i]->bytes + s->parts.v[i]->detail_bytes;
	free(names);
	return bytes;
}

/* Returns the end of the last day that is entirely older than kept_ns. */
static int64_t horizon_ns(const struct store *s, int64_t kept_ns)
{
	int64_t age_ns = store_age_ns(s);

	return kept_ns < age_ns ? (age_ns - kept_ns) / STORE_DAY_NS * STORE_DAY_NS : 0;
}

static int drop_detail(struct store *s, struct store_part *sp, struct err *err)
{
	int rc = store_part_use(s, sp, err);

	if (!rc)
		rc = part_drop_detail(sp->part, err);
	store_part_idle(sp);
	store_part_measure(sp);
	return rc && !sp->is_bad ? rc : 1;
}

/* Returns the oldest part before to_ns without readers; with_detail: of those with detail that can
 * be opened. */
static struct store_part *oldest(const struct store *s, int64_t to_ns, bool with_detail)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (sp->day_ns < to_ns && !sp->pins &&
		    (!with_detail || (sp->has_detail && !sp->is_bad)) &&
		    !store_hot_holds(s, sp->day_ns))
			return sp;
	}
	return NULL;
}

/* Data of a deleted day must not come back: the inbox may still have rows of it. */
static int drop_days(struct store *s, int64_t from_ns, struct err *err)
{
	struct store_part *sp;

	if (from_ns > s->kept_from_ns) {
		int rc = catalog_keep_from(s->catalog, from_ns, err);
		if (rc)
			return rc;
		s->kept_from_ns = from_ns;
	}
	sp = oldest(s, s->kept_from_ns, false);
	if (!sp)
		return 0;
	int rc = store_hot_drop_day(s, sp->day_ns, err);
	if (rc == 0)
		rc = store_part_unlink(s, sp, err);
	if (rc == 0 && !oldest(s, s->kept_from_ns, false)) {
		/* The last old day is gone: names and series that only old days had must be
		 * deleted as well. */
		s->names_day = s->kept_from_ns / STORE_DAY_NS;
		s->gc.is_due = true;
	}
	return rc ? rc : 1;
}

static int drop_for_room(struct store *s, struct err *err)
{
	int64_t newest_ns = s->parts.n ? s->parts.v[s->parts.n - 1]->day_ns : 0;
	int rc = store_hot_drop(s, false, err);
	struct store_part *sp = rc ? NULL : oldest(s, newest_ns, true);

	if (rc)
		return rc;
	if (sp)
		return drop_detail(s, sp, err);
	sp = oldest(s, newest_ns, false);
	if (sp)
		return drop_days(s, sp->day_ns + STORE_DAY_NS, err);
	rc = store_hot_drop(s, true, err);
	if (rc)
		return rc;
	err_set(err, ENOSPC, "%s: the store's %llu MiB of disk are full", s->dir,
		(unsigned long long)s->opts.disk_bytes >> 20);
	return err_hint(err, "only the last day is left; raise --disk");
}

/* Space for rows that become blocks, and for the journal of the last day, whose pages exist twice
 * before they go into its file. */
static uint64_t bytes_to_come(const struct store *s)
{
	const struct store_part *last = s->parts.n ? s->parts.v[s->parts.n - 1] : NULL;
	uint64_t bytes = last ? (last->bytes + last->detail_bytes) / 2 : 0;

	for (size_t i = 0; i < s->parts.n; i++)
		bytes += s->parts.v[i]->heads.rows * STORE_ROW_BYTES;
	return bytes;
}

static int retain_by_age(struct store *s, struct err *err)
{
	int64_t gone_ns = horizon_ns(s, s->opts.retention_ns);
	struct store_part *sp = oldest(s, gone_ns, false);
	int rc = drop_days(s, sp ? gone_ns : s->kept_from_ns, err);

	if (rc)
		return rc;
	sp = oldest(s, horizon_ns(s, s->opts.detail_retention_ns), true);
	return sp ? drop_detail(s, sp, err) : 0;
}

int store_retain(struct store *s, uint64_t more_bytes, struct err *err)
{
	struct err local;
	int rc;

	err = err ? err : &local;
	store_check_clock(s);
	rc = s->clock.hold_ns ? 0 : retain_by_age(s, err);
	if (!rc)
		rc = store_hot_retain(s, err);
	if (rc)
		return rc;
	if (store_hot_bytes(s) > s->opts.disk_bytes / HOT_SHARE &&
	    (rc = store_hot_drop(s, false, err)))
		return rc;
	if (store_disk_bytes(s) + bytes_to_come(s) + more_bytes > s->opts.disk_bytes)
		return drop_for_room(s, err);
	return 0;
}

void store_get_kept(struct store *s, struct store_kept *out)
{
	pthread_mutex_lock(&s->lock);
	catalog_kept_of(s->catalog, store_now_ns(s), out);
	out->held_ns = s->clock.hold_ns;
	out->age_ns = store_age_ns(s);
	pthread_mutex_unlock(&s->lock);
}
