// build: -O1 -g -Isrc
/* nvml_answers: what NVIDIA's management library says of each device, a line for each function: DEVICE FUNCTION(ARGUMENT) RESULT VALUES…; result 0 is success,
 * 13 a function that is not there. To be kept as a fixture, beside what the same driver is. */
#include "gpu/device/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ABSENT = NVML_FUNCTION_NOT_FOUND, TEXT = 96 };
static void *library;

/* Functions of a device and, where there is one, an argument, that fill numbers of 32 or 64 bits. */
static const struct {
	const char *name;
	int bits, values,
		arguments; /* arguments: how many are tried, from 0 on; 0: it takes none */
} numbers[] = {
	{ "nvmlDeviceGetMigMode", 32, 2, 0 },
	{ "nvmlDeviceGetMaxMigDeviceCount", 32, 1, 0 },
	{ "nvmlDeviceGetUtilizationRates", 32, 2, 0 },
	{ "nvmlDeviceGetMemoryInfo", 64, 3, 0 },
	{ "nvmlDeviceGetClockInfo", 32, 1, 3 },
	{ "nvmlDeviceGetMaxClockInfo", 32, 1, 3 },
	{ "nvmlDeviceGetPowerUsage", 32, 1, 0 },
	{ "nvmlDeviceGetEnforcedPowerLimit", 32, 1, 0 },
	{ "nvmlDeviceGetTotalEnergyConsumption", 64, 1, 0 },
	{ "nvmlDeviceGetTemperature", 32, 1, 1 },
	{ "nvmlDeviceGetTemperatureThreshold", 32, 1, 4 },
	{ "nvmlDeviceGetCurrentClocksThrottleReasons", 64, 1, 0 },
	{ "nvmlDeviceGetCurrentClocksEventReasons", 64, 1, 0 },
	{ "nvmlDeviceGetPcieThroughput", 32, 1, 2 },
	{ "nvmlDeviceGetCurrPcieLinkGeneration", 32, 1, 0 },
	{ "nvmlDeviceGetCurrPcieLinkWidth", 32, 1, 0 },
	{ "nvmlDeviceGetPcieReplayCounter", 32, 1, 0 },
	{ "nvmlDeviceGetPerformanceState", 32, 1, 0 },
	{ "nvmlDeviceGetFanSpeed", 32, 1, 0 },
};

static void ask(uint32_t at, nvml_device d, size_t i, int argument)
{
	/* Two pointers where the values are apart, one where they are a struct: the first is right for both but for MigMode. */
	union {
		uint32_t u32[8];
		uint64_t u64[4];
	} v = { .u64 = { 0 } };
	void *p = dlsym(library, numbers[i].name);
	int rc = ABSENT;

	if (p && numbers[i].arguments)
		rc = ((int (*)(nvml_device, uint32_t, void *))p)(d, argument, &v);
	else if (p)
		rc = ((int (*)(nvml_device, void *, void *))p)(d, &v, &v.u32[1]);
	if (numbers[i].arguments)
		printf("%u %s(%d) %d", at, numbers[i].name, argument, rc);
	else
		printf("%u %s() %d", at, numbers[i].name, rc);
	for (int k = 0; !rc && k < numbers[i].values; k++)
		printf(" %llu", numbers[i].bits == 32 ? (unsigned long long)v.u32[k]
						      : (unsigned long long)v.u64[k]);
	putchar('\n');
}

/* Power, utilization and memory utilization, as they are buffered: their type, how many, their first and last time. */
static void ask_samples(uint32_t at, nvml_device d)
{
	static struct nvml_sample s[512];
	int (*get)(nvml_device, uint32_t, uint64_t, uint32_t *, uint32_t *, struct nvml_sample *);

	*(void **)&get = dlsym(library, "nvmlDeviceGetSamples");
	for (uint32_t type = 0; type < 3; type++) {
		uint32_t value_type = 0, n = sizeof s / sizeof *s;
		int rc = get ? get(d, type, 0, &value_type, &n, s) : ABSENT;

		printf("%u nvmlDeviceGetSamples(%u) %d", at, type, rc);
		if (!rc && n <= sizeof s / sizeof *s)
			printf(" %u %u %llu %llu", value_type, n,
			       n ? (unsigned long long)s[0].time_us : 0,
			       n ? (unsigned long long)s[n - 1].time_us : 0);
		putchar('\n');
	}
}

static void ask_processes(uint32_t at, nvml_device d)
{
	static struct nvml_process p[256];
	int (*get)(nvml_device, uint32_t *, struct nvml_process *);
	uint32_t n = sizeof p / sizeof *p;

	*(void **)&get = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	int rc = get ? get(d, &n, p) : ABSENT;

	printf("%u nvmlDeviceGetComputeRunningProcesses_v3() %d", at, rc);
	for (uint32_t i = 0; !rc && i < n && i < sizeof p / sizeof *p; i++)
		printf(" %u:%llu", p[i].pid, (unsigned long long)p[i].memory_bytes);
	putchar('\n');
}

static void ask_all(uint32_t at)
{
	int (*handle)(uint32_t, nvml_device *), (*text)(nvml_device, char *, uint32_t);
	nvml_device d = NULL;
	char name[TEXT] = "";

	*(void **)&handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&text = dlsym(library, "nvmlDeviceGetName");
	int rc = handle ? handle(at, &d) : ABSENT;

	printf("%u nvmlDeviceGetHandleByIndex_v2() %d\n", at, rc);
	if (rc)
		return;
	rc = text ? text(d, name, sizeof name) : ABSENT;
	printf("%u nvmlDeviceGetName() %d %s\n", at, rc, name);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		for (int a = 0; a < (numbers[i].arguments ? numbers[i].arguments : 1); a++)
			ask(at, d, i, a);
	ask_samples(at, d);
	ask_processes(at, d);
}

int main(void)
{
	int (*begin)(void), (*count)(uint32_t *), (*version)(char *, uint32_t);
	char text[TEXT] = "";
	uint32_t n = 0;

	library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	*(void **)&begin = dlsym(library, "nvmlInit_v2");
	*(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
	*(void **)&version = dlsym(library, "nvmlSystemGetDriverVersion");
	int rc = begin ? begin() : ABSENT;

	printf("- nvmlInit_v2() %d\n", rc);
	if (rc || !count)
		return rc ? 3 : 2;
	rc = version ? version(text, sizeof text) : ABSENT;
	printf("- nvmlSystemGetDriverVersion() %d %s\n", rc, text);
	rc = count(&n);
	printf("- nvmlDeviceGetCount_v2() %d %u\n", rc, n);
	for (uint32_t i = 0; !rc && i < n; i++)
		ask_all(i);
	return rc ? 3 : 0;
}
