/* collect/host_metrics.h: how the host is, as metrics: CPU, memory, pressure, disks, networks, GPUs and the busiest processes, once for each interval of a profile.
 *
 *     host_metrics_new
 *     host_metrics_look   now and then, which counts threads that want a CPU
 *     host_metrics_take   an interval is over: one message of OTLP metrics
 *
 * What is measured is in the headers of its sources (host_cpu.h, host_memory.h, host_devices.h, host_gpu.h, host_processes.h) and in docs/query.md. Counters are the kernel's own, so
 * rates are right over any time. A file that is not there gives no series. GPUs are read by a thread of their own, once a second. */
#ifndef CRESSET_COLLECT_HOST_METRICS_H
#define CRESSET_COLLECT_HOST_METRICS_H

#include "base/buf.h"
#include "collect/collect.h"
#include "gpu/watch.h"
#include "profile/profile.h"

#include <stdint.h>

struct host_metrics;

struct host_gpu_attach;
struct host_interval {
	int64_t start_wall_ns, duration_ns;
	int64_t now_wall_ns;           /* its end, or a bit later: when files are read */
	const struct profile *samples; /* on-CPU samples of it: who was busy */
	const uint64_t *lost;          /* by reason, since the collector began; NULL: nobody says */
	/* Of what is seen of GPUs; NULL, as the other: nobody says. */
	const struct gpu_probes_stats *gpu_probes;
	const struct gpu_time_stats *gpu_time;
	const struct host_gpu_attach *gpu_attach; /* NULL: nobody is attached to */
	const struct collect_missing *missing;    /* what is not recorded here */
	size_t n_missing;
	/* Of the collector's programs in the kernel, 0: nobody says; rings: what they send through, the rest is maps. */
	uint64_t kernel_map_bytes, kernel_ring_bytes;
};

/* Labels of every series are the host's and the fixed ones of these options (collect/collect.h), which stay the caller's. */
struct host_metrics *host_metrics_new(const struct collect_opts *opts);
void host_metrics_free(struct host_metrics *h); /* NULL is fine */

/* At most every 500 ms does it do anything. */
void host_metrics_look(struct host_metrics *h, uint64_t now_mono_ns);
/* Appends the message to out, not packed. */
void host_metrics_take(struct host_metrics *h, const struct host_interval *i, struct buf *out);

/* What was read of GPUs since the last host_metrics_take, which puts it; stays there until that. */
const struct gpu_reading *host_metrics_told(struct host_metrics *h);
/* Which GPUs there are: replaces what is in out. False: that is not known yet. */
bool host_metrics_gpus(struct host_metrics *h, struct gpu_machine *out);
/* How it is with GPUs. */
struct gpu_status host_metrics_gpu(struct host_metrics *h);

/* For doctor: which of it this kernel has. */
void host_metrics_check(struct check *c);

#endif
