/* tests/doubles/libnvidia-ml.so.1.c: NVIDIA's management library without a driver. What it answers is in the script (script.h), which is read by nvmlInit_v2:
 *
 *     nvml driver "…"                        what the driver calls itself (550.54.15)
 *     device N name "…" uuid … memory BYTES  in this order; also mig COUNT: it is partitioned, and an instance has memory / COUNT
 *     metric N KEY V[,V…]                    the answer of each call for that, and the last one of all that follow; -1: all bits set. What no
 *                                            line names is not supported. Keys are those of the table below
 *     sample N power|gpu|memory MS V         buffered at so many ms after nvmlInit_v2
 *     process N pid P memory BYTES sm PERCENT
 *     crowd N count K                        K processes 1000000… of 1 MiB each
 *     count N                                so many devices are said to be there
 *     lost N after C                         answers no more once its temperature was asked for C times
 *     fail FUNCTION CODE after C             answers CODE from call C on (0)
 *     hang FUNCTION ms MS after C            call C takes so long
 *     hang FUNCTION after C                  … until this script is removed
 *     unterminated                           texts fill their room, without an end
 *     lie                                    lists are said to be longer than their room, and that all is well
 *
 * Nothing of the vendor's header is copied. */
// build: -shared -fPIC -O1 -fvisibility=hidden -Wl,-soname,libnvidia-ml.so.1
#include "nvml_script.h"

#define API __attribute__((visibility("default"))) int

enum { OK, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

/* --- answers ---------------------------------------------------------------------------------- */

static void hang(const struct event *e)
{
	nanosleep(&(struct timespec){ e->ms / 1000, e->ms % 1000 * 1000000L }, NULL);
	while (e->is_endless && access(getenv("CRESSET_DOUBLE"), F_OK) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static int enter(const char *function)
{
	int code = OK;

	for (uint32_t i = 0; i < n_events; i++) {
		struct event *e = &events[i];
		if (strcmp(e->function, function) != 0)
			continue;
		uint32_t call = e->calls++;
		if (e->hangs && call == e->after)
			hang(e);
		if (!e->hangs && call >= e->after)
			code = e->code;
	}
	return code;
}

static int enter_of(const char *function, device_t d)
{
	int code = enter(function);

	return code ? code : d->asked > devices[d->index].lost_after ? LOST : OK;
}

static struct values *find(device_t d, const char *key)
{
	for (uint32_t i = 0; i < n_values && !d->is_instance; i++)
		if (values[i].device == d->index && strcmp(values[i].key, key) == 0)
			return &values[i];
	return NULL;
}

static int answer(device_t d, const char *key, int64_t *out)
{
	struct values *v = find(d, key);

	if (!v)
		return UNSUPPORTED;
	uint32_t call = v->calls++;
	*out = v->v[call < v->n ? call : v->n - 1];
	return OK;
}

static int answer32(device_t d, const char *key, uint32_t *out)
{
	int64_t v = 0;
	int rc = answer(d, key, &v);

	if (rc == OK)
		*out = (uint32_t)v;
	return rc;
}

static int answer64(device_t d, const char *key, uint64_t *out)
{
	int64_t v = 0;
	int rc = answer(d, key, &v);

	if (rc == OK)
		*out = (uint64_t)v;
	return rc;
}

static int say(char *out, uint32_t size, const char *what)
{
	if (is_unterminated)
		memset(out, 'A', size);
	else if (strlen(what) >= size)
		return TOO_SMALL;
	else
		strcpy(out, what);
	return OK;
}

/* --- the machine ------------------------------------------------------------------------------ */

API nvmlInit_v2(void)
{
	n_devices = n_values = n_samples = n_processes = n_events = said_count = 0;
	is_unterminated = is_lying = 0;
	memset(values, 0, sizeof values);
	memset(events, 0, sizeof events);
	memset(devices, 0, sizeof devices);
	snprintf(driver, sizeof driver, "550.54.15");
	script_read(statement);
	begun_us = now_us();
	return enter("nvmlInit_v2");
}

API nvmlShutdown(void)
{
	return enter("nvmlShutdown");
}

API nvmlSystemGetDriverVersion(char *out, uint32_t size)
{
	int rc = enter("nvmlSystemGetDriverVersion");

	return rc ? rc : say(out, size, driver);
}

API nvmlDeviceGetCount_v2(uint32_t *out)
{
	*out = said_count ? said_count : n_devices;
	return enter("nvmlDeviceGetCount_v2");
}

API nvmlDeviceGetHandleByIndex_v2(uint32_t i, device_t *out)
{
	if (i >= n_devices)
		return INVALID;
	*out = &devices[i];
	return enter("nvmlDeviceGetHandleByIndex_v2");
}

API nvmlDeviceGetName(device_t d, char *out, uint32_t size)
{
	int rc = enter_of("nvmlDeviceGetName", d);

	return rc ? rc : say(out, size, d->name);
}

API nvmlDeviceGetUUID(device_t d, char *out, uint32_t size)
{
	int rc = enter_of("nvmlDeviceGetUUID", d);

	return rc ? rc : say(out, size, d->uuid);
}

struct pci {
	char legacy[16];
	uint32_t numbers[5];
	char text[32];
};
API nvmlDeviceGetPciInfo_v3(device_t d, struct pci *out)
{
	int rc = enter_of("nvmlDeviceGetPciInfo_v3", d);
	char bus[32];

	snprintf(bus, sizeof bus, "00000000:%02X:00.0", d->index + 1);
	return rc ? rc : say(out->text, sizeof out->text, bus);
}

API nvmlDeviceGetMigMode(device_t d, uint32_t *now, uint32_t *pending)
{
	int rc = enter_of("nvmlDeviceGetMigMode", d);

	*now = *pending = d->mig > 0;
	return rc;
}

API nvmlDeviceGetMaxMigDeviceCount(device_t d, uint32_t *out)
{
	*out = d->mig ? 7 : 0;
	return enter_of("nvmlDeviceGetMaxMigDeviceCount", d);
}

API nvmlDeviceGetMigDeviceHandleByIndex(device_t d, uint32_t i, device_t *out)
{
	if (i >= d->mig || i >= INSTANCES)
		return NOT_FOUND;
	*out = &instances[d->index][i];
	return enter_of("nvmlDeviceGetMigDeviceHandleByIndex", d);
}

/* --- numbers ---------------------------------------------------------------------------------- */

#define NUMBER(function, key) \
	API function(device_t d, uint32_t *out) \
	{ \
		int rc = enter_of(#function, d); \
		return rc ? rc : answer32(d, key, out); \
	}
NUMBER(nvmlDeviceGetPowerUsage, "power_mw")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie_replays")
NUMBER(nvmlDeviceGetPerformanceState, "performance_state")
NUMBER(nvmlDeviceGetFanSpeed, "fan")

#define OF_KIND(function, ...) \
	API function(device_t d, uint32_t kind, uint32_t *out) \
	{ \
		static const char *const keys[] = { __VA_ARGS__ }; \
		int rc = enter_of(#function, d); \
		if (kind >= sizeof keys / sizeof *keys) \
			return INVALID; \
		return rc ? rc : answer32(d, keys[kind], out); \
	}
OF_KIND(nvmlDeviceGetClockInfo, "clock_graphics", "clock_sm", "clock_mem", "clock_video")
OF_KIND(nvmlDeviceGetMaxClockInfo, "max_graphics", "max_sm", "max_mem", "max_video")
OF_KIND(nvmlDeviceGetTemperatureThreshold, "shutdown", "slowdown", "memory_max", "gpu_max")
OF_KIND(nvmlDeviceGetPcieThroughput, "pcie_tx_kb", "pcie_rx_kb")

API nvmlDeviceGetTemperature(device_t d, uint32_t sensor, uint32_t *out)
{
	d->asked++;
	int rc = enter_of("nvmlDeviceGetTemperature", d);

	return sensor ? INVALID : rc ? rc : answer32(d, "temperature", out);
}

API nvmlDeviceGetTotalEnergyConsumption(device_t d, uint64_t *out)
{
	int rc = enter_of("nvmlDeviceGetTotalEnergyConsumption", d);

	return rc ? rc : answer64(d, "energy_mj", out);
}

API nvmlDeviceGetCurrentClocksThrottleReasons(device_t d, uint64_t *out)
{
	int rc = enter_of("nvmlDeviceGetCurrentClocksThrottleReasons", d);

	return rc ? rc : answer64(d, "throttled", out);
}

API nvmlDeviceGetTotalEccErrors(device_t d, uint32_t kind, uint32_t counter, uint64_t *out)
{
	int rc = enter_of("nvmlDeviceGetTotalEccErrors", d);

	if (counter != 0 || kind > 1)
		return INVALID;
	return rc ? rc : answer64(d, kind ? "ecc_uncorrected" : "ecc_corrected", out);
}

/* With no room, how many there are: success when that is 0. */
API nvmlDeviceGetRetiredPages(device_t d, uint32_t cause, uint32_t *count, uint64_t *addresses)
{
	int rc = enter_of("nvmlDeviceGetRetiredPages", d);

	if (rc || cause > 1 || addresses)
		return rc ? rc : INVALID;
	rc = answer32(d, cause ? "retired_double_bit" : "retired_single_bit", count);
	return rc ? rc : *count ? TOO_SMALL : OK;
}

API nvmlDeviceGetRemappedRows(device_t d, uint32_t *corrected, uint32_t *uncorrected,
			      uint32_t *pending, uint32_t *failed)
{
	int rc = enter_of("nvmlDeviceGetRemappedRows", d);

	*pending = *failed = 0;
	rc = rc ? rc : answer32(d, "remapped_corrected", corrected);
	return rc ? rc : answer32(d, "remapped_uncorrected", uncorrected);
}

API nvmlDeviceGetEncoderUtilization(device_t d, uint32_t *out, uint32_t *period_us)
{
	int rc = enter_of("nvmlDeviceGetEncoderUtilization", d);

	*period_us = 167000;
	return rc ? rc : answer32(d, "encoder", out);
}

API nvmlDeviceGetDecoderUtilization(device_t d, uint32_t *out, uint32_t *period_us)
{
	int rc = enter_of("nvmlDeviceGetDecoderUtilization", d);

	*period_us = 167000;
	return rc ? rc : answer32(d, "decoder", out);
}

struct utilization {
	uint32_t gpu, memory;
};
API nvmlDeviceGetUtilizationRates(device_t d, struct utilization *out)
{
	int rc = enter_of("nvmlDeviceGetUtilizationRates", d);

	rc = rc ? rc : answer32(d, "gpu", &out->gpu);
	return rc ? rc : answer32(d, "memory", &out->memory);
}

struct memory {
	uint64_t total, free, used;
};
API nvmlDeviceGetMemoryInfo(device_t d, struct memory *out)
{
	int rc = enter_of("nvmlDeviceGetMemoryInfo", d);
	uint64_t used = 0;

	rc = rc || d->is_instance ? rc : answer64(d, "used", &used);
	*out = (struct memory){ d->memory, d->memory - used, used };
	return rc;
}

struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
API nvmlDeviceGetMemoryInfo_v2(device_t d, struct memory_v2 *out)
{
	int rc = enter_of("nvmlDeviceGetMemoryInfo_v2", d);
	uint64_t used = 0, reserved = 0;

	if (out->version != (sizeof *out | 2u << 24))
		return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
	rc = rc || d->is_instance ? rc : answer64(d, "used", &used);
	rc = rc || d->is_instance ? rc : answer64(d, "reserved", &reserved);
	out->total = d->memory;
	out->reserved = reserved;
	out->used = used;
	out->free = d->memory - used - reserved;
	return rc;
}

struct field {
	uint32_t id, scope;
	int64_t time_us, latency_us;
	uint32_t type;
	int result;
	union {
		double d;
		uint64_t u64;
	} value;
};
API nvmlDeviceGetFieldValues(device_t d, int n, struct field *out)
{
	int rc = enter_of("nvmlDeviceGetFieldValues", d);

	for (int i = 0; i < n && rc == OK; i++) {
		out[i].type = 3; /* unsigned long long */
		out[i].time_us = (int64_t)now_us();
		out[i].result = out[i].scope != UINT32_MAX ? INVALID
				: out[i].id == 138 ? answer64(d, "nvlink_tx_kib", &out[i].value.u64)
				: out[i].id == 139 ? answer64(d, "nvlink_rx_kib", &out[i].value.u64)
						   : UNSUPPORTED;
	}
	return rc;
}

/* --- lists ------------------------------------------------------------------------------------ */

struct sample {
	uint64_t time_us;
	union {
		double d;
		uint32_t u32;
	} value;
};
API nvmlDeviceGetSamples(device_t d, uint32_t kind, uint64_t seen_us, uint32_t *type,
			 uint32_t *count, struct sample *out)
{
	int rc = enter_of("nvmlDeviceGetSamples", d);
	uint32_t room = *count, n = 0, kept = 0;

	for (uint32_t i = 0; i < n_samples; i++) {
		uint64_t at_us = begun_us + samples[i].ms * 1000ull;
		if (samples[i].device != d->index || samples[i].kind != kind)
			continue;
		kept++;
		if (at_us <= seen_us || at_us > now_us())
			continue;
		if (n < room)
			out[n] = (struct sample){ .time_us = at_us, .value.u32 = samples[i].value };
		n++;
	}
	*type = 1; /* unsigned int */
	*count = is_lying ? room + 1000 : n;
	return rc ? rc : !kept ? UNSUPPORTED : n > room ? TOO_SMALL : n ? OK : NOT_FOUND;
}

struct process {
	uint32_t pid;
	uint64_t memory;
	uint32_t gpu, compute;
};
static int list(device_t d, uint32_t *count, struct process *out)
{
	uint32_t room = *count, n = 0;

	for (uint32_t i = 0; i < n_processes; i++) {
		if (processes[i].device != d->index)
			continue;
		if (n < room)
			out[n] = (struct process){ .pid = processes[i].pid,
						   .memory = processes[i].memory,
						   .gpu = UINT32_MAX,
						   .compute = UINT32_MAX };
		n++;
	}
	*count = is_lying ? room + 1000 : n;
	return n > room ? TOO_SMALL : OK;
}

API nvmlDeviceGetComputeRunningProcesses_v3(device_t d, uint32_t *count, struct process *out)
{
	int rc = enter_of("nvmlDeviceGetComputeRunningProcesses_v3", d);

	return rc ? rc : list(d, count, out);
}

API nvmlDeviceGetComputeRunningProcesses_v2(device_t d, uint32_t *count, struct process *out)
{
	int rc = enter_of("nvmlDeviceGetComputeRunningProcesses_v2", d);

	return rc ? rc : list(d, count, out);
}

struct process_v1 {
	uint32_t pid;
	uint64_t memory;
};
API nvmlDeviceGetComputeRunningProcesses(device_t d, uint32_t *count, struct process_v1 *out)
{
	int rc = enter_of("nvmlDeviceGetComputeRunningProcesses", d);
	static struct process all[8192];
	uint32_t room = *count;

	rc = rc ? rc : list(d, count, all);
	for (uint32_t i = 0; i < *count && i < room && i < 8192; i++)
		out[i] = (struct process_v1){ all[i].pid, all[i].memory };
	return rc;
}

struct use {
	uint32_t pid;
	uint64_t time_us;
	uint32_t sm, memory, encoder, decoder;
};
API nvmlDeviceGetProcessUtilization(device_t d, struct use *out, uint32_t *count, uint64_t seen_us)
{
	int rc = enter_of("nvmlDeviceGetProcessUtilization", d);
	uint32_t room = *count, n = 0;

	(void)seen_us;
	for (uint32_t i = 0; i < n_processes; i++) {
		if (processes[i].device != d->index || !processes[i].sm)
			continue;
		if (n < room)
			out[n] = (struct use){ .pid = processes[i].pid,
					       .time_us = now_us(),
					       .sm = processes[i].sm };
		n++;
	}
	*count = is_lying ? room + 1000 : n;
	return rc ? rc : n > room ? TOO_SMALL : n ? OK : NOT_FOUND;
}
