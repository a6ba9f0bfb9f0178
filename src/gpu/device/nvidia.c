/* Reads devices and processes through NVML, and converts units. */
#include "gpu/device/nvidia.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char library_name[] = "libnvidia-ml.so.1";

/* --- a session -------------------------------------------------------------------------------- */

struct gpu_session *nvidia_session_new(const struct nvml_api *api, void *library, gpu_call *call)
{
	struct gpu_session *s = xcalloc(1, sizeof *s);

	s->api = *api;
	s->library = library;
	s->call = call;
	return s;
}

static void *find(void *library, const char *symbol)
{
	return dlsym(library, symbol);
}

static int begin(void *library, gpu_call *call, struct gpu_session **out, struct err *err)
{
	struct nvml_api api;
	char text[32];
	int rc = nvml_find(&api, find, library, err);

	if (rc) {
		err_prefix(err, "%s", library_name);
		return -ENODEV;
	}
	atomic_store(call, clock_mono_ns());
	int result = api.init();
	atomic_store(call, 0);
	if (result == NVML_OK) {
		*out = nvidia_session_new(&api, library, call);
		return 0;
	}
	err_set(err, EAGAIN, "NVIDIA's library is installed but cannot be initialized: %s",
		nvml_words(result, text));
	return result == NVML_DRIVER_NOT_LOADED ? -ENODEV : -EAGAIN;
}

/* Closes the library on failure, as its driver may only follow later: it is not retained in memory
 * until then. */
static int nvidia_open(const struct gpu_source *opts, gpu_call *call, struct gpu_session **out,
		       struct err *err)
{
	(void)opts;
	atomic_store(call, clock_mono_ns());
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	atomic_store(call, 0);
	if (!library) {
		err_set(err, ENODEV, "no NVIDIA driver: %s not found", library_name);
		return -ENODEV;
	}
	int rc = begin(library, call, out, err);
	if (rc)
		dlclose(library);
	return rc;
}

static void nvidia_close(struct gpu_session *s)
{
	if (!s)
		return;
	nvidia_ask(s, shutdown);
	atomic_store(s->call, 0);
	if (s->library)
		dlclose(s->library);
	vec_done(&s->handles);
	vec_done(&s->seen);
	vec_done(&s->listed);
	vec_done(&s->listed_v1);
	vec_done(&s->used);
	vec_done(&s->samples);
	free(s);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Texts are requested with one byte less than the buffer has, so they are terminated even if the
 * library does not terminate them. */
static void describe(struct gpu_session *s, nvml_device handle, struct gpu_device *d)
{
	char text[GPU_TEXT + 1] = "";
	struct nvml_memory memory;
	struct nvml_pci pci = { 0 };

	if (nvidia_ask(s, name, handle, text, GPU_TEXT) == NVML_OK)
		gpu_text(d->name, text, GPU_TEXT);
	memset(text, 0, sizeof text);
	if (nvidia_ask(s, uuid, handle, text, GPU_TEXT) == NVML_OK)
		gpu_text(d->uuid, text, GPU_TEXT);
	if (!d->is_instance && nvidia_ask(s, pci, handle, &pci) == NVML_OK)
		gpu_text(d->bus, pci.bus_text, sizeof pci.bus_text);
	if (nvidia_ask(s, memory, handle, &memory) == NVML_OK && memory.total != NVML_UNKNOWN_64)
		d->memory_bytes = memory.total;
}

static void add(struct gpu_session *s, nvml_device handle, struct gpu_device *d,
		struct gpu_machine *m)
{
	uint64_t now_us = clock_wall_ns() / 1000;
	struct nvidia_seen seen = { .processes_us = now_us };

	if (m->devices.n == GPU_MAX_DEVICES) {
		m->left_out++;
		return;
	}
	for (size_t i = 0; i < sizeof seen.samples_us / sizeof *seen.samples_us; i++)
		seen.samples_us[i] = now_us;
	describe(s, handle, d);
	vec_push(&m->devices, *d);
	vec_push(&s->handles, handle);
	vec_push(&s->seen, seen);
}

static void add_instances(struct gpu_session *s, nvml_device gpu, uint32_t index,
			  struct gpu_machine *m)
{
	uint32_t mode = 0, pending, n = 0;

	if (nvidia_ask(s, mig_mode, gpu, &mode, &pending) != NVML_OK || mode != 1 ||
	    nvidia_ask(s, mig_count, gpu, &n) != NVML_OK)
		return;
	for (uint32_t i = 0; i < n && i < GPU_MAX_DEVICES; i++) {
		struct gpu_device d = { .is_instance = true, .index = index };
		nvml_device handle;
		if (nvidia_ask(s, mig_at, gpu, i, &handle) != NVML_OK)
			continue; /* not every index is in use */
		snprintf(d.label, sizeof d.label, "%u:%u", index, i);
		add(s, handle, &d, m);
	}
}

static void add_device(struct gpu_session *s, uint32_t index, struct gpu_machine *m)
{
	struct gpu_device d = { .index = index };
	nvml_device handle;

	if (nvidia_ask(s, device_at, index, &handle) != NVML_OK) {
		m->left_out++;
		return;
	}
	snprintf(d.label, sizeof d.label, "%u", index);
	add(s, handle, &d, m);
	add_instances(s, handle, index, m);
}

static int nvidia_discover(struct gpu_session *s, struct gpu_machine *out, struct err *err)
{
	char text[GPU_TEXT + 1] = "", words[32];
	uint32_t n = 0;
	int result = nvidia_ask(s, device_count, &n);

	vec_clear(&out->devices);
	vec_clear(&s->handles);
	vec_clear(&s->seen);
	out->left_out = n > GPU_MAX_DEVICES ? n - GPU_MAX_DEVICES : 0;
	for (uint32_t i = 0; result == NVML_OK && i < n && i < GPU_MAX_DEVICES; i++)
		add_device(s, i, out);
	if (nvidia_ask(s, driver_version, text, GPU_TEXT) != NVML_OK)
		text[0] = '\0';
	gpu_text(out->driver, text, GPU_TEXT);
	atomic_store(s->call, 0);
	return result == NVML_OK
		       ? 0
		       : err_set(err, EIO, "GPUs cannot be counted: %s", nvml_words(result, words));
}

/* --- readings --------------------------------------------------------------------------------- */

double nvidia_in(double value, double unit)
{
	return unit < 1 ? value / round(1 / unit) : value * unit;
}

bool nvidia_heard(struct nvidia_read *r, int result)
{
	r->is_lost |= result == NVML_GPU_IS_LOST;
	return result == NVML_OK;
}

void nvidia_put_u32(struct nvidia_read *r, enum gpu_metric metric, uint32_t value, double unit,
		    double most)
{
	if (value == NVML_UNKNOWN_32 || value > most)
		r->out->implausible++;
	else
		gpu_point_put(r->out, r->device, metric, r->now_ns, nvidia_in(value, unit));
}

/* --- state of a device ------------------------------------------------------------------------ */

#define PERCENT 0.01
enum { PERCENT_MAX = 100 };

/* --- single numbers --------------------------------------------------------------------------- */

/* A function of struct nvml_api that returns one number, some with an argument for its kind. */
struct number {
	size_t at; /* offset of the function */
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
	/* In percent of the intended speed, which it may exceed. */
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

/* --- other values ----------------------------------------------------------------------------- */

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

/* Bits: nvmlClocksEventReason…; the first is idle. */
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

/* The number of pages is the size that a list would need: it is requested with no space. */
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

static void read_device(struct nvidia_read *r)
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

/* Used memory includes what the driver reserves if the reserved amount is unknown. */
static void read_memory(struct nvidia_read *r)
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

/* --- a reading -------------------------------------------------------------------------------- */

static void read_gpu(struct nvidia_read *r)
{
	static void (*const parts[])(struct nvidia_read *) = {
		nvidia_read_samples,
		read_memory,
		read_device,
		nvidia_read_processes,
	};

	for (size_t i = 0; !r->is_lost && i < sizeof parts / sizeof *parts; i++)
		parts[i](r);
}

static void nvidia_metrics(struct gpu_session *s, struct gpu_machine *m, bool with_slow,
			   struct gpu_reading *out)
{
	for (size_t i = 0; i < m->devices.n && i < s->handles.n; i++) {
		struct gpu_device *d = &m->devices.v[i];
		struct nvidia_read r = { .s = s,
					 .handle = s->handles.v[i],
					 .seen = &s->seen.v[i],
					 .device = (uint32_t)i,
					 .now_ns = (int64_t)clock_wall_ns(),
					 .with_slow = with_slow,
					 .out = out };

		if (d->is_lost)
			continue;
		if (d->is_instance)
			read_memory(&r);
		else
			read_gpu(&r);
		d->is_lost = r.is_lost;
	}
	atomic_store(s->call, 0);
}

const struct gpu_backend gpu_nvidia = {
	.name = "nvidia",
	.open = nvidia_open,
	.close = nvidia_close,
	.discover = nvidia_discover,
	.metrics = nvidia_metrics,
	.profiling = nvidia_profiling,
};
