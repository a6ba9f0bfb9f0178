/* What is kept: what is too old goes, and the oldest goes when there is no room. Both by unlink, so that the disk has it back. */
#include "store/store_state.h"

#include "base/mem.h"
#include "store/db_files.h"

#include <errno.h>

/* Of the disk, what hours that are not pinned may take; one that alone is larger is given up. */
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

/* The end of the last day that is gone altogether after that much time. */
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

/* The oldest part before to_ns that nobody reads; with_detail: of those that have it, and can be opened. */
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

/* What only they had is to go, too. */
static void collect_rest(struct store *s)
{
	s->names_day = s->kept_from_ns / STORE_DAY_NS;
	s->collect.is_due = true;
}

/* Nothing may come back of a day whose file is gone: the inbox may still have rows of it. */
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
	if (rc == 0 && !oldest(s, s->kept_from_ns, false)) /* it was the last one */
		collect_rest(s);
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
	return err_hint(err, "all but the last day is gone already; allow it more");
}

/* What becomes blocks, and what the last day takes twice while it is changed: a journal is there before it goes into its file. */
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
	store_look_at_clock(s);
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
