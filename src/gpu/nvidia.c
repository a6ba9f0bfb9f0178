#include "gpu/nvidia.h"

#include "base/clock.h"
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
	err_set(err, EAGAIN, "NVIDIA's library is here, but it cannot begin: %s",
		nvml_words(result, text));
	return result == NVML_DRIVER_NOT_LOADED ? -ENODEV : -EAGAIN;
}

/* What it was loaded for may come later, so it is not kept in memory until then. */
static int nvidia_open(const struct gpu_source *opts, gpu_call *call, struct gpu_session **out,
		       struct err *err)
{
	(void)opts;
	atomic_store(call, clock_mono_ns());
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	atomic_store(call, 0);
	if (!library) {
		err_set(err, ENODEV, "no NVIDIA driver: %s is not here", library_name);
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

/* Texts are asked for with room for one more than the library knows of: one without an end ends there. */
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
			continue; /* places need not be taken */
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

static void read_gpu(struct nvidia_read *r)
{
	static void (*const parts[])(struct nvidia_read *) = {
		nvidia_read_samples,
		nvidia_read_memory,
		nvidia_read_device,
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
			nvidia_read_memory(&r);
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
