/* Writes one type of a profile as speedscope JSON. Functions are frames: addresses and lines of one
 * function are merged, as in every view of speedscope. */
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "format/picture/flame_chart.h"
#include "format/speedscope/speedscope.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"

#include <string.h>

enum { SPEEDSCOPE_FLUSH = 64 * 1024 };
/* The largest exact number of JavaScript. Greater times are written from the start on. */
#define SPEEDSCOPE_EXACT (1ll << 53)

struct speedscope_frame {
	uint32_t name, file; /* strings of the tree */
	uint32_t line;
};
/* A thread and its samples in chronological order. */
struct speedscope_thread {
	uint32_t pid, tid;
	size_t first, n; /* in samples */
	int64_t total;
};

struct speedscope_writer {
	struct profile *p;
	const struct format_write_opts *opts;
	struct out *out;
	struct buf text; /* not yet passed to out */
	struct json json;
	struct tree *tree;
	struct tree_samples samples;
	const char *unit;
	int64_t factor;      /* value * factor is in unit */
	VEC(uint32_t) lines; /* by function of the tree; 0: unknown */
	VEC(struct speedscope_frame) frames;
	VEC(uint32_t) frame_of_func;
	VEC(uint32_t) path;
	VEC(struct speedscope_thread) threads;
	struct flame_chart chart; /* if all samples are intervals; else without lanes */
	int64_t base_ns;          /* time 0 of the chart */
	VEC(uint32_t) open;       /* frames */
};

static int flush_text(struct speedscope_writer *w, size_t keep, struct err *err)
{
	if (w->text.len <= keep)
		return 0;
	int rc = out_write(w->out, w->text.data, w->text.len, err);
	buf_clear(&w->text);
	return rc;
}

/* --- unit --- */

/* Converts counts of samples with a period to the time they stand for: speedscope then labels them
 * as time. */
static void choose_unit(struct speedscope_writer *w)
{
	const struct tree *t = w->tree;
	struct value_unit own = value_unit(t->unit);
	struct value_unit scaled = value_unit(t->scaled_unit ? t->scaled_unit : "");
	w->unit = "none";
	w->factor = 1;
	if (strcmp(own.base, "ns") == 0 || strcmp(own.base, "B") == 0) {
		w->unit = *own.base == 'n' ? "nanoseconds" : "bytes";
		w->factor = own.scale;
	} else if (strcmp(scaled.base, "ns") == 0) {
		w->unit = "nanoseconds";
		w->factor = sum_mul((int64_t)t->scale, scaled.scale);
	}
}

/* --- frames --- */

static uint32_t tree_string(struct speedscope_writer *w, uint32_t id)
{
	const struct strtab *from = &w->p->strings;
	return strtab_putn(&w->tree->strings, strtab_get(from, id), strtab_len(from, id));
}

/* Finds the lowest known line of each function. */
static void find_lines(struct speedscope_writer *w)
{
	struct shown_line shown[NAMES_MAX_INLINE];
	for (uint32_t frame = 0; frame < w->p->frames.frames.n; frame++) {
		uint32_t n = profile_frame_lines(w->p, frame, shown, NAMES_MAX_INLINE);
		struct tree_func f = { .kind = w->p->frames.frames.v[frame].kind };
		f.binary = tree_string(w, profile_frame_binary(w->p, frame));
		for (uint32_t i = 0; i < n; i++) {
			f.name = tree_string(w, shown[i].name);
			f.file = tree_string(w, shown[i].file);
			f.inlined = i + 1 < n;
			uint32_t func = tree_func_intern(w->tree, &f);
			while (w->lines.n <= func)
				vec_push(&w->lines, 0);
			uint32_t *line = &w->lines.v[func];
			if (shown[i].line && (!*line || shown[i].line < *line))
				*line = shown[i].line;
		}
	}
}

static uint32_t frame_name(struct speedscope_writer *w, const struct tree_func *f)
{
	struct strtab *strings = &w->tree->strings;
	const char *suffix = format_suffix(f->kind, w->opts->annotate);
	if (!*suffix)
		return f->name;
	struct buf name = { 0 };
	buf_add(&name, strtab_get(strings, f->name), strtab_len(strings, f->name));
	buf_adds(&name, suffix);
	uint32_t id = strtab_putn(strings, name.data, name.len);
	buf_done(&name);
	return id;
}

/* Returns the frame of a function. Functions with equal text are merged, for example inlined and
 * called ones. If the source file is unknown the binary replaces it, as when speedscope imports
 * perf's output. */
static uint32_t make_frame(struct speedscope_writer *w, uint32_t func, struct map *index)
{
	const struct tree_func f = w->tree->funcs.v[func];
	struct speedscope_frame frame = { frame_name(w, &f), f.file ? f.file : f.binary,
					  f.file ? w->lines.v[func] : 0 };
	uint64_t key = (uint64_t)frame.name << 32 | frame.file;
	const uint32_t *known = map_get(index, key);
	if (!known) {
		map_put(index, key, w->frames.n);
		vec_push(&w->frames, frame);
		return w->frames.n - 1;
	}
	uint32_t *line = &w->frames.v[*known].line;
	if (frame.line && (!*line || frame.line < *line))
		*line = frame.line;
	return *known;
}

static void make_frames(struct speedscope_writer *w)
{
	struct map index = { 0 };
	while (w->lines.n < w->tree->funcs.n)
		vec_push(&w->lines, 0);
	for (size_t i = 0; i < w->tree->funcs.n; i++)
		vec_push(&w->frame_of_func, TREE_NONE);
	for (size_t i = TREE_ROOT + 1; i < w->tree->nodes.n; i++) {
		uint32_t func = w->tree->nodes.v[i].func;
		if (w->frame_of_func.v[func] == TREE_NONE)
			w->frame_of_func.v[func] = make_frame(w, func, &index);
	}
	map_done(&index);
}

static int write_frames(struct speedscope_writer *w, struct err *err)
{
	struct json *j = &w->json;
	int rc = 0;
	json_key(j, "shared");
	json_obj(j);
	json_key(j, "frames");
	json_arr(j);
	for (size_t i = 0; rc == 0 && i < w->frames.n; i++) {
		const struct speedscope_frame *f = &w->frames.v[i];
		json_obj(j);
		json_key_str(j, "name", strtab_get(&w->tree->strings, f->name));
		if (f->file)
			json_key_str(j, "file", strtab_get(&w->tree->strings, f->file));
		if (f->line)
			json_key_u64(j, "line", f->line);
		json_end(j);
		rc = flush_text(w, SPEEDSCOPE_FLUSH, err);
	}
	json_end(j);
	json_end(j);
	return rc;
}

/* --- profiles --- */

static int64_t scaled(const struct speedscope_writer *w, int64_t value)
{
	return sum_mul(value, w->factor);
}

/* Sets the path to the frames of a node, leaf first. */
static void find_path(struct speedscope_writer *w, uint32_t node)
{
	const struct tree_node *nodes = w->tree->nodes.v;
	vec_clear(&w->path);
	for (; node != TREE_ROOT; node = nodes[node].parent)
		vec_push(&w->path, w->frame_of_func.v[nodes[node].func]);
}

static int write_stack(struct speedscope_writer *w, uint32_t node, struct err *err)
{
	find_path(w, node);
	json_arr(&w->json);
	while (w->path.n)
		json_u64(&w->json, w->path.v[--w->path.n]);
	json_end(&w->json);
	return flush_text(w, SPEEDSCOPE_FLUSH, err);
}

static void begin_kind(struct speedscope_writer *w, const char *kind, const char *name,
		       int64_t start, int64_t end)
{
	struct json *j = &w->json;
	json_obj(j);
	json_key_str(j, "type", kind);
	json_key_str(j, "name", name);
	json_key_str(j, "unit", w->unit);
	json_key_i64(j, "startValue", start);
	json_key_i64(j, "endValue", end);
}

/* Writes the head of a profile, up to the start of its samples. */
static void begin_profile(struct speedscope_writer *w, const char *name, int64_t total)
{
	begin_kind(w, "sampled", name, 0, total);
	json_key(&w->json, "samples");
	json_arr(&w->json);
}

/* Negative weights cannot be shown: speedscope rejects a file that has one. */
static bool is_shown(int64_t value)
{
	return value > 0;
}

/* Writes each stack once. */
static int write_merged(struct speedscope_writer *w, struct err *err)
{
	const struct tree *t = w->tree;
	struct json *j = &w->json;
	int64_t total = 0;
	int rc = 0;
	for (size_t i = 0; i < t->nodes.n; i++)
		if (is_shown(t->nodes.v[i].self))
			total = sum_add(total, scaled(w, t->nodes.v[i].self));
	begin_profile(w, w->opts->title ? w->opts->title : "", total);
	for (uint32_t i = 0; rc == 0 && i < t->nodes.n; i++)
		if (is_shown(t->nodes.v[i].self))
			rc = write_stack(w, i, err);
	json_end(j);
	json_key(j, "weights");
	json_arr(j);
	for (uint32_t i = 0; rc == 0 && i < t->nodes.n; i++) {
		if (is_shown(t->nodes.v[i].self))
			json_i64(j, scaled(w, t->nodes.v[i].self));
		rc = flush_text(w, SPEEDSCOPE_FLUSH, err);
	}
	json_end(j);
	json_end(j);
	return rc;
}

/* --- by thread --- */

/* Whether every sample has a time and a thread. */
static bool has_threads(const struct speedscope_writer *w)
{
	const struct sample_columns *c = &w->p->samples;
	bool has_times = false;
	for (size_t i = 0; i < w->samples.rows.n; i++) {
		uint32_t row = w->samples.rows.v[i].row;
		if (c->pid[row] == SAMPLE_NO_ID || c->tid[row] == SAMPLE_NO_ID)
			return false;
		has_times |= c->time_ns[row] != 0;
	}
	return has_times;
}

static int compare_samples(const void *a, const void *b, void *ctx)
{
	const struct tree_sample *x = a, *y = b;
	const struct sample_columns *c = ctx;
#define COMPARE(u, v) \
	if ((u) != (v)) \
	return (u) < (v) ? -1 : 1
	COMPARE(c->pid[x->row], c->pid[y->row]);
	COMPARE(c->tid[x->row], c->tid[y->row]);
	COMPARE(c->time_ns[x->row], c->time_ns[y->row]);
	COMPARE(x->row, y->row);
#undef COMPARE
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct speedscope_thread *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Divides the sorted samples into threads. Consecutive samples of the same stack are merged. */
static void make_threads(struct speedscope_writer *w)
{
	const struct sample_columns *c = &w->p->samples;
	struct tree_sample *rows = w->samples.rows.v;
	struct speedscope_thread *thread = NULL;
	size_t kept = 0;
	for (size_t i = 0; i < w->samples.rows.n; i++) {
		uint32_t pid = c->pid[rows[i].row], tid = c->tid[rows[i].row];
		int64_t value = scaled(w, rows[i].value);
		if (!is_shown(value))
			continue;
		if (!thread || thread->pid != pid || thread->tid != tid) {
			vec_push(&w->threads, (struct speedscope_thread){ pid, tid, kept, 0, 0 });
			thread = &w->threads.v[w->threads.n - 1];
		}
		thread->total = sum_add(thread->total, value);
		if (thread->n && rows[kept - 1].node == rows[i].node) {
			rows[kept - 1].value = sum_add(rows[kept - 1].value, value);
			continue;
		}
		thread->n++;
		rows[kept] = rows[i];
		rows[kept++].value = value;
	}
	w->samples.rows.n = kept;
	qsort(w->threads.v, w->threads.n, sizeof *w->threads.v, compare_threads);
}

/* Writes "redis-server (pid 12, tid 13)"; the reader splits it again. */
static void name_thread(const char *comm, uint32_t pid, uint32_t tid, struct buf *name)
{
	buf_adds(name, comm);
	if (pid != SAMPLE_NO_ID && tid != SAMPLE_NO_ID)
		buf_addf(name, " (pid %u, tid %u)", pid, tid);
}

static void thread_name(const struct speedscope_writer *w, const struct speedscope_thread *thread,
			struct buf *name)
{
	const struct profile *p = w->p;
	uint32_t row = w->samples.rows.v[thread->first].row;
	uint32_t labels = p->series.series.v[p->samples.series[row]].labels;
	const struct label *comm = label_find(&p->series, labels, strtab_find(&p->strings, "comm"));
	name_thread(comm && !comm->is_num ? profile_str(p, comm->str) : "", thread->pid,
		    thread->tid, name);
}

static int write_thread(struct speedscope_writer *w, const struct speedscope_thread *thread,
			struct err *err)
{
	const struct tree_sample *samples = w->samples.rows.v + thread->first;
	struct buf name = { 0 };
	int rc = 0;
	thread_name(w, thread, &name);
	begin_profile(w, buf_cstr(&name), thread->total);
	buf_done(&name);
	for (size_t i = 0; rc == 0 && i < thread->n; i++)
		rc = write_stack(w, samples[i].node, err);
	json_end(&w->json);
	json_key(&w->json, "weights");
	json_arr(&w->json);
	for (size_t i = 0; rc == 0 && i < thread->n; i++) {
		json_i64(&w->json, samples[i].value);
		rc = flush_text(w, SPEEDSCOPE_FLUSH, err);
	}
	json_end(&w->json);
	json_end(&w->json);
	return rc;
}

/* --- intervals --- */

/* Whether the values of all samples are the times that they cover. */
static bool has_intervals(const struct speedscope_writer *w, const struct tree_opts *tree)
{
	struct sample_part part = { 0 };
	for (size_t i = 0; i < w->samples.rows.n; i++) {
		const struct tree_sample *s = &w->samples.rows.v[i];
		if (!sample_part_in(w->p, s->row, tree, &part) || part.length_ns <= 0 ||
		    part.length_ns != scaled(w, s->value))
			return false;
	}
	return w->samples.rows.n && strcmp(w->unit, "nanoseconds") == 0;
}

/* Charts the intervals, unless some of them overlap. The chart's tree has the same nodes. */
static int chart_intervals(struct speedscope_writer *w, const struct tree_opts *tree,
			   struct err *err)
{
	const struct chart_opts opts = { .tree = tree, .max_lanes = SIZE_MAX };
	struct flame_chart *c = &w->chart;
	int64_t left = scaled(w, w->tree->nodes.v[TREE_ROOT].total);
	if (!has_intervals(w, tree))
		return 0;
	int rc = flame_chart_build(w->p, &opts, c, err);
	for (size_t i = 0; rc == 0 && i < c->spans.n; i++)
		left = sum_sub(left, c->spans.v[i].to_ns - c->spans.v[i].from_ns);
	if (rc || c->cut || left)
		flame_chart_done(c);
	w->base_ns = sum_add(w->p->meta.start_mono_ns, c->to_ns) > SPEEDSCOPE_EXACT
			     ? 0
			     : w->p->meta.start_mono_ns;
	return rc;
}

static void write_event(struct speedscope_writer *w, const char *type, uint32_t frame, int64_t at)
{
	struct json *j = &w->json;
	json_obj(j);
	json_key_str(j, "type", type);
	json_key_u64(j, "frame", frame);
	json_key_i64(j, "at", sum_add(w->base_ns, at));
	json_end(j);
}

static void close_frames(struct speedscope_writer *w, size_t down_to, int64_t at)
{
	while (w->open.n > down_to)
		write_event(w, "C", w->open.v[--w->open.n], at);
}

static void write_span(struct speedscope_writer *w, const struct chart_span *span)
{
	size_t same = 0;
	find_path(w, span->node);
	while (same < w->open.n && same < w->path.n &&
	       w->open.v[same] == w->path.v[w->path.n - 1 - same])
		same++;
	close_frames(w, same, span->from_ns);
	while (w->open.n < w->path.n) {
		uint32_t frame = w->path.v[w->path.n - 1 - w->open.n];
		write_event(w, "O", frame, span->from_ns);
		vec_push(&w->open, frame);
	}
}

static int write_lane(struct speedscope_writer *w, const struct chart_lane *lane, struct err *err)
{
	const struct chart_span *spans = w->chart.spans.v + lane->first;
	struct buf name = { 0 };
	int rc = 0;
	name_thread(profile_str(w->p, lane->name), lane->pid, lane->tid, &name);
	begin_kind(w, "evented", buf_cstr(&name), sum_add(w->base_ns, w->chart.from_ns),
		   sum_add(w->base_ns, w->chart.to_ns));
	buf_done(&name);
	json_key(&w->json, "events");
	json_arr(&w->json);
	for (size_t i = 0; rc == 0 && i < lane->n; i++) {
		if (i && spans[i - 1].to_ns < spans[i].from_ns)
			close_frames(w, 0, spans[i - 1].to_ns);
		write_span(w, &spans[i]);
		rc = flush_text(w, SPEEDSCOPE_FLUSH, err);
	}
	close_frames(w, 0, lane->n ? spans[lane->n - 1].to_ns : 0);
	json_end(&w->json);
	json_end(&w->json);
	return rc;
}

static int compare_lanes(const void *a, const void *b)
{
	const struct chart_lane *x = a, *y = b;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int write_lanes(struct speedscope_writer *w, struct err *err)
{
	int rc = 0;
	qsort(w->chart.lanes.v, w->chart.lanes.n, sizeof *w->chart.lanes.v, compare_lanes);
	for (size_t i = 0; rc == 0 && i < w->chart.lanes.n; i++)
		rc = write_lane(w, &w->chart.lanes.v[i], err);
	json_end(&w->json);
	return rc;
}

static int write_profiles(struct speedscope_writer *w, struct err *err)
{
	int rc = 0;
	json_key(&w->json, "profiles");
	json_arr(&w->json);
	if (w->chart.lanes.n)
		return write_lanes(w, err);
	if (has_threads(w)) {
		qsort_r(w->samples.rows.v, w->samples.rows.n, sizeof *w->samples.rows.v,
			compare_samples, &w->p->samples);
		make_threads(w);
	}
	for (size_t i = 0; rc == 0 && i < w->threads.n; i++)
		rc = write_thread(w, &w->threads.v[i], err);
	if (w->threads.n == 0)
		rc = write_merged(w, err);
	json_end(&w->json);
	return rc;
}

/* --- the file --- */

static const char *file_title(const struct speedscope_writer *w)
{
	if (w->opts->title)
		return w->opts->title;
	return w->p->meta.command ? profile_str(w->p, w->p->meta.command) : w->tree->type_name;
}

static int write_file(struct speedscope_writer *w, struct err *err)
{
	struct json *j = &w->json;
	json_obj(j);
	json_key_str(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_str(j, "exporter", "cresset@" CRESSET_VERSION);
	json_key_str(j, "name", file_title(w));
	json_key_u64(j, "activeProfileIndex", 0);
	int rc = write_frames(w, err);
	if (rc == 0)
		rc = write_profiles(w, err);
	if (rc)
		return rc;
	json_end(j);
	buf_addc(&w->text, '\n');
	return flush_text(w, 0, err);
}

static int build_tree(struct speedscope_writer *w, struct err *err)
{
	struct tree_opts opts = w->opts->tree;
	int rc = format_pick_type(w->p, w->opts->type, &opts.type, err);
	if (rc)
		return rc;
	opts.sign = 1;
	rc = opts.inverted || opts.max_depth
		     ? tree_build(w->p, &opts, &w->tree, err)
		     : tree_build_samples(w->p, &opts, &w->tree, &w->samples, err);
	if (rc)
		return rc;
	choose_unit(w);
	return chart_intervals(w, &opts, err);
}

int speedscope_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err)
{
	struct speedscope_writer w = { .p = p, .opts = opts, .out = out };
	w.json = json_to(&w.text);
	int rc = build_tree(&w, err);
	if (rc == 0) {
		find_lines(&w);
		make_frames(&w);
		rc = write_file(&w, err);
	}
	tree_free(w.tree);
	flame_chart_done(&w.chart);
	vec_done(&w.open);
	buf_done(&w.text);
	vec_done(&w.samples.rows);
	vec_done(&w.lines);
	vec_done(&w.frames);
	vec_done(&w.frame_of_func);
	vec_done(&w.path);
	vec_done(&w.threads);
	return rc;
}
