/* /api/v1/status, /healthz, /readyz: the state of the server. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/sandbox/sandbox.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/metrics.h"
#include "query/query_parse.h"
#include "query/selector.h"
#include "query/source.h"
#include "query/time.h"
#include "server/query_params.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"
#include "server/tenant.h"
#include "store/codec/store.h"

#include <errno.h>
#include <math.h>

/* --- status ----------------------------------------------------------------------------------- */

static void key_time(struct json *j, const char *key, bool known, int64_t ns)
{
	struct buf b = { 0 };
	if (known)
		time_text(&b, ns);
	json_key_str(j, key, known ? buf_cstr(&b) : NULL);
	buf_done(&b);
}

static void data_json(const struct query_params *a, struct json *j)
{
	int64_t from_ns, to_ns;
	a->source->ops->range(a->source, &from_ns, &to_ns);
	bool known = (from_ns || to_ns) && !a->source->since_start;
	json_key(j, "data");
	json_obj(j);
	json_key_str(j, "kind", a->r->tenant->data.file ? "file" : "store");
	key_time(j, "from", known, from_ns);
	key_time(j, "to", known, to_ns);
	json_key_i64(j, "from_ns", from_ns);
	json_key_i64(j, "to_ns", to_ns);
	json_key_u64(j, "window_ns", a->source->window_ns);
	json_key_bool(j, "has_times", !a->source->is_block);
	json_key_u64(j, "types", a->catalog->series.types.n);
	json_key_u64(j, "series", series_count(&a->catalog->series));
	json_end(j);
}

/* What the store is set to keep, and what it has lost. */
static void kept_json(const struct tenant *t, struct json *j)
{
	struct store_stats stats;
	struct store_kept kept;
	struct store *s = tenant_store(t);
	if (!s)
		return;
	store_get_kept(s, &kept);
	store_get_stats(s, &stats);
	json_key(j, "kept");
	json_obj(j);
	key_time(j, "from", kept.from_ns > 0, kept.from_ns);
	json_key_bool(j, "short", kept.is_short);
	json_key_i64(j, "held_ns", kept.held_ns);
	json_key_u64(j, "retention_ns", kept.asked.retention_ns);
	json_key_u64(j, "detail_retention_ns", kept.asked.detail_retention_ns);
	json_key_u64(j, "hot_ns", kept.asked.hot_ns);
	json_key_u64(j, "disk_bytes", kept.asked.disk_bytes);
	json_key_u64(j, "disk_used_bytes", stats.disk_bytes);
	json_key_u64(j, "bad_rows", stats.bad_rows);
	json_key_u64(j, "bad_blocks", stats.bad_blocks);
	json_key_u64(j, "left_out_files", stats.left_out_parts);
	json_key_u64(j, "expired_rows", stats.expired_rows);
	json_key_u64(j, "folded_series", stats.folded_series);
	json_end(j);
}

/* The last five minutes of a metric that hosts send about themselves (an agent adds them to its
 * data), by host and these labels. */
static int ask_hosts(struct query_params *a, const char *metric, const char *const by[2],
		     struct query_metric *out)
{
	struct query *q = &a->q;
	uint32_t others;
	if (!tenant_store(a->r->tenant))
		return -ENODATA;
	selector_free(a->selector);
	a->selector = NULL;
	int rc = selector_parse(metric, &a->selector, NULL);
	q->selector = a->selector;
	if (rc == 0)
		rc = query_parse_type(q, &others, NULL);
	if (rc < 0)
		return rc;
	q->to_ns = (int64_t)clock_wall_ns();
	q->from_ns = q->to_ns - QUERY_METRIC_GAP_NS;
	q->n_by = by[1] ? 3 : 2;
	q->by[0] = "host";
	q->by[1] = by[0];
	q->by[2] = by[1];
	return query_metric(q, METRIC_MAX, QUERY_METRIC_GAP_NS, out, NULL);
}

/* Returns the last value of a group. */
static double last_of(const struct query_metric *m, uint32_t group)
{
	double last = 0;
	for (size_t i = 0; i < m->steps; i++) {
		double v = m->values[group * m->steps + i];
		if (!isnan(v))
			last = v;
	}
	return last;
}

static void missing_json(struct query_params *a, struct json *j)
{
	static const char *const by[2] = { "feature", "why" };
	struct query_metric m = { 0 };
	bool is_known = ask_hosts(a, "cresset_missing{}", by, &m) == 0;
	json_key(j, "missing");
	json_arr(j);
	for (uint32_t i = 0; is_known && i < m.n_shown; i++) {
		const char **names = &m.names[(size_t)m.order[i] * m.n_by];
		json_obj(j);
		for (uint32_t k = 0; k < m.n_by; k++)
			json_key_str(j, a->q.by[k], names[k]);
		json_end(j);
	}
	json_end(j);
	if (is_known)
		query_metric_done(&m);
}

/* Samples with incomplete stacks, since each collector started. */
static void truncated_json(struct query_params *a, struct json *j)
{
	static const char *const by[2] = { "reason", NULL };
	struct query_metric m = { 0 };
	bool is_known = ask_hosts(a, "cresset_truncated{}", by, &m) == 0;
	json_key(j, "truncated");
	json_arr(j);
	for (uint32_t i = 0; is_known && i < m.n_shown; i++) {
		const char **names = &m.names[(size_t)m.order[i] * m.n_by];
		json_obj(j);
		json_key_str(j, "host", names[0]);
		json_key_str(j, "reason", names[1]);
		json_key_u64(j, "samples", (uint64_t)last_of(&m, m.order[i]));
		json_end(j);
	}
	json_end(j);
	if (is_known)
		query_metric_done(&m);
}

static void kernel_memory_json(struct query_params *a, struct json *j)
{
	static const char *const by[2] = { "kind", NULL };
	struct query_metric m = { 0 };
	bool is_known = ask_hosts(a, "cresset_kernel_memory{}", by, &m) == 0;
	json_key(j, "kernel_memory");
	json_arr(j);
	for (uint32_t i = 0; is_known && i < m.n_shown; i++) {
		const char **names = &m.names[(size_t)m.order[i] * m.n_by];
		json_obj(j);
		json_key_str(j, "host", names[0]);
		json_key_str(j, "kind", names[1]);
		json_key_u64(j, "bytes", (uint64_t)last_of(&m, m.order[i]));
		json_end(j);
	}
	json_end(j);
	if (is_known)
		query_metric_done(&m);
}

static void limits_json(const struct server *s, struct json *j)
{
	json_key(j, "limits");
	json_obj(j);
	json_key_u64(j, "memory_bytes", s->opts.memory_bytes);
	json_key_u64(j, "bodies_bytes", s->bodies.limit_bytes);
	json_key_u64(j, "query_ns", s->opts.query_ns);
	json_key_u64(j, "queries", s->opts.queries);
	json_key_u64(j, "connections", s->opts.connections);
	json_key_u64(j, "requests_per_s", s->opts.per_s);
	json_end(j);
}

static void refused_json(const struct server *s, struct json *j)
{
	json_key(j, "refused");
	json_obj(j);
	for (int i = 0; i < REFUSALS; i++)
		json_key_u64(j, refusal_names[i], s->counters.refused[i]);
	json_key_u64(j, "late", s->connections.cut);
	json_end(j);
}

/* Returns 0 while the collector responds, or if none exists. */
static int64_t silent_since_wall_ns(const struct server *s)
{
	uint64_t since_ns =
		s->opts.silent.since_ns ? s->opts.silent.since_ns(s->opts.silent.ctx) : 0;
	return since_ns ? (int64_t)(clock_wall_ns() - (clock_mono_ns() - since_ns)) : 0;
}

static void collector_json(const struct server *s, struct json *j)
{
	int64_t since_ns = silent_since_wall_ns(s);
	if (!s->opts.silent.since_ns)
		return;
	json_key(j, "collector");
	json_obj(j);
	key_time(j, "silent_since", since_ns, since_ns);
	json_end(j);
}

/* Writes null if the sandbox was not entered. */
static void sandbox_json(const struct sandbox *s, struct json *j)
{
	json_key(j, "sandbox");
	if (!s) {
		json_str(j, NULL);
		return;
	}
	json_obj(j);
	json_key_bool(j, "capabilities", !s->has_files);
	json_key_bool(j, "seccomp", s->has_calls);
	json_key_u64(j, "landlock", (uint64_t)s->landlock);
	json_end(j);
}

void handle_status(struct request *r)
{
	struct server *s = r->server;
	struct err err = { 0 };
	struct query_params a;
	struct buf b = { 0 };
	struct json j = json_to(&b);
	if (query_params_source(&a, r, &err) < 0) {
		reply_failure(r, &err);
		query_params_done(&a);
		return;
	}
	json_obj(&j);
	json_key_str(&j, "version", CRESSET_VERSION);
	json_key_u64(&j, "uptime_ns", clock_mono_ns() - s->start_ns);
	data_json(&a, &j);
	kept_json(r->tenant, &j);
	missing_json(&a, &j);
	truncated_json(&a, &j);
	kernel_memory_json(&a, &j);
	limits_json(s, &j);
	refused_json(s, &j);
	if (s->opts.unread.count)
		json_key_u64(&j, "unread_files", s->opts.unread.count(s->opts.unread.ctx));
	collector_json(s, &j);
	sandbox_json(s->opts.sandbox, &j);
	json_end(&j);
	buf_addc(&b, '\n');
	reply_body(r, "application/json", &b);
	query_params_done(&a);
}

/* --- health ----------------------------------------------------------------------------------- */

static void reply_ok(struct request *r)
{
	struct buf b = { 0 };
	buf_adds(&b, "ok\n");
	reply_body(r, "text/plain; charset=utf-8", &b);
}

/* The server responds. */
void handle_healthz(struct request *r)
{
	reply_ok(r);
}

/* Returns -EAGAIN with err set while the collector does not respond. */
static int check_recording(const struct server *s, struct err *err)
{
	int64_t since_ns = silent_since_wall_ns(s);
	struct buf at = { 0 };
	if (!since_ns)
		return 0;
	time_text(&at, since_ns);
	err_set(err, EAGAIN, "not recording since %s: the collector does not respond",
		buf_cstr(&at));
	buf_done(&at);
	return -EAGAIN;
}

/* The data can be read, and more is recorded as well. */
void handle_readyz(struct request *r)
{
	struct err err = { 0 };
	struct query_params a;
	if (query_params_source(&a, r, &err) < 0 || check_recording(r->server, &err) < 0)
		reply_error(r, 503, &err);
	else
		reply_ok(r);
	query_params_done(&a);
}
