// tier: test
/* Which lives of processes are brief: sequences of records with a known outcome, and random ones compared with a simulation that knows every thread. */
#include "collect/kernel/side_band.h"
#include "collect/resolve/lives.h"
#include "rand.h"
#include "unit.h"

static VEC(struct side_record) records;
static struct lives lives;

static void put(enum side_kind kind, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	vec_push(&records,
		 (struct side_record){ .kind = kind, .pid = pid, .tid = tid, .ppid = ppid });
}

static void fork_of(uint32_t parent, uint32_t child)
{
	put(SIDE_FORK, child, child, parent);
}

static void thread_of(uint32_t pid, uint32_t tid)
{
	put(SIDE_FORK, pid, tid, pid);
}

static void exec_of(uint32_t pid)
{
	put(SIDE_COMM, pid, pid, 0);
	put(SIDE_MMAP, pid, pid, 0);
}

static void exit_of(uint32_t pid, uint32_t tid)
{
	put(SIDE_EXIT, pid, tid, 0);
}

/* Finds the lives; an event needs pid before the record with the number `before`. */
static void find_with(uint32_t pid, size_t before)
{
	lives_clear(&lives);
	for (size_t i = records.n + 1; i-- > 0;) {
		if (pid && i == before)
			lives_need(&lives, pid);
		if (i)
			lives_add(&lives, &records.v[i - 1]);
	}
}

static void find(void)
{
	find_with(0, 0);
}

/* A letter for each record: brief, over but needed, or neither. */
static const char *kinds(void)
{
	static char text[64];

	for (size_t i = 0; i < records.n; i++) {
		size_t n = records.n - 1 - i;

		text[i] = lives_is_brief(&lives, n) ? 'b' : lives_is_over(&lives, n) ? 'o' : '.';
	}
	text[records.n] = '\0';
	return text;
}

static void done(void)
{
	vec_done(&records);
	lives_done(&lives);
}

START_TEST(a_program_that_ran)
{
	fork_of(1, 10);
	exec_of(10);
	exit_of(10, 10);
	find();
	ck_assert_str_eq(kinds(), "bbbb");
	find_with(10, 2); /* a sample while it ran, before the batch's end … */
	ck_assert_str_eq(kinds(), "oooo");
	find_with(10, 4); /* … or after its exit record */
	ck_assert_str_eq(kinds(), "oooo");
	find_with(10, 0); /* another process with its number, before */
	ck_assert_str_eq(kinds(), "bbbb");
	done();
}
END_TEST

/* A process that started before, or has not ended, is not brief, although it execs and forks. */
START_TEST(longer_lives)
{
	exec_of(10);
	exit_of(10, 10);
	fork_of(1, 11);
	exec_of(11);
	put(SIDE_LOST, 0, 0, 0);
	find();
	ck_assert_str_eq(kinds(), ".......");
	done();
}
END_TEST

/* A child that has not ended has its parent's mappings. An ended child counts only if a sample met it. */
START_TEST(children)
{
	fork_of(1, 10);
	fork_of(10, 11);
	exit_of(10, 10);
	find();
	ck_assert_str_eq(kinds(), "o.o");
	exit_of(11, 11);
	find();
	ck_assert_str_eq(kinds(), "bbbb");
	find_with(11, 3);
	ck_assert_str_eq(kinds(), "oooo");
	done();
}
END_TEST

/* A process has ended with its last thread. */
START_TEST(threads)
{
	fork_of(1, 10);
	thread_of(10, 20);
	exit_of(10, 10);
	find();
	ck_assert_str_eq(kinds(), "...");
	exit_of(10, 20);
	find();
	ck_assert_str_eq(kinds(), "bbbb");
	done();
}
END_TEST

/* Numbers are given again. */
START_TEST(pid_reuse)
{
	fork_of(1, 10);
	exit_of(10, 10);
	fork_of(1, 10);
	exec_of(10);
	fork_of(10, 12);
	exit_of(12, 12);
	find();
	ck_assert_str_eq(kinds(), "bb...bb");
	done();
}
END_TEST

/* --- random batches --------------------------------------------------------------------------- */

enum { PIDS = 12, THREADS = 3, STEPS = 60 };

struct model {
	uint32_t threads; /* of the process that has this number now; 0: none */
	size_t first;     /* the number of its fork's record; SIZE_MAX: it is older */
	uint32_t parent;  /* the fork's record of its parent's life + 1; 0: that is older */
};
static struct model model[PIDS];
/* By number of a fork's record. */
static bool has_ended[STEPS], is_needed[STEPS];
static uint32_t parents[STEPS];
static size_t begun_at[STEPS]; /* of a record: its life */

static void fork_randomly(uint32_t parent, uint32_t child)
{
	const struct model *p = &model[parent];

	parents[records.n] = p->first == SIZE_MAX ? 0 : p->first + 1;
	begun_at[records.n] = records.n;
	model[child] = (struct model){ .threads = 1, .first = records.n };
	fork_of(parent + 100, child + 100);
}

/* Only the main thread's number is read. */
static void step_randomly(uint32_t pid, uint32_t other, uint32_t what)
{
	struct model *p = &model[pid];

	begun_at[records.n] = p->first;
	if (what == 0 && !model[other].threads) {
		fork_randomly(pid, other);
	} else if (what == 1 && p->threads < THREADS) {
		p->threads++;
		thread_of(pid + 100, 1000 + pid);
	} else if (what == 2) {
		exec_of(pid + 100);
		records.n--;
	} else if (what == 3 && p->first != SIZE_MAX) {
		is_needed[p->first] = true; /* by an event; see needs */
	} else if (what >= 4 && pid) {
		exit_of(pid + 100, p->threads > 1 ? 1000 + pid : pid + 100);
		if (!--p->threads && p->first != SIZE_MAX)
			has_ended[p->first] = true;
	}
}

/* Parents of lives that are not brief are not brief; a parent's fork is older. */
static void need_parents(void)
{
	for (size_t i = records.n; i-- > 0;)
		if (begun_at[i] == i && parents[i] && (is_needed[i] || !has_ended[i]))
			is_needed[parents[i] - 1] = true;
}

START_TEST(as_in_a_simulation)
{
	struct rng r = { 11 };

	for (int round = 0; round < 20000; round++) {
		VEC(uint32_t) events = { 0 }; /* pid and number of records before it, in pairs */

		records.n = 0;
		memset(is_needed, 0, sizeof is_needed);
		memset(has_ended, 0, sizeof has_ended);
		for (uint32_t i = 0; i < PIDS; i++)
			model[i] = (struct model){ .threads = i < 3, .first = SIZE_MAX };
		while (records.n < STEPS - 1 && rng_below(&r, 100)) {
			uint32_t pid = rng_below(&r, PIDS), what = rng_below(&r, 7);

			if (!model[pid].threads)
				continue;
			if (what == 3) {
				vec_push(&events, pid + 100);
				vec_push(&events, (uint32_t)records.n);
			}
			step_randomly(pid, rng_below(&r, PIDS), what);
		}
		need_parents();
		lives_clear(&lives);
		for (size_t i = records.n + 1, e = events.n; i-- > 0;) {
			for (; e && events.v[e - 1] == i; e -= 2)
				lives_need(&lives, events.v[e - 2]);
			if (i)
				lives_add(&lives, &records.v[i - 1]);
		}
		for (size_t i = 0; i < records.n; i++) {
			size_t life = begun_at[i];
			bool over = life != SIZE_MAX && has_ended[life];

			ck_assert_int_eq(lives_is_over(&lives, records.n - 1 - i), over);
			ck_assert_int_eq(lives_is_brief(&lives, records.n - 1 - i),
					 over && !is_needed[life]);
		}
		vec_done(&events);
	}
	done();
}
END_TEST

UNIT_MAIN("lives", a_program_that_ran, longer_lives, children, threads, pid_reuse,
	  as_in_a_simulation)
