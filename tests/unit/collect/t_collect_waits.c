// tier: test
// parts: 2
/* Waits on the running kernel, by every method, including those for older kernels. Causes, filters and outputs are tested in tests/live. */
#include "base/clock.h"
#include "collect/collect.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/sampler_opts.h"
#include "may_bpf.h"
#include "other_process.h"
#include "profile/profile.h"
#include "profile/state.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The WAITS are shorter than LEAST_LONG_MS even with a late timer; the others, before and after them, are LONG_MS. */
enum {
	WAITS = 25,
	WAIT_MS = 10,
	LONG_MS = 500,
	LEAST_LONG_MS = 400,
	UNSEEN_MOST = 3,
	MS = 1000000
};

static void wait_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * (long)MS }, NULL);
}

/* When told, waits WAITS times, writes their total length, then waits until it is killed. Before, it waits LONG_MS at a time; the recording may begin
 * in the middle of one, so that there is a whole one, too. */
static pid_t start_waiter(const atomic_bool *go, int out_fd)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	int64_t sum_ns = 0;

	while (!*go)
		wait_ms(LONG_MS);
	wait_ms(LONG_MS);
	for (int i = 0; i < WAITS; i++) {
		uint64_t from_ns = clock_mono_ns();

		wait_ms(WAIT_MS);
		sum_ns += clock_mono_ns() - from_ns;
	}
	if (write(out_fd, &sum_ns, sizeof sum_ns) < 0)
		_exit(1);
	for (;;)
		nanosleep(&(struct timespec){ .tv_sec = 3600 }, NULL);
}

struct seen {
	int64_t off_ns; /* of the WAITS */
	uint32_t n, whole, open;
	int64_t open_ns;
};

static bool ends_in(struct profile *p, uint32_t stack, const char *marker)
{
	uint32_t leaf = stack_leaf(&p->stacks, stack);

	return strcmp(profile_str(p, p->frames.frames.v[leaf].function), marker) == 0;
}

static bool is_whole(const struct profile *p, uint32_t stack)
{
	uint32_t frames[STACK_MAX_DEPTH];

	stack_frames(&p->stacks, stack, frames);
	return p->frames.frames.v[frames[0]].kind == FRAME_NATIVE;
}

/* The recording begins in the first wait, and ends in the last. */
static struct seen look(struct profile *p, uint32_t pid)
{
	struct seen s = { 0 };
	int64_t first_ns = INT64_MAX;

	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.pid[i] == pid && p->samples.time_ns[i] < first_ns)
			first_ns = p->samples.time_ns[i];
	for (size_t i = 0; i < p->samples.n; i++) {
		int64_t length_ns = sample_length_ns(&p->samples, i);

		if (p->samples.pid[i] != pid)
			continue;
		ck_assert(ends_in(p, p->samples.stack[i], "[blocked: sleep/timer]"));
		ck_assert_int_eq(p->samples.value[i], length_ns);
		if (length_ns >= LEAST_LONG_MS * MS || p->samples.time_ns[i] == first_ns) {
			s.open++;
			s.open_ns = length_ns > s.open_ns ? length_ns : s.open_ns;
		} else {
			s.n++;
			s.off_ns += length_ns;
		}
		s.whole += is_whole(p, p->samples.stack[i]);
	}
	return s;
}

static void run(struct collector *c)
{
	struct err err = { 0 };

	ck_assert_msg(collect_run(c, 20, &err) == 0, "%s", err.text);
}

/* Until the WAITS are over and the last one has lasted LONG_MS; returns their total length. */
static int64_t run_through(struct collector *c, pid_t pid, int in_fd)
{
	struct pollfd in = { .fd = in_fd, .events = POLLIN };
	int64_t truth_ns;

	while (poll(&in, 1, 0) == 0)
		run(c);
	ck_assert_int_eq(read(in_fd, &truth_ns, sizeof truth_ns), sizeof truth_ns);
	while (!process_waits(pid))
		run(c);
	for (uint64_t end_ns = clock_mono_ns() + LONG_MS * (uint64_t)MS; clock_mono_ns() < end_ns;)
		run(c);
	return truth_ns;
}

static void check_way(uint32_t without)
{
	int ends[2];
	struct err err = { 0 };
	atomic_bool *go =
		mmap(NULL, sizeof *go, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(go, MAP_FAILED);
	ck_assert_int_eq(pipe(ends), 0);
	struct profile *p = profile_new();
	uint32_t pid = start_waiter(go, ends[1]);
	struct collect_opts opts = { .sampler = { .target = TARGET_PID,
						  .ids = &pid,
						  .n_ids = 1,
						  .events = COLLECT_OFF_CPU,
						  .waits.min_block_ns = WAIT_MIN_BLOCK_NS,
						  .kernel.without = without } };
	struct collector *c = NULL;
	struct collect_stats stats;

	ck_assert_msg(collect_open(&opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	*go = true;
	int64_t truth_ns = run_through(c, pid, ends[0]);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_symbolize(c);
	collect_get_stats(c, &stats);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	struct seen s = look(p, pid);
	uint64_t unseen = p->meta.loss[LOSS_WAITS_UNSEEN];

	/* Some kernels show nothing of switches from tasks of their own. A wait is lost only where the thread that comes cannot be queried then; each
	 * is counted. */
	ck_assert_uint_le(unseen, without & FEATURE_CURRENT_TASK ? UNSEEN_MOST : 0);
	ck_assert_uint_eq(stats.lost, unseen);
	ck_assert_uint_le(s.n, WAITS);
	ck_assert_uint_ge(s.n + unseen, WAITS);
	/* Its wait for a CPU is not included, nor the calls of the clock: less, by at most 1 % and 0.1 ms a wait, unless the machine is busy. */
	ck_assert_int_le(s.off_ns, truth_ns);
	ck_assert_int_ge(s.off_ns, s.n * WAIT_MS * (int64_t)MS * 99 / 100);
	ck_assert_uint_ge(s.open, 1);
	ck_assert_int_ge(s.open_ns, LEAST_LONG_MS * MS);
	/* The pending wait has no copy of its stack without FEATURE_COPY_FROM_TASK. */
	ck_assert_uint_ge(s.whole, s.n + s.open - 1);
	ck_assert_uint_eq(p->threads.all.n, 1);
	const struct thread_times *t = &p->threads.all.v[0];
	ck_assert_int_eq(t->on_ns + t->off_ns + t->wait_ns + t->stopped_ns,
			 t->last_ns - t->first_ns);
	collect_free(c);
	profile_free(p);
	close(ends[0]);
	close(ends[1]);
	munmap(go, sizeof *go);
}

/* The features that 5.15 lacks, and 5.10. */
#define NOT_5_15 \
	(FEATURE_COPY_FROM_TASK | FEATURE_LOOP | FEATURE_PREV_STATE | FEATURE_GROWING_TABLES | \
	 FEATURE_UPROBE_MULTI | FEATURE_SCHED_EXIT | FEATURE_SLEEPERS_MOVE)
#define NOT_5_10 \
	(NOT_5_15 | FEATURE_CURRENT_TASK | FEATURE_TASK_STORAGE | FEATURE_TASK_REGS | \
	 FEATURE_ATTACH_COOKIE)

#define WAY(name, without) \
	START_TEST(name) \
	{ \
		if (!may_load_bpf()) \
			T_SKIP("needs root, and a kernel that takes BPF programs"); \
		check_way(without); \
	} \
	END_TEST
/* clang-format off */
WAY(with_all, 0)
WAY(without_sched_exit, FEATURE_SCHED_EXIT)
WAY(without_prev_state, FEATURE_PREV_STATE)
WAY(without_sleepers_move, FEATURE_SLEEPERS_MOVE)
WAY(without_copies, FEATURE_COPY_FROM_TASK)
WAY(without_growing_tables, FEATURE_GROWING_TABLES)
WAY(without_task_storage, FEATURE_TASK_STORAGE)
WAY(without_task_regs, FEATURE_TASK_REGS)
WAY(without_task_regs_at_sys_exit, FEATURE_TASK_REGS | FEATURE_SCHED_EXIT)
WAY(without_current_task, FEATURE_CURRENT_TASK)
WAY(as_5_15, NOT_5_15)
WAY(as_5_10, NOT_5_10)
/* clang-format on */

/* If the kernel cannot report waits, they are refused with a message, not recorded wrongly. */
START_TEST(options_that_do_not_fit)
{
	struct profile *p = profile_new();
	struct collect_opts opts = { .sampler = { .target = TARGET_CGROUP,
						  .cgroup = "/nonexistent",
						  .events = COLLECT_OFF_CPU } };
	struct collector *c = NULL;
	struct err err = { 0 };

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	ck_assert_int_lt(collect_open(&opts, profile_sink(p), &c, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "cgroup"));
	profile_free(p);
}
END_TEST

UNIT_MAIN("collect_waits", with_all, without_sched_exit, without_prev_state, without_sleepers_move,
	  without_copies, without_growing_tables, without_task_storage, without_task_regs,
	  without_task_regs_at_sys_exit, without_current_task, as_5_15, as_5_10,
	  options_that_do_not_fit)
