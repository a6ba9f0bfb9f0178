/* What a server costs, and how it bears too much: bench/server_load.sh runs it.
 *
 *   server_load cost CRESSET DIR [NAME]      CPU of the server for one batch: "cost NAME BYTES MS", background work included
 *   server_load fleet CRESSET DIR SECONDS    200 agents, a batch each per 10 s: "fleet SENT CPU_SHARE P99_MS OWN_SHARE PEAK_BYTES REFUSED AGAIN"
 *                                           (again: 412, answered with a whole batch)
 *   server_load full CRESSET DIR SECONDS     as fast as it goes: "full SENT PER_CPU_SECOND PER_SECOND"
 *   server_load over CRESSET DIR SECONDS     twice that, and then little: "over ACCEPTED REFUSED WITHOUT_RETRY LOST PEAK_BYTES LATER_MS"
 *   server_load read CRESSET DIR             a day of 800 series: "read NAME P99_MS" */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "format/otlp/otlp_pack.h"
#include "server/batches.h"
#include "server/client.h"
#include "server/day.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000ull

enum {
	FLEET = 200,
	EVERY_S = 10,
	CLIENTS = 16,
	FLOOD_CLIENTS = 200,
	DIFFERENT = 8,
	WAIT_MS = 1500
};

void bench_fail(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fprintf(stderr, "server_load: ");
	vfprintf(stderr, fmt, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { ns / SECOND_NS, ns % SECOND_NS };
	nanosleep(&t, NULL);
}

/* --- what agents send -------------------------------------------------------------------------- */

/* An agent's whole batch, and one packed against it. */
struct agent {
	struct buf whole, delta;
	uint64_t sequence, key; /* key: of the whole batch that was acknowledged last; 0: none */
	uint64_t again;         /* times that it was not there any more */
};

static void pack(const struct buf *plain, const struct buf *key, struct buf *out)
{
	struct otlp_bytes against = { key ? key->data : NULL, key ? key->len : 0 };
	struct err err = { 0 };
	if (otlp_pack((struct otlp_bytes){ plain->data, plain->len }, against, out, &err) < 0)
		bench_fail("%s", err.text);
}

static void agent_init(struct agent *a, uint32_t host)
{
	struct batch_opts o = { .host = host, .time_ns = (int64_t)clock_wall_ns() };
	struct buf first = { 0 }, next = { 0 };
	*a = (struct agent){ 0 };
	batch_encode(&o, &first);
	o.second = 1;
	batch_encode(&o, &next);
	pack(&first, NULL, &a->whole);
	pack(&next, &first, &a->delta);
	buf_done(&first);
	buf_done(&next);
}

static struct agent *agents_new(uint32_t n)
{
	struct agent *all = xcalloc(n, sizeof *all);
	for (uint32_t i = 0; i < n && i < DIFFERENT; i++)
		agent_init(&all[i], i);
	for (uint32_t i = DIFFERENT; i < n; i++) /* the same bodies, of another agent */
		all[i] = all[i % DIFFERENT];
	return all;
}

static void agents_free(struct agent *all, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < DIFFERENT; i++) {
		buf_done(&all[i].whole);
		buf_done(&all[i].delta);
	}
	free(all);
}

static struct answered send_once(struct agent *a, uint32_t host, struct client *c)
{
	struct posted p = { .host = host,
			    .sequence = a->sequence + 1,
			    .base = a->key,
			    .encoding = "zstd",
			    .body = a->key ? &a->delta : &a->whole };
	return client_post(c, &p);
}

/* The agent's next batch: a delta when it may, else the whole. A batch that was refused keeps its number. */
static struct answered agent_send(struct agent *a, uint32_t host, struct client *c)
{
	struct answered got = send_once(a, host, c);
	if (got.status == 412) {
		a->again++;
		a->key = 0;
		got = send_once(a, host, c);
	}
	if (got.status != 200)
		return got;
	a->sequence++;
	a->key = a->key ?: a->sequence;
	return got;
}

/* --- one batch --------------------------------------------------------------------------------- */

struct cost {
	const char *name, *encoding;
	bool is_delta, is_new;
	uint32_t n;
};

static const struct cost costs[] = {
	{ "delta", "zstd", true, false, 200 },   { "zstd", "zstd", false, false, 200 },
	{ "gzip", "gzip", false, false, 200 },   { "new-zstd", "zstd", false, true, 24 },
	{ "new-gzip", "gzip", false, true, 24 },
};

static void encode_as(const char *encoding, const struct buf *plain, struct buf *out)
{
	if (strcmp(encoding, "gzip") == 0)
		fs_gzip(plain->data, plain->len, out);
	else
		pack(plain, NULL, out);
}

/* Bodies of a cost: two that take turns, or all different ones. */
static struct buf *bodies_new(const struct cost *cost, uint32_t id, uint32_t n, size_t *plain_bytes)
{
	struct buf *bodies = xcalloc(n, sizeof *bodies);
	struct buf first = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		struct batch_opts o = { .host = id,
					.world = cost->is_new ? id * 1000 + i : 0,
					.second = i,
					.time_ns = (int64_t)clock_wall_ns() };
		struct buf plain = { 0 };
		batch_encode(&o, &plain);
		*plain_bytes = plain.len;
		if (cost->is_delta && i)
			pack(&plain, &first, &bodies[i]);
		else
			encode_as(cost->encoding, &plain, &bodies[i]);
		if (i == 0)
			first = plain;
		else
			buf_done(&plain);
	}
	buf_done(&first);
	return bodies;
}

static void post_or_fail(struct client *c, const struct posted *p)
{
	struct answered got = client_post(c, p);
	if (got.status != 200)
		bench_fail("a batch was answered with %u", got.status);
}

/* The first two are not counted. What is left to do in the background gets its time, and counts. */
static void measure_cost(const struct served *s, const struct cost *cost, uint32_t id)
{
	enum { WARM = 2, BODIES = 8 };
	uint32_t n_bodies = cost->is_new ? cost->n + WARM : BODIES;
	size_t plain_bytes = 0, bytes = 0;
	struct buf *bodies = bodies_new(cost, id, n_bodies, &plain_bytes);
	struct client c = { .port = s->port, .fd = -1 };
	uint64_t start_ns = 0;
	for (uint32_t i = 0; i < cost->n + WARM; i++) {
		uint32_t k = i < n_bodies ? i : 1 + i % (n_bodies - 1);
		if (i == WARM)
			start_ns = served_cpu_ns(s);
		struct posted p = { .agent = 1,
				    .host = id,
				    .sequence = 1 + i,
				    .base = cost->is_delta && i ? 1 : 0,
				    .encoding = cost->encoding,
				    .body = &bodies[k] };
		post_or_fail(&c, &p);
		bytes += i < WARM ? 0 : bodies[k].len;
	}
	sleep_ns(WAIT_MS * 1000000ull);
	printf("cost %s %zu %.3f %zu\n", cost->name, bytes / cost->n,
	       (served_cpu_ns(s) - start_ns) / 1e6 / cost->n, plain_bytes);
	fflush(stdout);
	client_done(&c);
	for (uint32_t i = 0; i < n_bodies; i++)
		buf_done(&bodies[i]);
	free(bodies);
}

static void cost(const struct served *s, const char *only)
{
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
		if (!only || strcmp(only, costs[i].name) == 0)
			measure_cost(s, &costs[i], 1 + i);
}

/* --- many -------------------------------------------------------------------------------------- */

struct load {
	const struct served *s;
	struct agent *agents;
	uint32_t n_agents, n_clients;
	uint64_t start_ns, end_ns,
		every_ns; /* every_ns: between two batches of all; 0: as fast as it goes */
	_Atomic uint64_t next, accepted, refused, without_retry, unknown;
	uint64_t *took_ns; /* by batch, when every_ns is given */
	size_t room;
};
struct loader {
	struct load *load;
	uint32_t id;
	pthread_t thread;
};

static void note(struct load *l, struct answered got)
{
	if (got.status == 200)
		atomic_fetch_add(&l->accepted, 1);
	else if (got.status == 0)
		atomic_fetch_add(&l->unknown, 1);
	else
		atomic_fetch_add(&l->refused, 1);
	if ((got.status == 429 || got.status == 503) && !got.has_retry_after)
		atomic_fetch_add(&l->without_retry, 1);
}

/* An agent belongs to one thread: agent k to client k % n_clients. */
static void send_on_time(struct load *l, uint64_t k, struct client *c)
{
	uint64_t due_ns = l->start_ns + k * l->every_ns, now_ns = clock_mono_ns();
	uint32_t agent = k % l->n_agents;
	if (now_ns < due_ns)
		sleep_ns(due_ns - now_ns);
	note(l, agent_send(&l->agents[agent], agent, c));
	if (k < l->room)
		l->took_ns[k] = clock_mono_ns() - due_ns;
}

static void *load_run(void *ctx)
{
	struct loader *one = ctx;
	struct load *l = one->load;
	struct client c = { .port = l->s->port, .fd = -1 };
	for (uint64_t k = one->id; clock_mono_ns() < l->end_ns; k += l->n_clients) {
		if (l->every_ns && l->start_ns + k * l->every_ns >= l->end_ns)
			break;
		send_on_time(l, k, &c);
	}
	client_done(&c);
	return NULL;
}

/* n_agents is a multiple of n_clients, so that each agent has one client. */
static void load_all(struct load *l, double seconds)
{
	struct loader *all = xcalloc(l->n_clients, sizeof *all);
	l->start_ns = clock_mono_ns();
	l->end_ns = l->start_ns + (uint64_t)(seconds * SECOND_NS);
	for (uint32_t i = 0; i < l->n_clients; i++) {
		all[i] = (struct loader){ .load = l, .id = i };
		if (pthread_create(&all[i].thread, NULL, load_run, &all[i]))
			bench_fail("no thread");
	}
	for (uint32_t i = 0; i < l->n_clients; i++)
		pthread_join(all[i].thread, NULL);
	free(all);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static double p99_ms(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof *v, by_number);
	return n ? v[(n * 99 - 1) / 100] / 1e6 : 0;
}

static void fleet(const struct served *s, double seconds)
{
	struct load l = { .s = s,
			  .agents = agents_new(FLEET),
			  .n_agents = FLEET,
			  .n_clients = CLIENTS / 2,
			  .every_ns = EVERY_S * SECOND_NS / FLEET };
	load_all(&l, EVERY_S); /* whole batches, once */
	l.room = (size_t)(seconds * FLEET / EVERY_S);
	l.took_ns = xcalloc(l.room + 1, sizeof *l.took_ns);
	uint64_t cpu_ns = served_cpu_ns(s), own_ns = clock_cpu_ns(), start_ns = clock_mono_ns();
	uint64_t before = l.accepted;
	load_all(&l, seconds);
	double wall_ns = clock_mono_ns() - start_ns;
	uint64_t sent = l.accepted - before, again = 0;
	for (uint32_t i = 0; i < FLEET; i++)
		again += l.agents[i].again;
	printf("fleet %llu %.4f %.2f %.4f %llu %llu %llu\n", (unsigned long long)sent,
	       (served_cpu_ns(s) - cpu_ns) / wall_ns,
	       p99_ms(l.took_ns, sent < l.room ? sent : l.room),
	       (clock_cpu_ns() - own_ns) / wall_ns, (unsigned long long)served_peak_bytes(s),
	       (unsigned long long)(l.refused + l.unknown), (unsigned long long)again);
	agents_free(l.agents, FLEET);
	free(l.took_ns);
}

static void full(const struct served *s, double seconds)
{
	struct load l = {
		.s = s, .agents = agents_new(CLIENTS), .n_agents = CLIENTS, .n_clients = CLIENTS
	};
	load_all(&l, 1);
	uint64_t cpu_ns = served_cpu_ns(s), start_ns = clock_mono_ns(), before = l.accepted;
	load_all(&l, seconds);
	uint64_t sent = l.accepted - before;
	printf("full %llu %.1f %.1f\n", (unsigned long long)sent,
	       sent / ((served_cpu_ns(s) - cpu_ns) / 1e9),
	       sent / ((clock_mono_ns() - start_ns) / 1e9));
	agents_free(l.agents, CLIENTS);
}

/* --- too much ----------------------------------------------------------------------------------- */

/* What the server has of all hosts, in batches. */
static double batches_there(const struct served *s)
{
	struct client c = { .port = s->port, .fd = -1 };
	struct buf b = { 0 };
	double sum = 0;
	if (client_get(&c, "/api/v1/range?q=cpu&from=now-1h&to=now%2B1m&by=none", &b) != 200)
		bench_fail("the server does not answer any more: %s", buf_cstr(&b));
	const char *total = strstr(buf_cstr(&b), "\"total\":");
	if (!total)
		bench_fail("no total in %.200s", buf_cstr(&b));
	sum = strtod(total + 8, NULL);
	buf_done(&b);
	client_done(&c);
	return sum / BATCH_SAMPLES;
}

/* So many clients that send whole batches without a pause are more than twice what is taken: requests queue, bodies have no room. */
static void over(const struct served *s, double seconds)
{
	struct load l = { .s = s,
			  .agents = agents_new(FLOOD_CLIENTS),
			  .n_agents = FLOOD_CLIENTS,
			  .n_clients = FLOOD_CLIENTS };
	load_all(&l, seconds);
	uint64_t start_ns = clock_mono_ns();
	struct client c = { .port = s->port, .fd = -1 };
	struct answered got;
	while ((got = agent_send(&l.agents[0], 0, &c)).status != 200)
		sleep_ns(SECOND_NS / 100);
	double later_ms = (clock_mono_ns() - start_ns) / 1e6;
	client_done(&c);
	double there = batches_there(s), accepted = l.accepted + 1.0;
	printf("over %llu %llu %llu %llu %.3f %llu %.1f\n", (unsigned long long)l.accepted,
	       (unsigned long long)l.refused, (unsigned long long)l.without_retry,
	       (unsigned long long)l.unknown, accepted - there,
	       (unsigned long long)served_peak_bytes(s), later_ms);
	agents_free(l.agents, FLOOD_CLIENTS);
}

/* --- reading ------------------------------------------------------------------------------------ */

static void ask(const struct served *s, const char *name, const char *path, uint32_t n)
{
	struct client c = { .port = s->port, .fd = -1 };
	uint64_t *took = xcalloc(n, sizeof *took);
	for (uint32_t i = 0; i < n; i++) {
		struct buf b = { 0 };
		uint64_t start_ns = clock_mono_ns();
		unsigned status = client_get(&c, path, &b);
		took[i] = clock_mono_ns() - start_ns;
		if (status != 200)
			bench_fail("%s: %u %s", path, status, buf_cstr(&b));
		buf_done(&b);
	}
	printf("read %s %.3f\n", name, p99_ms(took, n));
	fflush(stdout);
	free(took);
	client_done(&c);
}

static void read_all(const struct served *s)
{
	const struct {
		const char *name, *path;
		uint32_t n;
	} asked[] = {
		{ "types", "/api/v1/types", 200 },
		{ "labels", "/api/v1/labels", 200 },
		{ "values", "/api/v1/values?name=process", 200 },
		{ "series", "/api/v1/series", 200 },
		{ "range-one",
		  "/api/v1/range?q=cpu%7Bhost%3D%22node-003%22%2Cprocess%3D%22service-07%22%7D"
		  "&from=now-24h&step=60s",
		  200 },
		{ "range-all", "/api/v1/range?q=cpu&from=now-24h&step=60s&by=process", 50 },
	};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		ask(s, asked[i].name, asked[i].path, asked[i].n);
}

int main(int argc, char **argv)
{
	const char *const more[] = { "--max-rate", "100000", NULL };
	double seconds = argc > 4 ? atof(argv[4]) : 10;
	struct served s;
	if (argc < 4) {
		fprintf(stderr,
			"usage: server_load cost|fleet|full|over|read CRESSET DIR [SECONDS]\n");
		return 2;
	}
	if (!strcmp(argv[1], "read"))
		day_fill(argv[3]);
	served_start(&s, argv[2], argv[3], more);
	if (!strcmp(argv[1], "cost"))
		cost(&s, argc > 4 ? argv[4] : NULL);
	else if (!strcmp(argv[1], "fleet"))
		fleet(&s, seconds);
	else if (!strcmp(argv[1], "full"))
		full(&s, seconds);
	else if (!strcmp(argv[1], "over"))
		over(&s, seconds);
	else
		read_all(&s);
	served_stop(&s);
	return 0;
}
