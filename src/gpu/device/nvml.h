/* gpu/device/nvml.h: the part of NVIDIA's management library, libnvidia-ml.so.1, that is used, in
 * our own declarations: the library is found at run time, and any of its functions may be missing.
 * Layouts are those of CUDA 8 to 13 (docs.nvidia.com/deploy/nvml-api);
 * tests/unit/gpu/device/t_nvml_abi.c compares them with the vendor's header where it is
 * installed. */
#ifndef CRESSET_GPU_DEVICE_NVML_H
#define CRESSET_GPU_DEVICE_NVML_H

#include <stddef.h>
#include <stdint.h>

struct err;

typedef struct nvml_device *nvml_device;

/* nvmlReturn_t */
enum {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
};
enum { NVML_OF_GRAPHICS, NVML_OF_SM, NVML_OF_MEM };
enum { NVML_SENSOR_GPU };
enum { NVML_LIMIT_SHUTDOWN, NVML_LIMIT_SLOWDOWN, NVML_LIMIT_MEM_MAX, NVML_LIMIT_GPU_MAX };
enum { NVML_PCIE_TX, NVML_PCIE_RX };
enum { NVML_ERROR_CORRECTED, NVML_ERROR_UNCORRECTED };
enum { NVML_ECC_VOLATILE };
enum { NVML_RETIRED_SINGLE_BIT, NVML_RETIRED_DOUBLE_BIT };
enum { NVML_SAMPLES_POWER, NVML_SAMPLES_GPU, NVML_SAMPLES_MEMORY };
enum {
	NVML_VALUE_DOUBLE,
	NVML_VALUE_UINT,
	NVML_VALUE_ULONG,
	NVML_VALUE_ULLONG,
	NVML_VALUE_SLLONG,
};
/* KiB since the driver was loaded, over all links with the scope NVML_ALL_LINKS. */
enum { NVML_FIELD_NVLINK_TX = 138, NVML_FIELD_NVLINK_RX = 139 };
#define NVML_ALL_LINKS  UINT32_MAX
/* The response for an unknown value. */
#define NVML_UNKNOWN_64 UINT64_MAX
#define NVML_UNKNOWN_32 UINT32_MAX

struct nvml_memory {
	uint64_t total, free, used;
};
struct nvml_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)
struct nvml_utilization {
	uint32_t gpu, memory; /* % */
};
struct nvml_pci {
	char bus_legacy[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char bus_text[32];
};
union nvml_value {
	double d;
	uint32_t u32;
	unsigned long ul;
	uint64_t u64;
	int64_t s64;
};
struct nvml_sample {
	uint64_t time_us; /* Unix time */
	union nvml_value value;
};
struct nvml_field {
	uint32_t id, scope;
	int64_t time_us, latency_us;
	uint32_t type, result;
	union nvml_value value;
};
struct nvml_process_v1 {
	uint32_t pid;
	uint64_t memory_bytes;
};
struct nvml_process { /* for the functions with _v2 and _v3 */
	uint32_t pid;
	uint64_t memory_bytes;
	uint32_t gpu_instance, compute_instance;
};
struct nvml_process_use {
	uint32_t pid;
	uint64_t time_us;
	uint32_t sm, memory, encoder, decoder; /* % */
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");
_Static_assert(sizeof(struct nvml_field) == 40 && offsetof(struct nvml_field, value) == 32,
	       "nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_process) == 24 && sizeof(struct nvml_process_v1) == 16,
	       "nvmlProcessInfo_t");
_Static_assert(sizeof(struct nvml_process_use) == 32, "nvmlProcessUtilizationSample_t");

/* X(member, symbol, arguments): the functions used. */
#define NVML_CALLS(X) \
	X(init, "nvmlInit_v2", (void)) \
	X(shutdown, "nvmlShutdown", (void)) \
	X(driver_version, "nvmlSystemGetDriverVersion", (char *, uint32_t)) \
	X(device_count, "nvmlDeviceGetCount_v2", (uint32_t *)) \
	X(device_at, "nvmlDeviceGetHandleByIndex_v2", (uint32_t, nvml_device *)) \
	X(name, "nvmlDeviceGetName", (nvml_device, char *, uint32_t)) \
	X(uuid, "nvmlDeviceGetUUID", (nvml_device, char *, uint32_t)) \
	X(pci, "nvmlDeviceGetPciInfo_v3", (nvml_device, struct nvml_pci *)) \
	X(mig_mode, "nvmlDeviceGetMigMode", (nvml_device, uint32_t *, uint32_t *)) \
	X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", (nvml_device, uint32_t *)) \
	X(mig_at, "nvmlDeviceGetMigDeviceHandleByIndex", (nvml_device, uint32_t, nvml_device *)) \
	X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_device, struct nvml_utilization *)) \
	X(memory, "nvmlDeviceGetMemoryInfo", (nvml_device, struct nvml_memory *)) \
	X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", (nvml_device, struct nvml_memory_v2 *)) \
	X(clock, "nvmlDeviceGetClockInfo", (nvml_device, uint32_t, uint32_t *)) \
	X(max_clock, "nvmlDeviceGetMaxClockInfo", (nvml_device, uint32_t, uint32_t *)) \
	X(power, "nvmlDeviceGetPowerUsage", (nvml_device, uint32_t *)) \
	X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device, uint32_t *)) \
	X(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device, uint64_t *)) \
	X(temperature, "nvmlDeviceGetTemperature", (nvml_device, uint32_t, uint32_t *)) \
	X(temperature_limit, "nvmlDeviceGetTemperatureThreshold", \
	  (nvml_device, uint32_t, uint32_t *)) \
	X(throttled, "nvmlDeviceGetCurrentClocksThrottleReasons", (nvml_device, uint64_t *)) \
	X(throttled_new, "nvmlDeviceGetCurrentClocksEventReasons", (nvml_device, uint64_t *)) \
	X(pcie_throughput, "nvmlDeviceGetPcieThroughput", (nvml_device, uint32_t, uint32_t *)) \
	X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", (nvml_device, uint32_t *)) \
	X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (nvml_device, uint32_t *)) \
	X(pcie_replays, "nvmlDeviceGetPcieReplayCounter", (nvml_device, uint32_t *)) \
	X(fields, "nvmlDeviceGetFieldValues", (nvml_device, int, struct nvml_field *)) \
	X(ecc, "nvmlDeviceGetTotalEccErrors", (nvml_device, uint32_t, uint32_t, uint64_t *)) \
	X(retired, "nvmlDeviceGetRetiredPages", (nvml_device, uint32_t, uint32_t *, uint64_t *)) \
	X(remapped, "nvmlDeviceGetRemappedRows", \
	  (nvml_device, uint32_t *, uint32_t *, uint32_t *, uint32_t *)) \
	X(encoder, "nvmlDeviceGetEncoderUtilization", (nvml_device, uint32_t *, uint32_t *)) \
	X(decoder, "nvmlDeviceGetDecoderUtilization", (nvml_device, uint32_t *, uint32_t *)) \
	X(performance, "nvmlDeviceGetPerformanceState", (nvml_device, uint32_t *)) \
	X(fan, "nvmlDeviceGetFanSpeed", (nvml_device, uint32_t *)) \
	X(samples, "nvmlDeviceGetSamples", \
	  (nvml_device, uint32_t, uint64_t, uint32_t *, uint32_t *, struct nvml_sample *)) \
	X(processes_v3, "nvmlDeviceGetComputeRunningProcesses_v3", \
	  (nvml_device, uint32_t *, struct nvml_process *)) \
	X(processes_v2, "nvmlDeviceGetComputeRunningProcesses_v2", \
	  (nvml_device, uint32_t *, struct nvml_process *)) \
	X(processes_v1, "nvmlDeviceGetComputeRunningProcesses", \
	  (nvml_device, uint32_t *, struct nvml_process_v1 *)) \
	X(process_use, "nvmlDeviceGetProcessUtilization", \
	  (nvml_device, struct nvml_process_use *, uint32_t *, uint64_t))

struct nvml_api {
#define NVML_MEMBER(member, symbol, args) int(*member) args;
	NVML_CALLS(NVML_MEMBER)
#undef NVML_MEMBER
};

/* Fills in the functions known to find, NULL for others. Returns 0, or -ENOENT with err set if a
 * required one is missing. */
int nvml_find(struct nvml_api *api, void *(*find)(void *ctx, const char *symbol), void *ctx,
	      struct err *err);

/* Returns "not supported" and the like; for an unknown result "error 999", in text. */
const char *nvml_words(int result, char text[32]);

#endif
