/* collect/host/host_sources.h: the sources of host metrics (collect/host/host_metrics.h): one .c
 * file each, with its series. docs/query.md lists all. */
#ifndef CRESSET_COLLECT_HOST_HOST_SOURCES_H
#define CRESSET_COLLECT_HOST_HOST_SOURCES_H

#include "base/buf.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "profile/sink.h"

#include <stdbool.h>
#include <stdint.h>

struct cur;
struct gpu_machine;
struct gpu_probes_stats;
struct gpu_reading;
struct gpu_status;
struct gpu_time_stats;
struct helper_stats;
struct proc_reader_stats;
struct host_points;

/* --- host_cpu.c ------------------------------------------------------------------------------- */

/* CPU time of the host from /proc/stat, waits for a CPU from /proc/schedstat, load and run queue
 * from /proc/loadavg (proc(5), Documentation/scheduler/sched-stats.rst).
 *
 *     system_cpu_time{mode}       s, counter: of all CPUs
 *     system_cpu_busy{cpu}        s, counter: all modes but idle, iowait (nothing to run) and steal
 *                                 (others' work)
 *     system_cpu_logical_count    CPUs that are online
 *     system_cpu_wait{cpu}        s, counter: time that threads waited in the CPU's queue, in total
 *     system_cpu_run_queue        threads that run or wait for a CPU, except this one: average of
 *                                 all looks
 *     system_cpu_load_average_1m
 *
 * The kernel's idle and iowait may fall by a few ticks, others when a CPU goes offline. A counter
 * that fell would count as restarted, and all of it as growth. So a counter that fell by less than
 * a second retains its value. */
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
	uint64_t all[HOST_CPU_MODES]; /* as last put, in ticks */
	VEC(uint64_t) busy;           /* by CPU */
	uint64_t queued, looks;       /* threads seen, looks; since the run queue was last put */
};
void host_cpu_init(struct host_cpu *c);
void host_cpu_done(struct host_cpu *c);

/* Each takes the whole file. */
void host_cpu_put_stat(struct host_cpu *c, struct cur text, struct host_points *w);
void host_cpu_put_schedstat(struct cur text, struct host_points *w);
void host_cpu_put_load(struct cur text, struct host_points *w);

/* Takes /proc/loadavg, now and then. */
void host_cpu_look(struct host_cpu *c, struct cur loadavg);
void host_cpu_put_run_queue(struct host_cpu *c, struct host_points *w);

/* --- host_memory.c ---------------------------------------------------------------------------- */

/* Memory from /proc/meminfo, pressure from /proc/pressure/ (proc(5),
 * Documentation/accounting/psi.rst).
 *
 *     system_memory_limit                      By: the kernel's total
 *     system_memory_available                  By: what programs could get without swapping, as
 *                                              the kernel estimates it
 *     system_memory_usage{state}               By: used, free, buffers, cached (with reclaimable
 *                                              slab): the limit, in parts
 *     system_paging_usage{state}               By: used, free, of swap
 *     system_pressure{resource,kind}           s, counter: time in which some, or all, threads that
 *                                              had work waited for it */
void host_memory_put(struct cur meminfo, struct host_points *w);
/* resource: "cpu", "memory", "io", "irq". */
void host_pressure_put(const char *resource, struct cur text, struct host_points *w);

/* --- host_devices.c --------------------------------------------------------------------------- */

/* Disks from /proc/diskstats, networks from /proc/net/dev (Documentation/admin-guide/iostats.rst,
 * proc(5)).
 *
 *     system_disk_io{device,direction}           By, counter; direction: read, write
 *     system_disk_operations{device,direction}   counter
 *     system_disk_io_time{device}                s, counter: time in which it was busy
 *     system_network_io{device,direction}        By, counter; direction: receive, transmit
 *     system_network_packets, _errors, _dropped{device,direction}
 *
 * The sum over devices is the host's total, so traffic through several devices counts only at the
 * lowest one. No partitions, no loop, RAM, device mapper or md devices; only hardware networks, or
 * if none exists, all but lo. A disk that was never used is left out. */

/* Facts from /sys about a device; false where it has none. */
struct host_device_facts {
	bool (*is_disk)(void *ctx, const char *name);     /* a whole disk */
	bool (*is_hardware)(void *ctx, const char *name); /* a network */
	void *ctx;
};
struct host_device_facts host_device_facts(void); /* from /sys */

void host_disks_put(struct cur diskstats, const struct host_device_facts *facts,
		    struct host_points *w);
void host_networks_put(struct cur net_dev, const struct host_device_facts *facts,
		       struct host_points *w);

/* --- host_gpu.c ------------------------------------------------------------------------------- */

/* Readings of GPUs (gpu/device/watch.h) as metrics of the host, each point with its own time.
 *
 *     hw_gpu_…{gpu,uuid,…}                       the rows of gpu/device/metric.h
 *     hw_gpu_instance_memory_usage, _limit       By, gauges: of a partitioned GPU; also included in
 *                                                its own figures
 *     hw_gpu_info{gpu,uuid,model,driver}         1
 *     process_gpu_utilization{gpu,process}       1, gauge: share of the time in which it had
 *                                                something running
 *     process_gpu_memory_usage{gpu,process}      By, gauge
 *     cresset_gpu_left_out{reason}               counter: data of the driver that is not included
 *
 * Processes of one name are added up: a pid is no label. */

/* limit: named processes of a GPU; others are [other] */
enum { HOST_GPU_NAMES = 64 };

/* Points about the machine have w's current time, which is left unchanged. */
void host_gpu_put(const struct gpu_machine *m, const struct gpu_reading *r,
		  const struct gpu_status *status, struct host_points *w);

/* --- host_gpu_time.c -------------------------------------------------------------------------- */

/* How much the collector sees of what runs on GPUs (collect/gpu/gpu_time.h), so that a store knows
 * it for each host.
 *
 *     cresset_gpu_probed_files              gauge; libraries whose calls are seen
 *     cresset_gpu_time_programs{state}      gauge; watched: in windows; given_up: that cannot say
 *                                           what runs
 *     cresset_gpu_time_coverage             gauge; share of the programs' time in which windows
 *                                           were open, in the interval
 *     cresset_gpu_time{how}                 counter, s; by how its stack is known: exact, estimate,
 *                                           unknown
 *     cresset_gpu_attached{result}          counter; programs that got the GPU library
 *     cresset_mem_attached{result}          counter; … the memory library, automatically
 *                                           (agent/attaching.h), or did not
 *
 * A metric appears only after the first library, or program; the last one if programs are
 * chosen. */
struct host_gpu_time {
	uint64_t watched_ns, window_ns; /* at the end of the last interval */
};
void host_gpu_time_put(struct host_gpu_time *h, const struct gpu_probes_stats *probes,
		       const struct gpu_time_stats *time, struct host_points *w);

/* Numbers of programs. left_out: without space. */
struct host_attach {
	uint64_t attached, refused, failed, left_out;
};
/* NULL: no program is chosen. */
void host_attach_put(const struct host_attach *gpu, const struct host_attach *mem,
		     struct host_points *w);

/* --- host_losses.c ---------------------------------------------------------------------------- */

/* Losses of the collector itself, so that a store knows them for each host.
 *
 *     cresset_lost{reason,kind}   counter; since the collector started
 *
 * Reasons are those of profile/sink.h, by name. kind is sample, where each is a lost sample, or
 * detail. Reasons of lost samples, except those of GPUs, are always there: 0 states that nothing
 * was lost. The others appear when they are first needed, with a 0 at the start of the interval, so
 * that none of their growth is missing. Samples that the user excluded are no loss. */
struct host_losses {
	bool was_put[LOSS_REASONS];
};
/* lost: since the collector started. */
void host_losses_put(struct host_losses *h, const uint64_t lost[LOSS_REASONS], int64_t start_ns,
		     struct host_points *w);

/* Stacks that end early, so that a store knows their share for each host.
 *
 *     cresset_truncated{reason}        counter; samples; reasons as in `[truncated: …]`
 *     cresset_copies_refused{reason}   counter; samples without a copy of their stack for the
 *                                      walk in user space: ring full, or CPU time of copying
 *
 * Reasons appear as above. Stacks inside exec and exit are not truncated. */
struct host_stacks {
	bool was_put[WALK_ENDS], refused_was_put[2];
};
/* Since the collector started. */
struct host_cut_stacks {
	const uint64_t *ends; /* by enum walk_end */
	uint64_t no_room, no_time;
};
void host_stacks_put(struct host_stacks *h, const struct host_cut_stacks *n, int64_t start_ns,
		     struct host_points *w);

/* --- host_workers.c --------------------------------------------------------------------------- */

/* The processes that read of others (collect/worker/helper.h).
 *
 *     cresset_worker_ends{worker,how}   counter; since the collector started: died, stuck
 *     cresset_workers_stuck{worker}     gauge; abandoned ones that have not ended
 *     cresset_reads_failed{how}         counter; reads of other processes without a response: late,
 *                                       or refused (collect/worker/proc_reader.h) */
void host_workers_put(const struct helper_stats *s, const struct proc_reader_stats *reads,
		      struct host_points *w);

#endif
