/* One type of a profile → trace events: a track for each thread, with its stacks in the order of time. */
#include "base/fmt.h"
#include "base/json.h"
#include "format/chrome_trace.h"
#include "format/flame_chart.h"
#include "format/headline.h"
#include "profile/time_range.h"

#include <errno.h>
#include <string.h>

enum { TRACE_FLUSH = 64 * 1024, TRACE_MERGE_FIRST_NS = 1000 };

struct trace_writer {
	struct profile *p;
	const struct format_write_opts *opts;
	struct out *out;
	struct buf text; /* not yet handed to out */
	struct buf name;
	struct json json;
	struct flame_chart chart;
	struct chart_boxes boxes; /* of the lane that is written */
	uint64_t merged;          /* frames, of all lanes */
};

static int flush_text(struct trace_writer *w, size_t keep, struct err *err)
{
	if (w->text.len <= keep)
		return 0;
	int rc = out_write(w->out, w->text.data, w->text.len, err);
	buf_clear(&w->text);
	return rc;
}

/* --- events ----------------------------------------------------------------------------------- */

static void begin_event(struct trace_writer *w, const char *phase, const struct chart_lane *lane)
{
	json_obj(&w->json);
	json_key_str(&w->json, "ph", phase);
	if (lane->pid != SAMPLE_NO_ID)
		json_key_u64(&w->json, "pid", lane->pid);
	if (lane->tid != SAMPLE_NO_ID)
		json_key_u64(&w->json, "tid", lane->tid);
}

static void put_name_event(struct trace_writer *w, const struct chart_lane *lane, const char *what,
			   const char *name)
{
	struct json *j = &w->json;
	if (!*name)
		return;
	begin_event(w, "M", lane);
	json_key_str(j, "name", what);
	json_key(j, "args");
	json_obj(j);
	json_key_str(j, "name", name);
	json_end(j);
	json_end(j);
}

static const char *process_name(const struct trace_writer *w, const struct chart_lane *lane)
{
	const struct series_table *t = &w->p->series;
	uint32_t key = strtab_find(&w->p->strings, "process");
	const struct label *l =
		key == UINT32_MAX
			? NULL
			: label_find(t, t->series.v[w->p->samples.series[lane->row]].labels, key);
	return l && !l->is_num ? profile_str(w->p, l->str) : "";
}

/* Lanes are by pid: the first of each process names it. */
static void put_names(struct trace_writer *w, size_t i)
{
	const struct chart_lane *lane = &w->chart.lanes.v[i];
	if (i == 0 || lane[-1].pid != lane->pid)
		put_name_event(w, lane, "process_name", process_name(w, lane));
	put_name_event(w, lane, "thread_name", profile_str(w->p, lane->name));
}

static void put_box(struct trace_writer *w, const struct chart_lane *lane,
		    const struct chart_box *box, int64_t min_ns)
{
	const struct tree *t = w->chart.tree;
	const struct tree_func *f = &t->funcs.v[t->nodes.v[box->node].func];
	const char *binary = strtab_get(&t->strings, f->binary);
	struct json *j = &w->json;
	buf_clear(&w->name);
	if (box->merged > 1) {
		fmt_count(&w->name, box->merged);
		buf_addf(&w->name, " frames below %lld us", (long long)(min_ns / 1000));
		binary = "";
	} else {
		buf_adds(&w->name, strtab_get(&t->strings, f->name));
		buf_adds(&w->name, format_suffix(f->kind, w->opts->annotate));
	}
	begin_event(w, "X", lane);
	json_key_str(j, "name", buf_cstr(&w->name));
	json_key_str(j, "cat", frame_kinds[f->kind].name);
	json_key_num(j, "ts", box->from_ns / 1e3);
	json_key_num(j, "dur", (box->to_ns - box->from_ns) / 1e3);
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
	for (size_t k = 0; rc == 0 && k < w->boxes.all.n; k++) {
		put_box(w, lane, &w->boxes.all.v[k], min_ns);
		rc = flush_text(w, TRACE_FLUSH, err);
	}
	return rc;
}

/* --- what is said of all ------------------------------------------------------------------------- */

static void put_count(struct json *j, const char *key, uint64_t n)
{
	if (n)
		json_key_u64(j, key, n);
}

/* Behind the events, as what was merged is known then. */
static void put_other(struct trace_writer *w)
{
	const struct flame_chart *c = &w->chart;
	struct json *j = &w->json;
	struct buf text = { 0 };
	json_key(j, "otherData");
	json_obj(j);
	json_key_str(j, "exporter", "cresset " CRESSET_VERSION);
	json_key_str(j, "type", c->tree->type_name);
	headline_start_json(j, w->p->meta.start_wall_ns);
	headline_origin(w->p, &text);
	json_key_text(j, "recorded", buf_cstr(&text));
	buf_clear(&text);
	headline_counts(w->p, c->tree, &text);
	json_key_text(j, "samples", buf_cstr(&text));
	if (c->period_ns > 0)
		json_key_i64(j, "sample_stands_for_ns", c->period_ns);
	put_count(j, "threads_without_track", c->n_threads - c->lanes.n);
	put_count(j, "frames_merged", w->merged);
	put_count(j, "samples_hidden_by_others", c->hidden);
	put_count(j, "stacks_cut", c->cut);
	put_count(j, "known_as_sums_only", c->placeless > 0 ? c->placeless : 0);
	json_end(j);
	buf_done(&text);
}

static int write_trace(struct trace_writer *w, struct err *err)
{
	struct json *j = &w->json;
	int rc = 0;
	json_obj(j);
	json_key_str(j, "displayTimeUnit", "ns");
	json_key(j, "traceEvents");
	json_arr(j);
	for (size_t i = 0; rc == 0 && i < w->chart.lanes.n; i++)
		rc = put_lane(w, i, err);
	if (rc)
		return rc;
	json_end(j);
	put_other(w);
	json_end(j);
	buf_addc(&w->text, '\n');
	return flush_text(w, 0, err);
}

int chrome_trace_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       struct err *err)
{
	struct tree_opts tree = opts->tree;
	struct chart_opts chart = { .tree = &tree, .max_lanes = TRACE_MAX_LANES };
	struct trace_writer w = { .p = p, .opts = opts, .out = out };
	int rc = format_pick_type(p, opts->type, &tree.type, err);
	if (rc == 0 && !profile_has_times(p))
		rc = err_set(err, EINVAL, "the samples here have no times");
	if (rc)
		return rc;
	w.json = json_to(&w.text);
	/* Time on x has neither callers on top nor frames around threads. */
	tree.inverted = false;
	tree.max_depth = 0;
	rc = flame_chart_build(p, &chart, &w.chart, err);
	rc = rc ? rc : write_trace(&w, err);
	flame_chart_done(&w.chart);
	vec_done(&w.boxes.all);
	buf_done(&w.text);
	buf_done(&w.name);
	return rc;
}
