/* Readings of GPUs during a recording of what happens on them: what their driver says once a second, as `cresset up` keeps it (collect/host_gpu.h), beside the
 * samples; and what they are called. A thread of its own waits for the driver; here it is waited for once, at the start. */
#include "base/clock.h"
#include "cmd/gpu_env.h"
#include "cmd/record.h"
#include "collect/host_gpu.h"
#include "profile/copy.h"
#include "profile/sum.h"

#define NAMES_PATIENCE_NS 1000000000ull

void record_gpu_start(struct recording *r)
{
	r->gpus_mono_ns = clock_mono_ns();
	if (r->collect.events & COLLECT_GPU)
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

/* What the driver had kept from before it was first asked is left out; how things were as the recording began is not. */
static void put_points(struct recording *r, const struct host_points *w)
{
	struct sink *sink = profile_sink(r->profile);
	int64_t wall_offset_ns = clock_wall_offset_ns(), start_ns = r->gpus_mono_ns;
	struct profile_copy copy;

	profile_copy_init(&copy, w->p, r->profile);
	for (size_t i = 0; i < w->m.points.n; i++) {
		const struct otlp_point *from = &w->m.points.v[i];
		const struct otlp_series *s = &w->m.series.v[from->series];
		const struct reading_point point = { sum_sub(from->time_ns, wall_offset_ns),
						     from->value };
		if (point.time_ns < start_ns)
			continue;
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
		host_points_init(&w, r->collect.host);
		w.fixed = r->collect.labels;
		w.n_fixed = r->collect.n_labels;
		w.time_ns = clock_wall_offset_ns() + (int64_t)clock_mono_ns();
		host_gpu_put(&machine, &reading, &status, &w);
		put_points(r, &w);
		host_points_done(&w);
	}
	gpu_reading_done(&reading);
	vec_done(&machine.devices);
}
