/* When each GPU was watched, busy and idle: by what ran on it, else by readings of its driver. */
#include "query/gpu_idle_work.h"

#include "profile/sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYNC "[sync"

static struct gpu_idle_device *add_device(struct idle_build *b, enum gpu_idle_source source,
					  uint32_t host, uint32_t label)
{
	vec_push(&b->out->devices, (struct gpu_idle_device){ .source = source,
							     .host = host,
							     .label = label,
							     .idle_type = GPU_IDLE_TYPE_NONE,
							     .busy_type = GPU_IDLE_TYPE_NONE });
	vec_push(&b->works, (gpu_works){ 0 });
	return &b->out->devices.v[b->out->devices.n - 1];
}

static struct gpu_idle_device *device_of(struct idle_build *b, const struct idle_facts *f)
{
	for (size_t i = 0; i < b->out->devices.n; i++) {
		struct gpu_idle_device *d = &b->out->devices.v[i];
		if (d->host == f->host && d->label == f->gpu)
			return d;
	}
	return add_device(b, GPU_IDLE_RECORDS, f->host, f->gpu);
}

static void keep_both(struct stretches *a, const struct stretches *b)
{
	struct stretches both = { 0 };
	stretches_both(a, b, &both);
	stretches_done(a);
	*a = both;
}

static void settle_times(struct gpu_idle_device *d)
{
	stretches_settle(&d->busy);
	keep_both(&d->busy, &d->watched);
	stretches_without(&d->watched, &d->busy, &d->idle);
}

/* --- what ran ------------------------------------------------------------------------------------- */

static uint32_t leaf_name(struct profile *p, size_t row)
{
	uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[row]);
	struct shown_line line;
	if (leaf == UINT32_MAX)
		return 0;
	profile_frame_lines(p, leaf, &line, 1);
	return line.name;
}

/* A sum without times: whether the GPU was busy is not known then. */
static void add_sum(struct gpu_idle_device *d, int64_t from_ns)
{
	stretches_add(&d->idle, from_ns, sum_add(from_ns, IDLE_SUM_NS));
}

/* In order of time as the samples are, mostly; classes sort it. */
static void find_work(struct idle_build *b)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t row = 0; row < b->n_samples; row++) {
		const struct idle_facts *f = idle_facts_of(b, row);
		int64_t length_ns = sample_length_ns(c, row), from_ns = c->time_ns[row];
		if (f->is == SERIES_WINDOW)
			vec_push(&b->windows, (uint32_t)row);
		if (f->is != SERIES_TIME || !f->gpu || !idle_is_exact(b, row) ||
		    !idle_host_counts(b, f->host))
			continue;
		uint32_t name = leaf_name(b->p, row);
		if (strncmp(profile_str(b->p, name), SYNC, strlen(SYNC)) == 0)
			continue;
		struct gpu_idle_device *d = device_of(b, f);
		if (length_ns <= 0) {
			add_sum(d, from_ns);
			continue;
		}
		struct gpu_work work = { from_ns, sum_add(from_ns, length_ns), name };
		vec_push(&b->works.v[d - b->out->devices.v], work);
		stretches_add(&d->busy, work.from_ns, work.to_ns);
		idle_own(d, c->pid[row], f->name);
	}
}

/* --- when that is known --------------------------------------------------------------------------- */

static void windows_of(const struct idle_build *b, uint32_t host, uint32_t pid,
		       struct stretches *out)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t i = 0; i < b->windows.n; i++) {
		uint32_t row = b->windows.v[i];
		if (idle_facts_of(b, row)->host == host && c->pid[row] == pid)
			stretches_add(out, c->time_ns[row],
				      sum_add(c->time_ns[row], sample_length_ns(c, row)));
	}
	stretches_settle(out);
}

/* Sums are where nothing is known, until then in the place of what was idle. */
static void take_sums_off(struct gpu_idle_device *d)
{
	struct stretches watched = { 0 };
	stretches_settle(&d->idle);
	stretches_without(&d->watched, &d->idle, &watched);
	stretches_done(&d->watched);
	stretches_done(&d->idle);
	d->watched = watched;
	d->idle = (struct stretches){ 0 };
}

static void find_watched(struct idle_build *b, struct gpu_idle_device *d)
{
	struct stretches exact = { 0 };
	stretches_add(&exact, b->out->exact_from_ns, INT64_MAX);
	stretches_settle(&exact);
	vec_append(&d->watched.all, b->asked.all.v, b->asked.all.n);
	if (b->out->exact_from_ns)
		keep_both(&d->watched, &exact);
	stretches_done(&exact);
	for (size_t i = 0; b->out->has_windows && i < d->owners.n; i++) {
		struct stretches windows = { 0 };
		windows_of(b, d->host, d->owners.v[i].pid, &windows);
		keep_both(&d->watched, &windows);
		stretches_done(&windows);
	}
	take_sums_off(d);
}

void idle_find_records(struct idle_build *b)
{
	struct gpu_idle *out = b->out;
	find_work(b);
	for (uint32_t i = 0; i < b->p->series.series.n; i++)
		out->has_windows |= b->facts[i].is == SERIES_WINDOW;
	for (size_t i = 0; i < out->devices.n; i++) {
		find_watched(b, &out->devices.v[i]);
		settle_times(&out->devices.v[i]);
	}
}

/* --- readings ------------------------------------------------------------------------------------- */

static int compare_lengths(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static int64_t median_ns(const struct metric_points *points)
{
	VEC(int64_t) apart = { 0 };
	for (size_t i = 1; i < points->n; i++)
		vec_push(&apart, points->v[i].time_ns - points->v[i - 1].time_ns);
	if (!apart.n)
		return 0;
	qsort(apart.v, apart.n, sizeof *apart.v, compare_lengths);
	int64_t middle = apart.v[apart.n / 2];
	vec_done(&apart);
	return middle;
}

/* A reading is of the time since the one before. */
static void read_times(const struct gpu_idle *g, const struct gpu_idle_readings *r,
		       struct gpu_idle_device *d)
{
	for (size_t i = 1; i < r->points.n; i++) {
		struct metric_point p = r->points.v[i];
		int64_t from_ns = r->points.v[i - 1].time_ns;
		if (isnan(p.value) || sum_sub(p.time_ns, from_ns) > GPU_IDLE_MAX_GAP_NS)
			continue;
		stretches_add(&d->watched, from_ns, p.time_ns);
		if (p.value >= g->threshold)
			stretches_add(&d->busy, from_ns, p.time_ns);
	}
	stretches_settle(&d->watched);
}

/* Where idle meets busy: each such edge is somewhere within a reading. */
static size_t count_edges(const struct gpu_idle_device *d)
{
	size_t edges = 0;
	for (size_t i = 0; i < d->idle.all.n; i++) {
		struct stretch r = d->idle.all.v[i];
		size_t before = stretches_find(&d->busy, r.from - 1);
		size_t behind = stretches_find(&d->busy, r.to);
		edges += before < d->busy.all.n && d->busy.all.v[before].to == r.from;
		edges += behind < d->busy.all.n && d->busy.all.v[behind].from == r.to;
	}
	return edges;
}

/* Records say more, but of what time? */
static bool has_records(const struct idle_build *b, uint32_t host)
{
	int64_t asked_ns = stretches_sum(&b->asked);
	for (size_t i = 0; i < b->out->devices.n; i++) {
		const struct gpu_idle_device *d = &b->out->devices.v[i];
		if (d->source == GPU_IDLE_RECORDS && d->host == host &&
		    stretches_sum(&d->watched) >= asked_ns / 2)
			return true;
	}
	return false;
}

static void add_readings(struct idle_build *b, const struct gpu_idle_readings *r)
{
	struct gpu_idle_device *d = add_device(b, GPU_IDLE_READINGS, r->host, r->label);
	d->period_ns = median_ns(&r->points);
	read_times(b->out, r, d);
	keep_both(&d->watched, &b->asked);
	settle_times(d);
	d->uncertain_ns = sum_mul((int64_t)count_edges(d), d->period_ns);
	for (size_t i = 0; i < r->listed.n; i++)
		idle_own(d, SAMPLE_NO_ID, r->listed.v[i]);
	d->owned = r->listed.n ? GPU_OWNED_LISTED : GPU_OWNED_NONE;
}

void idle_find_readings(struct idle_build *b)
{
	for (size_t i = 0; i < b->opts->n_readings; i++) {
		const struct gpu_idle_readings *r = &b->opts->readings[i];
		if (r->points.n > 1 && idle_host_counts(b, r->host) && !has_records(b, r->host))
			add_readings(b, r);
	}
}
