/* What all vendors do with readings. */
#include "gpu/device/backend.h"

#include <string.h>

void gpu_reading_done(struct gpu_reading *r)
{
	vec_done(&r->points);
	vec_done(&r->processes);
}

void gpu_text(char out[GPU_TEXT], const char *text, size_t max)
{
	size_t n = strnlen(text, max < GPU_TEXT - 1 ? max : GPU_TEXT - 1);

	for (size_t i = 0; i < n; i++)
		out[i] = text[i];
	for (size_t i = 0; i < n; i++)
		if (out[i] < ' ' || out[i] > '~')
			out[i] = '?';
	out[n] = '\0';
}

void gpu_point_put(struct gpu_reading *r, uint32_t device, enum gpu_metric metric, int64_t time_ns,
		   double value)
{
	const struct gpu_point p = {
		.device = device, .metric = metric, .time_ns = time_ns, .value = value
	};

	vec_push(&r->points, p);
}
