/* collect/host/host_metrics.h: metrics of the host: CPU, memory, pressure, disks, networks, GPUs
 * and the busiest processes, once for each interval of a profile.
 *
 *     host_metrics_new
 *     host_metrics_look   call it now and then: counts threads that want a CPU
 *     host_metrics_take   an interval has ended: returns one message of OTLP metrics
 *
 * The metrics are in the headers of their sources (host_sources.h, host_processes.h) and in
 * docs/query.md. Counters are the kernel's own, so rates are right over any time. A missing file
 * gives no series. GPUs are read by a separate thread, once a second. */
#ifndef CRESSET_COLLECT_HOST_HOST_METRICS_H
#define CRESSET_COLLECT_HOST_HOST_METRICS_H

#include "collect/proc/series_hook.h"
#include "gpu/device/watch.h"

#include <stdint.h>

struct buf;
struct check;
struct collect_opts;
struct helper_stats;
struct proc_reader_stats;
struct host_metrics;

struct host_cut_stacks;
struct host_attach;
struct host_interval {
	int64_t start_wall_ns, duration_ns;
	int64_t now_wall_ns;           /* its end, or a bit later: when files are read */
	const struct profile *samples; /* its on-CPU samples: which processes were busy */
	const uint64_t *lost;          /* by reason, since the collector started; NULL: unknown */
	/* GPU statistics; NULL: unknown, as above. */
	const struct gpu_probes_stats *gpu_probes;
	const struct gpu_time_stats *gpu_time;
	/* Of the GPU library, and of the memory library. NULL: no automatic attaching. */
	const struct host_attach *gpu_attach, *mem_attach;
	const struct collect_missing *missing; /* what is not recorded here */
	size_t n_missing;
	const struct helper_stats *workers; /* NULL: unknown, and so are the reads */
	const struct proc_reader_stats *reads;
	/* Memory of the collector's BPF programs, 0: unknown; rings: of their ring buffers, the
	 * rest is maps. */
	uint64_t kernel_map_bytes, kernel_ring_bytes;
	/* Share of time in which switches are recorded (collect/kernel/switch_windows.h); 0: waits
	 * are not recorded. */
	double wait_share;
	const struct host_cut_stacks *cut_stacks; /* NULL: unknown */
};

/* Every series has the host label and the fixed labels of these options, which stay the caller's.
 * gpu_script: as in gpu_collect_opts. */
struct host_metrics *host_metrics_new(const struct series_opts *opts, const char *gpu_script);
void host_metrics_free(struct host_metrics *h); /* NULL is fine */

/* Does nothing if called again within 500 ms. */
void host_metrics_look(struct host_metrics *h, uint64_t now_mono_ns);
/* Appends the message to out, uncompressed. */
void host_metrics_take(struct host_metrics *h, const struct host_interval *i, struct buf *out);

/* Reads what GPUs reported since the last host_metrics_take; the reading stays valid until the next
 * one, which puts it into the message. */
const struct gpu_reading *host_metrics_update(struct host_metrics *h);
/* Replaces *out by the list of GPUs. Returns false when it is not known yet. */
bool host_metrics_gpus(struct host_metrics *h, struct gpu_machine *out);
/* Returns the state of GPU readings. */
struct gpu_status host_metrics_gpu(struct host_metrics *h);

/* For doctor: checks which sources this kernel has. */
void host_metrics_check(struct check *c);

#endif
