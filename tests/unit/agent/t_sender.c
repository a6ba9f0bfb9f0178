// tier: test
// run: in memory
// tier: full CRESSET_OUTAGE_S=600
/* From a spool to a real cresset serve that does not accept everything: each sample and each point is in its store once, whatever the server
 * answers. */
#define UNIT_TIMEOUT_S 840 /* an outage of ten minutes, if requested */

#include "numbered_message.h"
#include "real_server.h"
#include "shell.h"

#include "agent/sender.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "format/otlp/otlp_metrics.h"

#include <errno.h>
#include <time.h>

struct world {
	char dir[32];
	uint16_t port;
	pid_t server;
	int64_t start_ns; /* of all samples */
	struct spool *spool;
	struct sender *sender;
};

static void wait_ms(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void world_init(struct world *w)
{
	char dir[64];

	*w = (struct world){ .port = free_port(), .start_ns = (int64_t)clock_wall_ns() };
	temp_dir(w->dir);
	shell_do("mkdir %s/spool", w->dir);
	snprintf(dir, sizeof dir, "%s/spool", w->dir);
	const struct spool_opts opts = { .dir = dir, .max_bytes = 64 << 20 };
	ck_assert_int_eq(spool_open(&opts, &w->spool, NULL, NULL), 0);
	log_set_level(LOG_QUIET);
}

/* The least possible memory: bodies have 2 MiB of it. */
static void start_server(struct world *w)
{
	w->server = server_start_on(w->dir, w->port, "8M");
}

static void start_sender(struct world *w)
{
	char url[64];
	const struct sender_opts to = { .url = url };

	snprintf(url, sizeof url, "http://127.0.0.1:%u/", w->port);
	ck_assert_int_eq(sender_start(w->spool, &to, &w->sender, NULL), 0);
}

static struct spool_status until_sent(struct world *w)
{
	struct spool_status status;

	for (int i = 0; i < 1200; i++) {
		spool_status(w->spool, &status);
		if (!status.waiting)
			return status;
		sender_set_token(w->sender, ""); /* it tries at once */
		wait_ms(50);
	}
	ck_abort_msg("%llu batches wait", (unsigned long long)status.waiting);
}

/* Checks the server's answer to a statement. */
static void check_sql(const struct world *w, const char *statement, const char *want)
{
	char *text =
		shell("%s sql -q --data %s/data --format csv \"%s\" | tail -n +2 | tr -d '\\r\\n'",
		      program(), w->dir, statement);

	ck_assert_str_eq(text, want);
	free(text);
}

static void world_done(struct world *w)
{
	if (w->sender)
		ck_assert(sender_stop(w->sender, 1000000000));
	spool_close(w->spool);
	shell_do("rm -rf %s", w->dir);
}

static void add(struct world *w, enum spool_kind kind, const struct buf *m, uint64_t samples)
{
	const struct spool_message message = { .kind = kind,
					       .data = m->data,
					       .len = m->len,
					       .samples = samples,
					       .now_ns = w->start_ns };
	struct err err = { 0 };

	ck_assert_msg(spool_add(w->spool, &message, NULL, &err) == 0, "%s", err.text);
}

static void add_number(struct world *w, uint64_t number, uint32_t samples)
{
	struct buf m = numbered_message(number, samples, w->start_ns);

	add(w, SPOOL_PROFILES, &m, samples);
	buf_done(&m);
}

/* Returns a sample of /metrics, or 0 if it is absent. */
static uint64_t measured(const struct world *w, const char *sample)
{
	char *text = shell("curl -sS -m 20 http://127.0.0.1:%u/metrics | awk -v s='%s' "
			   "'index($0, s \" \") == 1 { print $2 }'",
			   w->port, sample);
	uint64_t n = strtoull(text, NULL, 10);

	free(text);
	return n;
}

/* --- too large -------------------------------------------------------------------------------- */

enum { POINTS = 120000, SERIES = 300, SAMPLES = 260000 };

static struct buf many_points(int64_t start_ns)
{
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 };
	struct buf b = { 0 };

	for (uint32_t i = 0; i < POINTS; i++) {
		char name[64];

		snprintf(name, sizeof name, "a_metric_with_a_name_of_its_own_%03u", i % SERIES);
		struct otlp_series series = { .name = sink_string(profile_sink(p), name),
					      .kind = OTLP_GAUGE };
		struct otlp_point point = { .series = otlp_series_intern(&m, &series),
					    .time_ns = start_ns + i / SERIES * 1000000,
					    .value = i };
		vec_push(&m.points, point);
	}
	otlp_metrics_encode(&m, p, &b);
	otlp_metrics_done(&m);
	profile_free(p);
	return b;
}

START_TEST(too_large_batches_are_split)
{
	struct world w;
	char want[64];

	world_init(&w);
	struct buf points = many_points(w.start_ns);
	struct buf samples = numbered_message(7, SAMPLES, w.start_ns);
	ck_assert_uint_gt(points.len, 2 << 20); /* half of each is, too, or nearly */
	ck_assert_uint_gt(samples.len, 2 << 20);
	add(&w, SPOOL_METRICS, &points, POINTS);
	add(&w, SPOOL_PROFILES, &samples, SAMPLES);
	add_number(&w, 8, 5);
	start_server(&w);
	start_sender(&w);
	struct spool_status status = until_sent(&w);
	ck_assert_uint_eq(status.counts.refused + status.counts.dropped, 0);
	ck_assert_uint_ge(measured(&w, "cresset_http_refused_total{limit=\"size\"}"), 2);
	server_end(w.server);
	snprintf(want, sizeof want, "%d,%d", POINTS, SERIES);
	check_sql(&w, "SELECT count(*), count(DISTINCT name) FROM metrics", want);
	snprintf(want, sizeof want, "%d", 7 * SAMPLES);
	check_sql(&w, "SELECT sum(value) FROM samples WHERE value % 7 = 0", want);
	check_sql(&w, "SELECT sum(value) FROM samples WHERE value = 8", "40");
	buf_done(&points);
	buf_done(&samples);
	world_done(&w);
}
END_TEST

/* --- two halves ------------------------------------------------------------------------------- */

START_TEST(halves_of_metrics_are_the_whole)
{
	struct buf whole = many_points(1000000000);
	struct half halves[2] = { 0 };
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 };
	double sum = 0;

	ck_assert_int_eq(otlp_split_metrics(whole.data, whole.len, halves, NULL), 0);
	ck_assert_uint_eq(halves[0].samples + halves[1].samples, POINTS);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(otlp_metrics_decode(halves[i].message.data, halves[i].message.len,
						     p, &m, NULL),
				 0);
		buf_done(&halves[i].message);
	}
	ck_assert_uint_eq(m.points.n, POINTS);
	ck_assert_uint_eq(m.series.n, SERIES);
	for (size_t i = 0; i < m.points.n; i++)
		sum += m.points.v[i].value;
	ck_assert_double_eq(sum, (double)POINTS * (POINTS - 1) / 2);
	otlp_metrics_done(&m);
	profile_free(p);
	buf_done(&whole);
}
END_TEST

START_TEST(one_point_has_no_halves)
{
	struct profile *p = profile_new();
	struct otlp_metrics m = { 0 };
	struct otlp_series series = { .name = sink_string(profile_sink(p), "one") };
	struct half halves[2] = { 0 };
	struct buf b = { 0 };

	vec_push(&m.points, (struct otlp_point){ otlp_series_intern(&m, &series), 1, 1, 0 });
	otlp_metrics_encode(&m, p, &b);
	ck_assert_int_eq(otlp_split_metrics(b.data, b.len, halves, NULL), -E2BIG);
	ck_assert_int_eq(otlp_split_metrics("\xff\xff", 2, halves, NULL), -EBADMSG);
	buf_done(&b);
	otlp_metrics_done(&m);
	profile_free(p);
}
END_TEST

/* --- numbers that are missing ----------------------------------------------------------------- */

enum { MISSING = 1100 }; /* more than a server waits for */

/* Data that the server has not seen are dropped; new batches have numbers too far beyond. */
START_TEST(numbering_restarts_after_a_gap)
{
	struct world w;
	struct spool_entry e;

	world_init(&w);
	start_server(&w);
	start_sender(&w);
	add_number(&w, 1, 3);
	until_sent(&w);
	ck_assert(sender_stop(w.sender, 1000000000));
	w.sender = NULL;
	for (int i = 0; i < MISSING; i++) {
		add_number(&w, 2, 1);
		ck_assert_int_eq(spool_first(w.spool, &e, NULL), 1);
		ck_assert_int_eq(spool_refuse(w.spool, e.id, NULL), 0);
		buf_done(&e.packed);
	}
	for (uint64_t number = 3; number < 10; number++)
		add_number(&w, number, 2);
	start_sender(&w);
	struct spool_status status = until_sent(&w);
	ck_assert_uint_eq(status.counts.refused, MISSING);
	ck_assert_uint_eq(measured(&w, "cresset_ingest_refused_total{tenant=\"\",code=\"409\"}"),
			  1);
	server_end(w.server);
	check_sql(&w, "SELECT count(*), sum(value) FROM samples", "17,87");
	world_done(&w);
}
END_TEST

/* --- a server that is away -------------------------------------------------------------------- */

/* An outage of CRESSET_OUTAGE_S seconds, with a batch each second. By default three seconds, with the number of batches of ten minutes. */
START_TEST(a_server_that_was_away_gets_everything)
{
	const char *said = getenv("CRESSET_OUTAGE_S");
	long batches = said ? strtol(said, NULL, 10) : 60, every_ms = said ? 1000 : 50;
	struct world w;
	char want[64];

	world_init(&w);
	start_server(&w);
	start_sender(&w);
	add_number(&w, 1, 2);
	until_sent(&w);
	server_end(w.server);
	for (long i = 0; i < batches; i++) {
		add_number(&w, (uint64_t)i + 2, 2);
		sender_wake(w.sender);
		wait_ms(every_ms);
	}
	struct spool_status status;
	spool_status(w.spool, &status);
	ck_assert_uint_eq(status.waiting, batches);
	start_server(&w);
	status = until_sent(&w);
	ck_assert_uint_eq(status.counts.refused + status.counts.dropped, 0);
	server_end(w.server);
	snprintf(want, sizeof want, "%ld,%ld,2", 2 * (batches + 1), batches + 1);
	check_sql(&w,
		  "SELECT sum(n), count(*), max(n) FROM (SELECT count(*) AS n FROM samples GROUP "
		  "BY value)",
		  want);
	world_done(&w);
}
END_TEST

UNIT_MAIN("sender", halves_of_metrics_are_the_whole, one_point_has_no_halves,
	  too_large_batches_are_split, numbering_restarts_after_a_gap,
	  a_server_that_was_away_gets_everything)
