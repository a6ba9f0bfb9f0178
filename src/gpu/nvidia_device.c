/* What a device says of itself. */
#include "base/clock.h"
#include "gpu/nvidia.h"

#include <string.h>

#define PERCENT 0.01
enum { PERCENT_MAX = 100 };

/* --- single numbers --------------------------------------------------------------------------- */

/* A function of struct nvml_api that gives one number, plain or of one of several kinds. */
struct number {
	size_t at; /* of the function */
	enum gpu_metric metric;
	bool has_kind;
	uint32_t kind;
	double unit, most;
};
typedef int (*plain_number)(nvml_device, uint32_t *);
typedef int (*kind_number)(nvml_device, uint32_t, uint32_t *);

#define PLAIN(metric_, call_, unit_, most_) \
	{ \
		.at = offsetof(struct nvml_api, call_), .metric = metric_, .unit = unit_, \
		.most = most_ \
	}
#define KIND(metric_, call_, kind_, unit_, most_) \
	{ \
		.at = offsetof(struct nvml_api, call_), .metric = metric_, .has_kind = true, \
		.kind = kind_, .unit = unit_, .most = most_ \
	}
#define MHZ_MAX     100000
#define MILLIWATTS  100000000
#define CELSIUS_MAX 1000
#define REPLAYS_MAX 4294967294.0
#define KB_MAX      4294967294.0

static const struct number numbers[] = {
	KIND(GPU_SPEED_SM, clock, NVML_OF_SM, 1e6, MHZ_MAX),
	KIND(GPU_SPEED_MEMORY, clock, NVML_OF_MEM, 1e6, MHZ_MAX),
	KIND(GPU_SPEED_GRAPHICS, clock, NVML_OF_GRAPHICS, 1e6, MHZ_MAX),
	KIND(GPU_SPEED_LIMIT_SM, max_clock, NVML_OF_SM, 1e6, MHZ_MAX),
	KIND(GPU_SPEED_LIMIT_MEMORY, max_clock, NVML_OF_MEM, 1e6, MHZ_MAX),
	KIND(GPU_SPEED_LIMIT_GRAPHICS, max_clock, NVML_OF_GRAPHICS, 1e6, MHZ_MAX),
	PLAIN(GPU_POWER_LIMIT, power_limit, 1e-3, MILLIWATTS),
	KIND(GPU_TEMPERATURE, temperature, NVML_SENSOR_GPU, 1, CELSIUS_MAX),
	KIND(GPU_TEMPERATURE_SHUTDOWN, temperature_limit, NVML_LIMIT_SHUTDOWN, 1, CELSIUS_MAX),
	KIND(GPU_TEMPERATURE_SLOWDOWN, temperature_limit, NVML_LIMIT_SLOWDOWN, 1, CELSIUS_MAX),
	KIND(GPU_TEMPERATURE_MEMORY_MAX, temperature_limit, NVML_LIMIT_MEM_MAX, 1, CELSIUS_MAX),
	KIND(GPU_TEMPERATURE_MAX, temperature_limit, NVML_LIMIT_GPU_MAX, 1, CELSIUS_MAX),
	KIND(GPU_PCIE_RECEIVE, pcie_throughput, NVML_PCIE_RX, 1e3, KB_MAX),
	KIND(GPU_PCIE_TRANSMIT, pcie_throughput, NVML_PCIE_TX, 1e3, KB_MAX),
	PLAIN(GPU_PCIE_GENERATION, pcie_generation, 1, 100),
	PLAIN(GPU_PCIE_WIDTH, pcie_width, 1, 1024),
	PLAIN(GPU_PCIE_REPLAYS, pcie_replays, 1, REPLAYS_MAX),
	PLAIN(GPU_PERFORMANCE_STATE, performance, 1, 15),
	/* In percent of what it is meant to do, which it may exceed. */
	PLAIN(GPU_FAN, fan, PERCENT, 1000),
};

static int ask_number(struct nvidia_read *r, const struct number *n, uint32_t *value)
{
	const char *at = (const char *)&r->s->api + n->at;
	kind_number of_kind;
	plain_number plain;

	memcpy(&of_kind, at, sizeof of_kind);
	memcpy(&plain, at, sizeof plain);
	if (!plain)
		return NVML_FUNCTION_NOT_FOUND;
	atomic_store(r->s->call, clock_mono_ns());
	return n->has_kind ? of_kind(r->handle, n->kind, value) : plain(r->handle, value);
}

static void read_numbers(struct nvidia_read *r)
{
	for (size_t i = 0; !r->is_lost && i < sizeof numbers / sizeof *numbers; i++) {
		const struct number *n = &numbers[i];
		uint32_t value = 0;
		if ((r->with_slow || !gpu_metrics[n->metric].is_slow) &&
		    nvidia_heard(r, ask_number(r, n, &value)))
			nvidia_put_u32(r, n->metric, value, n->unit, n->most);
	}
}

/* --- others ----------------------------------------------------------------------------------- */

static void put_u64(struct nvidia_read *r, enum gpu_metric metric, uint64_t value, double unit)
{
	if (value == NVML_UNKNOWN_64)
		r->out->implausible++;
	else
		gpu_point_put(r->out, r->device, metric, r->now_ns, nvidia_in((double)value, unit));
}

static void read_energy(struct nvidia_read *r)
{
	uint64_t mj;

	if (nvidia_heard(r, nvidia_ask(r->s, energy, r->handle, &mj)))
		put_u64(r, GPU_ENERGY, mj, 1e-3);
}

static void read_coders(struct nvidia_read *r)
{
	uint32_t percent, period_us;

	if (nvidia_heard(r, nvidia_ask(r->s, encoder, r->handle, &percent, &period_us)))
		nvidia_put_u32(r, GPU_UTILIZATION_ENCODER, percent, PERCENT, PERCENT_MAX);
	if (nvidia_heard(r, nvidia_ask(r->s, decoder, r->handle, &percent, &period_us)))
		nvidia_put_u32(r, GPU_UTILIZATION_DECODER, percent, PERCENT, PERCENT_MAX);
}

/* Bits: nvmlClocksEventReason…; the first is that nothing runs. */
static void read_throttled(struct nvidia_read *r)
{
	uint64_t bits;
	int result = r->s->api.throttled_new ? nvidia_ask(r->s, throttled_new, r->handle, &bits)
					     : nvidia_ask(r->s, throttled, r->handle, &bits);

	if (!nvidia_heard(r, result))
		return;
	for (int i = 0; i <= GPU_THROTTLED_DISPLAY - GPU_THROTTLED_IDLE; i++)
		gpu_point_put(r->out, r->device, (enum gpu_metric)(GPU_THROTTLED_IDLE + i),
			      r->now_ns, bits >> i & 1);
}

static void read_link(struct nvidia_read *r)
{
	struct nvml_field fields[] = {
		{ .id = NVML_FIELD_NVLINK_RX, .scope = NVML_ALL_LINKS },
		{ .id = NVML_FIELD_NVLINK_TX, .scope = NVML_ALL_LINKS },
	};
	static const enum gpu_metric metrics[] = { GPU_LINK_RECEIVE, GPU_LINK_TRANSMIT };

	if (!nvidia_heard(r, nvidia_ask(r->s, fields, r->handle, 2, fields)))
		return;
	for (int i = 0; i < 2; i++)
		if (fields[i].result == NVML_OK && fields[i].type == NVML_VALUE_ULLONG)
			put_u64(r, metrics[i], fields[i].value.u64, 1024);
}

static void read_errors(struct nvidia_read *r)
{
	static const enum gpu_metric metrics[] = { [NVML_ERROR_CORRECTED] = GPU_ERRORS_CORRECTED,
						   [NVML_ERROR_UNCORRECTED] =
							   GPU_ERRORS_UNCORRECTED };
	uint64_t n;

	for (uint32_t i = NVML_ERROR_CORRECTED; i <= NVML_ERROR_UNCORRECTED; i++)
		if (nvidia_heard(r, nvidia_ask(r->s, ecc, r->handle, i, NVML_ECC_VOLATILE, &n)))
			put_u64(r, metrics[i], n, 1);
}

/* How many there are is what a list would need that has no room. */
static void read_retired(struct nvidia_read *r)
{
	static const enum gpu_metric metrics[] = { [NVML_RETIRED_SINGLE_BIT] =
							   GPU_RETIRED_SINGLE_BIT,
						   [NVML_RETIRED_DOUBLE_BIT] =
							   GPU_RETIRED_DOUBLE_BIT };

	for (uint32_t i = NVML_RETIRED_SINGLE_BIT; i <= NVML_RETIRED_DOUBLE_BIT; i++) {
		uint32_t n = 0;
		int result = nvidia_ask(r->s, retired, r->handle, i, &n, NULL);
		if (nvidia_heard(r, result) || result == NVML_INSUFFICIENT_SIZE)
			nvidia_put_u32(r, metrics[i], n, 1, 1e6);
	}
}

static void read_remapped(struct nvidia_read *r)
{
	uint32_t corrected, uncorrected, pending, failed;

	if (!nvidia_heard(r, nvidia_ask(r->s, remapped, r->handle, &corrected, &uncorrected,
					&pending, &failed)))
		return;
	nvidia_put_u32(r, GPU_REMAPPED_CORRECTED, corrected, 1, 1e6);
	nvidia_put_u32(r, GPU_REMAPPED_UNCORRECTED, uncorrected, 1, 1e6);
}

static void read_partitioned(struct nvidia_read *r)
{
	uint32_t mode, pending;

	if (nvidia_heard(r, nvidia_ask(r->s, mig_mode, r->handle, &mode, &pending)))
		nvidia_put_u32(r, GPU_PARTITIONED, mode, 1, 1);
}

void nvidia_read_device(struct nvidia_read *r)
{
	static void (*const often[])(struct nvidia_read *) = {
		read_numbers, read_energy, read_coders, read_throttled, read_link,
	};
	static void (*const slow[])(struct nvidia_read *) = {
		read_errors,
		read_retired,
		read_remapped,
		read_partitioned,
	};

	for (size_t i = 0; !r->is_lost && i < sizeof often / sizeof *often; i++)
		often[i](r);
	for (size_t i = 0; r->with_slow && !r->is_lost && i < sizeof slow / sizeof *slow; i++)
		slow[i](r);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* What is used has what the driver keeps for itself in it where that is not known. */
void nvidia_read_memory(struct nvidia_read *r)
{
	struct nvml_memory_v2 m = { .version = NVML_MEMORY_V2, .reserved = NVML_UNKNOWN_64 };
	struct nvml_memory first = { 0 };

	if (!nvidia_heard(r, nvidia_ask(r->s, memory_v2, r->handle, &m))) {
		if (r->is_lost || !nvidia_heard(r, nvidia_ask(r->s, memory, r->handle, &first)))
			return;
		m.total = first.total;
		m.free = first.free;
		m.used = first.used;
		m.reserved = NVML_UNKNOWN_64;
	}
	if (m.used > m.total || m.free > m.total) {
		r->out->implausible++;
		return;
	}
	put_u64(r, GPU_MEMORY_LIMIT, m.total, 1);
	put_u64(r, GPU_MEMORY_USAGE, m.used, 1);
	put_u64(r, GPU_MEMORY_FREE, m.free, 1);
	if (m.reserved != NVML_UNKNOWN_64 && m.reserved <= m.total)
		put_u64(r, GPU_MEMORY_RESERVED, m.reserved, 1);
}
