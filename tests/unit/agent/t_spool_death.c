// tier: test
// tier: full CRESSET_KILL_RUNS=200
/* The spool when its process is killed at any moment. CRESSET_KILL_RUNS: number of kills (20). */
#include "base/buf.h"
#include "rand.h"
#include "spool_place.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* --- death ------------------------------------------------------------------------------------ */

struct said {
	uint64_t added, sent; /* the last ones */
};

/* Reports what the collector and the server would see: the last number added, and the acknowledged ones. */
static void use_for_ever(const char *dir, uint64_t from, int to_parent, struct rng rng)
{
	const struct spool_opts opts = { .dir = dir, .max_bytes = ROOMY };
	struct said said = { from - 1, 0 };
	struct spool *s;

	if (spool_open(&opts, &s, NULL, NULL))
		_exit(1);
	for (;;) {
		if (rng_below(&rng, 2)) {
			if (try_add(s, said.added + 1, 5, NULL))
				_exit(2);
			said.added++;
		} else {
			struct spool_entry e;
			int rc = spool_first(s, &e, NULL);

			if (rc < 0 || (rc > 0 && spool_sent(s, e.id, NULL, NULL)))
				_exit(3);
			said.sent = rc > 0 ? e.id : said.sent;
			buf_done(&e.packed);
		}
		if (write(to_parent, &said, sizeof said) != sizeof said)
			_exit(4);
	}
}

static struct said run_child(const char *dir, struct said before, int64_t life_us, uint64_t seed)
{
	struct said last = before, now;
	int fds[2], status;

	ck_assert_int_eq(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		use_for_ever(dir, before.added + 1, fds[1], (struct rng){ seed });
	}
	close(fds[1]);
	nanosleep(&(struct timespec){ .tv_nsec = life_us * 1000 }, NULL);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
	while (read(fds[0], &now, sizeof now) == sizeof now) {
		last.added = now.added;
		last.sent = now.sent ? now.sent : last.sent;
	}
	close(fds[0]);
	return last;
}

/* After each kill: what was added is there, what was acknowledged is not, with at most one more of each. */
START_TEST(death_loses_nothing)
{
	const char *runs = getenv("CRESSET_KILL_RUNS");
	struct rng rng = { 99 };
	struct said said = { 0 };
	struct place w;

	place_init(&w, ROOMY);
	for (int run = runs ? atoi(runs) : 20; run > 0; run--) {
		struct spool_entry e;
		struct spool_status status;

		spool_close(w.spool);
		w.spool = NULL;
		said = run_child(w.dir, said, 20000 + (int64_t)rng_below(&rng, 150000),
				 rng_next(&rng) | 1);
		ck_assert(!reopen(&w, ROOMY));
		spool_status(w.spool, &status);
		ck_assert_uint_ge(status.counts.added, said.added);
		ck_assert_uint_le(status.counts.added, said.added + 1);
		said.added = status.counts.added;
		ck_assert_uint_eq(status.waiting + status.counts.sent, said.added);
		if (spool_first(w.spool, &e, NULL) > 0) {
			ck_assert_uint_gt(e.id, said.sent);
			ck_assert_uint_le(e.id, said.sent + 2);
			ck_assert_uint_eq(number_in(w.spool, &e), e.id);
			ck_assert_uint_eq(spool_number(w.spool, e.id), e.id);
			buf_done(&e.packed);
		}
	}
	uint64_t id, n = 0;
	while (take(&w, &id))
		n++;
	ck_assert_uint_le(n, said.added);
	place_done(&w);
}
END_TEST

UNIT_MAIN("spool_death", death_loses_nothing)
