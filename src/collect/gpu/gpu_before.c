/* Remembers for each process the driver's figure at its start, and subtracts counted
 * allocations. */
#include "collect/gpu/gpu_before.h"

#include "base/fs.h"
#include "base/vec.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/resolve/resolve.h"
#include "gpu/device/watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Figures of one reading are no further apart than this. */
#define READING_NS 900000000ll

static bool is_target(void *ctx, uint32_t pid)
{
	const struct sampler_opts *opts = ctx;

	for (size_t i = 0; opts->target == TARGET_PID && i < opts->n_ids; i++)
		if (opts->ids[i] == pid)
			return true;
	return opts->target == TARGET_ALL;
}

void gpu_before_put(struct resolver *r, const struct sampler_opts *opts, const char *script,
		    uint64_t now_ns)
{
	const struct gpu_watch_opts watch = { .source = { .script = script } };
	struct sampler_opts targets = *opts;
	struct gpu_machine machine = { 0 };
	struct gpu_reading told = { 0 };

	if (opts->wait_exec)
		return;
	struct gpu_watch *w = gpu_watch_start(&watch);
	if (!w)
		return;
	gpu_watch_wait(w, GPU_BEFORE_PATIENCE_NS);
	gpu_watch_take(w, &machine, &told);
	gpu_watch_stop(w);
	resolve_gpu_before(r, now_ns, &told, is_target, &targets);
	gpu_reading_done(&told);
	vec_done(&machine.devices);
}

/* --- always on -------------------------------------------------------------------------------- */

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns when a process started, since boot, to a clock tick; UINT64_MAX: it does not exist. */
static uint64_t process_began_ns(uint32_t pid)
{
	char path[32], text[1024];
	unsigned long long ticks;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	if (fs_read_line(path, text, sizeof text))
		return UINT64_MAX;
	const char *after = strrchr(text, ')'); /* its name may contain some */

	if (!after || sscanf(after + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			     "%*d %*d %*d %llu",
			     &ticks) != 1)
		return UINT64_MAX;
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

void gpu_before_begin(struct gpu_before *b)
{
	b->began_ns = boot_ns();
}

void gpu_before_update(struct gpu_before *b, const struct gpu_reading *told, uint64_t now_ns)
{
	int64_t last_ns = 0;

	if (!told->points.n && !told->processes.n) {
		if (now_ns > b->told_ns + GPU_BEFORE_STANDS_NS)
			vec_clear(&b->told.processes);
		return;
	}
	b->told_ns = now_ns;
	vec_clear(&b->told.processes);
	for (size_t i = 0; i < told->points.n; i++)
		if (told->points.v[i].time_ns > last_ns)
			last_ns = told->points.v[i].time_ns;
	for (size_t i = 0; i < told->processes.n; i++)
		if (told->processes.v[i].time_ns > last_ns)
			last_ns = told->processes.v[i].time_ns;
	for (size_t i = 0; i < told->processes.n; i++) {
		const struct gpu_process *p = &told->processes.v[i];

		if (last_ns - p->time_ns < READING_NS && process_began_ns(p->pid) < b->began_ns)
			vec_push(&b->told.processes, *p);
	}
}

static bool is_any(void *ctx, uint32_t pid)
{
	(void)ctx;
	(void)pid;
	return true;
}

void gpu_before_snapshot(struct gpu_before *b, struct resolver *r, uint64_t now_ns)
{
	resolve_gpu_before(r, now_ns, &b->told, is_any, NULL);
}

void gpu_before_done(struct gpu_before *b)
{
	gpu_reading_done(&b->told);
}
