/* Writes lanes of GPUs, launches of threads, and the arrows between them as events. */
#include "format/trace/trace_gpu.h"

#include "base/buf.h"
#include "base/search.h"
#include "base/str.h"
#include "base/vec.h"
#include "format/picture/flame_chart.h"
#include "profile/change/estimate.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/strtab.h"

enum { STACK_BYTES = 1000 }; /* of a launch, approximate limit */

static const char *leaf_of(struct profile *p, uint32_t row, enum frame_kind *kind)
{
	uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[row]);
	struct shown_line line;
	if (leaf == UINT32_MAX)
		return "?";
	*kind = p->frames.frames.v[leaf].kind;
	profile_frame_lines(p, leaf, &line, 1);
	return profile_str(p, line.name);
}

static const char *label_text(const struct profile *p, uint32_t row, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	uint32_t set = p->series.series.v[p->samples.series[row]].labels;
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&p->series, set, id);
	return l && !l->is_num ? profile_str(p, l->str) : "";
}

/* phase: s at the launch, f at the slice. */
static void put_arrow(struct trace_put *put, const char *phase, struct trace_track track,
		      uint32_t id, int64_t at_ns)
{
	struct json *j = &put->json;
	trace_put_begin(put, phase, track);
	json_key_str(j, "name", "launch");
	json_key_str(j, "cat", "gpu");
	json_key_u64(j, "id", id);
	if (*phase == 'f')
		json_key_str(j, "bp", "e");
	trace_put_time(put, "ts", at_ns);
	json_end(j);
}

static void begin_box(struct trace_put *put, struct trace_track track, const char *name,
		      const char *category, int64_t from_ns, int64_t to_ns)
{
	struct json *j = &put->json;
	trace_put_begin(put, "X", track);
	json_key_str(j, "name", name);
	json_key_str(j, "cat", category);
	trace_put_time(put, "ts", from_ns);
	trace_put_time(put, "dur", to_ns - from_ns);
}

/* --- launches --------------------------------------------------------------------------------- */

size_t trace_gpu_first(const struct trace_gpu *g, uint32_t pid, uint32_t tid)
{
	return search_first(i, 0, g->launches.n,
			    g->launches.v[i].pid > pid ||
				    (g->launches.v[i].pid == pid && g->launches.v[i].tid >= tid));
}

/* Writes the launching thread's stack: the frames before "-" and the work on the GPU. The innermost
 * one is the box's name. */
static void put_stack(struct trace_gpu *g, const uint32_t *frames, uint32_t n, struct json *j)
{
	struct buf text = { 0 };
	struct shown_line line;
	for (uint32_t i = 0; i < n && text.len < STACK_BYTES; i++) {
		profile_frame_lines(g->p, frames[i], &line, 1);
		buf_addf(&text, "%s%s", i ? ";" : "", profile_str(g->p, line.name));
	}
	json_key(j, "args");
	json_obj(j);
	json_key_str(j, "stack", buf_cstr(&text));
	json_end(j);
	buf_done(&text);
}

static void put_launch_box(struct trace_gpu *g, const struct gpu_launch *l, int64_t to_ns,
			   struct trace_put *put)
{
	const struct trace_track track = { l->pid, l->tid, NULL };
	uint32_t stack = g->p->samples.stack[l->row], depth = stack_depth(&g->p->stacks, stack);
	struct shown_line line = { 0 };
	uint32_t callers = depth > 2 ? depth - 3 : 0;
	vec_reserve(&g->frames, depth);
	stack_frames(&g->p->stacks, stack, g->frames.v);
	if (depth > 2)
		profile_frame_lines(g->p, g->frames.v[callers], &line, 1);
	begin_box(put, track, line.name ? profile_str(g->p, line.name) : "launch", "gpu-launch",
		  l->time_ns, to_ns);
	put_stack(g, g->frames.v, callers, &put->json);
	json_end(&put->json);
}

/* Returns until when a launch may be drawn: the start of the next box on its track, or its own time
 * if a box is already there. */
static int64_t room_to(const struct flame_chart *c, const struct chart_lane *lane, int64_t at_ns)
{
	size_t first = lane ? lane->first : 0, end = lane ? lane->first + lane->n : 0;
	size_t next = search_first(i, first, end, c->spans.v[i].to_ns > at_ns);
	if (next == end)
		return INT64_MAX;
	return c->spans.v[next].from_ns > at_ns ? c->spans.v[next].from_ns : at_ns;
}

void trace_gpu_put_launches(struct trace_gpu *g, size_t *at, const struct trace_thread *thread,
			    int64_t until_ns, struct trace_put *put)
{
	for (; *at < g->launches.n; ++*at) {
		const struct gpu_launch *l = &g->launches.v[*at], *next = l + 1;
		if (l->pid != thread->track.pid || l->tid != thread->track.tid ||
		    l->time_ns >= until_ns)
			break;
		int64_t to_ns = l->time_ns + TRACE_GPU_LAUNCH_NS;
		int64_t room_ns = room_to(thread->chart, thread->lane, l->time_ns);
		to_ns = room_ns < to_ns ? room_ns : to_ns;
		if (*at + 1 < g->launches.n && next->pid == l->pid && next->tid == l->tid &&
		    next->time_ns < to_ns)
			to_ns = next->time_ns;
		if (to_ns > l->time_ns)
			put_launch_box(g, l, to_ns, put);
		put_arrow(put, "s", thread->track, l->id, l->time_ns);
	}
}

/* --- lanes ------------------------------------------------------------------------------------ */

static struct trace_track track_of(const struct gpu_lane *lane, size_t i)
{
	return (struct trace_track){ TRACE_GPU_PID + lane->device, (uint32_t)i + 1, NULL };
}

static void name_lane(const struct trace_gpu *g, size_t i, struct trace_put *put)
{
	const struct gpu_lane *lane = &g->lanes.v[i];
	const struct gpu_lanes_device *d = &g->devices.v[lane->device];
	struct trace_track track = track_of(lane, i);
	struct buf name = { 0 };
	if (i == 0 || g->lanes.v[i - 1].device != lane->device) {
		buf_addf(&name, "GPU %s", profile_str(g->p, d->label));
		if (d->host)
			buf_addf(&name, " of %s", profile_str(g->p, d->host));
		trace_put_name(put, track, "process_name", buf_cstr(&name));
		trace_put_order(put, track, "process_sort_index", -1000000 + (int64_t)i);
		buf_clear(&name);
	}
	buf_addf(&name, "stream %s", lane->stream ? profile_str(g->p, lane->stream) : "?");
	if (d->is_shared)
		buf_addf(&name, " of %s (%u)",
			 label_text(g->p, g->slices.v[lane->first].row, "process"), lane->pid);
	if (lane->overlap)
		buf_addf(&name, ", at once (%u)", lane->overlap + 1);
	trace_put_name(put, track, "thread_name", buf_cstr(&name));
	trace_put_order(put, track, "thread_sort_index", (int64_t)i);
	buf_done(&name);
}

static void put_slice(struct trace_gpu *g, const struct gpu_slice *s, struct trace_track track,
		      struct trace_put *put)
{
	const struct sample_columns *c = &g->p->samples;
	enum frame_kind kind = FRAME_GPU_KERNEL;
	struct json *j = &put->json;
	const char *name = leaf_of(g->p, s->row, &kind);
	const char *estimated = label_text(g->p, s->row, ESTIMATE_LABEL);
	begin_box(put, track, name, frame_kinds[kind].name, s->from_ns, s->to_ns);
	json_key(j, "args");
	json_obj(j);
	if (c->pid[s->row] != SAMPLE_NO_ID)
		json_key_u64(j, "pid", c->pid[s->row]);
	if (c->tid[s->row] != SAMPLE_NO_ID)
		json_key_u64(j, "tid", c->tid[s->row]);
	if (*estimated)
		json_key_str(j, ESTIMATE_LABEL, estimated);
	json_end(j);
	json_end(j);
	if (s->launch)
		put_arrow(put, "f", track, s->launch, s->from_ns);
}

static void put_merged(const struct trace_gpu *g, const struct gpu_lane *lane, size_t first,
		       size_t end, struct trace_track track, struct trace_put *put)
{
	struct buf name = { 0 };
	fmt_count(&name, end - first);
	buf_addf(&name, " below %lld us", (long long)(lane->min_ns / 1000));
	begin_box(put, track, buf_cstr(&name), frame_kinds[FRAME_GPU_KERNEL].name,
		  g->slices.v[first].from_ns, g->slices.v[end - 1].to_ns);
	json_end(&put->json);
	buf_done(&name);
}

static bool is_short(const struct gpu_lane *lane, const struct gpu_slice *s)
{
	return s->to_ns - s->from_ns < lane->min_ns;
}

/* Returns the end of the slices merged with slice i, as counted in trace_gpu.c. */
static size_t run_end(const struct trace_gpu *g, const struct gpu_lane *lane, size_t i)
{
	const struct gpu_slice *s = g->slices.v;
	size_t end = i + 1;
	while (is_short(lane, &s[i]) && end < lane->first + lane->n && is_short(lane, &s[end]) &&
	       s[end].from_ns - s[end - 1].to_ns <= lane->min_ns)
		end++;
	return end;
}

static int put_lane(struct trace_gpu *g, size_t at, struct trace_put *put, struct err *err)
{
	const struct gpu_lane *lane = &g->lanes.v[at];
	struct trace_track track = track_of(lane, at);
	int rc = 0;
	name_lane(g, at, put);
	for (size_t i = lane->first, end; rc == 0 && i < lane->first + lane->n; i = end) {
		end = run_end(g, lane, i);
		if (end == i + 1)
			put_slice(g, &g->slices.v[i], track, put);
		else
			put_merged(g, lane, i, end, track, put);
		g->merged += end - i > 1 ? end - i : 0;
		rc = trace_put_flush(put, TRACE_FLUSH_BYTES, err);
	}
	return rc;
}

int trace_gpu_put(struct trace_gpu *g, struct trace_put *put, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->lanes.n; i++)
		rc = put_lane(g, i, put, err);
	return rc;
}
