// tier: test
// tier: full CRESSET_KILL_RUNS=60
/* A real spool and a real server: the sending process and the server are killed in turn, at any moment. Each batch taken into the spool is in the
 * server's store once. CRESSET_KILL_RUNS: number of kills (6). */
#define UNIT_TIMEOUT_S 1200 /* of 60 runs */

#include "numbered_message.h"
#include "rand.h"
#include "real_server.h"
#include "shell.h"

#include "agent/sender.h"
#include "agent/spool.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <time.h>

enum { SAMPLES = 3, ADD_EVERY_MS = 5 };
static const uint8_t collector[SPOOL_ID_BYTES] = "collector";

struct world {
	char dir[40];
	uint16_t port;
	int64_t start_ns; /* of all samples: exact ones are kept for the last hours only */
	pid_t server, agent;
	int from_agent;
	uint64_t added; /* the last number taken into the spool, as reported by the agent */
};

static void wait_ms(int64_t ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void kill_one(pid_t *pid)
{
	int status;

	if (!*pid)
		return;
	kill(*pid, SIGKILL);
	ck_assert_int_eq(waitpid(*pid, &status, 0), *pid);
	ck_assert_msg(WIFSIGNALED(status), "it ended by itself: %d", WEXITSTATUS(status));
	*pid = 0;
}

static void start_server(struct world *w)
{
	w->server = server_start_on(w->dir, w->port, "256M");
}

/* --- the agent -------------------------------------------------------------------------------- */

static void add(struct spool *s, uint64_t number, int64_t now_ns)
{
	struct buf m = numbered_message(number, SAMPLES, now_ns);
	struct spool_source source = { .sequence = number };

	memcpy(source.id, collector, sizeof source.id);
	const struct spool_message message = { .data = m.data,
					       .len = m.len,
					       .samples = SAMPLES,
					       .source = &source,
					       .now_ns = now_ns };
	if (spool_add(s, &message, NULL, NULL))
		_exit(3);
	buf_done(&m);
}

/* Gives each batch again, as a collector does that has not received an acknowledgement. n: number of batches; then waits until all are sent. */
static void be_agent(const struct world *w, uint64_t from, uint64_t n, int to_parent)
{
	char url[64], dir[64];
	struct sender *sender;
	struct spool *s;

	snprintf(url, sizeof url, "http://127.0.0.1:%u/", w->port);
	snprintf(dir, sizeof dir, "%s/spool", w->dir);
	const struct spool_opts opts = { .dir = dir, .max_bytes = 64 << 20 };
	const struct sender_opts to = { .url = url };
	log_set_level(LOG_QUIET);
	if (spool_open(&opts, &s, NULL, NULL) || sender_start(s, &to, &sender, NULL))
		_exit(2);
	for (uint64_t number = from; number < from + n; number++) {
		add(s, number, w->start_ns);
		if (write(to_parent, &number, sizeof number) != sizeof number)
			_exit(4);
		sender_wake(sender);
		wait_ms(ADD_EVERY_MS);
	}
	struct spool_status status;
	do {
		sender_set_token(sender, ""); /* it tries at once */
		wait_ms(50);
		spool_status(s, &status);
	} while (status.waiting);
	if (!sender_stop(sender, 1000000000))
		_exit(5);
	spool_close(s);
	_exit(status.counts.dropped || status.counts.refused ? 6 : 0);
}

static void start_agent(struct world *w, uint64_t n)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	uint64_t from = w->added + 1;
	w->agent = fork();
	if (!w->agent) {
		close(fds[0]);
		be_agent(w, from, n, fds[1]);
	}
	close(fds[1]);
	w->from_agent = fds[0];
}

static void hear_agent(struct world *w)
{
	uint64_t number;

	while (read(w->from_agent, &number, sizeof number) == sizeof number)
		w->added = number;
	close(w->from_agent);
}

/* --- the test --------------------------------------------------------------------------------- */

static void check_store(const struct world *w)
{
	char *text =
		shell("%s sql -q --data %s/data --format csv 'SELECT value, count(*) FROM samples "
		      "GROUP BY value ORDER BY value' | tail -n +2 | tr -d '\\r'",
		      program(), w->dir);
	const char *at = text;
	uint64_t number = 0;

	for (; *at; at += strcspn(at, "\n") + 1) {
		unsigned long long value, n;

		ck_assert_msg(sscanf(at, "%llu,%llu", &value, &n) == 2, "%s", at);
		ck_assert_uint_eq(value, ++number);
		ck_assert_msg(n == SAMPLES, "batch %llu has %llu samples", value, n);
	}
	ck_assert_uint_eq(number, w->added);
	free(text);
}

START_TEST(whoever_is_killed_each_sample_is_there_once)
{
	const char *runs = getenv("CRESSET_KILL_RUNS");
	struct world w = { .dir = "/tmp/t_agent_kill.XXXXXX",
			   .port = free_port(),
			   .start_ns = (int64_t)clock_wall_ns() };
	struct rng rng = { 5 };
	int status;

	ck_assert_ptr_nonnull(mkdtemp(w.dir));
	shell_do("mkdir %s/spool", w.dir);
	start_server(&w);
	start_agent(&w, UINT32_MAX);
	for (int run = 0; run < (runs ? atoi(runs) : 6); run++) {
		wait_ms(100 + (int64_t)rng_below(&rng, 900));
		if (run % 2) {
			kill_one(&w.server);
			wait_ms((int64_t)rng_below(&rng, 300));
			start_server(&w);
		} else {
			kill_one(&w.agent);
			hear_agent(&w);
			start_agent(&w, UINT32_MAX);
		}
	}
	kill_one(&w.agent);
	hear_agent(&w);
	start_agent(&w, 10);
	ck_assert_int_eq(waitpid(w.agent, &status, 0), w.agent);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the agent ends with %d",
		      WEXITSTATUS(status));
	hear_agent(&w);
	server_end(w.server);
	check_store(&w);
	shell_do("rm -rf %s", w.dir);
}
END_TEST

UNIT_MAIN("agent_kill", whoever_is_killed_each_sample_is_there_once)
