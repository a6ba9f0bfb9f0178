// tier: test
/* The collector on the running kernel: tests that need its library interface. Whole recordings are in tests/live. */
#include "base/clock.h"
#include "base/fs.h"
#include "collect/collect.h"
#include "collect/kernel/sampler_opts.h"
#include "may_bpf.h"
#include "other_process.h"
#include "profile/profile.h"
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFTEN_HZ = 999 }; /* so that many samples take little time */

static pid_t spin_on_cpu(int cpu)
{
	pid_t pid = fork();

	if (pid == 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set))
			_exit(1);
		for (volatile unsigned long i = 0; i % (1 << 24) || getppid() != 1; i++)
			;
		_exit(0);
	}
	while (process_cpu_ns(pid) < 5000000) /* it is on its CPU by then */
		usleep(1000);
	return pid;
}

static void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void run_for(struct collector *c, uint64_t ns)
{
	struct err err = { 0 };

	for (uint64_t end_ns = clock_mono_ns() + ns; clock_mono_ns() < end_ns;)
		ck_assert_msg(collect_run(c, 20, &err) == 0, "%s", err.text);
}

/* Until the process has used more CPU time, by its own clock. */
static void run_for_cpu(struct collector *c, pid_t pid, uint64_t ns)
{
	for (uint64_t end_ns = process_cpu_ns(pid) + ns; process_cpu_ns(pid) < end_ns;)
		run_for(c, 20000000);
}

static struct collector *collector_with(const struct collect_opts *opts, struct profile *p)
{
	struct collector *c = NULL;
	struct err err = { 0 };

	ck_assert_msg(collect_open(opts, profile_sink(p), &c, &err) == 0, "%s", err.text);
	ck_assert_msg(collect_start(c, &err) == 0, "%s", err.text);
	return c;
}

static struct collector *collector(const struct sampler_opts *asked, struct profile *p)
{
	return collector_with(&(struct collect_opts){ .sampler = *asked }, p);
}

static uint64_t samples_of(const struct profile *p, uint32_t pid)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->samples.n; i++)
		n += p->samples.pid[i] == pid;
	return n;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* A fifth of a second without the CPU in the list, then one with it: its events are opened when it appears. */
START_TEST(cpu_that_comes_online)
{
	if (!may_load_bpf() || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		T_SKIP("needs root, a kernel that takes BPF programs, and two CPUs");
	char path[] = "/tmp/cresset-cpus-XXXXXX";
	struct err err = { 0 };

	close(mkstemp(path));
	write_text(path, "0\n");
	pid_t pid = spin_on_cpu(1);
	struct profile *p = profile_new();
	struct sampler_opts opts = { .freq_hz = OFTEN_HZ, .cpus_file = path };
	struct collector *c = collector(&opts, p);
	run_for(c, 200000000);
	ck_assert_uint_eq(samples_of(p, pid), 0);
	write_text(path, "0-1\n");
	struct collect_stats stats;
	do {
		run_for(c, 50000000); /* the list is read once a second */
		collect_get_stats(c, &stats);
	} while (stats.cpus < 2);
	run_for_cpu(c, pid, 200000000);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	ck_assert_uint_gt(samples_of(p, pid), OFTEN_HZ / 5 * 2 / 3);
	collect_get_stats(c, &stats);
	ck_assert_uint_eq(stats.cpus, 2);
	collect_free(c);
	profile_free(p);
	stop_child(pid);
	unlink(path);
}
END_TEST

/* The walk for older kernels: the same process, the same function at the leaf, fewer reasons. */
START_TEST(plain_walk)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	struct err err = { 0 };
	uint32_t pid = spin_on_cpu(0);
	struct profile *p = profile_new();
	struct sampler_opts opts = { .target = TARGET_PID,
				     .ids = &pid,
				     .n_ids = 1,
				     .freq_hz = OFTEN_HZ,
				     .plain_walk = true };
	struct collector *c = collector(&opts, p);
	struct collect_stats stats;

	run_for_cpu(c, pid, 500000000);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_symbolize(c);
	collect_get_stats(c, &stats);
	ck_assert_str_eq(stats.walker, "frame pointers (helper)");
	ck_assert_uint_gt(samples_of(p, pid), OFTEN_HZ / 2 * 2 / 3);
	ck_assert_uint_eq(samples_of(p, pid), p->samples.n);
	uint64_t named = 0;
	for (size_t i = 0; i < p->samples.n; i++) {
		struct shown_line line;
		uint32_t leaf = stack_leaf(&p->stacks, p->samples.stack[i]);

		if (p->frames.frames.v[leaf].kind == FRAME_NATIVE &&
		    profile_frame_lines(p, leaf, &line, 1))
			named += !strchr(profile_str(p, line.name), '+');
	}
	ck_assert_uint_gt(named, p->samples.n * 9 / 10);
	collect_free(c);
	profile_free(p);
	stop_child(pid);
}
END_TEST

static volatile uint64_t burnt;

static __attribute__((noinline, noipa)) void burn(uint32_t depth)
{
	if (depth)
		burn(depth - 1);
	while (!depth)
		burnt++;
	burnt++; /* so that the call is no tail call */
}

/* A child that burns at this depth of calls, with frame pointers as in this program. */
static uint32_t burn_deep(uint32_t depth)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn(depth);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	return (uint32_t)pid;
}

static void walk_plain(uint32_t depth, struct collect_stats *stats)
{
	struct err err = { 0 };
	uint32_t pid = burn_deep(depth);
	struct profile *p = profile_new();
	struct sampler_opts opts = { .target = TARGET_PID,
				     .ids = &pid,
				     .n_ids = 1,
				     .freq_hz = OFTEN_HZ,
				     .plain_walk = true };
	struct collector *c = collector(&opts, p);

	run_for_cpu(c, pid, 150000000);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_get_stats(c, stats);
	ck_assert_uint_gt(stats->samples, OFTEN_HZ * 3 / 20 * 2 / 3);
	collect_free(c);
	profile_free(p);
	stop_child(pid);
}

/* The helper returns at most kernel.perf_event_max_stack frames, and reports neither that there are more nor that a chain ended early. */
START_TEST(plain_walk_that_is_cut)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	struct collect_stats stats;

	walk_plain(400, &stats);
	ck_assert_uint_eq(stats.ends[WALK_DEPTH], stats.samples);
	ck_assert_uint_eq(stats.truncated, stats.samples);
	walk_plain(3, &stats);
	ck_assert_uint_eq(stats.ends[WALK_DEPTH], 0);
	/* If the C library has no symbols, main's caller is not known as the start of the program. */
	ck_assert_uint_eq(stats.ends[WALK_KERNEL], stats.truncated);
}
END_TEST

/* More code mappings than a block of the walker's table can hold. */
static uint32_t burn_in_many_mappings(uint32_t depth)
{
	enum { MAPPINGS = 80 };
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < MAPPINGS; i++) /* alternating, so that they are not merged */
			mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		burn(depth);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	return (uint32_t)pid;
}

static void walk_limited(struct sampler_opts opts, uint32_t pid, struct collect_stats *stats,
			 uint64_t *without_room)
{
	struct err err = { 0 };
	struct profile *p = profile_new();

	opts.target = TARGET_PID;
	opts.ids = &pid;
	opts.n_ids = 1;
	opts.freq_hz = 499;
	struct collector *c = collector(&opts, p);
	run_for_cpu(c, pid, 500000000);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	collect_get_stats(c, stats);
	*without_room = p->meta.loss[LOSS_MAPPINGS_FULL];
	ck_assert_uint_gt(stats->samples, 499 / 2 * 2 / 3);
	collect_free(c);
	profile_free(p);
	stop_child(pid);
}

/* A process without room in the walker's tables: counted once, walked by frame pointers, with a note in its stacks; they are not copied for ever. */
START_TEST(mapping_table_full)
{
	struct collect_stats stats;
	uint64_t without;

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	walk_limited((struct sampler_opts){ .max_blocks = 1 }, burn_in_many_mappings(3), &stats,
		     &without);
	ck_assert_uint_eq(without, 1);
	ck_assert_uint_gt(stats.ends[WALK_NO_ROOM], stats.samples / 2);
	ck_assert_uint_lt(stats.raw, stats.samples / 2);
	walk_limited((struct sampler_opts){ 0 }, burn_in_many_mappings(3), &stats, &without);
	ck_assert_uint_eq(without, 0);
	ck_assert_uint_eq(stats.ends[WALK_NO_ROOM], 0);
}
END_TEST

/* The time of a walk is checked every 64 frames: shorter stacks are complete, whatever they take. */
START_TEST(walks_that_take_long)
{
	struct collect_stats stats;
	uint64_t without;

	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	walk_limited((struct sampler_opts){ .max_walk_ns = 1 }, burn_deep(300), &stats, &without);
	ck_assert_uint_gt(stats.ends[WALK_TIME], stats.samples / 2);
	walk_limited((struct sampler_opts){ .max_walk_ns = 1 }, burn_deep(10), &stats, &without);
	ck_assert_uint_eq(stats.ends[WALK_TIME], 0);
}
END_TEST

START_TEST(targets_end)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	uint32_t pid = spin_on_cpu(0);
	struct profile *p = profile_new();
	struct sampler_opts opts = { .target = TARGET_PID, .ids = &pid, .n_ids = 1, .freq_hz = 99 };
	struct collector *c = collector(&opts, p);

	run_for(c, 100000000);
	ck_assert(!collect_targets_gone(c));
	stop_child(pid);
	for (uint64_t end_ns = clock_mono_ns() + 10000000000; !collect_targets_gone(c);) {
		ck_assert_uint_lt(clock_mono_ns(), end_ns);
		run_for(c, 20000000);
	}
	collect_free(c);
	struct err err = { 0 };
	ck_assert_int_eq(
		collect_open(&(struct collect_opts){ .sampler = opts }, profile_sink(p), &c, &err),
		-ESRCH);
	ck_assert_ptr_nonnull(strstr(err.text, "no process"));
	profile_free(p);
}
END_TEST

/* A parent whose children do not fit into the table: they are not followed, and that is counted. */
START_TEST(targets_full)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	enum { CHILDREN = 5 };
	struct err err = { 0 };
	int go[2], gone[2];
	char byte;

	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(gone), 0);
	uint32_t pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) == 1)
			for (int i = 0; i < CHILDREN; i++)
				if (fork() == 0)
					_exit(pause());
		_exit(write(gone[1], "g", 1) == 1 && pause());
	}
	struct profile *p = profile_new();
	struct sampler_opts opts = {
		.target = TARGET_PID, .ids = &pid, .n_ids = 1, .max_targets = 2, .freq_hz = 99
	};
	struct collector *c = collector(&opts, p);
	ck_assert_int_eq(setpgid(pid, pid), 0);
	ck_assert_int_eq(write(go[1], "g", 1), 1);
	ck_assert_int_eq(read(gone[0], &byte, 1), 1); /* all are there */
	run_for(c, 100000000);
	ck_assert_int_eq(collect_stop(c, &err), 0);
	ck_assert_uint_eq(p->meta.loss[LOSS_TARGETS_FULL], CHILDREN - 1);
	collect_free(c);
	profile_free(p);
	kill(-(pid_t)pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* A known process: the test itself burns, and is seen under its own name. */
START_TEST(ourselves)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	struct err err = { 0 };
	struct profile *p = profile_new();
	struct sampler_opts opts = { .freq_hz = 999 };
	struct collector *c = collector(&opts, p);

	/* It also reads at times: the ring has room for all other processes meanwhile. */
	for (uint64_t end_ns = clock_cpu_ns() + 300000000; clock_cpu_ns() < end_ns;) {
		for (uint64_t slice_ns = clock_cpu_ns() + 2000000; clock_cpu_ns() < slice_ns;)
			;
		ck_assert_msg(collect_run(c, 0, &err) == 0, "%s", err.text);
	}
	ck_assert_int_eq(collect_stop(c, &err), 0);
	ck_assert_uint_gt(samples_of(p, getpid()), 200); /* of 300 */
	collect_free(c);
	profile_free(p);
}
END_TEST

/* The sum of a process's values of one type; *last_ns: the latest moment covered. */
static int64_t sum_of(const struct profile *p, const char *type, uint32_t pid, int64_t *last_ns)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->samples.n; i++) {
		uint32_t t = p->series.series.v[p->samples.series[i]].type;
		int64_t end_ns = p->samples.time_ns[i] + sample_length_ns(&p->samples, i);
		if (p->samples.pid[i] != pid ||
		    strcmp(profile_str(p, p->series.types.v[t].name), type) != 0)
			continue;
		sum += p->samples.value[i];
		*last_ns = end_ns > *last_ns ? end_ns : *last_ns;
	}
	return sum;
}

static pid_t sleep_long(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

/* Ends an interval of at least ns. While samples are held for unwind tables, it is not over. Returns the start of its cut. */
static uint64_t run_and_cut(struct collector *c, uint64_t ns)
{
	struct collect_stats stats;
	struct err err = { 0 };
	uint64_t begin_ns;

	do {
		run_for(c, ns);
		begin_ns = clock_mono_ns();
		ck_assert_msg(collect_cut(c, &err) == 0, "%s", err.text);
		collect_get_stats(c, &stats);
	} while (stats.cut_is_held);
	return begin_ns;
}

/* One sink after another, each ended by a cut: a wait that lasts all the time is in each with its part, and they add up to the whole; so do ticks;
 * and nothing of one sink is known to the next. */
START_TEST(one_sink_after_the_other)
{
	enum { SINKS = 4 };
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	pid_t busy = spin_on_cpu(0), idle = sleep_long();
	uint64_t opened_ns = clock_mono_ns();
	struct collect_opts opts = { .sampler = { .events = COLLECT_CPU | COLLECT_OFF_CPU,
						  .waits.min_block_ns = WAIT_MIN_BLOCK_NS },
				     .resolve.series.host = "here" };
	struct profile *sinks[SINKS] = { profile_new() };
	struct collector *c = collector_with(&opts, sinks[0]);
	struct err err = { 0 };
	uint64_t begin_ns = clock_mono_ns(), parts_end_ns[SINKS];
	uint64_t used_ns = process_cpu_ns(busy);
	int64_t waited = 0, ran = 0, last_ns = 0;

	for (int i = 0; i < SINKS; i++) {
		parts_end_ns[i] = run_and_cut(c, 500000000);
		collect_name_kernel(c);
		if (i + 1 == SINKS)
			break;
		sinks[i + 1] = profile_new();
		ck_assert_msg(collect_set_sink(c, profile_sink(sinks[i + 1]), NULL, &err) == 0,
			      "%s", err.text);
	}
	uint64_t end_ns = clock_mono_ns();
	while (process_cpu_ns(busy) < used_ns + 1000000000)
		run_for(c, 20000000);
	ck_assert_msg(collect_stop(c, &err) == 0, "%s", err.text);
	uint64_t stopped_ns = clock_mono_ns();
	for (int i = 0; i < SINKS; i++) {
		int64_t part_end_ns = 0;
		int64_t part = sum_of(sinks[i], "off-cpu", idle, &part_end_ns);
		ck_assert_int_ge(part, 300000000);
		ck_assert_int_ge(part_end_ns, (int64_t)parts_end_ns[i]);
		if (i + 1 < SINKS) /* no more than its own */
			ck_assert_int_lt(part_end_ns, (int64_t)parts_end_ns[i + 1]);
		waited += part;
		ran += sum_of(sinks[i], "cpu", busy, &last_ns);
		if (sinks[i]->series.series.n) /* on a busy machine none may come in time */
			ck_assert_uint_ne(strtab_find(&sinks[i]->strings, "here"), UINT32_MAX);
	}
	/* The last cut is not the end: what comes after it is in the last sink, too. */
	ck_assert_int_ge(waited, (int64_t)(end_ns - begin_ns) - 200000000);
	ck_assert_int_le(waited, (int64_t)(stopped_ns - opened_ns));
	ck_assert_int_ge(ran, 99 / 2); /* of a second of its CPU time */
	collect_free(c);
	for (int i = 0; i < SINKS; i++)
		profile_free(sinks[i]);
	stop_child(busy);
	stop_child(idle);
}
END_TEST

/* With samples that wait for exact times, the sink cannot change. */
START_TEST(wall_retains_its_sink)
{
	if (!may_load_bpf())
		T_SKIP("needs root, and a kernel that takes BPF programs");
	struct profile *p = profile_new(), *other = profile_new();
	struct sampler_opts opts = { .events = COLLECT_WALL,
				     .waits.min_block_ns = WAIT_MIN_BLOCK_NS };
	struct collector *c = collector(&opts, p);
	struct err err = { 0 };

	ck_assert_int_eq(collect_set_sink(c, profile_sink(other), NULL, &err), -EINVAL);
	collect_free(c);
	profile_free(p);
	profile_free(other);
}
END_TEST

UNIT_MAIN("collect", one_sink_after_the_other, wall_retains_its_sink, cpu_that_comes_online,
	  plain_walk, plain_walk_that_is_cut, mapping_table_full, walks_that_take_long, targets_end,
	  targets_full, ourselves)
