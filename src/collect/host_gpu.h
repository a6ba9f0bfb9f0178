/* collect/host_gpu.h: readings of GPUs (gpu/watch.h) as metrics of the host, each point with its own time.
 *
 *     hw_gpu_…{gpu,uuid,…}                       the rows of gpu/metric.h
 *     hw_gpu_instance_memory_usage, _limit       By, gauges: of a GPU that is partitioned; they are in its own figures, too
 *     hw_gpu_info{gpu,uuid,model,driver}         1
 *     process_gpu_utilization{gpu,process}       1, gauge: share of the time in which it had something running
 *     process_gpu_memory_usage{gpu,process}      By, gauge
 *     cresset_gpu_left_out{reason}               counter: of what the driver said, that is not there
 *
 * Processes of one name are added up: a pid is no label. */
#ifndef CRESSET_COLLECT_HOST_GPU_H
#define CRESSET_COLLECT_HOST_GPU_H

#include "collect/host_points.h"
#include "gpu/watch.h"

enum { HOST_GPU_NAMES = 64 }; /* of one device at one time; others are [other] */

/* w's own time is that of what is known of the machine, and stays. */
void host_gpu_put(const struct gpu_machine *m, const struct gpu_reading *r,
		  const struct gpu_status *status, struct host_points *w);

#endif
