/* gpu/device/metric.h: the metrics of a GPU of any vendor: one row per series of a device.
 *
 * Names follow OpenTelemetry's conventions for hardware (hw.gpu.*), or their style if there is
 * none, with '_' in place of dots, so that a query needs no quotes. Values are in the unit of the
 * row: shares from 0 to 1, bytes, watts, joules, hertz, degrees Celsius. */
#ifndef CRESSET_GPU_DEVICE_METRIC_H
#define CRESSET_GPU_DEVICE_METRIC_H

#include <stdbool.h>

enum gpu_metric {
	GPU_UTILIZATION,
	GPU_UTILIZATION_ENCODER,
	GPU_UTILIZATION_DECODER,
	GPU_MEMORY_CONTROLLER,
	GPU_MEMORY_LIMIT,
	GPU_MEMORY_USAGE,
	GPU_MEMORY_FREE,
	GPU_MEMORY_RESERVED,
	GPU_SPEED_SM,
	GPU_SPEED_MEMORY,
	GPU_SPEED_GRAPHICS,
	GPU_SPEED_LIMIT_SM,
	GPU_SPEED_LIMIT_MEMORY,
	GPU_SPEED_LIMIT_GRAPHICS,
	GPU_POWER,
	GPU_POWER_LIMIT,
	GPU_ENERGY,
	GPU_TEMPERATURE,
	GPU_TEMPERATURE_SHUTDOWN,
	GPU_TEMPERATURE_SLOWDOWN,
	GPU_TEMPERATURE_MEMORY_MAX,
	GPU_TEMPERATURE_MAX,
	GPU_THROTTLED_IDLE,
	GPU_THROTTLED_APPLICATION,
	GPU_THROTTLED_POWER_CAP,
	GPU_THROTTLED_HARDWARE,
	GPU_THROTTLED_SYNC_BOOST,
	GPU_THROTTLED_THERMAL,
	GPU_THROTTLED_HARDWARE_THERMAL,
	GPU_THROTTLED_POWER_BRAKE,
	GPU_THROTTLED_DISPLAY,
	GPU_PCIE_RECEIVE,
	GPU_PCIE_TRANSMIT,
	GPU_PCIE_GENERATION,
	GPU_PCIE_WIDTH,
	GPU_PCIE_REPLAYS,
	GPU_LINK_RECEIVE,
	GPU_LINK_TRANSMIT,
	GPU_ERRORS_CORRECTED,
	GPU_ERRORS_UNCORRECTED,
	GPU_RETIRED_SINGLE_BIT,
	GPU_RETIRED_DOUBLE_BIT,
	GPU_REMAPPED_CORRECTED,
	GPU_REMAPPED_UNCORRECTED,
	GPU_PERFORMANCE_STATE,
	GPU_FAN,
	GPU_PARTITIONED,
	GPU_METRICS
};

struct gpu_metric_row {
	const char *name, *unit;
	const char *key, *value; /* a label; NULL: none */
	bool is_counter;
	bool is_slow; /* rarely changes: read less often */
};
extern const struct gpu_metric_row gpu_metrics[GPU_METRICS];

/* Returns the metric with this name and label value ("" for none), -1 if none exists. */
int gpu_metric_find(const char *name, const char *value);

#endif
