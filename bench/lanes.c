/* Lanes of a day against lanes of ten seconds (query/lanes/lanes.h): one machine with 60 threads, recorded as cresset up does at 19 Hz, two CPUs busy. Asked as the Timeline
 * asks, 1600 pixels wide: CPU time of the query alone, the store open; median of seven. The store has 8 million samples.
 *
 *   lanes DIR      makes a store there, and says how long its questions take: bench/lanes.sh */
#include "query/lanes/lanes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "query/source.h"
#include "store/codec/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 60, MINUTES = 24 * 60, AT_ONCE = 10, PER_SECOND = 38, STACKS = 2000, DEPTH = 16 };
enum { PX = 1600, LANES = 50, ROUNDS = 7 };
enum { CPU, OFF_CPU, WALL, TYPES };
#define SECOND_NS INT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define MOST      10 /* times what ten seconds cost */

struct day {
	struct profile *p;
	int64_t now_ns; /* of the store, too */
	uint32_t series[TYPES][THREADS], stacks[STACKS];
};

static void check(int rc, const struct err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "lanes: %s\n", err->text);
	exit(1);
}

static int64_t now_of(void *ctx)
{
	return ((struct day *)ctx)->now_ns;
}

/* --- a day ------------------------------------------------------------------------------------ */

static void put_series(struct day *d)
{
	static const char *const names[TYPES] = { "cpu", "off-cpu", "wall" };
	struct sink *s = profile_sink(d->p);
	char comm[32];
	for (uint32_t t = 0; t < TYPES; t++) {
		struct type type = { .name = sink_string(s, names[t]),
				     .sample_type = sink_string(s, t == CPU ? "samples" : names[t]),
				     .unit = sink_string(s, t == CPU ? "count" : "nanoseconds"),
				     .period_type = sink_string(s, t == CPU ? "cpu" : ""),
				     .period_unit = sink_string(s, t == CPU ? "nanoseconds" : "") };
		uint32_t id = s->ops->type(s, &type);
		for (uint32_t i = 0; i < THREADS; i++) {
			snprintf(comm, sizeof comm, "thread-%02u", i);
			struct label labels[] = {
				{ .key = sink_string(s, "comm"), .str = sink_string(s, comm) },
				{ .key = sink_string(s, "host"), .str = sink_string(s, "h0") }
			};
			struct series series = { .type = id,
						 .period = t == CPU ? SECOND_NS / 19 : 0,
						 .labels = s->ops->labels(s, labels, 2) };
			d->series[t][i] = s->ops->series(s, &series);
		}
	}
}

static void put_stacks(struct day *d)
{
	struct sink *s = profile_sink(d->p);
	char name[32];
	uint32_t frames[DEPTH];
	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++) {
			uint64_t which = hash_mix(i >> (DEPTH - k) / 2, k) % 900;
			snprintf(name, sizeof name, "function_%u", (uint32_t)which);
			struct frame f = { .kind = FRAME_NATIVE,
					   .mapping = MAPPING_NONE,
					   .function = sink_string(s, name) };
			frames[k] = s->ops->frame(s, &f);
		}
		d->stacks[i] = s->ops->stack(s, frames, DEPTH);
	}
}

static void put(struct day *d, uint32_t type, int64_t at_ns, int64_t length_ns, uint64_t chance)
{
	struct sink *s = profile_sink(d->p);
	uint32_t thread = chance % THREADS * (chance >> 8 & 3) / 3; /* some are busier */
	struct sample sample = { .time_ns = at_ns,
				 .length_ns = length_ns,
				 .value = type == CPU ? 1 : SECOND_NS / 19,
				 .series = d->series[type][thread],
				 .stack = d->stacks[(chance >> 16) % STACKS],
				 .pid = 100,
				 .tid = 100 + thread,
				 .cpu = chance >> 40 & 1 };
	s->ops->sample(s, &sample);
}

static void put_second(struct day *d, uint32_t second, int64_t at_ns)
{
	for (uint32_t i = 0; i < PER_SECOND; i++) {
		uint64_t chance = hash_mix(second, i);
		int64_t ns = at_ns + (int64_t)(chance % SECOND_NS);
		put(d, CPU, ns, 0, chance);
		put(d, WALL, ns, 0, chance);
		if (i % 2)
			put(d, OFF_CPU, ns, SECOND_NS / 19, hash_mix(chance, i));
	}
}

static void fill(struct day *d, const char *dir)
{
	struct err err = { 0 };
	struct store *store;
	struct store_opts opts = { .now_ns = now_of, .ctx = d };
	check(store_open(dir, &opts, &store, &err), &err);
	struct store_dict *dict = store_dict_new(store);
	put_series(d);
	put_stacks(d);
	for (uint32_t i = 0; i < MINUTES; i += AT_ONCE) {
		d->p->meta.start_wall_ns = d->now_ns;
		d->p->samples.n = 0;
		for (uint32_t second = 0; second < AT_ONCE * 60; second++)
			put_second(d, i * 60 + second, second * SECOND_NS);
		d->now_ns += AT_ONCE * MINUTE_NS;
		struct store_batch b = { .p = d->p, .dict = dict };
		check(store_ingest(store, &b, 1, NULL, &err), &err);
		check(store_maintain(store, SECOND_NS, &err), &err);
	}
	store_dict_free(dict);
	check(store_close(store, &err), &err);
}

/* --- questions -------------------------------------------------------------------------------- */

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint32_t type_named(const struct profile *catalog, const char *name)
{
	for (uint32_t i = 0; i < catalog->series.types.n; i++)
		if (strcmp(profile_str(catalog, catalog->series.types.v[i].name), name) == 0)
			return i;
	fprintf(stderr, "lanes: no type %s\n", name);
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median. */
static double ask_ms(struct source *source, const char *type, int64_t from_ns, int64_t to_ns)
{
	const struct query q = { .source = source,
				 .type = type_named(source->ops->catalog(source), type),
				 .from_ns = from_ns,
				 .to_ns = to_ns };
	double took_ms[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		struct query_lanes lanes;
		struct err err = { 0 };
		double before = cpu_ms();
		check(query_lanes(&q, &(struct lanes_opts){ .px = PX, .lanes = LANES }, &lanes,
				  &err),
		      &err);
		took_ms[i] = cpu_ms() - before;
		if (i == 0)
			fprintf(stderr, "%s of %lld s: %u lanes, %zu buckets, %s, %.2f ms\n", type,
				(long long)((to_ns - from_ns) / SECOND_NS), lanes.n_lanes,
				lanes.buckets, lanes.is_exact ? "exact" : "windows", took_ms[i]);
		query_lanes_done(&lanes);
	}
	qsort(took_ms, ROUNDS, sizeof *took_ms, by_value);
	return took_ms[ROUNDS / 2];
}

static void compare(struct source *source, const char *type, int64_t end_ns, const char *words)
{
	double shortest = ask_ms(source, type, end_ns - 10 * SECOND_NS, end_ns);
	double quarter = ask_ms(source, type, end_ns - 15 * MINUTE_NS, end_ns);
	double day = ask_ms(source, type, end_ns - MINUTES * MINUTE_NS, end_ns);
	printf("| lanes of threads, 24 h, 1600 px, CPU time against 10 s, or 50 ms: %s "
	       "| ≤ %d× | %.3g× "
	       "(10 s: %.2f ms; 15 min: %.2f ms; 24 h: %.2f ms) | %s |\n",
	       words, MOST, day / shortest, shortest, quarter, day,
	       day <= MOST * shortest || day <= 50 ? "yes" : "no");
}

int main(int argc, char **argv)
{
	struct day d = { .p = profile_new(),
			 .now_ns = ((int64_t)clock_wall_ns() / MINUTE_NS - MINUTES) * MINUTE_NS };
	struct source *source;
	struct err err = { 0 };
	if (argc != 2) {
		fputs("usage: lanes DIR\n", stderr);
		return 2;
	}
	fill(&d, argv[1]);
	check(source_open_store(argv[1], &source, &err), &err);
	compare(source, "cpu", d.now_ns, "cpu and waits");
	compare(source, "wall", d.now_ns, "wall, whose states are in stacks");
	source_close(source);
	profile_free(d.p);
	return 0;
}
