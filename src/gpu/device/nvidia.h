/* gpu/device/nvidia.h: NVIDIA's GPUs, through NVML (gpu/device/nvml.h).
 *
 * The library is loaded only while a session is open: a machine without it loads nothing. A value
 * that a device does not have gives no point. Power and utilization come from the driver's own
 * buffer, several values a second, where it has one; else they are read as they are at the
 * moment. */
#ifndef CRESSET_GPU_DEVICE_NVIDIA_H
#define CRESSET_GPU_DEVICE_NVIDIA_H

#include "base/vec.h"
#include "gpu/device/backend.h"
#include "gpu/device/nvml.h"

extern const struct gpu_backend gpu_nvidia;

/* From the driver's module on this machine, and from the text of /proc/driver/nvidia/params. */
enum gpu_profiling nvidia_profiling(void);
enum gpu_profiling nvidia_profiling_parse(const char *text, size_t len);

/* --- between its files ------------------------------------------------------------------------ */

/* How far NVML's buffers were read, µs. */
struct nvidia_seen {
	uint64_t samples_us[NVML_SAMPLES_MEMORY + 1], processes_us;
};
struct gpu_session {
	struct nvml_api api;
	void *library;
	gpu_call *call;
	VEC(nvml_device) handles; /* as the machine's devices */
	VEC(struct nvidia_seen) seen;
	VEC(struct nvml_process) listed; /* buffers for responses */
	VEC(struct nvml_process_v1) listed_v1;
	VEC(struct nvml_process_use) used;
	VEC(struct nvml_sample) samples;
};

/* Creates a session with these functions, which are copied; after init. */
struct gpu_session *nvidia_session_new(const struct nvml_api *api, void *library, gpu_call *call);

/* One device of a machine, while it is read. */
struct nvidia_read {
	struct gpu_session *s;
	nvml_device handle;
	struct nvidia_seen *seen;
	uint32_t device;
	int64_t now_ns; /* Unix time */
	bool with_slow, is_lost;
	struct gpu_reading *out;
};
/* The result of a call; NVML_FUNCTION_NOT_FOUND: the library does not have it. */
#define nvidia_ask(s_, call_, ...) \
	((s_)->api.call_ \
		 ? (atomic_store((s_)->call, clock_mono_ns()), (s_)->api.call_(__VA_ARGS__)) \
		 : NVML_FUNCTION_NOT_FOUND)
/* Checks the result of a call for a device: whether there is a response. A lost device is not read
 * further. */
bool nvidia_heard(struct nvidia_read *r, int result);
/* Divides without rounding noise: 70 % are 0.7, and not 0.7000000000000001. */
double nvidia_in(double value, double unit);
/* Adds a value in the metric's unit, unless the driver does not know it, or it is impossibly
 * large. */
void nvidia_put_u32(struct nvidia_read *r, enum gpu_metric metric, uint32_t value, double unit,
		    double most);

void nvidia_read_samples(struct nvidia_read *r);   /* power and utilisation */
void nvidia_read_processes(struct nvidia_read *r); /* the processes that use it */

#endif
