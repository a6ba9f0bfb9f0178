/* /api/v1/status, /metrics, /healthz, /readyz: how the server itself is. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "query/time.h"
#include "server/ask.h"
#include "server/handlers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- status ----------------------------------------------------------------------------------- */

static void key_str(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_str(j, value);
}

static void key_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

static void key_time(struct json *j, const char *key, bool known, int64_t ns)
{
	struct buf b = { 0 };
	if (known)
		time_text(&b, ns);
	key_str(j, key, known ? buf_cstr(&b) : NULL);
	buf_done(&b);
}

static void data_json(const struct ask *a, struct json *j)
{
	int64_t from_ns, to_ns;
	a->source->ops->range(a->source, &from_ns, &to_ns);
	bool known = (from_ns || to_ns) && !a->source->since_start;
	json_key(j, "data");
	json_obj(j);
	key_str(j, "kind", a->r->tenant->data.file ? "file" : "store");
	key_time(j, "from", known, from_ns);
	key_time(j, "to", known, to_ns);
	json_key(j, "from_ns");
	json_i64(j, from_ns);
	json_key(j, "to_ns");
	json_i64(j, to_ns);
	key_u64(j, "window_ns", a->source->window_ns);
	json_key(j, "has_times");
	json_bool(j, !a->source->is_block);
	key_u64(j, "types", a->catalog->series.types.n);
	key_u64(j, "series", a->catalog->series.series.n);
	json_end(j);
}

static void limits_json(const struct server *s, struct json *j)
{
	json_key(j, "limits");
	json_obj(j);
	key_u64(j, "memory_bytes", s->opts.memory_bytes);
	key_u64(j, "bodies_bytes", s->bodies.limit_bytes);
	key_u64(j, "query_ns", s->opts.query_ns);
	key_u64(j, "queries", s->opts.queries);
	key_u64(j, "connections", s->opts.connections);
	key_u64(j, "requests_per_s", s->opts.per_s);
	json_end(j);
}

static void refused_json(const struct server *s, struct json *j)
{
	json_key(j, "refused");
	json_obj(j);
	for (int i = 0; i < REFUSALS; i++)
		key_u64(j, refusal_names[i], s->counters.refused[i]);
	key_u64(j, "late", s->connections.cut);
	json_end(j);
}

void handle_status(struct request *r)
{
	struct server *s = r->server;
	struct err err = { 0 };
	struct ask a;
	struct buf b = { 0 };
	struct json j = json_to(&b);
	if (ask_source(&a, r, &err) < 0) {
		reply_failure(r, &err);
		ask_done(&a);
		return;
	}
	json_obj(&j);
	key_str(&j, "version", CRESSET_VERSION);
	key_u64(&j, "uptime_ns", clock_mono_ns() - s->start_ns);
	data_json(&a, &j);
	limits_json(s, &j);
	refused_json(s, &j);
	json_end(&j);
	buf_addc(&b, '\n');
	reply_body(r, "application/json", &b);
	ask_done(&a);
}

/* --- metrics: https://prometheus.io/docs/specs/om/open_metrics_spec/ -------------------------- */

static void metric(struct buf *b, const char *name, const char *type, const char *unit,
		   const char *help)
{
	buf_addf(b, "# TYPE %s %s\n", name, type);
	if (unit)
		buf_addf(b, "# UNIT %s %s\n", name, unit);
	buf_addf(b, "# HELP %s %s\n", name, help);
}

static void gauge(struct buf *b, const char *name, const char *unit, const char *help, double v)
{
	metric(b, name, "gauge", unit, help);
	buf_addf(b, "%s %.15g\n", name, v);
}

static void counter(struct buf *b, const char *name, const char *unit, const char *help, double v)
{
	metric(b, name, "counter", unit, help);
	buf_addf(b, "%s_total %.15g\n", name, v);
}

static const char *route_name(size_t i)
{
	return i == COUNTER_ROUTES - 1 ? "none" : routes[i].path;
}

static bool is_route(size_t i, size_t n)
{
	return i < n || i == COUNTER_ROUTES - 1;
}

static void route_metrics(const struct counters *c, struct buf *b)
{
	size_t n = 0;
	while (routes[n].path)
		n++;
	metric(b, "cresset_http_requests", "counter", NULL, "Requests answered.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		for (int class = 1; is_route(i, n) && class < COUNTER_CLASSES; class ++)
			if (c->routes[i].answers[class])
				buf_addf(b,
					 "cresset_http_requests_total{route=\"%s\",code=\"%dxx\"} "
					 "%llu\n",
					 route_name(i), class,
					 (unsigned long long)c->routes[i].answers[class]);
	metric(b, "cresset_http_request_time_seconds", "counter", "seconds",
	       "Time until requests were answered.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		if (is_route(i, n) && c->routes[i].time_ns)
			buf_addf(b, "cresset_http_request_time_seconds_total{route=\"%s\"} %.9g\n",
				 route_name(i), c->routes[i].time_ns / 1e9);
	metric(b, "cresset_http_answer_bytes", "counter", "bytes", "Bytes of answers.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		if (is_route(i, n) && c->routes[i].bytes)
			buf_addf(b, "cresset_http_answer_bytes_total{route=\"%s\"} %llu\n",
				 route_name(i), (unsigned long long)c->routes[i].bytes);
}

static void refusal_metrics(const struct server *s, struct buf *b)
{
	metric(b, "cresset_http_refused", "counter", NULL,
	       "What was refused, by the limit it met.");
	for (int i = 0; i < REFUSALS; i++)
		buf_addf(b, "cresset_http_refused_total{limit=\"%s\"} %llu\n", refusal_names[i],
			 (unsigned long long)s->counters.refused[i]);
	counter(b, "cresset_http_late", NULL, "Connections cut because they were late.",
		s->connections.cut);
}

/* 0 where it is not known. */
static uint64_t resident_bytes(void)
{
	struct buf b = { 0 };
	unsigned long long pages = 0;
	if (fs_read_at(AT_FDCWD, "/proc/self/statm", 4096, &b, NULL) == 0) {
		const char *second = memchr(buf_cstr(&b), ' ', b.len);
		pages = second ? strtoull(second, NULL, 10) : 0;
	}
	buf_done(&b);
	return pages * sysconf(_SC_PAGESIZE);
}

void handle_metrics(struct request *r)
{
	struct server *s = r->server;
	struct buf b = { 0 };
	route_metrics(&s->counters, &b);
	refusal_metrics(s, &b);
	counter(&b, "cresset_http_connections", NULL, "Connections taken.",
		s->counters.connections);
	counter(&b, "cresset_http_body_bytes", "bytes", "Bytes of bodies received.",
		s->counters.body_bytes);
	gauge(&b, "cresset_http_open_connections", NULL, "Connections now.",
	      connections_count(&s->connections));
	gauge(&b, "cresset_http_waiting_queries", NULL, "Queries that wait for their turn.",
	      workers_waiting(s->workers));
	gauge(&b, "cresset_http_bodies_bytes", "bytes", "Memory for bodies now.",
	      s->bodies.used_bytes);
	counter(&b, "process_cpu_seconds", "seconds", "CPU time, user and system.",
		clock_cpu_ns() / 1e9);
	gauge(&b, "process_resident_memory_bytes", "bytes", "Resident memory.", resident_bytes());
	buf_adds(&b, "# EOF\n");
	reply_body(r, "application/openmetrics-text; version=1.0.0; charset=utf-8", &b);
}

/* --- health ----------------------------------------------------------------------------------- */

static void reply_ok(struct request *r)
{
	struct buf b = { 0 };
	buf_adds(&b, "ok\n");
	reply_body(r, "text/plain; charset=utf-8", &b);
}

/* It answers. */
void handle_healthz(struct request *r)
{
	reply_ok(r);
}

/* And the data can be read. */
void handle_readyz(struct request *r)
{
	struct err err = { 0 };
	struct ask a;
	if (ask_source(&a, r, &err) < 0)
		reply_error(r, 503, &err);
	else
		reply_ok(r);
	ask_done(&a);
}
