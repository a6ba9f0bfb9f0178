// tier: test
/* Which lives of processes are skipped before they are read: sequences of records with a known outcome, and random ones in random order compared with a
 * simulation that knows every thread. */
#include "collect/kernel/side_band.h"
#include "collect/resolve/brief.h"
#include "rand.h"
#include "unit.h"

static VEC(struct side_record) records;
static struct brief brief;

static void put(enum side_kind kind, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	vec_push(&records, (struct side_record){ .kind = kind,
						 .time_ns = 100 + records.n,
						 .pid = pid,
						 .tid = tid,
						 .ppid = ppid });
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

/* Finds the lives; an event needs pid, unless 0. */
static void find_with(uint32_t pid)
{
	brief_clear(&brief);
	for (size_t i = 0; i < records.n; i++)
		brief_add(&brief, &records.v[i]);
	if (pid)
		brief_need(&brief, pid);
	brief_find(&brief);
}

/* A letter for each record: skipped, or read. */
static const char *kinds(void)
{
	static char text[64];

	for (size_t i = 0; i < records.n; i++)
		text[i] = brief_has(&brief, &records.v[i]) ? 's' : 'r';
	text[records.n] = '\0';
	return text;
}

static void done(void)
{
	vec_done(&records);
	brief_done(&brief);
}

START_TEST(a_program_that_ran)
{
	fork_of(1, 10);
	exec_of(10);
	exit_of(10, 10);
	find_with(0);
	ck_assert_str_eq(kinds(), "ssss");
	find_with(10);
	ck_assert_str_eq(kinds(), "rrrr");
	find_with(11);
	ck_assert_str_eq(kinds(), "ssss");
	done();
}
END_TEST

/* A process that started before, or has not ended, is read. */
START_TEST(longer_lives)
{
	exec_of(10);
	exit_of(10, 10);
	fork_of(1, 11);
	exec_of(11);
	find_with(0);
	ck_assert_str_eq(kinds(), "rrrrrr");
	done();
}
END_TEST

/* Without its records a thread may still run. */
START_TEST(losses)
{
	fork_of(1, 10);
	put(SIDE_LOST, 0, 0, 0);
	exit_of(10, 10);
	find_with(0);
	ck_assert_str_eq(kinds(), "rrr");
	done();
}
END_TEST

/* A child that is read has the mappings of its parent and grandparent. */
START_TEST(children)
{
	fork_of(1, 10);
	fork_of(10, 11);
	fork_of(11, 12);
	exit_of(10, 10);
	exit_of(11, 11);
	find_with(0);
	ck_assert_str_eq(kinds(), "rrrrr");
	exit_of(12, 12);
	find_with(0);
	ck_assert_str_eq(kinds(), "ssssss");
	find_with(12);
	ck_assert_str_eq(kinds(), "rrrrrr");
	find_with(11);
	ck_assert_str_eq(kinds(), "rrsrrs");
	done();
}
END_TEST

/* A process has ended with its last thread. */
START_TEST(threads)
{
	fork_of(1, 10);
	thread_of(10, 20);
	exit_of(10, 10);
	find_with(0);
	ck_assert_str_eq(kinds(), "rrr");
	exit_of(10, 20);
	find_with(0);
	ck_assert_str_eq(kinds(), "ssss");
	done();
}
END_TEST

/* Numbers are given again: after an older process, before the records end, and after them. */
START_TEST(pid_reuse)
{
	exit_of(10, 10);
	fork_of(1, 10);
	fork_of(1, 11);
	exit_of(11, 11);
	fork_of(1, 11);
	fork_of(1, 12);
	exit_of(12, 12);
	find_with(0);
	ck_assert_str_eq(kinds(), "rrrrrss");
	fork_of(1, 12);
	ck_assert_str_eq(kinds(), "rrrrrssr");
	done();
}
END_TEST

/* --- random batches --------------------------------------------------------------------------- */

enum { PIDS = 12, THREADS = 3, STEPS = 60, NO_LIFE = -1 };

struct model_life {
	bool is_whole; /* it started in the batch */
	bool has_ended, is_needed, is_parent_of_read;
	int parent;
	uint32_t pid;
};
static struct model_life all[STEPS + PIDS];
static uint32_t alive[PIDS]; /* threads */
static int now[PIDS], n_lives;
static int life_at[STEPS]; /* of a record */
static bool is_used_twice[PIDS];

static void begin(uint32_t pid, int parent)
{
	is_used_twice[pid] |= now[pid] != NO_LIFE;
	all[n_lives] =
		(struct model_life){ .is_whole = parent != NO_LIFE, .parent = parent, .pid = pid };
	alive[pid] = 1;
	now[pid] = n_lives++;
}

static void step_randomly(uint32_t pid, uint32_t other, uint32_t what)
{
	struct model_life *l = &all[now[pid]];

	if (what == 0 && !alive[other]) {
		begin(other, now[pid]);
		life_at[records.n] = now[other];
		fork_of(pid + 100, other + 100);
		return;
	}
	life_at[records.n] = now[pid];
	if (what == 1 && alive[pid] < THREADS) {
		alive[pid]++;
		thread_of(pid + 100, 1000 + pid);
	} else if (what == 2) {
		exec_of(pid + 100);
		records.n--;
	} else if (what == 3) {
		l->is_needed |= pid > 2;
	} else if (what >= 4 && pid) {
		exit_of(pid + 100, alive[pid] > 1 ? 1000 + pid : pid + 100);
		l->has_ended = !--alive[pid];
	}
}

static bool is_read(const struct model_life *l)
{
	return !l->is_whole || !l->has_ended || l->is_needed || l->is_parent_of_read ||
	       is_used_twice[l->pid];
}

static void make_batch(unsigned *seed)
{
	n_lives = 0;
	vec_clear(&records);
	memset(is_used_twice, 0, sizeof is_used_twice);
	for (uint32_t pid = 0; pid < PIDS; pid++) {
		now[pid] = NO_LIFE;
		alive[pid] = 0;
	}
	for (uint32_t pid = 0; pid < 3; pid++)
		begin(pid, NO_LIFE);
	while (records.n < STEPS - 2) {
		uint32_t pid = rand_r(seed) % PIDS;

		if (alive[pid])
			step_randomly(pid, rand_r(seed) % PIDS, rand_r(seed) % 7);
	}
	for (int i = n_lives; i-- > 0;)
		if (is_read(&all[i]) && all[i].parent != NO_LIFE)
			all[all[i].parent].is_parent_of_read = true;
}

static void add_in_random_order(unsigned *seed)
{
	size_t order[STEPS];

	for (size_t i = 0; i < records.n; i++)
		order[i] = i;
	for (size_t i = records.n; i > 1; i--) {
		size_t k = rand_r(seed) % i, other = order[i - 1];

		order[i - 1] = order[k];
		order[k] = other;
	}
	brief_clear(&brief);
	for (size_t i = 0; i < records.n; i++)
		brief_add(&brief, &records.v[order[i]]);
	for (int i = 0; i < n_lives; i++)
		if (all[i].is_needed)
			brief_need(&brief, all[i].pid + 100);
	brief_find(&brief);
}

START_TEST(random_batches)
{
	unsigned seed = 11;
	size_t n_skipped = 0, n_read = 0;

	for (int batch = 0; batch < 3000; batch++) {
		make_batch(&seed);
		add_in_random_order(&seed);
		for (size_t i = 0; i < records.n; i++) {
			bool is_skipped = brief_has(&brief, &records.v[i]);

			ck_assert_int_eq(is_skipped, !is_read(&all[life_at[i]]));
			n_skipped += is_skipped;
			n_read += !is_skipped;
		}
	}
	ck_assert_uint_gt(n_skipped, 1000);
	ck_assert_uint_gt(n_read, 1000);
	done();
}
END_TEST

UNIT_MAIN("brief", a_program_that_ran, longer_lives, losses, children, threads, pid_reuse,
	  random_batches)
