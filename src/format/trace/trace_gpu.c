/* Assigns GPU work to tracks, and finds its launches. */
#include "format/trace/trace_gpu.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "format/trace/chrome_trace.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MERGE_FIRST_NS = 1000 };

struct gpu_build {
	struct profile *p;
	const struct tree_opts *opts;
	struct trace_gpu *g;
	uint32_t gpu_key, stream_key, host_key; /* strings */
	struct map lane_of;                     /* keyed by lane_key */
	VEC(struct gpu_lane) lanes;             /* of streams, in order of arrival */
	uint32_t *rank;                         /* by lane: its position */
	VEC(uint32_t) queued;                   /* rows of gpu-queue: by labels, thread, end */
};

/* --- types and labels ------------------------------------------------------------------------- */

static uint32_t find_type(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->series.types.n; i++)
		if (strcmp(profile_str(p, p->series.types.v[i].name), name) == 0)
			return i;
	return UINT32_MAX;
}

static uint32_t set_of(const struct profile *p, uint32_t row)
{
	return p->series.series.v[p->samples.series[row]].labels;
}

static uint32_t text_of(const struct profile *p, uint32_t set, uint32_t key)
{
	const struct label *l = key == UINT32_MAX ? NULL : label_find(&p->series, set, key);
	return l && !l->is_num ? l->str : 0;
}

/* --- slices ----------------------------------------------------------------------------------- */

static uint32_t device_of(struct gpu_build *b, uint32_t host, uint32_t label)
{
	struct trace_gpu *g = b->g;
	for (uint32_t i = 0; i < g->devices.n; i++)
		if (g->devices.v[i].host == host && g->devices.v[i].label == label)
			return i;
	vec_push(&g->devices, (struct gpu_lanes_device){ host, label, false });
	return g->devices.n - 1;
}

struct lane_want {
	const struct gpu_build *b;
	struct gpu_lane lane;
};

static bool same_lane(const void *ctx, uint32_t i)
{
	const struct lane_want *w = ctx;
	const struct gpu_lane *l = &w->b->lanes.v[i];
	return l->device == w->lane.device && l->pid == w->lane.pid && l->stream == w->lane.stream;
}

/* Returns UINT32_MAX if there is no space for another lane. */
static uint32_t lane_of(struct gpu_build *b, uint32_t row, uint32_t gpu)
{
	uint32_t set = set_of(b->p, row);
	struct lane_want w = { b, { .pid = b->p->samples.pid[row] } };
	w.lane.device = device_of(b, text_of(b->p, set, b->host_key), gpu);
	w.lane.stream = text_of(b->p, set, b->stream_key);
	uint64_t hash = hash_mix(hash_mix(w.lane.device, w.lane.pid), w.lane.stream);
	uint32_t i;
	if (map_lookup(&b->lane_of, hash, same_lane, &w, &i))
		return i;
	if (b->lanes.n >= TRACE_MAX_LANES)
		return UINT32_MAX;
	i = map_intern(&b->lane_of, hash, b->lanes.n, same_lane, &w);
	vec_push(&b->lanes, w.lane);
	return i;
}

static void add_slice(struct gpu_build *b, uint32_t row)
{
	struct sample_part part;
	uint32_t set = set_of(b->p, row), gpu = text_of(b->p, set, b->gpu_key);
	if (!gpu || !sample_part_in(b->p, row, b->opts, &part))
		return;
	if (part.length_ns <= 0) {
		b->g->summed_ns = sum_add(b->g->summed_ns, part.value);
		return;
	}
	uint32_t lane = lane_of(b, row, gpu);
	int64_t from_ns = sum_sub(part.time_ns, b->p->meta.start_mono_ns);
	if (lane == UINT32_MAX) {
		b->g->hidden++;
		return;
	}
	vec_push(&b->g->slices, (struct gpu_slice){ .from_ns = from_ns,
						    .to_ns = sum_add(from_ns, part.length_ns),
						    .row = row,
						    .set = set,
						    .overlap = lane });
}

static int add_slices(struct gpu_build *b, uint32_t type, struct err *err)
{
	struct tree_opts opts = *b->opts;
	struct tree_samples samples = { 0 };
	struct tree *tree = NULL;
	opts.type = type;
	int rc = tree_build_samples(b->p, &opts, &tree, &samples, err);
	for (size_t i = 0; rc == 0 && i < samples.rows.n; i++)
		add_slice(b, samples.rows.v[i].row);
	tree_free(tree);
	vec_done(&samples.rows);
	return rc;
}

/* --- order ------------------------------------------------------------------------------------ */

/* Compares numbers in texts by value. */
static int compare_lanes(const void *a, const void *b, void *ctx)
{
	const struct gpu_build *build = ctx;
	const struct profile *p = build->p;
	const struct gpu_lane *x = &build->lanes.v[*(const uint32_t *)a],
			      *y = &build->lanes.v[*(const uint32_t *)b];
	const struct gpu_lanes_device *dx = &build->g->devices.v[x->device],
				      *dy = &build->g->devices.v[y->device];
	int order = strcmp(profile_str(p, dx->host), profile_str(p, dy->host));
	order = order ? order : strverscmp(profile_str(p, dx->label), profile_str(p, dy->label));
	order = order ? order : strverscmp(profile_str(p, x->stream), profile_str(p, y->stream));
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void rank_lanes(struct gpu_build *b)
{
	if (!b->lanes.n)
		return;
	uint32_t *order = xcalloc(b->lanes.n, sizeof *order);
	b->rank = xcalloc(b->lanes.n, sizeof *b->rank);
	for (uint32_t i = 0; i < b->lanes.n; i++)
		order[i] = i;
	qsort_r(order, b->lanes.n, sizeof *order, compare_lanes, b);
	for (uint32_t i = 0; i < b->lanes.n; i++)
		b->rank[order[i]] = i;
	VEC(struct gpu_lane) sorted = { 0 };
	for (uint32_t i = 0; i < b->lanes.n; i++)
		vec_push(&sorted, b->lanes.v[order[i]]);
	memcpy(b->lanes.v, sorted.v, sorted.n * sizeof *sorted.v);
	vec_done(&sorted);
	free(order);
}

static int compare_slices(const void *a, const void *b)
{
	const struct gpu_slice *x = a, *y = b;
	if (x->overlap != y->overlap)
		return x->overlap < y->overlap ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* Assigns each slice of a stream to a lane where it does not overlap; those without one are sorted
 * to the end. */
static uint32_t spread(struct trace_gpu *g, size_t first, size_t end)
{
	int64_t busy_to[TRACE_GPU_OVERLAPS];
	uint32_t used = 1;
	for (int i = 0; i < TRACE_GPU_OVERLAPS; i++)
		busy_to[i] = INT64_MIN;
	for (size_t i = first; i < end; i++) {
		struct gpu_slice *s = &g->slices.v[i];
		uint32_t at = 0;
		while (at < TRACE_GPU_OVERLAPS && busy_to[at] > s->from_ns)
			at++;
		s->overlap = at;
		if (at == TRACE_GPU_OVERLAPS)
			continue;
		busy_to[at] = s->to_ns;
		used = at >= used ? at + 1 : used;
	}
	if (used > 1)
		qsort(g->slices.v + first, end - first, sizeof *g->slices.v, compare_slices);
	return used;
}

static size_t count_boxes(const struct trace_gpu *g, const struct gpu_lane *lane, int64_t min_ns)
{
	size_t n = 0;
	bool is_open = false;
	int64_t end_ns = 0;
	for (size_t i = lane->first; i < lane->first + lane->n; i++) {
		const struct gpu_slice *s = &g->slices.v[i];
		bool is_short = s->to_ns - s->from_ns < min_ns;
		n += !(is_short && is_open && s->from_ns - end_ns <= min_ns);
		is_open = is_short;
		end_ns = s->to_ns;
	}
	return n;
}

static void add_lane(struct trace_gpu *g, struct gpu_lane lane)
{
	if (!lane.n)
		return;
	while (count_boxes(g, &lane, lane.min_ns) > TRACE_LANE_BOXES)
		lane.min_ns = lane.min_ns ? 2 * lane.min_ns : MERGE_FIRST_NS;
	vec_push(&g->lanes, lane);
}

static void add_stream(struct gpu_build *b, struct gpu_lane lane, size_t first, size_t end)
{
	struct trace_gpu *g = b->g;
	lane.overlaps = spread(g, first, end);
	for (lane.overlap = 0; lane.overlap < lane.overlaps; lane.overlap++) {
		lane.first = first;
		while (first < end && g->slices.v[first].overlap == lane.overlap)
			first++;
		lane.n = first - lane.first;
		add_lane(g, lane);
	}
	g->hidden += end - first;
}

static void add_lanes(struct gpu_build *b)
{
	struct trace_gpu *g = b->g;
	for (size_t i = 0; i < g->slices.n; i++)
		g->slices.v[i].overlap = b->rank[g->slices.v[i].overlap];
	if (g->slices.n)
		qsort(g->slices.v, g->slices.n, sizeof *g->slices.v, compare_slices);
	for (size_t first = 0, end; first < g->slices.n; first = end) {
		uint32_t lane = g->slices.v[first].overlap;
		for (end = first; end < g->slices.n && g->slices.v[end].overlap == lane;)
			end++;
		add_stream(b, b->lanes.v[lane], first, end);
	}
	for (size_t i = 1; i < g->lanes.n; i++)
		if (g->lanes.v[i].device == g->lanes.v[i - 1].device &&
		    g->lanes.v[i].pid != g->lanes.v[i - 1].pid)
			g->devices.v[g->lanes.v[i].device].is_shared = true;
}

/* --- launches --------------------------------------------------------------------------------- */

static int64_t end_of(const struct profile *p, uint32_t row)
{
	return sum_add(p->samples.time_ns[row], sample_length_ns(&p->samples, row));
}

/* Compares labels, thread, then the time the work started. */
static int compare_work(const struct profile *p, uint32_t set, uint32_t tid, int64_t at_ns,
			uint32_t row)
{
	int64_t end_ns = end_of(p, row);
	if (set != set_of(p, row))
		return set < set_of(p, row) ? -1 : 1;
	if (tid != p->samples.tid[row])
		return tid < p->samples.tid[row] ? -1 : 1;
	return at_ns < end_ns ? -1 : at_ns > end_ns;
}

static int compare_queued(const void *a, const void *b, void *p)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_work(p, set_of(p, x), ((struct profile *)p)->samples.tid[x],
				 end_of(p, x), y);
	return order ? order : x < y ? -1 : x > y;
}

static void find_queued(struct gpu_build *b)
{
	uint32_t type = find_type(b->p, "gpu-queue");
	for (uint32_t row = 0; type != UINT32_MAX && row < b->p->samples.n; row++)
		if (b->p->series.series.v[b->p->samples.series[row]].type == type)
			vec_push(&b->queued, row);
	if (b->queued.n)
		qsort_r(b->queued.v, b->queued.n, sizeof *b->queued.v, compare_queued, b->p);
}

/* Returns the row of gpu-queue for a slice, or UINT32_MAX. */
static uint32_t queued_of(const struct gpu_build *b, const struct gpu_slice *s)
{
	const struct sample_columns *c = &b->p->samples;
	uint32_t tid = c->tid[s->row];
	int64_t at_ns = c->time_ns[s->row];
	const uint32_t *rows = b->queued.v;
	size_t at = search_first(i, 0, b->queued.n,
				 compare_work(b->p, s->set, tid, at_ns, rows[i]) <= 0);
	if (at < b->queued.n && compare_work(b->p, s->set, tid, at_ns, rows[at]) == 0)
		return rows[at];
	return UINT32_MAX;
}

static void add_launch(struct gpu_build *b, struct gpu_slice *s)
{
	const struct profile *p = b->p;
	uint32_t row = queued_of(b, s);
	int64_t begin_ns = sum_sub(p->samples.time_ns[s->row], p->meta.start_mono_ns);
	if (row == UINT32_MAX || s->from_ns != begin_ns)
		return;
	int64_t time_ns = sum_sub(p->samples.time_ns[row], p->meta.start_mono_ns);
	/* A row truncated by the range was launched before it. */
	if (time_ns <= b->opts->time_from_ns)
		return;
	s->launch = (uint32_t)b->g->launches.n + 1;
	vec_push(&b->g->launches, (struct gpu_launch){ time_ns, p->samples.pid[row],
						       p->samples.tid[row], row, s->launch });
}

static int compare_launches(const void *a, const void *b)
{
	const struct gpu_launch *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void add_launches(struct gpu_build *b)
{
	struct trace_gpu *g = b->g;
	find_queued(b);
	for (size_t i = 0; b->queued.n && i < g->lanes.n; i++)
		for (size_t k = 0; k < g->lanes.v[i].n; k++) {
			struct gpu_slice *s = &g->slices.v[g->lanes.v[i].first + k];
			if (s->to_ns - s->from_ns >= g->lanes.v[i].min_ns)
				add_launch(b, s);
		}
	if (g->launches.n)
		qsort(g->launches.v, g->launches.n, sizeof *g->launches.v, compare_launches);
}

/* --- building --------------------------------------------------------------------------------- */

int trace_gpu_build(struct profile *p, const struct tree_opts *opts, struct trace_gpu *g,
		    struct err *err)
{
	struct gpu_build b = { .p = p,
			       .opts = opts,
			       .g = g,
			       .gpu_key = strtab_find(&p->strings, "gpu"),
			       .stream_key = strtab_find(&p->strings, "stream"),
			       .host_key = strtab_find(&p->strings, "host") };
	uint32_t type = find_type(p, "gpu-time");
	*g = (struct trace_gpu){ .p = p };
	if (type == UINT32_MAX || b.gpu_key == UINT32_MAX)
		return 0;
	int rc = add_slices(&b, type, err);
	if (rc == 0) {
		rank_lanes(&b);
		add_lanes(&b);
		add_launches(&b);
	}
	map_done(&b.lane_of);
	vec_done(&b.lanes);
	vec_done(&b.queued);
	free(b.rank);
	return rc;
}

void trace_gpu_done(struct trace_gpu *g)
{
	vec_done(&g->slices);
	vec_done(&g->lanes);
	vec_done(&g->devices);
	vec_done(&g->launches);
	vec_done(&g->frames);
}
