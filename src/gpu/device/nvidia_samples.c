/* The driver's buffer: several values a second, each with its own time. */
#include "base/clock.h"
#include "base/vec.h"
#include "gpu/device/nvidia.h"

enum { ROOM = 128, TRIES = 3 };
#define PERCENT    0.01
#define MOST_AHEAD 1000000 /* µs: clocks are not read at the same time */

struct kind {
	uint32_t kind;
	enum gpu_metric metric;
	double unit, most;
};
static const struct kind power = { NVML_SAMPLES_POWER, GPU_POWER, 1e-3, 1e8 };
static const struct kind gpu = { NVML_SAMPLES_GPU, GPU_UTILIZATION, PERCENT, 100 };
static const struct kind memory = { NVML_SAMPLES_MEMORY, GPU_MEMORY_CONTROLLER, PERCENT, 100 };

/* Retries with more space if needed. Returns NVML_OK with the number of samples in *n. */
static int ask(struct nvidia_read *r, const struct kind *k, uint32_t *type, uint32_t *n)
{
	struct gpu_session *s = r->s;
	int result = NVML_INSUFFICIENT_SIZE;
	uint32_t room = ROOM;

	for (int i = 0; i < TRIES && result == NVML_INSUFFICIENT_SIZE; i++) {
		vec_reserve(&s->samples, room);
		*n = room;
		result = nvidia_ask(s, samples, r->handle, k->kind, r->seen->samples_us[k->kind],
				    type, n, s->samples.v);
		if (result == NVML_OK && *n > room) {
			r->out->implausible++;
			return NVML_NOT_SUPPORTED;
		}
		room = *n > room ? *n : 2 * room;
		room = room > GPU_MAX_SAMPLES ? GPU_MAX_SAMPLES : room;
	}
	if (result == NVML_INSUFFICIENT_SIZE)
		r->out->truncated++;
	return result;
}

/* Returns -1 for an unknown type. */
static double number(const union nvml_value *v, uint32_t type)
{
	switch (type) {
	case NVML_VALUE_DOUBLE:
		return v->d;
	case NVML_VALUE_UINT:
		return v->u32;
	case NVML_VALUE_ULONG:
		return (double)v->ul;
	case NVML_VALUE_ULLONG:
		return (double)v->u64;
	case NVML_VALUE_SLLONG:
		return (double)v->s64;
	}
	return -1;
}

static bool read_kind(struct nvidia_read *r, const struct kind *k)
{
	uint64_t seen_us = r->seen->samples_us[k->kind], last_us = seen_us;
	uint64_t now_us = clock_wall_ns() / 1000;
	uint32_t type = NVML_VALUE_UINT, n = 0;
	bool is_any = false;

	if (!nvidia_heard(r, ask(r, k, &type, &n)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct nvml_sample *s = &r->s->samples.v[i];
		double value = number(&s->value, type);
		if (!s->time_us)
			continue; /* an empty slot in the buffer */
		if (s->time_us <= seen_us || s->time_us > now_us + MOST_AHEAD || !(value >= 0) ||
		    value > k->most) {
			r->out->implausible++;
			continue;
		}
		gpu_point_put(r->out, r->device, k->metric, (int64_t)s->time_us * 1000,
			      nvidia_in(value, k->unit));
		last_us = s->time_us > last_us ? s->time_us : last_us;
		is_any = true;
	}
	r->seen->samples_us[k->kind] = last_us;
	return is_any;
}

static void read_power(struct nvidia_read *r)
{
	uint32_t mw;

	if (!read_kind(r, &power) && !r->is_lost &&
	    nvidia_heard(r, nvidia_ask(r->s, power, r->handle, &mw)))
		nvidia_put_u32(r, GPU_POWER, mw, power.unit, power.most);
}

static void read_utilization(struct nvidia_read *r)
{
	bool has_gpu = read_kind(r, &gpu), has_memory = !r->is_lost && read_kind(r, &memory);
	struct nvml_utilization now;

	if ((has_gpu && has_memory) || r->is_lost ||
	    !nvidia_heard(r, nvidia_ask(r->s, utilization, r->handle, &now)))
		return;
	if (!has_gpu)
		nvidia_put_u32(r, GPU_UTILIZATION, now.gpu, gpu.unit, gpu.most);
	if (!has_memory)
		nvidia_put_u32(r, GPU_MEMORY_CONTROLLER, now.memory, memory.unit, memory.most);
}

void nvidia_read_samples(struct nvidia_read *r)
{
	read_power(r);
	if (!r->is_lost)
		read_utilization(r);
}
