/* Writes one type of a profile as trace events: a track for each thread, with its stacks in
 * chronological order. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/search.h"
#include "base/str.h"
#include "base/vec.h"
#include "format/common/format.h"
#include "format/common/headline.h"
#include "format/picture/flame_chart.h"
#include "format/trace/chrome_trace.h"
#include "format/trace/trace_gpu.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"

#include <errno.h>
#include <string.h>

/* --- counters as tracks: C events, one process for each object measured ---------- */

enum { TRACE_COUNTERS_PID = 20000000 }; /* of "GPU 0 by its driver": larger than any pid */

static int put_counter(const struct format_counter *c, uint32_t pid, int64_t start_wall_ns,
		       struct trace_put *put, struct err *err)
{
	const struct trace_track track = { pid, SAMPLE_NO_ID, NULL };
	struct json *j = &put->json;
	size_t i = 0;
	int rc = 0;
	while (i + 1 < c->points.n && c->points.v[i + 1].time_ns <= start_wall_ns)
		i++;
	for (; rc == 0 && i < c->points.n; i++) {
		int64_t at_ns = sum_sub(c->points.v[i].time_ns, start_wall_ns);
		at_ns = at_ns > 0 ? at_ns : 0;
		trace_put_begin(put, "C", track);
		json_key_str(j, "name", c->name);
		trace_put_time(put, "ts", at_ns);
		json_key(j, "args");
		json_obj(j);
		json_key_num(j, "value", c->points.v[i].value);
		json_end(j);
		json_end(j);
		rc = trace_put_flush(put, TRACE_FLUSH_BYTES, err);
	}
	return rc;
}

/* start_wall_ns: start of the trace; each counter starts there with its last earlier value. */
static int trace_counters_put(const struct format_counters *c, int64_t start_wall_ns,
			      struct trace_put *put, struct err *err)
{
	uint32_t pid = TRACE_COUNTERS_PID;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->all.n; i++) {
		const struct format_counter *counter = &c->all.v[i];
		struct trace_track track = { pid, SAMPLE_NO_ID, NULL };
		if (i == 0 || strcmp(counter[-1].track, counter->track) != 0) {
			track.pid = pid += i > 0;
			trace_put_name(put, track, "process_name", counter->track);
			trace_put_order(put, track, "process_sort_index",
					-500000 + (int64_t)(pid - TRACE_COUNTERS_PID));
		}
		rc = put_counter(counter, pid, start_wall_ns, put, err);
	}
	return rc;
}

enum { TRACE_MERGE_FIRST_NS = 1000 };

struct trace_writer {
	struct profile *p;
	const struct format_write_opts *opts;
	struct trace_put put;
	struct buf name;
	struct flame_chart chart; /* without lanes if only GPUs are shown */
	struct trace_gpu gpu;
	const char *type_name;
	struct chart_boxes boxes; /* of the current lane */
	uint64_t merged;          /* number of frames in all lanes */
};

/* --- events ----------------------------------------------------------------------------------- */

static struct trace_track track_of(const struct trace_writer *w, const struct chart_lane *lane)
{
	return (struct trace_track){ lane->pid, lane->tid, profile_str(w->p, lane->name) };
}

static const char *label_text(const struct trace_writer *w, uint32_t row, const char *name)
{
	const struct series_table *t = &w->p->series;
	uint32_t key = strtab_find(&w->p->strings, name);
	const struct label *l =
		key == UINT32_MAX
			? NULL
			: label_find(t, t->series.v[w->p->samples.series[row]].labels, key);
	return l && !l->is_num ? profile_str(w->p, l->str) : "";
}

/* Lanes are sorted by pid: the first one of each process names it. */
static void put_names(struct trace_writer *w, size_t i)
{
	const struct chart_lane *lane = &w->chart.lanes.v[i];
	if (i == 0 || lane[-1].pid != lane->pid)
		trace_put_name(&w->put, track_of(w, lane), "process_name",
			       label_text(w, lane->row, "process"));
	trace_put_name(&w->put, track_of(w, lane), "thread_name", profile_str(w->p, lane->name));
}

static void put_box(struct trace_writer *w, const struct chart_lane *lane,
		    const struct chart_box *box, int64_t min_ns)
{
	const struct tree *t = w->chart.tree;
	const struct tree_func *f = &t->funcs.v[t->nodes.v[box->node].func];
	const char *binary = strtab_get(&t->strings, f->binary);
	struct json *j = &w->put.json;
	buf_clear(&w->name);
	if (box->merged > 1) {
		fmt_count(&w->name, box->merged);
		buf_addf(&w->name, " frames below %lld us", (long long)(min_ns / 1000));
		binary = "";
	} else {
		buf_adds(&w->name, strtab_get(&t->strings, f->name));
		buf_adds(&w->name, format_suffix(f->kind, w->opts->annotate));
	}
	trace_put_begin(&w->put, "X", track_of(w, lane));
	json_key_str(j, "name", buf_cstr(&w->name));
	json_key_str(j, "cat", frame_kinds[f->kind].name);
	trace_put_time(&w->put, "ts", box->from_ns);
	trace_put_time(&w->put, "dur", box->to_ns - box->from_ns);
	if (*binary) {
		json_key(j, "args");
		json_obj(j);
		json_key_str(j, "binary", binary);
		json_end(j);
	}
	json_end(j);
}

static int put_lane(struct trace_writer *w, size_t i, struct err *err)
{
	const struct chart_lane *lane = &w->chart.lanes.v[i];
	int64_t min_ns = 0;
	int rc = 0;
	for (;; min_ns = min_ns ? 2 * min_ns : TRACE_MERGE_FIRST_NS) {
		w->boxes.merged = 0;
		vec_clear(&w->boxes.all);
		if (chart_lane_boxes(&w->chart, lane, min_ns, TRACE_LANE_BOXES, &w->boxes))
			break;
	}
	w->merged += w->boxes.merged;
	put_names(w, i);
	size_t launch = trace_gpu_first(&w->gpu, lane->pid, lane->tid);
	struct trace_thread thread = { track_of(w, lane), &w->chart, lane };
	for (size_t k = 0; rc == 0 && k < w->boxes.all.n; k++) {
		const struct chart_box *box = &w->boxes.all.v[k];
		trace_gpu_put_launches(&w->gpu, &launch, &thread, box->from_ns, &w->put);
		put_box(w, lane, box, min_ns);
		rc = trace_put_flush(&w->put, TRACE_FLUSH_BYTES, err);
	}
	trace_gpu_put_launches(&w->gpu, &launch, &thread, INT64_MAX, &w->put);
	return rc ? rc : trace_put_flush(&w->put, TRACE_FLUSH_BYTES, err);
}

/* --- threads that only launch GPU work -------------------------------------------------------- */

static bool has_lane(const struct trace_writer *w, const struct gpu_launch *l)
{
	const struct chart_lane *lanes = w->chart.lanes.v;
	size_t at = search_first(i, 0, w->chart.lanes.n,
				 lanes[i].pid > l->pid ||
					 (lanes[i].pid == l->pid && lanes[i].tid >= l->tid));
	return at < w->chart.lanes.n && lanes[at].pid == l->pid && lanes[at].tid == l->tid;
}

static int put_launching(struct trace_writer *w, size_t *at, struct err *err)
{
	const struct gpu_launch *l = &w->gpu.launches.v[*at];
	struct trace_thread thread = { { l->pid, l->tid, NULL }, &w->chart, NULL };
	int rc = 0;
	trace_put_name(&w->put, thread.track, "process_name", label_text(w, l->row, "process"));
	trace_put_name(&w->put, thread.track, "thread_name", label_text(w, l->row, "comm"));
	while (rc == 0 && *at < w->gpu.launches.n) {
		const struct gpu_launch *next = &w->gpu.launches.v[*at];
		if (next->pid != thread.track.pid || next->tid != thread.track.tid)
			break;
		trace_gpu_put_launches(&w->gpu, at, &thread, next->time_ns + 1, &w->put);
		rc = trace_put_flush(&w->put, TRACE_FLUSH_BYTES, err);
	}
	return rc;
}

static int put_launches(struct trace_writer *w, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->gpu.launches.n;) {
		if (has_lane(w, &w->gpu.launches.v[i]))
			i++;
		else
			rc = put_launching(w, &i, err);
	}
	return rc;
}

/* --- metadata --------------------------------------------------------------------------------- */

static void put_count(struct json *j, const char *key, uint64_t n)
{
	if (n)
		json_key_u64(j, key, n);
}

/* Written after the events, when the number of merged frames is known. */
static void put_other(struct trace_writer *w)
{
	const struct flame_chart *c = &w->chart;
	struct json *j = &w->put.json;
	struct buf text = { 0 };
	json_key(j, "otherData");
	json_obj(j);
	json_key_str(j, "exporter", "cresset " CRESSET_VERSION);
	json_key_str(j, "type", w->type_name);
	headline_start_json(j, w->p->meta.start_wall_ns);
	headline_origin(w->p, &text);
	json_key_text(j, "recorded", buf_cstr(&text));
	buf_clear(&text);
	if (c->tree)
		headline_counts(w->p, c->tree, &text);
	json_key_text(j, "samples", buf_cstr(&text));
	if (c->period_ns > 0)
		json_key_i64(j, "sample_stands_for_ns", c->period_ns);
	put_count(j, "threads_without_track", c->n_threads - c->lanes.n);
	put_count(j, "frames_merged", w->merged);
	put_count(j, "samples_hidden_by_others", c->hidden);
	put_count(j, "stacks_cut", c->cut);
	put_count(j, "known_as_sums_only", c->placeless > 0 ? c->placeless : 0);
	put_count(j, "gpu_slices", w->gpu.slices.n);
	put_count(j, "gpu_slices_without_track", w->gpu.hidden);
	put_count(j, "gpu_slices_merged", w->gpu.merged);
	put_count(j, "gpu_ns_known_as_sums_only", w->gpu.summed_ns > 0 ? w->gpu.summed_ns : 0);
	put_count(j, "gpu_launches", w->gpu.launches.n);
	json_end(j);
	buf_done(&text);
}

static int write_trace(struct trace_writer *w, struct err *err)
{
	struct json *j = &w->put.json;
	int rc = 0;
	json_obj(j);
	json_key_str(j, "displayTimeUnit", "ns");
	json_key(j, "traceEvents");
	json_arr(j);
	for (size_t i = 0; rc == 0 && i < w->chart.lanes.n; i++)
		rc = put_lane(w, i, err);
	rc = rc ? rc : put_launches(w, err);
	rc = rc ? rc : trace_gpu_put(&w->gpu, &w->put, err);
	if (rc == 0 && w->opts->counters)
		rc = trace_counters_put(w->opts->counters, w->p->meta.start_wall_ns, &w->put, err);
	if (rc)
		return rc;
	json_end(j);
	put_other(w);
	json_end(j);
	buf_addc(&w->put.text, '\n');
	return trace_put_flush(&w->put, TRACE_FLUSH_ALL, err);
}

/* --- selection -------------------------------------------------------------------------------- */

static bool is_of_gpu(const struct profile *p, uint32_t type)
{
	return strncmp(profile_str(p, p->series.types.v[type].name), "gpu-", strlen("gpu-")) == 0;
}

/* Unless another type is requested, threads are shown next to GPUs, using the type that covers most
 * of their time. */
static uint32_t threads_type(const struct profile *p)
{
	static const char *const types[] = { "wall", "cpu", "off-cpu" };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (uint32_t k = 0; k < p->series.types.n; k++)
			if (strcmp(profile_str(p, p->series.types.v[k].name), types[i]) == 0)
				return k;
	return UINT32_MAX;
}

static int build(struct trace_writer *w, struct tree_opts *tree, struct err *err)
{
	struct chart_opts chart = { .tree = tree, .max_lanes = TRACE_MAX_LANES };
	int rc = trace_gpu_build(w->p, tree, &w->gpu, err);
	uint32_t threads = w->opts->type ? UINT32_MAX : threads_type(w->p);
	if (rc)
		return rc;
	if (is_of_gpu(w->p, tree->type) && threads != UINT32_MAX)
		tree->type = threads;
	w->type_name = profile_str(w->p, w->p->series.types.v[tree->type].name);
	/* GPU time was not spent by the threads that launched the work. */
	if (w->gpu.lanes.n && strcmp(w->type_name, "gpu-time") == 0)
		return 0;
	return flame_chart_build(w->p, &chart, &w->chart, err);
}

int chrome_trace_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       struct err *err)
{
	struct tree_opts tree = opts->tree;
	struct trace_writer w = { .p = p, .opts = opts };
	int rc = format_pick_type(p, opts->type, &tree.type, err);
	if (rc == 0 && !profile_has_times(p))
		rc = err_set(err, EINVAL, "the samples here have no times");
	if (rc)
		return rc;
	trace_put_init(&w.put, out);
	/* A time axis allows neither inverted stacks nor frames around threads. */
	tree.inverted = false;
	tree.max_depth = 0;
	rc = build(&w, &tree, err);
	rc = rc ? rc : write_trace(&w, err);
	flame_chart_done(&w.chart);
	trace_gpu_done(&w.gpu);
	vec_done(&w.boxes.all);
	trace_put_done(&w.put);
	buf_done(&w.name);
	return rc;
}
