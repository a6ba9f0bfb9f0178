// tier: test
#include "rand.h"
#include "shell.h"

#include "base/err.h"
#include "base/fs.h"
#include "format/otlp/otlp_metrics.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "store/codec/metric.h"
#include "store/codec/metric_samples.h"
#include "store/codec/metric_steps.h"

#include <errno.h>

static bool has_protoc(void)
{
	char *found = shell("command -v protoc || true");
	bool has = *found;
	free(found);
	return has;
}

struct read_metrics {
	struct profile *p;
	struct otlp_metrics m;
};

static struct read_metrics decoded(const struct buf *b)
{
	struct read_metrics r = { .p = profile_new() };
	struct err err = { 0 };
	ck_assert_msg(otlp_metrics_decode(b->data, b->len, r.p, &r.m, &err) == 0, "%s", err.text);
	return r;
}

static void read_done(struct read_metrics *r)
{
	otlp_metrics_done(&r->m);
	profile_free(r->p);
}

static struct read_metrics golden(void)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, "tests/golden/otlp/metrics.bin", 1 << 20, &b, NULL),
			 0);
	struct read_metrics r = decoded(&b);
	buf_done(&b);
	return r;
}

/* "name unit kind label=value … time value" of each point, in the order of their series. */
static char *spelled(const struct read_metrics *r)
{
	static const char *const kinds[] = { "gauge", "counter", "increments" };
	struct buf b = { 0 };
	for (uint32_t i = 0; i < r->m.series.n; i++) {
		const struct otlp_series *s = &r->m.series.v[i];
		const struct series_table *t = &r->p->series;
		struct label_set set = s->labels ? t->sets.v[s->labels] : (struct label_set){ 0 };
		buf_addf(&b, "%s %s %s", profile_str(r->p, s->name), profile_str(r->p, s->unit),
			 kinds[s->kind]);
		for (uint32_t k = 0; k < set.n; k++) {
			const struct label *l = &t->labels.v[set.first + k];
			buf_addf(&b, " %s=", profile_str(r->p, l->key));
			if (l->is_num)
				buf_addf(&b, "%lld", (long long)l->num);
			else
				buf_adds(&b, profile_str(r->p, l->str));
		}
		for (size_t k = 0; k < r->m.points.n; k++)
			if (r->m.points.v[k].series == i)
				buf_addf(&b, " %lld+%lld:%.17g",
					 (long long)r->m.points.v[k].start_ns,
					 (long long)r->m.points.v[k].time_ns,
					 r->m.points.v[k].value);
		buf_addc(&b, '\n');
	}
	return buf_steal(&b);
}

START_TEST(one_of_each_kind)
{
	struct read_metrics r = golden();
	char *text = spelled(&r);
	ck_assert_str_eq(text,
			 "memory.used By gauge host=db7 state=free 0+1700000000000000000:-5\n"
			 "memory.used By gauge host=db7 cpu=3 0+1700000001000000000:0.5\n"
			 "requests  counter host=db7 0+1700000000000000000:10\n"
			 "queue  gauge host=db7 0+1700000000000000000:3\n"
			 "events  increments host=db7 1699999990000000000+1700000000000000000:4\n");
	ck_assert_uint_eq(r.m.refused[REFUSED_HISTOGRAM], 2);
	ck_assert_uint_eq(r.m.refused[REFUSED_SUMMARY], 1);
	ck_assert_uint_eq(r.m.refused[REFUSED_NO_VALUE], 1);
	ck_assert_uint_eq(r.m.refused[REFUSED_NO_TIME], 1);
	ck_assert_uint_eq(r.m.refused[REFUSED_FALLING], 1);
	ck_assert_uint_eq(r.m.refused[REFUSED_NO_START], 2);
	ck_assert_uint_eq(otlp_metrics_refused(&r.m), 8);
	free(text);
	read_done(&r);
}
END_TEST

START_TEST(golden_file_is_what_protoc_makes_of_its_text)
{
	if (!has_protoc())
		T_SKIP("protoc is not installed");
	char *said = shell("cd tests/golden/otlp && protoc --encode=otlp.MetricsData metrics.proto "
			   "<metrics.txt | cmp - metrics.bin && echo same");
	ck_assert_str_eq(said, "same\n");
	free(said);
}
END_TEST

static struct read_metrics random_metrics(uint64_t seed)
{
	static const char *const names[] = { "cpu", "memory", "disk" }, *const units[] = { "",
											   "By" };
	static const char *const keys[] = { "host", "state", "service.name", "process" };
	struct rng rng = { seed * 0x9e3779b97f4a7c15ull + 1 };
	struct read_metrics r = { .p = profile_new() };
	struct sink *s = profile_sink(r.p);
	for (int i = 0; i < 200; i++) {
		struct label labels[2];
		for (int k = 0; k < 2; k++)
			labels[k] =
				(struct label){ .key = sink_string(s, keys[rng_below(&rng, 4)]),
						.str = sink_string(s, names[rng_below(&rng, 3)]) };
		struct otlp_series series = { .name = sink_string(s, names[rng_below(&rng, 3)]),
					      .unit = sink_string(s, units[rng_below(&rng, 2)]),
					      .kind = rng_below(&rng, 3) };
		series.labels = s->ops->labels(s, labels, rng_below(&rng, 3));
		struct otlp_point point = { otlp_series_intern(&r.m, &series),
					    1700000000000000000 + rng_below(&rng, 1000),
					    rng_below(&rng, 100) / 7.0, 0 };
		if (series.kind == OTLP_INCREMENTS)
			point.start_ns = point.time_ns - 1 - rng_below(&rng, 1000);
		vec_push(&r.m.points, point);
	}
	return r;
}

static int line_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Series come in another order, so lines are sorted. */
static char *sorted(char *text)
{
	char *lines[512], *save = NULL;
	size_t n = 0;
	struct buf b = { 0 };
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	qsort(lines, n, sizeof *lines, line_cmp);
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%s\n", lines[i]);
	free(text);
	return buf_steal(&b);
}

START_TEST(written_metrics_are_read)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct read_metrics r = random_metrics(seed);
		struct buf b = { 0 };
		otlp_metrics_encode(&r.m, r.p, &b);
		struct read_metrics again = { .p = r.p };
		ck_assert_int_eq(otlp_metrics_decode(b.data, b.len, r.p, &again.m, NULL), 0);
		char *x = sorted(spelled(&r)), *y = sorted(spelled(&again));
		ck_assert_str_eq(x, y);
		ck_assert_uint_eq(otlp_metrics_refused(&again.m), 0);
		free(x);
		free(y);
		buf_done(&b);
		otlp_metrics_done(&again.m);
		read_done(&r);
	}
}
END_TEST

START_TEST(protoc_knows_every_field)
{
	char dir[32], path[64];
	if (!has_protoc())
		T_SKIP("protoc is not installed");
	temp_dir(dir);
	struct read_metrics r = random_metrics(7);
	struct buf b = { 0 };
	otlp_metrics_encode(&r.m, r.p, &b);
	snprintf(path, sizeof path, "%s/out", dir);
	FILE *f = fopen(path, "w");
	ck_assert(f && fwrite(b.data, b.len, 1, f) == 1 && fclose(f) == 0);
	char *said =
		shell("cd tests/golden/otlp && protoc --decode=otlp.MetricsData metrics.proto <%s "
		      "| tee %s/text | protoc --encode=otlp.MetricsData metrics.proto | cmp - %s "
		      "&& grep -c as_double %s/text",
		      path, dir, path, dir);
	ck_assert_str_eq(said, "200\n");
	free(said);
	shell_do("rm -r %s", dir);
	buf_done(&b);
	read_done(&r);
}
END_TEST

START_TEST(responses)
{
	struct buf b = { 0 };
	otlp_answer_encode(0, NULL, &b);
	otlp_answer_encode(0, "", &b);
	ck_assert_uint_eq(b.len, 0);
	otlp_answer_encode(300, "no", &b);
	ck_assert_uint_eq(b.len, 9);
	ck_assert_int_eq(memcmp(b.data, "\x0a\x07\x08\xac\x02\x12\x02no", 9), 0);
	buf_done(&b);
}
END_TEST

START_TEST(damage_is_an_error)
{
	struct read_metrics r = { .p = profile_new() };
	struct err err = { 0 };
	ck_assert_int_eq(otlp_metrics_decode("\x0a\x05", 2, r.p, &r.m, &err), -EBADMSG);
	ck_assert_int_eq(otlp_metrics_decode(NULL, 0, r.p, &r.m, &err), 0);
	read_done(&r);
}
END_TEST

static void add_increment(struct read_metrics *r, const struct otlp_series *series,
			  int64_t start_ns, int64_t time_ns, double value)
{
	const struct otlp_point point = { otlp_series_intern(&r->m, series), time_ns, value,
					  start_ns };
	vec_push(&r->m.points, point);
}

/* A counter reset is not slowness. */
static void check_slowest(const struct metric_points *all)
{
	const struct metric_steps_opts opts = { .kind = METRIC_COUNTER,
						.reduction = METRIC_MIN,
						.from_ns = 100000000000,
						.step_ns = 30000000000,
						.n = 1 };
	struct metric_steps steps;
	double least;
	metric_steps_init(&steps, &opts);
	metric_steps_add(&steps, all->v, all->n);
	metric_steps_get(&steps, &least);
	ck_assert_double_eq_tol(least, 2, 1e-6);
	metric_steps_done(&steps);
}

/* Increments, some of them twice, one late and one missing: each step grew by the points that are there, and none of it is remembered. */
START_TEST(increments_are_growth)
{
	enum { S = 1000000000 };
	struct read_metrics r = { .p = profile_new() };
	struct metric_samples points = { 0 };
	struct metric_points all = { 0 };
	struct metric_steps steps;
	struct otlp_series series = { .name = sink_string(profile_sink(r.p), "events"),
				      .kind = OTLP_INCREMENTS };
	double rates[6];
	const struct metric_steps_opts opts = { .kind = METRIC_COUNTER,
						.reduction = METRIC_RATE,
						.from_ns = 100ll * S,
						.step_ns = 10ll * S,
						.n = 6 };
	add_increment(&r, &series, 100ll * S, 110ll * S, 50);
	add_increment(&r, &series, 120ll * S, 130ll * S, 20);
	add_increment(&r, &series, 110ll * S, 120ll * S, 70);
	add_increment(&r, &series, 110ll * S, 120ll * S, 70);
	add_increment(&r, &series, 140ll * S, 150ll * S, 5);
	add_increment(&r, &series, 150ll * S, 150ll * S + 1, 10);
	otlp_metrics_points(&r.m, r.p, &points);
	ck_assert_int_eq(metric_samples_check(&points, r.p, NULL), 0);
	for (size_t i = 0; i < points.n; i++)
		vec_push(&all, (struct metric_point){ points.v[i].time_ns, points.v[i].value });
	metric_points_order(&all);
	metric_steps_init(&steps, &opts);
	metric_steps_add(&steps, all.v, all.n);
	metric_steps_get(&steps, rates);
	const double want[] = { 5, 7, 2, 0, 0.5 };
	for (int i = 0; i < 5; i++)
		ck_assert_double_eq_tol(rates[i], want[i], 1e-6);
	metric_steps_done(&steps);
	check_slowest(&all);
	vec_done(&all);
	vec_done(&points);
	read_done(&r);
}
END_TEST

UNIT_MAIN("otlp_metrics", increments_are_growth, one_of_each_kind,
	  golden_file_is_what_protoc_makes_of_its_text, written_metrics_are_read,
	  protoc_knows_every_field, responses, damage_is_an_error)
