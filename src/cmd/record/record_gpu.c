/* Readings of GPUs during a recording of GPU events: what their driver reports once a second, as
 * `cresset up` retains it (collect/host/host_sources.h), next to the samples; and the names of the
 * GPUs. A separate thread waits for the driver; this file waits for the driver once, at the
 * start. */
#include "base/clock.h"
#include "base/vec.h"
#include "cmd/gpu/gpu_setup.h"
#include "cmd/record/record_state.h"
#include "collect/host/host_points.h"
#include "collect/host/host_sources.h"
#include "format/otlp/otlp_metrics.h"
#include "gpu/device/watch.h"
#include "profile/copy.h"
#include "profile/profile.h"
#include "profile/readings.h"
#include "profile/sum.h"

#define NAMES_PATIENCE_NS 1000000000ull

void record_gpu_start(struct recording *r)
{
	r->gpus_mono_ns = clock_mono_ns();
	if (r->collect.sampler.events & COLLECT_GPU)
		r->gpus = gpu_watch_start(&(struct gpu_watch_opts){ .source = gpu_env() });
}

void record_gpu_name(struct recording *r)
{
	struct gpu_machine machine = { 0 };

	if (!r->gpus)
		return;
	gpu_watch_wait(r->gpus, NAMES_PATIENCE_NS);
	if (gpu_watch_machine(r->gpus, &machine))
		collect_gpu_named(r->collector, &machine);
	vec_done(&machine.devices);
}

void record_gpu_stop(struct recording *r)
{
	gpu_watch_stop(r->gpus);
	r->gpus = NULL;
}

/* The last reading from before the start shows the state at the start. */
static bool is_later_before(const struct host_points *w, size_t i, int64_t start_ns)
{
	for (size_t k = i + 1; k < w->m.points.n; k++)
		if (w->m.points.v[k].series == w->m.points.v[i].series &&
		    w->m.points.v[k].time_ns <= start_ns)
			return true;
	return false;
}

/* Leaves out readings that the driver has kept from before the first call, and those of after the
 * end, which come while recording stops. */
static void put_points(struct recording *r, const struct host_points *w)
{
	struct sink *sink = profile_sink(r->profile);
	int64_t wall_offset_ns = clock_wall_offset_ns();
	int64_t asked_ns = sum_add(r->gpus_mono_ns, wall_offset_ns);
	int64_t start_ns = sum_add(r->start_mono_ns, wall_offset_ns);
	int64_t end_ns = r->end_mono_ns ? sum_add(r->end_mono_ns, wall_offset_ns) : INT64_MAX;
	struct profile_copy copy;

	profile_copy_init(&copy, w->p, r->profile);
	for (size_t i = 0; i < w->m.points.n; i++) {
		const struct otlp_point *from = &w->m.points.v[i];
		const struct otlp_series *s = &w->m.series.v[from->series];
		bool is_before = from->time_ns < start_ns;
		if (from->time_ns < asked_ns || from->time_ns > end_ns ||
		    (is_before && is_later_before(w, i, start_ns)))
			continue;
		const struct reading_point point = {
			sum_sub(is_before ? start_ns : from->time_ns, wall_offset_ns), from->value
		};
		const struct reading_key key = { profile_copy_string(&copy, s->name),
						 profile_copy_string(&copy, s->unit),
						 profile_copy_labels(&copy, s->labels),
						 s->kind == OTLP_COUNTER };
		sink->ops->readings(sink, &key, &point, 1);
	}
	profile_copy_done(&copy);
}

void record_gpu_take(struct recording *r)
{
	struct gpu_machine machine = { 0 };
	struct gpu_reading reading = { 0 };
	struct host_points w;

	if (!r->gpus)
		return;
	gpu_watch_take(r->gpus, &machine, &reading);
	if (reading.points.n || reading.processes.n) {
		struct gpu_status status = gpu_watch_state(r->gpus);
		host_points_init(&w, r->collect.resolve.series.host);
		w.fixed = r->collect.resolve.series.labels;
		w.n_fixed = r->collect.resolve.series.n_labels;
		w.time_ns = clock_wall_offset_ns() + (int64_t)clock_mono_ns();
		host_gpu_put(&machine, &reading, &status, &w);
		put_points(r, &w);
		host_points_done(&w);
	}
	gpu_reading_done(&reading);
	vec_done(&machine.devices);
}
