/* Writes the processed format with one thread per pid, tid and labels. */
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "format/firefox/firefox.h"
#include "format/firefox/firefox_rows.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index = enum frame_kind. Firefox and samply call native code User. */
const struct firefox_category firefox_categories[FRAME_KINDS] = {
	[FRAME_NATIVE] = { "User", "yellow" },
	[FRAME_KERNEL] = { "Kernel", "orange" },
	[FRAME_JIT] = { "JIT", "green" },
	[FRAME_PYTHON] = { "Python", "blue" },
	[FRAME_JAVA] = { "Java", "lightred" },
	[FRAME_GO] = { "Go", "lightblue" },
	[FRAME_JS] = { "JavaScript", "yellow" },
	[FRAME_RUBY] = { "Ruby", "red" },
	[FRAME_PHP] = { "PHP", "purple" },
	[FRAME_LUA] = { "Lua", "blue" },
	[FRAME_PERL] = { "Perl", "lightblue" },
	[FRAME_ERLANG] = { "Erlang", "magenta" },
	[FRAME_GPU_SOURCE] = { "GPU source", "green" },
	[FRAME_GPU_KERNEL] = { "GPU kernel", "green" },
	[FRAME_GPU_FUNCTION] = { "GPU function", "green" },
	[FRAME_GPU_INSTRUCTION] = { "GPU instruction", "green" },
	[FRAME_GPU_STALL] = { "GPU stall", "brown" },
	[FRAME_INTERPRETED] = { "Interpreter", "magenta" },
	[FRAME_MARKER] = { "Marker", "darkgrey" },
	[FRAME_REST] = { "Rest",
			 "grey" }, /* a grey one is required; "Other" elsewhere has no meaning */
};

enum { FX_FLUSH = 64 * 1024 };

struct fx_row { /* a sample of the profile */
	uint32_t thread;
	size_t sample;
};
struct fx_out_thread {
	uint32_t pid, tid, labels;
};

struct fx_writer {
	struct profile *p;
	uint32_t type;
	struct out *out;
	struct err *err;
	struct buf buf;
	struct json json;
	enum { FX_AS_SAMPLES, FX_AS_MS, FX_AS_BYTES } weight;
	double scale;       /* value * scale is the weight */
	double interval_ms; /* between samples without time */
	bool has_times;
	VEC(struct fx_out_thread) threads;
	VEC(struct fx_row) rows;
	struct fx_out_tables tables;
};

/* --- writing ---------------------------------------------------------------------------------- */

static void fx_flush(struct fx_writer *w, size_t from)
{
	if (w->buf.len < from)
		return;
	out_write(w->out, w->buf.data, w->buf.len, w->err);
	buf_clear(&w->buf);
}

static void fx_item(struct fx_writer *w, uint32_t v)
{
	if (v == FX_NULL)
		json_str(&w->json, NULL);
	else
		json_u64(&w->json, v);
	fx_flush(w, FX_FLUSH);
}

/* Writes "key": [expression for each i below n]. */
#define fx_column(w, key, n, expression) \
	do { \
		json_key(&(w)->json, key); \
		json_arr(&(w)->json); \
		for (size_t i = 0; i < (n); i++) \
			fx_item(w, expression); \
		json_end(&(w)->json); \
	} while (0)

static void fx_begin_table(struct fx_writer *w, const char *name, size_t n)
{
	json_key(&w->json, name);
	json_obj(&w->json);
	json_key_num(&w->json, "length", n);
}

static void fx_write_stacks(struct fx_writer *w)
{
	fx_begin_table(w, "stackTable", w->tables.stacks.n);
	fx_column(w, "prefix", w->tables.stacks.n, w->tables.stacks.v[i].prefix);
	fx_column(w, "frame", w->tables.stacks.n, w->tables.stacks.v[i].frame);
	json_end(&w->json);
}

static void fx_write_addresses(struct fx_writer *w)
{
	json_key(&w->json, "address");
	json_arr(&w->json);
	for (size_t i = 0; i < w->tables.frames.n; i++)
		json_i64(&w->json, -1);
	json_end(&w->json);
	fx_flush(w, FX_FLUSH);
}

static void fx_write_frames(struct fx_writer *w)
{
	size_t n = w->tables.frames.n;
	fx_begin_table(w, "frameTable", n);
	fx_write_addresses(w);
	fx_column(w, "inlineDepth", n, w->tables.frames.v[i].inline_depth);
	fx_column(w, "category", n, w->tables.frames.v[i].kind);
	fx_column(w, "subcategory", n, 0);
	fx_column(w, "func", n, w->tables.frames.v[i].func);
	fx_column(w, "nativeSymbol", n, FX_NULL);
	fx_column(w, "innerWindowID", n, FX_NULL);
	fx_column(w, "line", n, w->tables.frames.v[i].line ? w->tables.frames.v[i].line : FX_NULL);
	fx_column(w, "column", n, FX_NULL);
	json_end(&w->json);
}

static void fx_write_flags(struct fx_writer *w, const char *key)
{
	json_key(&w->json, key);
	json_arr(&w->json);
	for (size_t i = 0; i < w->tables.funcs.n; i++)
		json_bool(&w->json, w->tables.funcs.v[i].is_js);
	json_end(&w->json);
	fx_flush(w, FX_FLUSH);
}

static void fx_write_func_resources(struct fx_writer *w)
{
	json_key(&w->json, "resource");
	json_arr(&w->json);
	for (size_t i = 0; i < w->tables.funcs.n; i++) {
		uint32_t row = w->tables.funcs.v[i].resource;
		json_i64(&w->json, row == FX_NULL ? -1 : (int64_t)row);
	}
	json_end(&w->json);
	fx_flush(w, FX_FLUSH);
}

static void fx_write_funcs(struct fx_writer *w)
{
	size_t n = w->tables.funcs.n;
	fx_begin_table(w, "funcTable", n);
	fx_column(w, "name", n, fx_put_string(&w->tables, w->tables.funcs.v[i].name));
	fx_write_flags(w, "isJS");
	fx_write_flags(w, "relevantForJS");
	fx_write_func_resources(w);
	fx_column(w, "fileName", n,
		  w->tables.funcs.v[i].file ? fx_put_string(&w->tables, w->tables.funcs.v[i].file)
					    : FX_NULL);
	fx_column(w, "lineNumber", n, FX_NULL);
	fx_column(w, "columnNumber", n, FX_NULL);
	json_end(&w->json);
}

static void fx_write_resources(struct fx_writer *w)
{
	enum { RESOURCE_LIBRARY = 1 };
	size_t n = w->tables.resources.n;
	fx_begin_table(w, "resourceTable", n);
	fx_column(w, "lib", n, fx_put_lib(&w->tables, w->tables.resources.v[i]));
	fx_column(w, "name", n, fx_put_string(&w->tables, w->tables.resources.v[i]));
	fx_column(w, "host", n, FX_NULL);
	fx_column(w, "type", n, RESOURCE_LIBRARY);
	json_end(&w->json);
}

static void fx_write_empty_table(struct fx_writer *w, const char *name, const char *const *columns)
{
	fx_begin_table(w, name, 0);
	for (; *columns; columns++) {
		json_key(&w->json, *columns);
		json_arr(&w->json);
		json_end(&w->json);
	}
	json_end(&w->json);
}

static void fx_write_times(struct fx_writer *w, const struct fx_row *rows, size_t n)
{
	json_key(&w->json, "time");
	json_arr(&w->json);
	for (size_t i = 0; i < n; i++) {
		double ms = i * w->interval_ms;
		if (w->has_times)
			ms = ((double)w->p->samples.time_ns[rows[i].sample] -
			      (double)w->p->meta.start_mono_ns) /
			     1e6;
		json_num(&w->json, ms);
		fx_flush(w, FX_FLUSH);
	}
	json_end(&w->json);
}

static void fx_write_weights(struct fx_writer *w, const struct fx_row *rows, size_t n)
{
	static const char *const names[] = { "samples", "tracing-ms", "bytes" };
	json_key_str(&w->json, "weightType", names[w->weight]);
	json_key(&w->json, "weight");
	json_arr(&w->json);
	for (size_t i = 0; i < n; i++) {
		json_num(&w->json, w->p->samples.value[rows[i].sample] * w->scale);
		fx_flush(w, FX_FLUSH);
	}
	json_end(&w->json);
}

/* Also fills the tables. */
static void fx_write_samples(struct fx_writer *w, const struct fx_row *rows, size_t n)
{
	fx_begin_table(w, "samples", n);
	fx_column(w, "stack", n, fx_put_stack(&w->tables, w->p->samples.stack[rows[i].sample]));
	fx_write_times(w, rows, n);
	fx_write_weights(w, rows, n);
	json_end(&w->json);
}

static const char *fx_label(struct fx_writer *w, uint32_t labels, const char *key)
{
	uint32_t id = strtab_find(&w->p->strings, key);
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&w->p->series, labels, id);
	return l && !l->is_num ? profile_str(w->p, l->str) : NULL;
}

/* Writes the thread's name. pid is text, tid may be; unknown ones are "?". */
static void fx_write_identity(struct fx_writer *w, const struct fx_out_thread *t)
{
	char pid[16] = "?";
	const char *comm = fx_label(w, t->labels, "comm");
	const char *process = fx_label(w, t->labels, "process");
	json_key_str(&w->json, "name", comm ? comm : "");
	json_key_bool(&w->json, "isMainThread", t->pid == t->tid);
	if (process)
		json_key_str(&w->json, "processName", process);
	if (t->pid != SAMPLE_NO_ID)
		snprintf(pid, sizeof pid, "%u", t->pid);
	json_key_str(&w->json, "pid", pid);
	json_key(&w->json, "tid");
	if (t->tid == SAMPLE_NO_ID)
		json_str(&w->json, "?");
	else
		json_u64(&w->json, t->tid);
}

static void fx_write_life(struct fx_writer *w)
{
	static const char *const unknown[] = { "processShutdownTime", "unregisterTime", NULL };
	json_key_str(&w->json, "processType", "default");
	json_key_num(&w->json, "processStartupTime", 0);
	json_key_num(&w->json, "registerTime", 0);
	for (const char *const *key = unknown; *key; key++)
		json_key_str(&w->json, *key, NULL);
	json_key(&w->json, "pausedRanges");
	json_arr(&w->json);
	json_end(&w->json);
}

static void fx_flush_some(void *ctx)
{
	fx_flush(ctx, FX_FLUSH);
}

/* Slices of traces also have a length, but are not waits. */
static bool fx_is_wait(struct fx_writer *w, size_t sample)
{
	const struct sample_columns *c = &w->p->samples;
	uint32_t type = w->p->series.series.v[c->series[sample]].type;
	return sample_length_ns(c, sample) > 0 &&
	       (state_of_stack(w->p, c->stack[sample]).state || state_of_type_in(w->p, type));
}

static void fx_write_waits(struct fx_writer *w, const struct fx_row *rows, size_t n)
{
	struct fx_markers m = { &w->json, &w->tables, fx_flush_some, w, { 0 } };
	for (size_t i = 0; i < n; i++)
		if (fx_is_wait(w, rows[i].sample))
			vec_push(&m.samples, rows[i].sample);
	fx_write_markers(&m);
	vec_done(&m.samples);
}

static void fx_write_thread(struct fx_writer *w, const struct fx_row *rows, size_t n)
{
	static const char *const symbols[] = { "libIndex", "address", "name", "functionSize",
					       NULL };
	json_obj(&w->json);
	fx_write_identity(w, &w->threads.v[rows[0].thread]);
	fx_write_life(w);
	fx_write_samples(w, rows, n);
	fx_write_stacks(w);
	fx_write_frames(w);
	fx_write_funcs(w);
	fx_write_resources(w);
	fx_write_empty_table(w, "nativeSymbols", symbols);
	fx_write_waits(w, rows, n);
	json_end(&w->json);
	fx_out_tables_clear(&w->tables);
}

/* --- the profile ------------------------------------------------------------------------------ */

static void fx_write_categories(struct fx_writer *w)
{
	json_key(&w->json, "categories");
	json_arr(&w->json);
	for (int i = 0; i < FRAME_KINDS; i++) {
		json_obj(&w->json);
		json_key_str(&w->json, "name", firefox_categories[i].name);
		json_key_str(&w->json, "color", firefox_categories[i].color);
		json_key(&w->json, "subcategories");
		json_arr(&w->json);
		json_str(&w->json, "Other");
		json_end(&w->json);
		json_end(&w->json);
	}
	json_end(&w->json);
}

static void fx_write_extra_entry(struct fx_writer *w, const char *label, const char *value)
{
	json_obj(&w->json);
	json_key_str(&w->json, "label", label);
	json_key_str(&w->json, "format", "string");
	json_key_str(&w->json, "value", value);
	json_end(&w->json);
}

/* Writes type data that weightType does not express. The Profiler shows it with the profile's
 * information. */
static void fx_write_extra(struct fx_writer *w, int64_t period)
{
	const struct type *t = &w->p->series.types.v[w->type];
	char text[24];
	json_key(&w->json, "extra");
	json_arr(&w->json);
	json_obj(&w->json);
	json_key_str(&w->json, "label", "cresset");
	json_key(&w->json, "entries");
	json_arr(&w->json);
	fx_write_extra_entry(w, "type", profile_str(w->p, t->name));
	fx_write_extra_entry(w, "sample type", profile_str(w->p, t->sample_type));
	fx_write_extra_entry(w, "unit", profile_str(w->p, t->unit));
	fx_write_extra_entry(w, "period type", profile_str(w->p, t->period_type));
	fx_write_extra_entry(w, "period unit", profile_str(w->p, t->period_unit));
	snprintf(text, sizeof text, "%lld", (long long)period);
	fx_write_extra_entry(w, "period", text);
	json_end(&w->json);
	json_end(&w->json);
	json_end(&w->json);
}

static void fx_write_meta(struct fx_writer *w, int64_t period)
{
	json_key(&w->json, "meta");
	json_obj(&w->json);
	json_key_num(&w->json, "version", FIREFOX_GECKO_VERSION);
	json_key_num(&w->json, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_key_num(&w->json, "interval", w->interval_ms);
	json_key_num(&w->json, "startTime", w->p->meta.start_wall_ns / 1e6);
	json_key_num(&w->json, "processType", 0);
	json_key_num(&w->json, "stackwalk", 1);
	json_key_str(&w->json, "product", "cresset");
	json_key_bool(&w->json, "symbolicated", true);
	fx_write_categories(w);
	fx_write_marker_schema(&w->json);
	fx_write_extra(w, period);
	json_end(&w->json);
}

static void fx_write_libs(struct fx_writer *w)
{
	static const char *const names[] = { "name", "path", "debugName", "debugPath" };
	json_key(&w->json, "libs");
	json_arr(&w->json);
	for (size_t i = 0; i < w->tables.libs.n; i++) {
		json_obj(&w->json);
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			json_key_str(&w->json, names[k], profile_str(w->p, w->tables.libs.v[i]));
		json_key_str(&w->json, "arch", "");
		json_key_str(&w->json, "breakpadId", "");
		json_key_str(&w->json, "codeId", NULL);
		json_end(&w->json);
		fx_flush(w, FX_FLUSH);
	}
	json_end(&w->json);
}

static void fx_write_shared(struct fx_writer *w)
{
	json_key(&w->json, "shared");
	json_obj(&w->json);
	json_key(&w->json, "stringArray");
	json_arr(&w->json);
	for (size_t i = 0; i < w->tables.strings.n; i++) {
		json_str(&w->json, profile_str(w->p, w->tables.strings.v[i]));
		fx_flush(w, FX_FLUSH);
	}
	json_end(&w->json);
	json_end(&w->json);
}

static void fx_write_threads(struct fx_writer *w)
{
	json_key(&w->json, "threads");
	json_arr(&w->json);
	for (size_t i = 0, n; i < w->rows.n; i += n) {
		for (n = 1; i + n < w->rows.n; n++)
			if (w->rows.v[i + n].thread != w->rows.v[i].thread)
				break;
		fx_write_thread(w, w->rows.v + i, n);
	}
	json_end(&w->json);
}

/* --- threads of samples ----------------------------------------------------------------------- */

struct fx_thread_key {
	const struct fx_writer *w;
	struct fx_out_thread thread;
};

static bool fx_same_thread(const void *ctx, uint32_t id)
{
	const struct fx_thread_key *key = ctx;
	const struct fx_out_thread *t = &key->w->threads.v[id];
	return t->pid == key->thread.pid && t->tid == key->thread.tid &&
	       t->labels == key->thread.labels;
}

static uint32_t fx_thread_of(struct fx_writer *w, struct map *index, size_t sample)
{
	const struct sample_columns *s = &w->p->samples;
	struct fx_thread_key key = { w,
				     { s->pid[sample], s->tid[sample],
				       w->p->series.series.v[s->series[sample]].labels } };
	uint64_t hash = hash_mix(hash_mix(key.thread.pid, key.thread.tid), key.thread.labels);
	uint32_t fresh = w->threads.n;
	uint32_t id = map_intern(index, hash, fresh, fx_same_thread, &key);
	if (id == fresh)
		vec_push(&w->threads, key.thread);
	return id;
}

static int fx_row_cmp(const void *a, const void *b, void *ctx)
{
	const struct fx_row *x = a, *y = b;
	const int64_t *time_ns = ctx;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (time_ns[x->sample] != time_ns[y->sample])
		return time_ns[x->sample] < time_ns[y->sample] ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int64_t fx_collect(struct fx_writer *w)
{
	const struct sample_columns *s = &w->p->samples;
	struct map index = { 0 };
	int64_t period = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct series *series = &w->p->series.series.v[s->series[i]];
		if (series->type != w->type)
			continue;
		period = period ? period : series->period;
		w->has_times |= s->time_ns[i] != 0;
		vec_push(&w->rows, (struct fx_row){ fx_thread_of(w, &index, i), i });
	}
	if (w->rows.n)
		qsort_r(w->rows.v, w->rows.n, sizeof *w->rows.v, fx_row_cmp, s->time_ns);
	map_done(&index);
	return period;
}

static void fx_choose_weights(struct fx_writer *w, int64_t period)
{
	const struct type *t = &w->p->series.types.v[w->type];
	struct value_unit unit = value_unit(profile_str(w->p, t->unit));
	struct value_unit of_period = value_unit(profile_str(w->p, t->period_unit));
	w->weight = strcmp(unit.base, "ns") == 0  ? FX_AS_MS
		    : strcmp(unit.base, "B") == 0 ? FX_AS_BYTES
						  : FX_AS_SAMPLES;
	w->scale = w->weight == FX_AS_MS      ? unit.scale / 1e6
		   : w->weight == FX_AS_BYTES ? unit.scale
					      : 1;
	w->interval_ms = 1;
	if (period > 0 && strcmp(of_period.base, "ns") == 0)
		w->interval_ms = period * (of_period.scale / 1e6);
}

static int firefox_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
			 struct err *err)
{
	struct fx_writer w = { .p = p, .out = out, .err = err, .tables = { .p = p } };
	int rc = format_pick_type(p, opts->type, &w.type, err);
	if (rc)
		return rc;
	w.json = json_to(&w.buf);
	int64_t period = fx_collect(&w);
	fx_choose_weights(&w, period);
	json_obj(&w.json);
	fx_write_meta(&w, period);
	fx_write_threads(&w);
	fx_write_libs(&w);
	fx_write_shared(&w);
	json_end(&w.json);
	fx_flush(&w, 0);
	rc = out_write(out, "\n", 1, err);
	buf_done(&w.buf);
	vec_done(&w.threads);
	vec_done(&w.rows);
	fx_out_tables_done(&w.tables);
	return rc;
}

static const char *const firefox_endings[] = { ".firefox.json", NULL };

const struct format format_firefox = {
	.name = "firefox",
	.summary = "Firefox Profiler JSON (profiler.firefox.com)",
	.endings = firefox_endings,
	.one_type = true,
	.detect = firefox_detect,
	.read = firefox_read,
	.read_here = firefox_read_here,
	.write = firefox_write,
};
