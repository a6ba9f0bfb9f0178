/* Writes header, trees and samples into one gzip member. */
#include "format/html/container.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/pb.h"
#include "format/common/format.h"
#include "format/common/headline.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/strtab.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "profile/tree/tree.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The limit up to which a browser represents nanoseconds exactly: 52 days. */
#define MAX_TIME_NS (INT64_C(1) << 52)

/* --- metadata --- */

static void put_losses(struct json *j, const struct profile_meta *meta)
{
	json_key(j, "losses");
	json_arr(j);
	for (int i = 0; i < LOSS_REASONS; i++) {
		if (!meta->loss[i])
			continue;
		json_obj(j);
		json_key_text(j, "name", loss_reasons[i].name);
		json_key_text(j, "text", loss_reasons[i].text);
		json_key_text(j, "remedy", loss_reasons[i].remedy);
		json_key_i64(j, "n", meta->loss[i]);
		if (meta->loss_ns[i])
			json_key_i64(j, "ns", meta->loss_ns[i]);
		json_key_bool(j, "is_sample", loss_reasons[i].is_sample);
		json_end(j);
	}
	json_end(j);
}

static void put_meta(struct json *j, const char *key, const struct profile *p, char *const *notes)
{
	const struct profile_meta *meta = &p->meta;
	json_key(j, key);
	json_obj(j);
	json_key_text(j, "command", profile_str(p, meta->command));
	json_key_text(j, "host", profile_str(p, meta->host));
	json_key_text(j, "kernel", profile_str(p, meta->kernel));
	json_key_text(j, "clock", profile_str(p, meta->clock));
	json_key_i64(j, "cpus", meta->cpus);
	headline_start_json(j, meta->start_wall_ns);
	json_key_i64(j, "start_ms", meta->start_wall_ns / 1000000);
	json_key_i64(j, "duration_ns", meta->duration_ns);
	json_key_i64(j, "own_cpu_ns", meta->own_cpu_ns);
	json_key_i64(j, "own_peak_bytes", meta->own_peak_bytes);
	json_key_i64(j, "lost_samples", profile_lost_samples(p));
	put_losses(j, meta);
	json_key(j, "notes");
	json_arr(j);
	for (; notes && *notes; notes++)
		json_str(j, *notes);
	json_end(j);
	json_end(j);
}

/* --- threads --- */

static uint32_t thread_text(const struct profile *p, uint32_t labels, const char *key)
{
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = id == UINT32_MAX ? NULL : label_find(&p->series, labels, id);
	return l && !l->is_num ? l->str : 0;
}

static bool is_thread(const void *ctx, uint32_t i)
{
	const struct container *c = ((const void *const *)ctx)[0];
	const struct container_thread *want = ((const void *const *)ctx)[1];
	const struct container_thread *t = &c->threads.v[i];
	return t->pid == want->pid && t->tid == want->tid && t->gpu == want->gpu &&
	       t->stream == want->stream && (want->tid != SAMPLE_NO_ID || t->name == want->name);
}

/* Returns its number; 0 if there are too many, or it cannot be identified. */
static uint32_t thread_of(struct container *c, size_t row)
{
	const struct profile *p = c->p;
	const struct sample_columns *s = &p->samples;
	uint32_t labels = p->series.series.v[s->series[row]].labels;
	struct container_thread t = { s->pid[row],
				      s->tid[row],
				      thread_text(p, labels, "comm"),
				      thread_text(p, labels, "process"),
				      thread_text(p, labels, "gpu"),
				      thread_text(p, labels, "stream") };
	if (t.stream) /* each stream is a lane, whichever threads launched the work */
		t.tid = SAMPLE_NO_ID;
	if (t.pid == SAMPLE_NO_ID && t.tid == SAMPLE_NO_ID && !t.name)
		return 0;
	uint64_t key = hash_mix((uint64_t)t.pid << 32 | t.tid, t.tid == SAMPLE_NO_ID ? t.name : 0);
	key = hash_mix(key, (uint64_t)t.gpu << 32 | t.stream);
	const void *ctx[2] = { c, &t };
	uint32_t found, fresh = c->threads.n;
	if (map_lookup(&c->thread_index, key, is_thread, ctx, &found))
		return found;
	if (fresh == CONTAINER_MAX_THREADS)
		return 0;
	vec_push(&c->threads, t);
	return map_intern(&c->thread_index, key, fresh, is_thread, ctx);
}

static void put_id(struct json *j, const char *key, uint32_t id)
{
	json_key(j, key);
	if (id == SAMPLE_NO_ID)
		json_str(j, NULL);
	else
		json_u64(j, id);
}

static void put_threads(const struct container *c, struct json *j)
{
	json_key(j, "threads");
	json_arr(j);
	for (size_t i = 0; i < c->threads.n; i++) {
		const struct container_thread *t = &c->threads.v[i];
		json_obj(j);
		put_id(j, "pid", t->pid);
		put_id(j, "tid", t->tid);
		json_key_text(j, "name", profile_str(c->p, t->name));
		json_key_text(j, "process", profile_str(c->p, t->process));
		if (t->stream) {
			json_key_text(j, "gpu", profile_str(c->p, t->gpu));
			json_key_text(j, "stream", profile_str(c->p, t->stream));
		}
		json_end(j);
	}
	json_end(j);
}

/* --- samples --- */

/* Returns the origin of times: the start of the recording, or the first sample if the clock started
 * long before. */
static int64_t time_origin(const struct profile *p)
{
	const struct sample_columns *c = &p->samples;
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < c->n; i++) {
		first = c->time_ns[i] < first ? c->time_ns[i] : first;
		last = c->time_ns[i] > last ? c->time_ns[i] : last;
	}
	int64_t start = p->meta.start_mono_ns;
	bool fits = sum_sub(first, start) > -MAX_TIME_NS && sum_sub(last, start) < MAX_TIME_NS;
	return fits || first == INT64_MAX ? start : first;
}

/* Collects the rows that can be shown. Returns how many cannot: times and values that a browser
 * cannot represent exactly. */
static uint64_t gather_rows(struct container *c, const struct tree_samples *samples,
			    const uint32_t *index, struct container_rows *out)
{
	const struct sample_columns *s = &c->p->samples;
	int64_t origin = time_origin(c->p);
	uint64_t left_out = 0;
	for (size_t i = 0; i < samples->rows.n; i++) {
		const struct tree_sample *from = &samples->rows.v[i];
		int64_t length_ns = sample_length_ns(s, from->row);
		int64_t time_ns = sum_sub(s->time_ns[from->row], origin);
		if (time_ns < -MAX_TIME_NS || time_ns > MAX_TIME_NS || length_ns > MAX_TIME_NS ||
		    from->value < 0 || from->value > MAX_TIME_NS) {
			left_out++;
			continue;
		}
		vec_push(&out->rows, (struct container_row){ time_ns, length_ns > 0 ? length_ns : 0,
							     from->value, thread_of(c, from->row),
							     index[from->node] });
	}
	return left_out;
}

static void add_samples(struct container *c, const struct tree_samples *samples,
			const uint32_t *index)
{
	struct container_rows rows = { 0 };
	struct json *j = &c->json;
	size_t before = c->parts.len;
	uint64_t left_out = gather_rows(c, samples, index, &rows);
	uint64_t n = rows.rows.n;
	container_rows_finalize(&rows, CONTAINER_MAX_ROWS);
	if (rows.rows.n > CONTAINER_MAX_ROWS) { /* too many threads and nodes */
		left_out += n;
		rows.rows.n = 0;
	}
	bool has_lengths = container_rows_put(&rows, &c->parts);
	json_key(j, "timeline");
	json_obj(j);
	json_key_i64(j, "rows", rows.rows.n);
	json_key_i64(j, "bytes", c->parts.len - before);
	json_key_i64(j, "window_ns", rows.window_ns);
	json_key_i64(j, "sampled", n);
	json_key_i64(j, "left_out", left_out);
	json_key_bool(j, "lengths", has_lengths);
	json_end(j);
	vec_done(&rows.rows);
}

/* --- types --- */

/* Returns the period of a type; 0 if it is unknown or the series differ. */
static int64_t type_period(const struct profile *p, uint32_t type)
{
	int64_t period = 0;
	for (size_t i = 0; i < p->series.series.n; i++) {
		const struct series *s = &p->series.series.v[i];
		if (s->type != type || s->period == period)
			continue;
		if (period)
			return 0;
		period = s->period;
	}
	return period;
}

/* Whether a stack's leaf is unsymbolized code of a file. */
static bool is_nameless(const struct profile *p, uint32_t stack)
{
	const struct line *lines;
	uint32_t leaf = stack_leaf(&p->stacks, stack);
	if (leaf == UINT32_MAX || p->frames.frames.v[leaf].mapping == MAPPING_NONE)
		return false;
	return names_get(&p->names, leaf, &lines) == 0;
}

/* Returns the share of the values counted in unsymbolized code. */
static double nameless_share(const struct profile *p, uint32_t type)
{
	const struct sample_columns *s = &p->samples;
	double nameless = 0, all = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (p->series.series.v[s->series[i]].type != type)
			continue;
		all += (double)s->value[i];
		nameless += is_nameless(p, s->stack[i]) ? (double)s->value[i] : 0;
	}
	return all > 0 ? nameless / all : 0;
}

static void put_type(struct container *c, uint32_t type, const struct tree *t)
{
	const struct profile *p = c->p;
	const struct type *of = &p->series.types.v[type];
	struct json *j = &c->json;
	json_key_text(j, "name", t->type_name);
	json_key_text(j, "sample_type", profile_str(p, of->sample_type));
	json_key_text(j, "unit", t->unit);
	json_key_num(j, "scale", t->scale > 0 ? t->scale : NAN);
	json_key_text(j, "scaled_unit", t->scaled_unit);
	json_key_i64(j, "period", type_period(p, type));
	json_key_text(j, "period_unit", profile_str(p, of->period_unit));
	json_key_i64(j, "samples", t->n_samples);
	json_key_i64(j, "total", t->nodes.v[TREE_ROOT].total);
	json_key_i64(j, "unfiltered", t->unfiltered_total);
	json_key_i64(j, "truncated", headline_truncated(t));
	json_key_num(j, "nameless", nameless_share(p, type));
}

static void add(struct container *c, uint32_t type, struct tree *t,
		const struct tree_samples *samples)
{
	struct json *j = &c->json;
	size_t before = c->parts.len;
	json_obj(j);
	put_type(c, type, t);
	uint32_t *index = container_put_tree(t, CONTAINER_MAX_NODES, NULL, &c->parts);
	json_key_i64(j, "tree_bytes", c->parts.len - before);
	if (samples)
		add_samples(c, samples, index);
	json_end(j);
	free(index);
	if (type == c->shown)
		c->shown_row = c->n_types;
	c->n_types++;
}

void container_add_diff(struct container *c, uint32_t type, struct tree *t,
			const struct profile *older)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	struct json *j = &c->json;
	const char *norm = t->other_factor == 0 ? "share" : t->other_factor == 1 ? "abs" : "rate";
	size_t before = c->parts.len;
	json_obj(j);
	put_type(c, type, t);
	json_key_i64(j, "older_total", root->other_total);
	json_key(j, "older_factor"); /* 0: shares are compared */
	json_num(j, t->other_factor);
	if (older)
		put_meta(j, "older", older, NULL);
	free(container_put_tree(t, CONTAINER_MAX_NODES, norm, &c->parts));
	json_key_i64(j, "tree_bytes", c->parts.len - before);
	json_end(j);
	c->n_types++;
}

/* --- all types --- */

void container_begin(struct container *c, const struct profile *p, uint32_t shown)
{
	*c = (struct container){ .p = p, .shown = shown };
	c->json = json_to(&c->types);
	json_arr(&c->json);
	vec_push(&c->threads,
		 (struct container_thread){ .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID });
}

void container_done(struct container *c)
{
	buf_done(&c->types);
	buf_done(&c->parts);
	buf_done(&c->beside);
	vec_done(&c->threads);
	map_done(&c->thread_index);
}

static void put_header(struct container *c, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key_i64(&j, "version", CONTAINER_VERSION);
	json_key_text(&j, "made_by", "cresset " CRESSET_VERSION);
	put_meta(&j, "meta", c->p, c->notes);
	json_key_i64(&j, "origin_ns", sum_sub(time_origin(c->p), c->p->meta.start_mono_ns));
	put_threads(c, &j);
	json_key_i64(&j, "shown", c->shown_row);
	json_end(&j);
	b->len--; /* replace the end: the types belong to it */
	buf_adds(b, ",\"types\":");
	json_end(&c->json);
	buf_add(b, c->types.data, c->types.len);
	if (c->beside.len) {
		buf_adds(b, ",\"gpu\":");
		buf_add(b, c->beside.data, c->beside.len);
	}
	buf_addc(b, '}');
}

/* more: bytes that the next step needs. */
static int may_go_on(const struct container *c, uint64_t more, struct err *err)
{
	const struct container_watch *watch = c->watch;
	uint64_t held = c->parts.len + c->types.len;
	return watch && watch->may_go_on ? watch->may_go_on(watch->ctx, held + more, err) : 0;
}

int container_end(struct container *c, struct buf *gz, struct err *err)
{
	struct buf header = { 0 }, plain = { 0 };
	int rc = may_go_on(c, 2 * (c->parts.len + c->types.len), err);
	if (rc)
		return rc;
	put_header(c, &header);
	buf_adds(&plain, "CRC1");
	pb_put_varint(&plain, header.len);
	buf_add(&plain, header.data, header.len);
	buf_add(&plain, c->parts.data, c->parts.len);
	buf_done(&c->parts);
	rc = fs_gzip(plain.data, plain.len, gz);
	buf_done(&header);
	buf_done(&plain);
	return rc < 0 ? err_set(err, -rc, "the report cannot be compressed") : 0;
}

static int choose(const struct profile *p, const char *want, bool **wanted, uint32_t *shown,
		  struct err *err)
{
	int rc = format_pick_type(p, want, shown, err);
	if (rc)
		return rc;
	size_t n = p->series.types.n, kept = 0;
	bool *has = xcalloc(n + 1, sizeof *has); /* whether it has samples */
	for (size_t i = 0; i < p->samples.n; i++)
		has[p->series.series.v[p->samples.series[i]].type] = true;
	for (size_t i = 0; i < n; i++) {
		const char *name = profile_str(p, p->series.types.v[i].name);
		bool asked = !want || i == *shown || strcmp(name, want) == 0;
		has[i] = (has[i] || i == *shown) && asked && kept < CONTAINER_MAX_TYPES;
		kept += has[i];
	}
	*wanted = has;
	return 0;
}

/* Memory per sample while the rows of a type are sorted: the sample, and rows before and after
 * summing. */
enum { ROW_WORK_BYTES = sizeof(struct tree_sample) + 4 * sizeof(struct container_row) };

static uint64_t rows_of_type(const struct profile *p, uint32_t type)
{
	uint64_t n = 0;
	for (size_t i = 0; i < p->samples.n; i++)
		n += p->series.series.v[p->samples.series[i]].type == type;
	return n;
}

static int add_type(struct container *c, struct profile *p, uint32_t type,
		    const struct format_write_opts *opts, struct tree **out, struct err *err)
{
	struct tree_opts tree_opts = opts->tree;
	struct tree_samples samples = { 0 };
	tree_opts.type = type;
	bool in_order = profile_has_times(c->p) && !tree_opts.inverted && !tree_opts.max_depth;
	uint64_t rows_bytes = in_order ? rows_of_type(p, type) * ROW_WORK_BYTES : 0;
	int rc = may_go_on(c, rows_bytes, err);
	if (rc == 0)
		rc = in_order ? tree_build_samples(p, &tree_opts, out, &samples, err)
			      : tree_build(p, &tree_opts, out, err);
	if (rc == 0)
		rc = may_go_on(c, rows_bytes + (*out)->nodes.n * sizeof(struct tree_node), err);
	if (rc == 0)
		add(c, type, *out, in_order ? &samples : NULL);
	vec_done(&samples.rows);
	return rc;
}

/* The data next to the samples may be built from copies of them. */
enum { BESIDE_BYTES = 2 * sizeof(struct sample) };

int container_write(struct profile *p, const struct format_write_opts *opts,
		    const struct container_watch *watch, struct buf *gz, struct err *err)
{
	struct container c;
	bool *wanted;
	uint32_t shown;
	int rc = choose(p, opts->type, &wanted, &shown, err);
	if (rc)
		return rc;
	container_begin(&c, p, shown);
	c.watch = watch;
	c.notes = opts->notes;
	for (uint32_t i = 0; rc == 0 && i < p->series.types.n; i++) {
		struct tree *t = NULL;
		if (wanted[i])
			rc = add_type(&c, p, i, opts, &t, err);
		if (rc == 0 && i == shown && watch && watch->shown)
			watch->shown(watch->ctx, t);
		tree_free(t);
	}
	if (rc == 0 && opts->beside)
		rc = may_go_on(&c, p->samples.n * BESIDE_BYTES, err);
	if (rc == 0 && opts->beside)
		rc = opts->beside(p, opts, &c.beside, err);
	if (rc == 0)
		rc = container_end(&c, gz, err);
	container_done(&c);
	free(wanted);
	return rc;
}
