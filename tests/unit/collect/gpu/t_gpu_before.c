// tier: test
/* Figures of GPU memory from before the start: only those of processes that existed then. */
#include "unit.h"

#include "collect/gpu/gpu_before.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than a tick of the clock for start times of processes. */
static void wait_a_tick(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void add(struct gpu_reading *r, uint32_t pid, int64_t time_ns)
{
	struct gpu_process p = {
		.pid = pid, .time_ns = time_ns, .has_memory = true, .memory_bytes = 7
	};

	vec_push(&r->processes, p);
}

START_TEST(who)
{
	struct gpu_before b = { 0 };
	struct gpu_reading told = { 0 }, nothing = { 0 };
	pid_t early = start_child();

	wait_a_tick();
	gpu_before_begin(&b);
	wait_a_tick();
	pid_t late = start_child();

	add(&told, early, 4000000000); /* from the previous reading */
	add(&told, getpid(), 4000000000);
	add(&told, early, 5000000000);
	add(&told, late, 5000000000);
	add(&told, UINT32_MAX, 5000000000);
	gpu_before_update(&b, &told, 100);
	ck_assert_uint_eq(b.told.processes.n, 1);
	ck_assert_uint_eq(b.told.processes.v[0].pid, early);
	/* A hanging driver: its last reading stays valid for a while. */
	gpu_before_update(&b, &nothing, GPU_BEFORE_STANDS_NS);
	ck_assert_uint_eq(b.told.processes.n, 1);
	gpu_before_update(&b, &nothing, GPU_BEFORE_STANDS_NS + 101);
	ck_assert_uint_eq(b.told.processes.n, 0);
	gpu_before_update(&b, &told, 100);
	end_child(early);
	gpu_before_update(&b, &told, 200);
	ck_assert_uint_eq(b.told.processes.n, 0);
	end_child(late);
	gpu_before_done(&b);
	gpu_reading_done(&told);
}
END_TEST

UNIT_MAIN("gpu-before", who)
