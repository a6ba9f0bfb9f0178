/* Points of a batch go into heads. As with rows, where one belongs is told by the batch alone (store_state.h, 3). */
#include "store/batch_rows.h"
#include "store/store_state.h"

#include <errno.h>

/* A point from further ahead was taken with a clock that is wrong: it counts as of the moment it came. */
static int64_t point_time_ns(const struct metric_sample *m, int64_t received_ns)
{
	bool ahead = m->time_ns > received_ns && m->time_ns - received_ns > STORE_DAY_NS;

	return ahead ? received_ns : m->time_ns;
}

static bool is_kept(const struct store *s, int64_t time_ns)
{
	return time_ns >= 0 && time_ns >= s->kept_from_ns;
}

static int64_t day_of(int64_t time_ns)
{
	return time_ns / STORE_DAY_NS * STORE_DAY_NS;
}

static bool has_day(const int64_t *days, size_t n, int64_t day_ns)
{
	while (n--)
		if (days[n] == day_ns)
			return true;
	return false;
}

int store_point_days(const struct store *s, const struct metric_samples *m, int64_t received_ns,
		     int64_t *days, size_t *n, struct err *err)
{
	for (size_t i = 0; m && i < m->n; i++) {
		int64_t t = point_time_ns(&m->v[i], received_ns);
		if (!is_kept(s, t) || has_day(days, *n, day_of(t)))
			continue;
		if (*n == STORE_BATCH_DAYS)
			return err_set(err, EINVAL,
				       "the points of one batch are from more than %d days",
				       STORE_BATCH_DAYS);
		days[(*n)++] = day_of(t);
	}
	return 0;
}

void store_apply_points(struct store *s, const struct batch_rows *r, struct store_part *sp,
			uint64_t seq)
{
	uint64_t points = 0;

	for (size_t i = 0; i < r->points.n; i++) {
		const struct metric_sample *m = &r->points.v[i];
		int64_t t = point_time_ns(m, r->clock.received_ns);
		if (!is_kept(s, t) || day_of(t) != sp->day_ns)
			continue;
		const struct metric_point point = { t, m->value };
		metric_heads_add(&sp->heads.metrics, m->series, &point);
		points++;
	}
	store_part_note_points(s, sp, seq, points);
}

void store_count_points(struct store *s, const struct batch_rows *r)
{
	for (size_t i = 0; i < r->points.n; i++)
		s->stats.expired_rows +=
			!is_kept(s, point_time_ns(&r->points.v[i], r->clock.received_ns));
}
