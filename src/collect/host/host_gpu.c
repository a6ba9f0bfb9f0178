/* GPU readings as metric points. */
#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "format/otlp/otlp_metrics.h"
#include "gpu/device/backend.h"
#include "gpu/device/metric.h"
#include "gpu/device/watch.h"
#include "profile/relabel.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const struct host_metric info = { "hw_gpu_info", "1", OTLP_GAUGE };
static const struct host_metric instance_limit = { "hw_gpu_instance_memory_limit", "By",
						   OTLP_GAUGE };
static const struct host_metric instance_usage = { "hw_gpu_instance_memory_usage", "By",
						   OTLP_GAUGE };
static const struct host_metric process_utilization = { "process_gpu_utilization", "1",
							OTLP_GAUGE };
static const struct host_metric process_memory = { "process_gpu_memory_usage", "By", OTLP_GAUGE };
static const struct host_metric left_out = { "cresset_gpu_left_out", "{answer}", OTLP_COUNTER };

/* --- devices ---------------------------------------------------------------------------------- */

static void put_info(const struct gpu_machine *m, struct host_points *w)
{
	for (size_t i = 0; i < m->devices.n; i++) {
		const struct gpu_device *d = &m->devices.v[i];
		const struct label_text labels[HOST_MAX_LABELS] = { { "gpu", d->label },
								    { "uuid", d->uuid },
								    { "model", d->name },
								    { "driver", m->driver } };
		if (!d->is_lost)
			host_put(w, &info, labels, 1);
	}
}

static void put_instance(const struct gpu_device *d, const struct gpu_point *p,
			 struct host_points *w)
{
	const struct label_text labels[HOST_MAX_LABELS] = { { "gpu", d->label },
							    { "uuid", d->uuid } };

	if (p->metric == GPU_MEMORY_LIMIT || p->metric == GPU_MEMORY_USAGE)
		host_put(w, p->metric == GPU_MEMORY_LIMIT ? &instance_limit : &instance_usage,
			 labels, p->value);
}

static void put_point(const struct gpu_machine *m, const struct gpu_point *p, struct host_points *w)
{
	const struct gpu_metric_row *row = &gpu_metrics[p->metric];
	const struct gpu_device *d = &m->devices.v[p->device];
	const struct host_metric metric = { row->name, row->unit,
					    row->is_counter ? OTLP_COUNTER : OTLP_GAUGE };
	const struct label_text labels[HOST_MAX_LABELS] = { { "gpu", d->label },
							    { "uuid", d->uuid },
							    { row->key, row->value } };

	w->time_ns = p->time_ns;
	if (d->is_instance)
		put_instance(d, p, w);
	else
		host_put(w, &metric, labels, p->value);
}

/* --- processes -------------------------------------------------------------------------------- */

/* Processes of one device at one time, by name. */
struct name_sum {
	const char *name;
	bool has_memory, has_utilization;
	double memory_bytes, utilization;
};
struct name_sums {
	struct name_sum v[HOST_GPU_NAMES + 1];
	uint32_t n;
};

static struct name_sum *sum_of(struct name_sums *s, const char *name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, name) == 0)
			return &s->v[i];
	if (s->n > HOST_GPU_NAMES)
		return &s->v[HOST_GPU_NAMES];
	s->v[s->n] = (struct name_sum){ .name = s->n == HOST_GPU_NAMES ? "[other]" : name };
	return &s->v[s->n++];
}

static void add(struct name_sums *s, const struct gpu_process *p)
{
	struct name_sum *sum = sum_of(s, *p->name ? p->name : "[unknown]");

	sum->has_memory |= p->has_memory;
	sum->has_utilization |= p->has_utilization;
	sum->memory_bytes += p->has_memory ? (double)p->memory_bytes : 0;
	sum->utilization += p->has_utilization ? p->utilization : 0;
}

static void put_sums(const struct name_sums *s, const struct gpu_device *d, struct host_points *w)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct label_text labels[HOST_MAX_LABELS] = { { "gpu", d->label },
								    { "process", s->v[i].name } };
		if (s->v[i].has_memory)
			host_put(w, &process_memory, labels, s->v[i].memory_bytes);
		if (s->v[i].has_utilization)
			host_put(w, &process_utilization, labels, s->v[i].utilization);
	}
}

/* Processes of one reading of a device are adjacent. */
static void put_processes(const struct gpu_machine *m, const struct gpu_reading *r,
			  struct host_points *w)
{
	const struct gpu_process *p = r->processes.v, *end = p + r->processes.n;

	while (p < end) {
		const struct gpu_process *first = p;
		struct name_sums sums = { .n = 0 };
		for (; p < end && p->device == first->device && p->time_ns == first->time_ns; p++)
			add(&sums, p);
		w->time_ns = first->time_ns;
		if (first->device < m->devices.n)
			put_sums(&sums, &m->devices.v[first->device], w);
	}
}

/* --- all -------------------------------------------------------------------------------------- */

static void put_left_out(const struct gpu_status *s, struct host_points *w)
{
	const struct {
		const char *reason;
		uint64_t n;
	} reasons[] = { { "implausible", s->implausible },
			{ "truncated", s->truncated },
			{ "late", s->dropped } };

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		const struct label_text labels[HOST_MAX_LABELS] = { { "reason",
								      reasons[i].reason } };
		if (reasons[i].n)
			host_put(w, &left_out, labels, (double)reasons[i].n);
	}
}

void host_gpu_put(const struct gpu_machine *m, const struct gpu_reading *r,
		  const struct gpu_status *status, struct host_points *w)
{
	int64_t time_ns = w->time_ns;

	put_info(m, w);
	put_left_out(status, w);
	for (size_t i = 0; i < r->points.n; i++)
		if (r->points.v[i].device < m->devices.n)
			put_point(m, &r->points.v[i], w);
	put_processes(m, r, w);
	w->time_ns = time_ns;
}
