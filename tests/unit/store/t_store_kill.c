// tier: test
// run: in memory
// tier: full CRESSET_KILL_RUNS=200
/* kill -9 while a store takes batches, makes blocks of them and removes old days: nothing that was acknowledged is lost, and nothing is there twice:
 * rows, points of metrics, exact samples of the last hours. CRESSET_KILL_RUNS: how often (20). */
#define UNIT_TIMEOUT_S 800 /* of 200 runs */

#include "base/err.h"
#include "base/vec.h"
#include "rand.h"
#include "store_numbered.h"
#include "store_world.h"
#include "unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint8_t sender[STORE_SENDER_BYTES] = "numbered";

/* Time advances with the batches: two an hour. */
static int64_t time_of(uint64_t number)
{
	return START_NS + (int64_t)number * (HOUR_NS / 2);
}

static int64_t now_of(void *ctx)
{
	return time_of(*(uint64_t *)ctx);
}

/* Series come and go: a day has some that no other day has. */
static uint32_t labels_of(struct profile *p, uint64_t number)
{
	struct sink *s = profile_sink(p);
	char id[32];

	snprintf(id, sizeof id, "%llu", (unsigned long long)number / 20);
	struct label l = { .key = sink_string(s, "container_id"), .str = sink_string(s, id) };
	return s->ops->labels(s, &l, 1);
}

/* The values of its samples tell batch `number` from all others. It reaches into the hour before, and at midnight into the day before. Some are
 * large, to be killed while they are written. */
static struct profile *numbered(uint64_t number)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples") };
	struct series series = { .type = s->ops->type(s, &type), .labels = labels_of(p, number) };
	uint32_t id = s->ops->series(s, &series);
	char name[32];

	for (int i = 0; i < (number % 10 ? 20 : 2000); i++) {
		snprintf(name, sizeof name, "fn%llu", (unsigned long long)(number + i) % 3000);
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(s, name) };
		uint32_t frame = s->ops->frame(s, &f);
		struct sample sample = { .time_ns = time_of(number) - i % 20 * (HOUR_NS / 15),
					 .value = (int64_t)number,
					 .series = id,
					 .stack = s->ops->stack(s, &frame, 1) };
		s->ops->sample(s, &sample);
	}
	return p;
}

/* Its points: one now, one in the hour before. p: the batch. */
static void numbered_points(struct profile *p, uint64_t number, struct metric_samples *out)
{
	uint32_t id = metric_series(p, "memory", "bytes", METRIC_GAUGE, labels_of(p, number));

	for (int i = 0; i < 2; i++)
		vec_push(out, (struct metric_sample){ id, time_of(number) - i * HOUR_NS,
						      (double)number + 0.5 * i });
}

static const struct numbered_batches batches = { numbered, numbered_points, 20 };

static struct store_opts opts_at(uint64_t *number)
{
	return (struct store_opts){
		.now_ns = now_of, .ctx = number, .memory_bytes = 4 << 20, .retention_ns = DAY_NS
	};
}

/* The child reports each number once it is acknowledged. */
static void ingest_for_ever(const char *dir, uint64_t from, int to_parent)
{
	uint64_t number = from;
	struct store_opts opts = opts_at(&number);
	struct store *s;

	if (store_open(dir, &opts, &s, NULL))
		_exit(1);
	for (;; number++) {
		struct profile *p = numbered(number);
		struct metric_samples points = { 0 };
		struct store_batch b = {
			.p = p, .sender = sender, .sequence = number, .metrics = &points
		};
		numbered_points(p, number, &points);
		if (store_ingest(s, &b, 1, NULL, NULL) ||
		    write(to_parent, &number, sizeof number) != sizeof number)
			_exit(2);
		profile_free(p);
		vec_done(&points);
		if (store_maintain(s, SECOND_NS / 100, NULL) < 0)
			_exit(3);
	}
}

/* Runs a child until it is killed; returns the last number it reported. */
static uint64_t run_child(const char *dir, uint64_t from, int64_t life_ns)
{
	uint64_t said = from - 1, number;
	int fds[2], status;

	ck_assert_int_eq(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		ingest_for_ever(dir, from, fds[1]);
	}
	close(fds[1]);
	struct timespec life = { life_ns / SECOND_NS, life_ns % SECOND_NS };
	nanosleep(&life, NULL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
	while (read(fds[0], &number, sizeof number) == sizeof number) {
		ck_assert_uint_eq(number, said + 1);
		said = number;
	}
	close(fds[0]);
	return said;
}

static void check_integrity(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL),
			 SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
	ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void tally_numbered(struct tally *t, uint64_t number, int64_t kept_ns)
{
	struct profile *p = numbered(number);

	tally_batch(t, p, kept_ns);
	profile_free(p);
}

/* Checks the batches up to `said`, or one more: it may have been synced but not reported. Returns the last one that is there. */
static uint64_t check_rows(struct store *s, uint64_t said)
{
	struct tally want = { 0 }, have = { 0 };
	int64_t kept_ns = s->kept_from_ns;

	for (uint64_t i = 1; i <= said; i++)
		if (time_of(i) >= kept_ns)
			tally_numbered(&want, i, kept_ns);
	tally_kept(&have, s);
	if (tally_total(&have) != tally_total(&want))
		tally_numbered(&want, ++said, kept_ns);
	ck_assert_uint_eq(tally_diff(&want, &have), 0);
	ck_assert_int_eq(tally_total(&want), tally_total(&have));
	tally_done(&want);
	tally_done(&have);
	return said;
}

static int check_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t len = strlen(path);

	(void)st, (void)ftw;
	if (type == FTW_F && len > 3 && strcmp(path + len - 3, ".db") == 0)
		check_integrity(path);
	return 0;
}

/* Opens what is left; returns the last batch that is there. */
static uint64_t check_store(const char *dir, uint64_t said, double *slowest_s)
{
	struct store_opts opts = opts_at(&said);
	struct store *s;
	struct err err = { 0 };
	double start = seconds();

	ck_assert_msg(store_open(dir, &opts, &s, &err) == 0, "%s", err.text);
	double took = seconds() - start;
	*slowest_s = took > *slowest_s ? took : *slowest_s;
	uint64_t last = check_rows(s, said);
	check_numbered(s, &batches, last, last ? time_of(last) : 0);
	store_abandon(s);
	ck_assert_int_eq(nftw(dir, check_file, 16, FTW_PHYS), 0);
	return last;
}

START_TEST(nothing_acknowledged_is_lost_or_there_twice)
{
	const char *wanted = getenv("CRESSET_KILL_RUNS");
	long runs = wanted ? strtol(wanted, NULL, 10) : 20;
	char dir[] = "/tmp/t_kill.XXXXXX";
	struct rng rng = { wanted ? (uint64_t)time(NULL) * 2 + 1 : 1 };
	double slowest_s = 0;
	uint64_t last = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	printf("seed %llu\n", (unsigned long long)rng.state);
	for (long run = 0; run < runs; run++) {
		int64_t life_ns = SECOND_NS / 50 + (int64_t)rng_below(&rng, SECOND_NS / 4);
		uint64_t said = run_child(dir, last + 1, (int64_t)t_slow_ns(life_ns));
		last = check_store(dir, said, &slowest_s);
	}
	printf("%llu batches, %ld times killed, opened again in %.0f ms at most\n",
	       (unsigned long long)last, runs, slowest_s * 1e3);
	ck_assert_uint_gt(last, (uint64_t)runs);
	ck_assert_double_le(slowest_s, t_slow_ns(SECOND_NS) / 1e9);
	ck_assert_int_eq(nftw(dir, store_world_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

UNIT_MAIN("store_kill", nothing_acknowledged_is_lost_or_there_twice)
