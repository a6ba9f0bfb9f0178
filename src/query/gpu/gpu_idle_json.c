/* Idle times as JSON. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "format/table/table.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/sum.h"
#include "query/gpu/gpu_idle.h"

#include <errno.h>

struct idle_json {
	const struct gpu_idle *g;
	uint32_t top_n;
	struct json *j;
};

static size_t shown(const struct idle_json *w, size_t n)
{
	return w->top_n && w->top_n < n ? w->top_n : n;
}

static void put_text(const struct idle_json *w, const char *key, uint32_t string)
{
	json_key_text(w->j, key, profile_str(w->g->p, string));
}

static void put_owners(const struct idle_json *w, const struct gpu_idle_device *d)
{
	struct json *j = w->j;
	json_key(j, "processes");
	json_arr(j);
	for (size_t i = 0; i < d->owners.n; i++)
		if (d->owners.v[i].pid != SAMPLE_NO_ID)
			json_u64(j, d->owners.v[i].pid);
	json_end(j);
	json_key(j, "owners");
	json_arr(j);
	for (size_t i = 0; i < d->owners.n; i++) {
		json_obj(j);
		json_key(j, "pid");
		if (d->owners.v[i].pid != SAMPLE_NO_ID)
			json_u64(j, d->owners.v[i].pid);
		else
			json_str(j, NULL);
		put_text(w, "process", d->owners.v[i].name);
		json_end(j);
	}
	json_end(j);
}

static void put_classes(const struct idle_json *w, const struct gpu_idle_device *d)
{
	struct json *j = w->j;
	json_key(j, "ended_by");
	json_arr(j);
	for (size_t i = 0; i < shown(w, d->classes.n); i++) {
		const struct gpu_idle_class *c = &d->classes.v[i];
		json_obj(j);
		put_text(w, "name", c->name);
		json_key_bool(j, "over", c->is_over);
		json_key_u64(j, "gaps", c->gaps);
		json_key_i64(j, "total_ns", c->total_ns);
		json_key_i64(j, "median_ns", c->median_ns);
		json_key_i64(j, "longest_ns", c->longest_ns);
		json_end(j);
	}
	json_end(j);
}

static void put_longest(const struct idle_json *w, const struct gpu_idle_device *d)
{
	const struct profile_meta *m = &w->g->p->meta;
	int64_t shift_ns = w->g->own ? 0 : sum_sub(m->start_wall_ns, m->start_mono_ns);
	struct json *j = w->j;
	json_key(j, "longest");
	json_arr(j);
	for (size_t i = 0; i < shown(w, d->longest.n); i++) {
		const struct gpu_idle_gap *gap = &d->longest.v[i];
		const struct gpu_idle_class *c = &d->classes.v[gap->class];
		json_obj(j);
		json_key_i64(j, "from_ns", sum_add(gap->from_ns, shift_ns));
		json_key_i64(j, "to_ns", sum_add(gap->to_ns, shift_ns));
		put_text(w, "name", c->name);
		json_key_bool(j, "over", c->is_over);
		json_end(j);
	}
	json_end(j);
}

static void put_change(const struct idle_json *w, const struct gpu_idle_device *d,
		       const struct gpu_idle_change *c)
{
	const struct diff_table table = {
		.diff = c->diff,
		.newer = { "idle", w->g->p, c->idle, interval_set_sum(&d->idle) / 1e9 },
		.older = { "busy", w->g->p, c->busy, interval_set_sum(&d->busy) / 1e9 },
	};
	const struct table_opts opts = { .top_n = w->top_n };
	struct buf text = { 0 };
	diff_table_json(&table, &opts, &text);
	json_raw(w->j, text.data, text.len - 1);
	buf_done(&text);
}

/* Writes the comparison; an impossible one is not a failure. */
static int put_compared(const struct idle_json *w, const struct gpu_idle_device *d, struct err *err)
{
	struct gpu_idle_change c;
	struct err why = { 0 };
	int rc = gpu_idle_compare(w->g, d, &c, &why);
	json_key(w->j, "change");
	if (rc == 0)
		put_change(w, d, &c);
	else
		json_str(w->j, NULL);
	json_key_text(w->j, "no_change", rc ? why.text : "");
	gpu_idle_change_done(&c);
	if (rc == 0 || rc == -ENODATA)
		return 0;
	if (err)
		*err = why;
	return rc;
}

static void put_times(const struct idle_json *w, const struct gpu_idle_device *d)
{
	struct json *j = w->j;
	json_key_str(j, "gpu", profile_str(w->g->p, d->label));
	put_text(w, "host", d->host);
	put_text(w, "uuid", d->uuid);
	put_text(w, "model", d->model);
	json_key_bool(j, "exact", d->source == GPU_IDLE_RECORDS);
	json_key_str(j, "source", gpu_idle_source_names[d->source]);
	json_key(j, "period_ns");
	if (d->source == GPU_IDLE_READINGS)
		json_i64(j, d->period_ns);
	else
		json_str(j, NULL);
	json_key_i64(j, "watched_ns", interval_set_sum(&d->watched));
	json_key_i64(j, "busy_ns", interval_set_sum(&d->busy));
	json_key_i64(j, "idle_ns", interval_set_sum(&d->idle));
	json_key_i64(j, "uncertain_ns", d->uncertain_ns);
	json_key_u64(j, "gaps", d->idle.all.n);
	json_key_str(j, "owned", gpu_idle_owned_names[d->owned]);
}

/* part: the device by records for a part of the time; NULL: none. */
static int put_device(const struct idle_json *w, const struct gpu_idle_device *d,
		      const struct gpu_idle_device *part, struct err *err)
{
	json_obj(w->j);
	put_times(w, d);
	put_owners(w, d);
	put_classes(w, d);
	put_longest(w, d);
	int rc = put_compared(w, d, err);
	json_key(w->j, "records");
	if (rc == 0 && part)
		rc = put_device(w, part, NULL, err);
	else
		json_str(w->j, NULL);
	json_end(w->j);
	return rc;
}

int gpu_idle_json(const struct gpu_idle *g, uint32_t top_n, struct buf *b, struct err *err)
{
	struct json j = json_to(b);
	struct idle_json w = { g, top_n, &j };
	int rc = 0;
	json_obj(&j);
	json_key_str(&j, "format", "cresset.gpu-idle");
	json_key_u64(&j, "version", 1);
	json_key_bool(&j, "windows", g->has_windows);
	json_key_num(&j, "threshold", g->threshold);
	json_key(&j, "exact_from_ns");
	if (g->exact_from_ns)
		json_i64(&j, g->exact_from_ns);
	else
		json_str(&j, NULL);
	json_key_text(&j, "type",
		      g->tree.type == GPU_IDLE_TYPE_NONE
			      ? ""
			      : profile_str(g->p, g->p->series.types.v[g->tree.type].name));
	json_key(&j, "devices");
	json_arr(&j);
	const struct gpu_idle_device *end = g->devices.v + g->devices.n;
	for (const struct gpu_idle_device *d = g->devices.v; rc == 0 && d < end; d++) {
		bool has_part = d + 1 < end && d[1].is_part;
		rc = put_device(&w, d, has_part ? d + 1 : NULL, err);
		d += has_part;
	}
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
	return rc;
}
