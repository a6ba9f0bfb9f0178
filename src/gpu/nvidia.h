/* gpu/nvidia.h: NVIDIA's GPUs, through NVML (gpu/nvml.h).
 *
 * The library is loaded while a session is open only: on a machine without it nothing is. An answer that a device has not got is no point. Power and
 * utilisation come from the driver's own buffer, several a second, where it keeps one; else as they are at the moment. */
#ifndef CRESSET_GPU_NVIDIA_H
#define CRESSET_GPU_NVIDIA_H

#include "gpu/backend.h"
#include "gpu/nvml.h"

extern const struct gpu_backend gpu_nvidia;

/* Of the driver's module on this machine, and of the text of /proc/driver/nvidia/params. */
enum gpu_profiling nvidia_profiling(void);
enum gpu_profiling nvidia_profiling_parse(const char *text, size_t len);

/* --- between its files ------------------------------------------------------------------------ */

/* Of what NVML has buffered: what was read already, µs. */
struct nvidia_seen {
	uint64_t samples_us[NVML_SAMPLES_MEMORY + 1], processes_us;
};
struct gpu_session {
	struct nvml_api api;
	void *library;
	gpu_call *call;
	VEC(nvml_device) handles; /* as the machine's devices */
	VEC(struct nvidia_seen) seen;
	VEC(struct nvml_process) listed; /* rooms for answers */
	VEC(struct nvml_process_v1) listed_v1;
	VEC(struct nvml_process_use) used;
	VEC(struct nvml_sample) samples;
};

/* A session of these functions, which are copied; after init. */
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
/* The result of a call; NVML_FUNCTION_NOT_FOUND: it is not in the library. */
#define nvidia_ask(s_, call_, ...) \
	((s_)->api.call_ \
		 ? (atomic_store((s_)->call, clock_mono_ns()), (s_)->api.call_(__VA_ARGS__)) \
		 : NVML_FUNCTION_NOT_FOUND)
/* What a call of a device gave: whether it gave an answer. Of a device that is lost nothing else is asked. */
bool nvidia_heard(struct nvidia_read *r, int result);
/* So many of a unit: 70 % are 0.7, and not 0.7000000000000001. */
double nvidia_in(double value, double unit);
/* In the metric's unit, unless the driver says that it does not know, or it is more than can be. */
void nvidia_put_u32(struct nvidia_read *r, enum gpu_metric metric, uint32_t value, double unit,
		    double most);

void nvidia_read_device(struct nvidia_read *r);    /* what a device says of itself */
void nvidia_read_samples(struct nvidia_read *r);   /* power and utilisation */
void nvidia_read_processes(struct nvidia_read *r); /* who uses it */
void nvidia_read_memory(struct nvidia_read *r);

#endif
