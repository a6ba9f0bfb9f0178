// tier: test
/* Any bytes as a script that plays GPUs: read or refused, and what was read refers to devices that are there. */
#include "gpu/device/scripted.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const struct gpu_script_values *v)
{
	if (!v->n || v->n > GPU_SCRIPT_VALUES)
		abort();
	for (uint32_t i = 0; i < v->n; i++)
		if (!isfinite(v->v[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_script s = { 0 };

	gpu_script_parse((const char *)data, size, &s, NULL);
	for (size_t i = 0; i < s.metrics.n; i++) {
		if (s.metrics.v[i].device >= s.machine.devices.n ||
		    s.metrics.v[i].metric >= GPU_METRICS)
			abort();
		check_values(&s.metrics.v[i].values);
	}
	for (size_t i = 0; i < s.processes.n; i++) {
		if (s.processes.v[i].device >= s.machine.devices.n)
			abort();
		check_values(&s.processes.v[i].values);
	}
	gpu_script_done(&s);
	return 0;
}
