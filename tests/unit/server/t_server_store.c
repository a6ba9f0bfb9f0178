// tier: test
/* A store that is served while it is written: each request sees what was acknowledged before it. */
#include "unit.h"

#include "base/err.h"
#include "random_profile.h"
#include "raw_http.h"
#include "store/codec/store.h"

#include <ftw.h>

#define SECOND_NS INT64_C(1000000000)
enum { BATCHES = 20, ROWS = 200 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* Samples within the last minute. */
static struct profile *batch(uint64_t seed, int64_t now_ns)
{
	struct random_profile r =
		random_profile(seed, (struct random_shape){ .n_stacks = 40, .n_samples = ROWS });
	struct sample_columns *c = &r.p->samples;
	for (size_t i = 0; i < c->n; i++)
		c->time_ns[i] = now_ns - (int64_t)rng_below(&r.rng, 60 * SECOND_NS);
	r.p->meta.start_mono_ns = 0;
	r.p->meta.start_wall_ns = 0;
	return r.p;
}

/* The sum of all samples, by SQL and by the API. */
static long long sum_by_sql(const struct world *w)
{
	static const char request[] = "POST /api/v1/sql?fmt=csv HTTP/1.1\r\nHost: localhost\r\n"
				      "Content-Length: 48\r\n\r\n"
				      "SELECT coalesce(sum(value), 0) AS s FROM samples";
	char *answer = fetch(w, request);
	const char *at = strstr(answer, "\r\n\r\ns");
	ck_assert_msg(status_of(answer) == 200 && at, "%s", answer);
	long long sum = strtoll(at + strcspn(at + 4, "\n") + 5, NULL, 10);
	free(answer);
	return sum;
}

START_TEST(new_data_shows)
{
	char dir[] = "/tmp/t_server_store.XXXXXX";
	int64_t now_ns = (int64_t)clock_wall_ns();
	struct store *store;
	struct err err = { 0 };
	struct world w = { 0 };
	long long sum = 0;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(store_open(dir, &(struct store_opts){ 0 }, &store, &err), 0);
	struct server_opts opts = { .listen = "127.0.0.1:0", .path = dir, .per_s = 1000000 };
	ck_assert_msg(server_start(&opts, &w.server, &err) == 0, "%s", err.text);
	w.port = server_port(w.server);
	ck_assert_int_eq(sum_by_sql(&w), 0);
	for (uint64_t i = 0; i < BATCHES; i++) {
		struct store_batch b = { .p = batch(i + 1, now_ns) };
		for (size_t row = 0; row < b.p->samples.n; row++)
			sum += b.p->samples.value[row];
		ck_assert_msg(store_ingest(store, &b, 1, NULL, &err) == 0, "%s", err.text);
		profile_free(b.p);
		ck_assert_int_eq(sum_by_sql(&w), sum);
	}
	uint64_t start_ns = clock_mono_ns();
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(
			status(&w, "GET /api/v1/types HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
	fprintf(stderr, "a view: %.2f ms\n", (clock_mono_ns() - start_ns) / 20e6);
	ck_assert_int_eq(store_close(store, &err), 0); /* heads become blocks */
	ck_assert_int_eq(sum_by_sql(&w), sum);
	server_stop(w.server);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

UNIT_MAIN("server_store", new_data_shows)
