// tier: test
/* Leaks among memory in use: a simulated program is sampled once a minute, with a stack that leaks, a cache that fills, memory from the start, and memory
 * that comes and goes. */
#include "unit.h"

#include "base/err.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "query/plan.h"
#include "query/query.h"
#include "query/selector.h"
#include "query/source.h"

#include <errno.h>
#include <math.h>

#define MINUTE  60000000000ll
#define SAMPLED 524288 /* bytes that a sample stands for */

struct simulation {
	struct profile *p;
	uint32_t type, alloc;
	uint64_t random;
};

static double uniform(struct simulation *s)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(s->random >> 11) * 0x1p-53;
}

static uint32_t poisson(struct simulation *s, double mean)
{
	double left = exp(-mean), product = 1;
	uint32_t n = 0;

	for (product *= uniform(s); product > left; product *= uniform(s))
		n++;
	return n;
}

static uint32_t label_set(struct sink *s, const char *age)
{
	struct label labels[2] = { { .key = sink_string(s, "process"), .str = sink_string(s, "p") },
				   { .key = sink_string(s, AGE_LABEL),
				     .str = sink_string(s, age) } };

	return s->ops->labels(s, labels, *age ? 2 : 1);
}

static uint32_t frame_of(struct sink *s, const char *function)
{
	struct frame f = { .kind = FRAME_JIT,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, function) };

	return s->ops->frame(s, &f);
}

static void put(struct simulation *m, uint32_t type, const char *site, const char *age,
		int64_t time_ns, uint32_t samples)
{
	struct sink *s = profile_sink(m->p);
	struct series series = { .type = type, .period = SAMPLED, .labels = label_set(s, age) };
	uint32_t frames[2] = { frame_of(s, "main"), frame_of(s, site) };
	struct sample sample = { .time_ns = time_ns,
				 .value = (int64_t)samples * SAMPLED,
				 .stack = s->ops->stack(s, frames, 2),
				 .series = s->ops->series(s, &series),
				 .pid = 7,
				 .tid = 7,
				 .cpu = SAMPLE_NO_ID };

	s->ops->sample(s, &sample);
}

static uint32_t add_type(struct sink *s, const char *name, enum aggregation aggregation)
{
	struct type t = { .name = sink_string(s, name),
			  .sample_type = sink_string(s, name),
			  .unit = sink_string(s, "bytes"),
			  .period_type = sink_string(s, name),
			  .period_unit = sink_string(s, "bytes"),
			  .aggregation = aggregation };

	return s->ops->type(s, &t);
}

/* Samples in use after a minute: each lives on with a chance, and some are new. */
static uint32_t step(struct simulation *m, uint32_t n, double lives, double fresh)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++)
		left += uniform(m) < lives;
	return left + poisson(m, fresh);
}

/* An hour. The leak is 100 MB an hour; the cache has 200 MB after a third of it, and replaces a tenth each minute. */
static struct simulation simulate(uint64_t seed, const char *age)
{
	struct simulation m = { .p = profile_new(), .random = seed };
	struct sink *s = profile_sink(m.p);
	uint32_t leak = 0, cache = 0, kept = 800, passing = 100;

	m.type = add_type(s, "inuse", AGG_SNAPSHOT);
	m.alloc = add_type(s, "alloc", AGG_SUM);
	s->ops->meta(s)->duration_ns = 61 * MINUTE;
	for (int minute = 0; minute <= 60; minute++) {
		uint32_t fresh = poisson(&m, 100e6 / SAMPLED / 60);

		leak += fresh;
		cache = minute < 20 ? cache + poisson(&m, 20) : step(&m, cache, .9, 40);
		passing = step(&m, passing, .5, 50);
		put(&m, m.type, "leaks", age, minute * MINUTE, leak);
		put(&m, m.type, "caches", age, minute * MINUTE, cache);
		put(&m, m.type, "keeps", age, minute * MINUTE, kept);
		put(&m, m.type, "passes", age, minute * MINUTE, passing);
		put(&m, m.alloc, "leaks", "", minute * MINUTE, 2 * fresh);
	}
	return m;
}

static struct query query_of(struct source *s, uint32_t type)
{
	struct query q = { .source = s, .type = type };

	s->ops->range(s, &q.from_ns, &q.to_ns);
	return q;
}

START_TEST(the_leak_and_nothing_else)
{
	double sum = 0;
	int inside = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct simulation m = simulate(seed, "older");
		struct source *s = source_of_profile(m.p);
		struct query q = query_of(s, m.type);
		struct query_leaks l;
		struct err err = { 0 };

		ck_assert_msg(query_leaks(&q, AGE_1H, &l, &err) == 0, "%s", err.text);
		ck_assert_msg(l.n == 1, "seed %d: %zu, the second: %s", (int)seed, l.n,
			      l.n > 1 ? l.v[1].stack : "-");
		ck_assert_str_eq(l.v->stack, "main;leaks");
		ck_assert_str_eq(l.v->process, "p");
		ck_assert_int_eq(l.v->to_ns - l.v->from_ns, 60 * MINUTE);
		ck_assert_double_eq_tol(l.v->survives, .5, .05);
		sum += l.v->per_hour;
		inside += l.v->per_hour_low <= 100e6 && l.v->per_hour_high >= 100e6;
		query_leaks_done(&l);
		source_close(s);
		profile_free(m.p);
	}
	ck_assert_double_eq_tol(sum / 20, 100e6, 5 * sqrt(100e6 * SAMPLED / 20));
	ck_assert_int_ge(inside, 16);
}
END_TEST

/* Young memory does not count: unless its age is unknown, or it is requested. */
START_TEST(ages)
{
	static const struct {
		const char *age;
		enum age least;
		size_t leaks;
	} all[] = {
		{ "1m", AGE_10M, 0 }, { "1m", AGE_1M, 1 },  { "10m", AGE_10M, 1 },
		{ "10m", AGE_1H, 0 }, { "", AGE_OLDER, 1 },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct simulation m = simulate(1, all[i].age);
		struct source *s = source_of_profile(m.p);
		struct query q = query_of(s, m.type);
		struct query_leaks l;

		ck_assert_int_eq(query_leaks(&q, all[i].least, &l, NULL), 0);
		ck_assert_uint_eq(l.n, all[i].leaks);
		query_leaks_done(&l);
		source_close(s);
		profile_free(m.p);
	}
}
END_TEST

/* One stack of a process, with this many samples at each minute. */
static size_t leaks_of(uint32_t (*samples)(int minute), const char *age, enum age least,
		       int from_minute)
{
	struct simulation m = { .p = profile_new(), .random = 1 };
	struct sink *s = profile_sink(m.p);

	m.type = add_type(s, "inuse", AGG_SNAPSHOT);
	s->ops->meta(s)->duration_ns = 61 * MINUTE;
	put(&m, m.type, "other", "", 0, 1); /* the range starts */
	for (int minute = from_minute; minute <= 60; minute++)
		put(&m, m.type, "site", age, minute * MINUTE, samples(minute));
	struct source *source = source_of_profile(m.p);
	struct query q = query_of(source, m.type);
	struct query_leaks l;
	q.from_ns = 0;
	ck_assert_int_eq(query_leaks(&q, least, &l, NULL), 0);
	size_t n = l.n;
	query_leaks_done(&l);
	source_close(source);
	profile_free(m.p);
	return n;
}

static uint32_t grows(int minute)
{
	return 10 * minute;
}
static uint32_t steps(int minute)
{
	return minute < 36 ? 100 : 800;
}
static uint32_t doubles(int minute)
{
	return minute < 15 ? 200 : minute < 38 ? 400 : 800;
}
static uint32_t in_stairs(int minute)
{
	return minute / 5 * 50;
}
static uint32_t ends(int minute)
{
	return minute < 50 ? 10 * minute : 0;
}
static uint32_t sinks(int minute)
{
	return 10 * (60 - minute);
}

START_TEST(shapes)
{
	ck_assert_uint_eq(leaks_of(grows, "", AGE_1M, 0), 1);
	ck_assert_uint_eq(leaks_of(in_stairs, "", AGE_1M, 0),
			  1); /* Go counts at the end of a collection */
	ck_assert_uint_eq(leaks_of(ends, "", AGE_1M, 0), 1); /* the process ends */
	ck_assert_uint_eq(leaks_of(steps, "", AGE_1M, 0), 0);
	ck_assert_uint_eq(leaks_of(doubles, "", AGE_1M, 0), 0);
	ck_assert_uint_eq(leaks_of(sinks, "", AGE_1M, 0), 0);
	/* A process that starts in the range. */
	ck_assert_uint_eq(leaks_of(grows, "older", AGE_1M, 20), 1);
}
END_TEST

/* Two processes of one name, and one of them is chosen. */
START_TEST(processes)
{
	struct simulation m = simulate(1, "");
	struct sink *s = profile_sink(m.p);
	struct series series = { .type = m.type, .period = SAMPLED, .labels = label_set(s, "") };
	uint32_t frames[2] = { frame_of(s, "main"), frame_of(s, "other") };

	for (int minute = 0; minute <= 60; minute++) {
		struct sample sample = { .time_ns = minute * MINUTE,
					 .value = (int64_t)minute * 10 * SAMPLED,
					 .stack = s->ops->stack(s, frames, 2),
					 .series = s->ops->series(s, &series),
					 .pid = 8,
					 .tid = 8,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
	static const char *const selectors[] = { "inuse{pid=\"7\"}", "inuse{pid=\"8\"}",
						 "inuse{}" };
	static const size_t want[] = { 1, 1, 2 };
	struct source *source = source_of_profile(m.p);
	for (int i = 0; i < 3; i++) {
		struct selector *selector;
		struct query q = query_of(source, m.type);
		struct query_leaks l;

		ck_assert_int_eq(selector_parse(selectors[i], &selector, NULL), 0);
		q.selector = selector;
		ck_assert_int_eq(query_leaks(&q, AGE_1M, &l, NULL), 0);
		ck_assert_uint_eq(l.n, want[i]);
		if (i < 2)
			ck_assert_uint_eq(l.v->pid, 7 + i);
		ck_assert(!l.by_name);
		query_leaks_done(&l);
		selector_free(selector);
	}
	source_close(source);
	profile_free(m.p);
}
END_TEST

START_TEST(refused)
{
	struct simulation m = simulate(1, "");
	struct source *s = source_of_profile(m.p);
	struct query q = query_of(s, m.alloc);
	struct query_leaks l;
	struct err err = { 0 };

	ck_assert_int_eq(query_leaks(&q, AGE_1M, &l, &err), -EINVAL);
	query_leaks_done(&l);
	q = query_of(s, m.type);
	q.to_ns = q.from_ns + 4 * MINUTE; /* four snapshots */
	ck_assert_int_eq(query_leaks(&q, AGE_1M, &l, &err), -ENODATA);
	query_leaks_done(&l);
	struct selector *other;
	ck_assert_int_eq(selector_parse("inuse{process=\"q\"}", &other, &err), 0);
	q = query_of(s, m.type);
	q.selector = other;
	ck_assert_int_eq(query_leaks(&q, AGE_1M, &l, &err), 0);
	ck_assert_uint_eq(l.n, 0);
	query_leaks_done(&l);
	selector_free(other);
	source_close(s);
	profile_free(m.p);
}
END_TEST

UNIT_MAIN("leaks", the_leak_and_nothing_else, ages, shapes, processes, refused)
