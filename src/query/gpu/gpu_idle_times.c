/* Finds when each GPU was watched, busy and idle: by records of what ran, otherwise by driver
 * readings. */
#include "query/gpu/gpu_idle_work.h"

#include "base/vec.h"
#include "profile/sum.h"
#include "query/gpu/gpu_idle.h"
#include "store/codec/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYNC "[sync"

static struct gpu_idle_device *add_device(struct idle_build *b, enum gpu_idle_source source,
					  uint32_t host, uint32_t label, uint32_t uuid)
{
	vec_push(&b->out->devices, (struct gpu_idle_device){ .source = source,
							     .host = host,
							     .label = label,
							     .uuid = uuid,
							     .idle_type = GPU_IDLE_TYPE_NONE,
							     .busy_type = GPU_IDLE_TYPE_NONE });
	vec_push(&b->works, (gpu_works){ 0 });
	return &b->out->devices.v[b->out->devices.n - 1];
}

static bool is_same(const struct gpu_idle_device *d, uint32_t host, uint32_t label, uint32_t uuid)
{
	return d->host == host && (d->uuid && uuid ? d->uuid == uuid : d->label == label);
}

/* Returns NULL if none exists. */
static struct gpu_idle_device *find_device(struct idle_build *b, uint32_t host, uint32_t label,
					   uint32_t uuid)
{
	for (size_t i = 0; i < b->out->devices.n; i++)
		if (is_same(&b->out->devices.v[i], host, label, uuid))
			return &b->out->devices.v[i];
	return NULL;
}

static struct gpu_idle_device *device_of(struct idle_build *b, const struct idle_facts *f)
{
	struct gpu_idle_device *d = find_device(b, f->host, f->gpu, f->uuid);

	if (!d)
		return add_device(b, GPU_IDLE_RECORDS, f->host, f->gpu, f->uuid);
	d->uuid = d->uuid ? d->uuid : f->uuid;
	return d;
}

static void keep_both(struct interval_set *a, const struct interval_set *b)
{
	struct interval_set both = { 0 };
	interval_set_intersect(a, b, &both);
	interval_set_done(a);
	*a = both;
}

static void settle_times(struct gpu_idle_device *d)
{
	interval_set_normalize(&d->busy);
	keep_both(&d->busy, &d->watched);
	interval_set_subtract(&d->watched, &d->busy, &d->idle);
}

/* --- what ran --------------------------------------------------------------------------------- */

static uint32_t leaf_name(struct profile *p, size_t row)
{
	uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[row]);
	struct shown_line line;
	if (leaf == UINT32_MAX)
		return 0;
	profile_frame_lines(p, leaf, &line, 1);
	return line.name;
}

/* A process with a window of a GPU has a context there. */
static void find_window(struct idle_build *b, size_t row)
{
	const struct idle_facts *f = idle_facts_of(b, row);
	vec_push(&b->windows, (uint32_t)row);
	if (f->gpu && idle_is_exact(b, row) && idle_host_counts(b, f->host))
		idle_own(device_of(b, f), b->p->samples.pid[row], f->name);
}

/* Collects work in the order of samples, mostly by time; sorted later for classes. */
static void find_work(struct idle_build *b)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t row = 0; row < b->n_samples; row++) {
		const struct idle_facts *f = idle_facts_of(b, row);
		int64_t length_ns = sample_length_ns(c, row), from_ns = c->time_ns[row];
		if (f->is == SERIES_WINDOW)
			find_window(b, row);
		if (f->is != SERIES_TIME || !f->gpu || !idle_is_exact(b, row) ||
		    !idle_host_counts(b, f->host))
			continue;
		uint32_t name = leaf_name(b->p, row);
		if (strncmp(profile_str(b->p, name), SYNC, strlen(SYNC)) == 0)
			continue;
		struct gpu_idle_device *d = device_of(b, f);
		if (length_ns <= 0) { /* a sum without times: it is unknown when the GPU was busy */
			interval_set_add(&d->idle, from_ns, sum_add(from_ns, IDLE_SUM_NS));
			continue;
		}
		struct gpu_work work = { from_ns, sum_add(from_ns, length_ns), name };
		vec_push(&b->works.v[d - b->out->devices.v], work);
		interval_set_add(&d->busy, work.from_ns, work.to_ns);
		idle_own(d, c->pid[row], f->name);
	}
}

/* --- watched time ----------------------------------------------------------------------------- */

static bool is_window_of(const struct gpu_idle_device *d, const struct idle_facts *f)
{
	return f->gpu ? is_same(d, f->host, f->gpu, f->uuid) : d->host == f->host;
}

static void windows_of(const struct idle_build *b, const struct gpu_idle_device *d, uint32_t pid,
		       struct interval_set *out)
{
	const struct sample_columns *c = &b->p->samples;
	for (size_t i = 0; i < b->windows.n; i++) {
		uint32_t row = b->windows.v[i];
		if (c->pid[row] == pid && is_window_of(d, idle_facts_of(b, row)))
			interval_set_add(out, c->time_ns[row],
					 sum_add(c->time_ns[row], sample_length_ns(c, row)));
	}
	interval_set_normalize(out);
}

static void find_watched(struct idle_build *b, struct gpu_idle_device *d)
{
	struct interval_set exact = { 0 };
	interval_set_add(&exact, b->out->exact_from_ns, INT64_MAX);
	interval_set_normalize(&exact);
	vec_append(&d->watched.all, b->asked.all.v, b->asked.all.n);
	if (b->out->exact_from_ns)
		keep_both(&d->watched, &exact);
	interval_set_done(&exact);
	for (size_t i = 0; b->out->has_windows && i < d->owners.n; i++) {
		struct interval_set windows = { 0 };
		windows_of(b, d, d->owners.v[i].pid, &windows);
		keep_both(&d->watched, &windows);
		interval_set_done(&windows);
	}
	/* d->idle has the times of sums so far, at which nothing is known. */
	struct interval_set watched = { 0 };
	interval_set_normalize(&d->idle);
	interval_set_subtract(&d->watched, &d->idle, &watched);
	interval_set_done(&d->watched);
	interval_set_done(&d->idle);
	d->watched = watched;
	d->idle = (struct interval_set){ 0 };
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

/* --- readings --------------------------------------------------------------------------------- */

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

/* A reading is of the time since the previous one. */
static void read_times(const struct gpu_idle *g, const struct gpu_idle_readings *r,
		       struct gpu_idle_device *d)
{
	for (size_t i = 1; i < r->points.n; i++) {
		struct metric_point p = r->points.v[i];
		int64_t from_ns = r->points.v[i - 1].time_ns;
		if (isnan(p.value) || sum_sub(p.time_ns, from_ns) > GPU_IDLE_MAX_GAP_NS)
			continue;
		interval_set_add(&d->watched, from_ns, p.time_ns);
		if (p.value >= g->threshold)
			interval_set_add(&d->busy, from_ns, p.time_ns);
	}
	interval_set_normalize(&d->watched);
}

/* Counts where idle adjoins busy: each such edge is somewhere within a reading. */
static size_t count_edges(const struct gpu_idle_device *d)
{
	size_t edges = 0;
	for (size_t i = 0; i < d->idle.all.n; i++) {
		struct int_range r = d->idle.all.v[i];
		size_t before = interval_set_find(&d->busy, r.from - 1);
		size_t behind = interval_set_find(&d->busy, r.to);
		edges += before < d->busy.all.n && d->busy.all.v[before].to == r.from;
		edges += behind < d->busy.all.n && d->busy.all.v[behind].from == r.to;
	}
	return edges;
}

/* Returns whether records, which say more, cover enough of the time. */
static bool says_enough(const struct idle_build *b, const struct gpu_idle_device *d)
{
	return interval_set_sum(&d->watched) >= interval_set_sum(&b->asked) / 2;
}

/* Takes the driver's names for a GPU with records, whose label may be a program's numbering. */
static void take_name(struct gpu_idle_device *d, const struct gpu_idle_readings *r)
{
	d->label = r->label;
	d->uuid = r->uuid ? r->uuid : d->uuid;
	d->model = r->model;
}

static void add_readings(struct idle_build *b, const struct gpu_idle_readings *r)
{
	struct gpu_idle_device *d = add_device(b, GPU_IDLE_READINGS, r->host, r->label, r->uuid);
	take_name(d, r);
	d->period_ns = median_ns(&r->points);
	read_times(b->out, r, d);
	keep_both(&d->watched, &b->asked);
	settle_times(d);
	d->uncertain_ns = sum_mul((int64_t)count_edges(d), d->period_ns);
	for (size_t i = 0; i < r->listed.n; i++)
		idle_own(d, SAMPLE_NO_ID, r->listed.v[i]);
	d->owned = r->listed.n ? GPU_OWNED_LISTED : GPU_OWNED_NONE;
}

static void drop_device(struct idle_build *b, struct gpu_idle_device *d)
{
	size_t i = (size_t)(d - b->out->devices.v);
	gpu_idle_device_done(d);
	vec_done(&b->works.v[i]);
	b->out->devices.v[i] = b->out->devices.v[--b->out->devices.n];
	b->works.v[i] = b->works.v[--b->works.n];
}

/* Adds a device by readings. Records of the same GPU without watched time are dropped. */
static void find_reading(struct idle_build *b, const struct gpu_idle_readings *r)
{
	struct gpu_idle_device *records = find_device(b, r->host, r->label, r->uuid);
	uint32_t uuid = records ? records->uuid : 0;
	if (records)
		take_name(records, r);
	if (r->points.n < 2 || (records && says_enough(b, records)))
		return;
	if (records && records->watched.all.n)
		records->is_part = true;
	else if (records)
		drop_device(b, records);
	add_readings(b, r);
	if (!r->uuid)
		b->out->devices.v[b->out->devices.n - 1].uuid = uuid;
}

void idle_find_readings(struct idle_build *b)
{
	for (size_t i = 0; i < b->opts->n_readings; i++)
		if (idle_host_counts(b, b->opts->readings[i].host))
			find_reading(b, &b->opts->readings[i]);
}
