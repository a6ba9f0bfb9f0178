/* collect/host_cpu.h: CPU time of the host from /proc/stat, waits for a CPU from /proc/schedstat, load and run queue from /proc/loadavg (proc(5),
 * Documentation/scheduler/sched-stats.rst).
 *
 *     system_cpu_time{mode}       s, counter: of all CPUs
 *     system_cpu_busy{cpu}        s, counter: all modes but idle, iowait (nothing to run) and steal (others' work)
 *     system_cpu_logical_count    CPUs that are online
 *     system_cpu_wait{cpu}        s, counter: threads that waited in the CPU's queue, all added up
 *     system_cpu_run_queue        threads that run or wait for a CPU, this one left out: average of all looks
 *     system_cpu_load_average_1m
 *
 * The kernel's idle and iowait may fall by a few ticks, others when a CPU goes; a counter that fell would count as begun anew, and all of it
 * as growth. So what fell by less than a second stays where it was. */
#ifndef CRESSET_COLLECT_HOST_CPU_H
#define CRESSET_COLLECT_HOST_CPU_H

#include "base/vec.h"
#include "collect/host_points.h"

enum host_cpu_mode {
	HOST_USER,
	HOST_NICE,
	HOST_SYSTEM,
	HOST_IDLE,
	HOST_IOWAIT,
	HOST_IRQ,
	HOST_SOFTIRQ,
	HOST_STEAL,
	HOST_CPU_MODES
};

struct host_cpu {
	uint64_t ticks_per_s;
	uint64_t all[HOST_CPU_MODES]; /* as they were given last, ticks */
	VEC(uint64_t) busy;           /* by CPU */
	uint64_t queued, looks; /* threads seen, how often; since the last run queue was given */
};
void host_cpu_init(struct host_cpu *c);
void host_cpu_done(struct host_cpu *c);

/* Each takes the whole file. */
void host_cpu_put_stat(struct host_cpu *c, struct cur text, struct host_points *w);
void host_cpu_put_schedstat(struct cur text, struct host_points *w);
void host_cpu_put_load(struct cur text, struct host_points *w);

/* /proc/loadavg, now and then. */
void host_cpu_look(struct host_cpu *c, struct cur loadavg);
void host_cpu_put_run_queue(struct host_cpu *c, struct host_points *w);

#endif
