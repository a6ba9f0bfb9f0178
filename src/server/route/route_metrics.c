/* /metrics: the server's metrics, as OpenMetrics
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "server/connections.h"
#include "server/live.h"
#include "server/request.h"
#include "server/route/handlers.h"
#include "server/server_state.h"
#include "server/symbols.h"
#include "server/tenant.h"
#include "store/codec/store.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- families --------------------------------------------------------------------------------- */

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

/* Writes a metric's name with the route as labels. */
static void put_route(struct buf *b, const char *name, size_t i)
{
	bool none = i == COUNTER_ROUTES - 1;
	buf_addf(b, "%s_total{method=\"%s\",route=\"%s\"", name, none ? "none" : routes[i].method,
		 none ? "none" : routes[i].path);
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
	metric(b, "cresset_http_requests", "counter", NULL, "HTTP requests.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		for (int class = 1; is_route(i, n) && class < COUNTER_CLASSES; class ++)
			if (c->routes[i].answers[class]) {
				put_route(b, "cresset_http_requests", i);
				buf_addf(b, ",code=\"%dxx\"} %llu\n", class,
					 (unsigned long long)c->routes[i].answers[class]);
			}
	metric(b, "cresset_http_request_time_seconds", "counter", "seconds",
	       "Time from requests to their responses.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		if (is_route(i, n) && c->routes[i].time_ns) {
			put_route(b, "cresset_http_request_time_seconds", i);
			buf_addf(b, "} %.9g\n", c->routes[i].time_ns / 1e9);
		}
	metric(b, "cresset_http_answer_bytes", "counter", "bytes", "Bytes of responses.");
	for (size_t i = 0; i < COUNTER_ROUTES; i++)
		if (is_route(i, n) && c->routes[i].bytes) {
			put_route(b, "cresset_http_answer_bytes", i);
			buf_addf(b, "} %llu\n", (unsigned long long)c->routes[i].bytes);
		}
}

static void refusal_metrics(const struct server *s, struct buf *b)
{
	metric(b, "cresset_http_refused", "counter", NULL, "Refused requests, by limit.");
	for (int i = 0; i < REFUSALS; i++)
		buf_addf(b, "cresset_http_refused_total{limit=\"%s\"} %llu\n", refusal_names[i],
			 (unsigned long long)s->counters.refused[i]);
	counter(b, "cresset_http_late", NULL, "Connections closed by a time limit.",
		s->connections.cut);
}

/* Returns 0 if unknown. */
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

/* --- tenants ---------------------------------------------------------------------------------- */

struct numbers {
	const char *tenant;
	struct senders_stats senders;
	struct store_stats store;
	struct symbols_stats symbols;
};

static const struct family {
	const char *name, *type, *unit, *help;
	size_t at; /* offset of a uint64_t in struct numbers */
} families[] = {
#define SENDERS(member) offsetof(struct numbers, senders.member)
#define STORE(member)   offsetof(struct numbers, store.member)
#define SYMBOLS(member) offsetof(struct numbers, symbols.member)
	/* clang-format would break up the rows. */
	/* clang-format off */
	{ "cresset_ingest_batches", "counter", NULL, "Batches stored.",
	  SENDERS(counts.batches) },
	{ "cresset_ingest_duplicates", "counter", NULL, "Duplicate batches.",
	  SENDERS(counts.duplicates) },
	{ "cresset_ingest_bytes", "counter", "bytes", "Bytes of batches as received.",
	  SENDERS(counts.bytes) },
	{ "cresset_ingest_samples", "counter", NULL, "Samples stored.",
	  SENDERS(counts.samples) },
	{ "cresset_ingest_points", "counter", NULL, "Metric points stored.",
	  SENDERS(counts.points) },
	{ "cresset_ingest_rejected", "counter", NULL,
	  "Samples and points rejected.", SENDERS(counts.rejected) },
	{ "cresset_ingest_frames", "counter", NULL, "Frames in batches.", SENDERS(counts.frames) },
	{ "cresset_ingest_unnamed_frames", "counter", NULL, "Frames received without a name.",
	  SENDERS(counts.unnamed_frames) },
	{ "cresset_ingest_senders", "gauge", NULL, "Known senders.",
	  SENDERS(senders) },
	{ "cresset_ingest_missing_batches", "gauge", NULL,
	  "Batches missing from the sequences of senders.",
	  SENDERS(missing) },
	{ "cresset_ingest_key_bytes", "gauge", "bytes",
	  "Disk space of base batches for delta compression.", SENDERS(key_bytes) },
	{ "cresset_ingest_known_stacks_bytes", "gauge", "bytes",
	  "Memory of the stack caches of senders.", SENDERS(stack_bytes) },
	{ "cresset_store_disk_bytes", "gauge", "bytes", "Disk space of the store.",
	  STORE(disk_bytes) },
	{ "cresset_store_inbox_bytes", "gauge", "bytes", "Disk space of the inbox.",
	  STORE(inbox_bytes) },
	{ "cresset_store_hot_bytes", "gauge", "bytes", "Disk space of exact samples.",
	  STORE(hot_bytes) },
	{ "cresset_store_memory_bytes", "gauge", "bytes", "Memory used by the store.",
	  STORE(memory_bytes) },
	{ "cresset_store_batches", "counter", NULL, "Batches written to the store.",
	  STORE(batches) },
	{ "cresset_store_rows", "counter", NULL, "Rows written to the store.", STORE(rows) },
	{ "cresset_store_hot_rows", "counter", NULL,
	  "Exact samples written to the store; they are in the inbox until their hour ends.",
	  STORE(hot_rows) },
	{ "cresset_store_points", "counter", NULL, "Metric points written to the store.",
	  STORE(points) },
	{ "cresset_store_replayed_batches", "counter", NULL,
	  "Batches replayed from the inbox at start.", STORE(replayed) },
	{ "cresset_store_late_rows", "counter", NULL,
	  "Rows received more than an hour after their time.", STORE(late_rows) },
	{ "cresset_store_expired_rows", "counter", NULL, "Rows older than the retention: dropped.",
	  STORE(expired_rows) },
	{ "cresset_store_clock_sets", "counter", NULL,
	  "Clock changes of more than an hour; each stops deletion by age for a day.",
	  STORE(clock_sets) },
	{ "cresset_store_left_out_files", "gauge", NULL,
	  "Unreadable files of days: missing from results.", STORE(left_out_parts) },
	{ "cresset_store_bad_batches", "counter", NULL, "Damaged batches: skipped.",
	  STORE(bad_batches) },
	{ "cresset_store_bad_rows", "counter", NULL,
	  "Rows without their stack or series: skipped.", STORE(bad_rows) },
	{ "cresset_store_bad_blocks", "counter", NULL, "Damaged blocks found.",
	  STORE(bad_blocks) },
	{ "cresset_store_hot_dropped_rows", "counter", NULL,
	  "Exact samples deleted before their retention ended.", STORE(hot_dropped_rows) },
	{ "cresset_store_folded_series", "counter", NULL,
	  "Series beyond the limit, merged into [other].", STORE(folded_series) },
	{ "cresset_store_damaged_parts", "counter", NULL,
	  "Parts that differed from their seal after a crash.", STORE(damaged_parts) },
	{ "cresset_symbols_tables", "gauge", NULL, "Symbol tables of build ids.", SYMBOLS(tables) },
	{ "cresset_symbols_disk_bytes", "gauge", "bytes", "Disk space of symbol tables.",
	  SYMBOLS(disk_bytes) },
	{ "cresset_symbols_memory_bytes", "gauge", "bytes", "Memory used by symbol tables.",
	  SYMBOLS(memory_bytes) },
	{ "cresset_symbols_named_frames", "counter", NULL,
	  "Frames symbolized by symbol tables.", SYMBOLS(named_frames) },
	{ "cresset_symbols_unreadable", "counter", NULL, "Symbol tables that could not be read.",
	  SYMBOLS(unreadable) },
	/* clang-format on */
};

static void put_tenant(struct buf *b, const char *name, const char *suffix, const char *tenant)
{
	buf_addf(b, "%s%s{tenant=\"", name, suffix);
	for (; *tenant; tenant++)
		if (*tenant == '\n')
			buf_adds(b, "\\n");
		else
			buf_addf(b, "%s%c", *tenant == '"' || *tenant == '\\' ? "\\" : "", *tenant);
	buf_addc(b, '"');
}

static void put_refused(struct buf *b, const struct numbers *n)
{
	const struct sender_refusals *r = &n->senders.counts.refused;

	metric(b, "cresset_ingest_refused", "counter", NULL, "Refused uploads, by status.");
	for (int k = 0; k < SENDER_STATUSES && r->v[k].n; k++) {
		put_tenant(b, "cresset_ingest_refused", "_total", n->tenant);
		buf_addf(b, ",code=\"%u\"} %llu\n", r->v[k].status, (unsigned long long)r->v[k].n);
	}
}

/* A time; left out if the store has none. */
static void put_kept(struct buf *b, const struct numbers *n)
{
	metric(b, "cresset_store_kept_from_seconds", "gauge", "seconds",
	       "Unix time of the oldest data that the store accepts.");
	if (n->store.kept_from_ns > 0) {
		put_tenant(b, "cresset_store_kept_from_seconds", "", n->tenant);
		buf_addf(b, "} %.3f\n", n->store.kept_from_ns / 1e9);
	}
}

/* Metrics of the requesting tenant; even the names of others stay unknown to it. */
static void tenant_metrics(struct tenant *t, struct buf *b)
{
	struct store *store = tenant_store(t);
	struct numbers n = { .tenant = t->name };

	senders_get_stats(&t->senders, &n.senders);
	if (store)
		store_get_stats(store, &n.store);
	if (t->symbols)
		symbols_get_stats(t->symbols, &n.symbols);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		const struct family *f = &families[i];
		const char *suffix = strcmp(f->type, "counter") == 0 ? "_total" : "";
		uint64_t value;

		memcpy(&value, (const char *)&n + f->at, sizeof value);
		metric(b, f->name, f->type, f->unit, f->help);
		put_tenant(b, f->name, suffix, n.tenant);
		buf_addf(b, "} %llu\n", (unsigned long long)value);
	}
	put_refused(b, &n);
	put_kept(b, &n);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void query_metrics(const struct counters *c, struct buf *b)
{
	uint64_t n = 0;
	metric(b, "cresset_query_duration_seconds", "histogram", "seconds",
	       "Duration of queries, including time in the queue.");
	for (int i = 0; i < COUNTER_BUCKETS; i++) {
		n += c->queries.buckets[i];
		buf_addf(b, "cresset_query_duration_seconds_bucket{le=\"");
		if (i < COUNTER_BUCKETS - 1)
			buf_addf(b, "%.4g", counter_bucket_ns(i) / 1e9);
		else
			buf_adds(b, "+Inf");
		buf_addf(b, "\"} %llu\n", (unsigned long long)n);
	}
	buf_addf(b, "cresset_query_duration_seconds_count %llu\n", (unsigned long long)n);
	buf_addf(b, "cresset_query_duration_seconds_sum %.9g\n", c->queries.time_ns / 1e9);
}

/* --- the route -------------------------------------------------------------------------------- */

void handle_metrics(struct request *r)
{
	struct server *s = r->server;
	struct buf b = { 0 };
	metric(&b, "cresset_build", "info", NULL, "Version of this server.");
	buf_addf(&b, "cresset_build_info{version=\"%s\"} 1\n", CRESSET_VERSION);
	tenant_metrics(r->tenant, &b);
	query_metrics(&s->counters, &b);
	route_metrics(&s->counters, &b);
	refusal_metrics(s, &b);
	counter(&b, "cresset_http_connections", NULL, "Connections accepted.",
		s->counters.connections);
	counter(&b, "cresset_http_body_bytes", "bytes", "Bytes of request bodies.",
		s->counters.body_bytes);
	gauge(&b, "cresset_http_open_connections", NULL, "Open connections.",
	      connections_count(&s->connections));
	gauge(&b, "cresset_http_waiting_queries", NULL, "Queries in the queue.",
	      workers_waiting(s->workers));
	gauge(&b, "cresset_http_waiting_batches", NULL, "Batches in the queue.",
	      workers_waiting(s->writers));
	gauge(&b, "cresset_http_live_streams", NULL, "Open streams of /api/v1/live.",
	      live_count(s->live));
	gauge(&b, "cresset_http_bodies_limit_bytes", "bytes", "Memory limit of request bodies.",
	      s->bodies.limit_bytes);
	gauge(&b, "cresset_http_bodies_bytes", "bytes", "Memory used by request bodies.",
	      s->bodies.used_bytes);
	if (s->opts.silent.since_ns) {
		uint64_t since_ns = s->opts.silent.since_ns(s->opts.silent.ctx);

		gauge(&b, "cresset_collector_silent_seconds", "seconds",
		      "Time since the collector stopped responding; 0: it responds.",
		      since_ns ? (clock_mono_ns() - since_ns) / 1e9 : 0);
	}
	if (s->opts.unread.count)
		gauge(&b, "cresset_names_unread_files", NULL,
		      "Files that are not symbolized, because reading them crashed the process.",
		      s->opts.unread.count(s->opts.unread.ctx));
	counter(&b, "process_cpu_seconds", "seconds", "CPU time, user and system.",
		clock_cpu_ns() / 1e9);
	gauge(&b, "process_resident_memory_bytes", "bytes", "Resident memory.", resident_bytes());
	buf_adds(&b, "# EOF\n");
	reply_body(r, "application/openmetrics-text; version=1.0.0; charset=utf-8", &b);
}
