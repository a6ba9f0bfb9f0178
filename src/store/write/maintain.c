/* store_maintain: does what is due, in short steps. */
#include "base/err.h"
#include "profile/sum.h"
#include "store/day/hot.h"
#include "store/day/inbox.h"
#include "store/day/store_state.h"
#include "store/names/names_db.h"
#include "store/write/write.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

enum { PURGE_BYTES = 4 << 20, FOUR_HOURS = 1440, ONE_DAY = 8640 };

/* How long after its end a day still takes late rows before it is finished. */
#define LATE_NS HEAD_SLOT_NS

static int64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static bool has_budget(void *ctx)
{
	return thread_cpu_ns() < *(const int64_t *)ctx;
}

/* --- steps: 1: it did something, 0: there was nothing to do ----------------------------------- */

static bool is_due(const struct store *s, const struct store_part *sp)
{
	int64_t now_ns = store_now_ns(s);

	/* Early enough that ingest does not have to do it. Does not wait if the clock was set
	 * back. */
	return sp->first_sequence != UINT64_MAX &&
	       (now_ns >= sp->due_ns || sp->due_ns - now_ns > 2 * HEAD_SLOT_NS ||
		heads_size_bytes(&sp->heads) > s->opts.memory_bytes / STORE_HEADS_SHARE / 4 * 3);
}

/* Does most of a flush, before taking its locks. */
static void encode_due(struct store *s, int64_t *end_ns)
{
	struct store_part *due = NULL;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->parts.n && !due; i++)
		if (is_due(s, s->parts.v[i]))
			due = s->parts.v[i];
	if (due)
		due->pins++;
	pthread_mutex_unlock(&s->lock);
	if (!due)
		return;
	store_encode_ahead(s, due, has_budget, end_ns);
	pthread_mutex_lock(&s->lock);
	due->pins--;
	pthread_mutex_unlock(&s->lock);
}

static int step_flush(struct store *s, struct err *err)
{
	for (size_t i = 0; i < s->parts.n; i++)
		if (is_due(s, s->parts.v[i]))
			return store_part_flush(s, s->parts.v[i], err) ?: 1;
	return 0;
}

static int step_retain(struct store *s, struct err *err)
{
	return store_retain(s, 0, err);
}

static bool is_over(const struct store *s, const struct store_part *sp)
{
	return store_now_ns(s) - sp->day_ns >= STORE_DAY_NS + LATE_NS;
}

/* Compaction does not change the data, so views are not involved. */
static int compact_step(struct store *s, struct store_part *sp, uint32_t windows, int64_t slot_ns,
			struct err *err)
{
	pthread_mutex_unlock(&s->lock);
	int rc = part_compact_step(sp->part, windows, err);
	if (rc == 0)
		rc = part_compact_metrics(sp->part, slot_ns, err);
	pthread_mutex_lock(&s->lock);
	return rc;
}

/* Compacts and seals a finished day. */
static int finish_part(struct store *s, struct store_part *sp, struct err *err)
{
	int rc = store_part_use(s, sp, err);

	if (rc || sp->finished) {
		store_part_idle(sp);
		return rc;
	}
	rc = compact_step(s, sp, ONE_DAY, STORE_DAY_NS, err);
	if (rc)
		return rc;
	rc = part_seal(sp->part, err);
	if (rc)
		return rc;
	sp->finished = true;
	store_part_idle(sp);
	store_part_measure(sp);
	return 1;
}

/* Merges its blocks of an hour into blocks of four. */
static int compact_part(struct store *s, struct store_part *sp, struct err *err)
{
	int rc = store_part_use(s, sp, err);

	if (!rc)
		rc = compact_step(s, sp, FOUR_HOURS, 4 * METRIC_SLOT_NS, err);
	if (rc)
		return rc;
	sp->compact_ns = INT64_MAX;
	store_part_measure(sp);
	return 1;
}

static int step_compact(struct store *s, struct err *err)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		bool has_heads = sp->first_sequence != UINT64_MAX;
		int rc = 0;
		if (sp->is_bad)
			continue;
		if (!has_heads && is_over(s, sp) && !sp->finished)
			rc = finish_part(s, sp, err);
		else if (!is_over(s, sp) && store_now_ns(s) >= sp->compact_ns)
			rc = compact_part(s, sp, err);
		if (rc == -EBADMSG && sp->is_bad)
			continue; /* it is left out, and reported once: store_news */
		if (rc)
			return rc;
	}
	return 0;
}

static int step_memory(struct store *s, struct err *err)
{
	return store_free_memory(s, err);
}

/* --- the inbox -------------------------------------------------------------------------------- */

static uint64_t purge_limit(const struct store *s)
{
	uint64_t limit = s->applied, hot = store_hot_first_sequence(s);

	if (hot <= limit)
		limit = hot - 1;
	for (size_t i = 0; i < s->parts.n; i++)
		if (s->parts.v[i]->first_sequence <= limit)
			limit = s->parts.v[i]->first_sequence - 1;
	return limit;
}

int store_purge(struct store *s, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&s->inbox_lock);
	pthread_mutex_lock(&s->lock);
	uint64_t limit = purge_limit(s);
	pthread_mutex_unlock(&s->lock);
	if (names_db_first_sequence(s->names) <= limit)
		rc = names_db_write(s->names, err);
	if (rc == 0 && limit > s->purged)
		rc = inbox_purge(s->inbox, limit, PURGE_BYTES, err);
	if (rc == 0 && limit > s->purged)
		s->purged = limit;
	pthread_mutex_unlock(&s->inbox_lock);
	return rc;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Deletes names of mappings that no day still has. Returns 1 if there are more. */
static int step_names(struct store *s, struct err *err)
{
	pthread_mutex_lock(&s->inbox_lock);
	int rc = s->names_day == INT32_MIN ? 0 : names_db_collect(s->names, s->names_day, err);
	if (rc == 0)
		s->names_day = INT32_MIN;
	pthread_mutex_unlock(&s->inbox_lock);
	return rc;
}

/* --- verifying after a crash ------------------------------------------------------------------ */

/* After a crash or a power failure, sealed days are read once and verified. */

/* Returns a part that is not verified yet, pinned. */
static struct store_part *next_part(struct store *s)
{
	for (size_t i = 0; i < s->parts.n; i++) {
		struct store_part *sp = s->parts.v[i];
		if (!sp->to_verify)
			continue;
		sp->to_verify = false;
		if (sp->is_bad)
			continue;
		sp->pins++;
		return sp;
	}
	return NULL;
}

/* Uses a separate handle, so that no thread waits. */
static int verify_part(const struct store *s, const struct store_part *sp, struct err *err)
{
	const struct part_opts opts = { .read_only = true,
					.cache_bytes = s->opts.memory_bytes / 64,
					.vfs = s->opts.vfs };
	struct part_info info;
	struct part *p;
	int rc = part_open(sp->path, sp->day_ns, &opts, &p, err);

	if (rc)
		return rc;
	part_get_info(p, &info);
	rc = info.sealed ? part_verify(p, err) : 0;
	part_close(p);
	return rc;
}

/* Verifies one of the pending days, if it is sealed; damage is counted. Returns 1 if there may be
 * more. */
static int step_verify(struct store *s, struct err *err)
{
	struct store_part *sp;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	sp = next_part(s);
	pthread_mutex_unlock(&s->lock);
	if (!sp)
		return 0;
	rc = verify_part(s, sp, err);
	pthread_mutex_lock(&s->lock);
	sp->pins--;
	s->stats.damaged_parts += rc == -EBADMSG;
	pthread_mutex_unlock(&s->lock);
	return rc == 0 || rc == -EBADMSG ? 1 : rc;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Returns 1 when the budget is used up. If one kind of step fails, the others still run, as they
 * may free space for it. */
static int run_steps(struct store *s, int64_t end_ns, struct err *err)
{
	static int (*const steps[])(struct store *, struct err *) = {
		step_retain,
		step_flush,
		step_memory,
		step_compact,
	};
	int first = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps;) {
		if (steps[i] == step_flush)
			encode_due(s, &end_ns);
		if (thread_cpu_ns() >= end_ns)
			return first ? first : 1;
		store_lock(s);
		int rc = steps[i](s, first ? NULL : err);
		store_unlock(s);
		first = first ? first : rc < 0 ? rc : 0;
		i += rc <= 0;
	}
	return first;
}

int store_maintain(struct store *s, int64_t budget_ns, struct err *err)
{
	int64_t end_ns = sum_add(thread_cpu_ns(), budget_ns);
	int rc;

	if (s->opts.read_only)
		return err_set(err, EROFS, "%s: nothing can be written", s->dir);
	store_delete_rest(s);
	rc = run_steps(s, end_ns, err);
	while (rc == 0 && (rc = store_purge(s, err)) > 0 && thread_cpu_ns() < end_ns)
		rc = 0;
	while (rc == 0 && (rc = step_names(s, err)) > 0 && thread_cpu_ns() < end_ns)
		rc = 0;
	while (rc == 0 && (rc = store_gc_step(s, err)) > 0 && thread_cpu_ns() < end_ns)
		rc = 0;
	while (rc == 0 && (rc = step_verify(s, err)) > 0 && thread_cpu_ns() < end_ns)
		rc = 0;
	return rc;
}
