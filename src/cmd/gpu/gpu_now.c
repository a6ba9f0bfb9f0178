/* The latest readings of the GPUs of this machine, for commands that show them once. */
#include "cmd/gpu/gpu_setup.h"

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#define PATIENCE_NS 2000000000ull

void gpu_now_take(struct gpu_now *now, struct gpu_watch *w)
{
	struct gpu_reading reading = { 0 };
	struct gpu_machine machine = { 0 };

	now->status = gpu_watch_state(w);
	gpu_watch_take(w, &machine, &reading);
	if (!reading.points.n && machine.devices.n) {
		gpu_reading_done(&reading);
		vec_done(&machine.devices);
		return;
	}
	gpu_now_done(now);
	now->machine = machine;
	now->reading = reading;
}

void gpu_now_read(struct gpu_now *now)
{
	struct gpu_watch *w = gpu_watch_start(&(struct gpu_watch_opts){ .source = gpu_env() });

	if (!w)
		return;
	gpu_watch_wait(w, PATIENCE_NS);
	gpu_now_take(now, w);
	gpu_watch_stop(w);
}

void gpu_now_done(struct gpu_now *now)
{
	gpu_reading_done(&now->reading);
	vec_done(&now->machine.devices);
}

bool gpu_now_value(const struct gpu_now *now, uint32_t device, enum gpu_metric metric,
		   double *value)
{
	int64_t newest_ns = INT64_MIN;

	for (size_t i = 0; i < now->reading.points.n; i++) {
		const struct gpu_point *p = &now->reading.points.v[i];
		if (p->device != device || p->metric != metric || p->time_ns < newest_ns)
			continue;
		newest_ns = p->time_ns;
		*value = p->value;
	}
	return newest_ns != INT64_MIN;
}

void gpu_now_words(const struct gpu_now *now, uint32_t device, struct buf *b)
{
	double value, all;
	size_t start = b->len;

	if (now->machine.devices.v[device].is_lost) {
		buf_adds(b, "lost");
		return;
	}
	if (gpu_now_value(now, device, GPU_UTILIZATION, &value))
		buf_addf(b, "%.0f %%", 100 * value);
	if (gpu_now_value(now, device, GPU_MEMORY_USAGE, &value) &&
	    gpu_now_value(now, device, GPU_MEMORY_LIMIT, &all)) {
		buf_adds(b, b->len > start ? ", " : "");
		fmt_bytes(b, (uint64_t)value);
		buf_adds(b, " of ");
		fmt_bytes(b, (uint64_t)all);
	}
	if (gpu_now_value(now, device, GPU_POWER, &value))
		buf_addf(b, "%s%.0f W", b->len > start ? ", " : "", value);
	if (gpu_now_value(now, device, GPU_TEMPERATURE, &value))
		buf_addf(b, "%s%.0f °C", b->len > start ? ", " : "", value);
}
