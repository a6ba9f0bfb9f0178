/* The table of metrics: name, unit and attributes. */
#include "gpu/device/metric.h"

#include <string.h>

#define GAUGE(name_, unit_, key_, value_) \
	{ \
		.name = name_, .unit = unit_, .key = key_, .value = value_ \
	}
#define SLOW(name_, unit_, key_, value_) \
	{ \
		.name = name_, .unit = unit_, .key = key_, .value = value_, .is_slow = true \
	}
#define COUNTER(name_, unit_, key_, value_, slow_) \
	{ \
		.name = name_, .unit = unit_, .key = key_, .value = value_, .is_counter = true, \
		.is_slow = slow_ \
	}
#define THROTTLED(reason) GAUGE("hw_gpu_throttled", "1", "reason", reason)
#define LIMIT(which)      SLOW("hw_gpu_temperature_limit", "Cel", "limit", which)

const struct gpu_metric_row gpu_metrics[GPU_METRICS] = {
	[GPU_UTILIZATION] = GAUGE("hw_gpu_utilization", "1", "task", "general"),
	[GPU_UTILIZATION_ENCODER] = GAUGE("hw_gpu_utilization", "1", "task", "encoder"),
	[GPU_UTILIZATION_DECODER] = GAUGE("hw_gpu_utilization", "1", "task", "decoder"),
	[GPU_MEMORY_CONTROLLER] = GAUGE("hw_gpu_memory_controller_utilization", "1", NULL, NULL),
	[GPU_MEMORY_LIMIT] = GAUGE("hw_gpu_memory_limit", "By", NULL, NULL),
	[GPU_MEMORY_USAGE] = GAUGE("hw_gpu_memory_usage", "By", NULL, NULL),
	[GPU_MEMORY_FREE] = GAUGE("hw_gpu_memory_free", "By", NULL, NULL),
	[GPU_MEMORY_RESERVED] = GAUGE("hw_gpu_memory_reserved", "By", NULL, NULL),
	[GPU_SPEED_SM] = GAUGE("hw_gpu_speed", "Hz", "clock", "sm"),
	[GPU_SPEED_MEMORY] = GAUGE("hw_gpu_speed", "Hz", "clock", "memory"),
	[GPU_SPEED_GRAPHICS] = GAUGE("hw_gpu_speed", "Hz", "clock", "graphics"),
	[GPU_SPEED_LIMIT_SM] = SLOW("hw_gpu_speed_limit", "Hz", "clock", "sm"),
	[GPU_SPEED_LIMIT_MEMORY] = SLOW("hw_gpu_speed_limit", "Hz", "clock", "memory"),
	[GPU_SPEED_LIMIT_GRAPHICS] = SLOW("hw_gpu_speed_limit", "Hz", "clock", "graphics"),
	[GPU_POWER] = GAUGE("hw_gpu_power", "W", NULL, NULL),
	[GPU_POWER_LIMIT] = SLOW("hw_gpu_power_limit", "W", NULL, NULL),
	[GPU_ENERGY] = COUNTER("hw_gpu_energy", "J", NULL, NULL, false),
	[GPU_TEMPERATURE] = GAUGE("hw_gpu_temperature", "Cel", NULL, NULL),
	[GPU_TEMPERATURE_SHUTDOWN] = LIMIT("shutdown"),
	[GPU_TEMPERATURE_SLOWDOWN] = LIMIT("slowdown"),
	[GPU_TEMPERATURE_MEMORY_MAX] = LIMIT("memory_max"),
	[GPU_TEMPERATURE_MAX] = LIMIT("gpu_max"),
	[GPU_THROTTLED_IDLE] = THROTTLED("idle"),
	[GPU_THROTTLED_APPLICATION] = THROTTLED("application_clocks"),
	[GPU_THROTTLED_POWER_CAP] = THROTTLED("power_cap"),
	[GPU_THROTTLED_HARDWARE] = THROTTLED("hardware"),
	[GPU_THROTTLED_SYNC_BOOST] = THROTTLED("sync_boost"),
	[GPU_THROTTLED_THERMAL] = THROTTLED("thermal"),
	[GPU_THROTTLED_HARDWARE_THERMAL] = THROTTLED("hardware_thermal"),
	[GPU_THROTTLED_POWER_BRAKE] = THROTTLED("power_brake"),
	[GPU_THROTTLED_DISPLAY] = THROTTLED("display_clocks"),
	[GPU_PCIE_RECEIVE] = GAUGE("hw_gpu_pcie_throughput", "By/s", "direction", "receive"),
	[GPU_PCIE_TRANSMIT] = GAUGE("hw_gpu_pcie_throughput", "By/s", "direction", "transmit"),
	[GPU_PCIE_GENERATION] = SLOW("hw_gpu_pcie_link_generation", "1", NULL, NULL),
	[GPU_PCIE_WIDTH] = SLOW("hw_gpu_pcie_link_width", "{lane}", NULL, NULL),
	[GPU_PCIE_REPLAYS] = COUNTER("hw_gpu_pcie_replays", "{error}", NULL, NULL, true),
	[GPU_LINK_RECEIVE] = COUNTER("hw_gpu_link_io", "By", "direction", "receive", false),
	[GPU_LINK_TRANSMIT] = COUNTER("hw_gpu_link_io", "By", "direction", "transmit", false),
	[GPU_ERRORS_CORRECTED] = COUNTER("hw_gpu_errors", "{error}", "type", "corrected", true),
	[GPU_ERRORS_UNCORRECTED] = COUNTER("hw_gpu_errors", "{error}", "type", "uncorrected", true),
	[GPU_RETIRED_SINGLE_BIT] = SLOW("hw_gpu_retired_pages", "{page}", "cause", "single_bit"),
	[GPU_RETIRED_DOUBLE_BIT] = SLOW("hw_gpu_retired_pages", "{page}", "cause", "double_bit"),
	[GPU_REMAPPED_CORRECTED] = SLOW("hw_gpu_remapped_rows", "{row}", "cause", "corrected"),
	[GPU_REMAPPED_UNCORRECTED] = SLOW("hw_gpu_remapped_rows", "{row}", "cause", "uncorrected"),
	[GPU_PERFORMANCE_STATE] = GAUGE("hw_gpu_performance_state", "1", NULL, NULL),
	[GPU_FAN] = GAUGE("hw_gpu_fan_speed_ratio", "1", NULL, NULL),
	[GPU_PARTITIONED] = SLOW("hw_gpu_partitioned", "1", NULL, NULL),
};

int gpu_metric_find(const char *name, const char *value)
{
	for (int i = 0; i < GPU_METRICS; i++)
		if (strcmp(gpu_metrics[i].name, name) == 0 &&
		    strcmp(gpu_metrics[i].value ? gpu_metrics[i].value : "", value) == 0)
			return i;
	return -1;
}
