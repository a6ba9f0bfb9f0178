/* The sample types of each event, added to the sink. */
#include "collect/collect_state.h"

#include "profile/series.h"

/* Waits have no period: their value is their length. `wall` samples have the timer's period, though
 * each may be worth more or less. */
static struct type time_type(struct sink *sink, const char *name)
{
	return (struct type){
		.name = sink_string(sink, name),
		.sample_type = sink_string(sink, name),
		.unit = sink_string(sink, "nanoseconds"),
		.aggregation = AGG_SUM,
	};
}

static uint32_t wait_type(struct sink *sink, const char *name)
{
	struct type t = time_type(sink, name);

	return sink->ops->type(sink, &t);
}

static uint32_t wall_type(struct sink *sink)
{
	struct type t = time_type(sink, "wall");

	t.period_type = sink_string(sink, "cpu");
	t.period_unit = sink_string(sink, "nanoseconds");
	return sink->ops->type(sink, &t);
}

static uint32_t count_type(struct sink *sink, const char *name, const char *unit,
			   enum aggregation aggregation)
{
	struct type t = time_type(sink, name);

	t.unit = sink_string(sink, unit);
	t.aggregation = aggregation;
	return sink->ops->type(sink, &t);
}

/* Bytes of pages; a sample stands for a period of them. */
static uint32_t page_type(struct sink *sink, const char *name, enum aggregation aggregation)
{
	struct type t = time_type(sink, name);

	t.unit = t.period_unit = sink_string(sink, "bytes");
	t.period_type = t.name;
	t.aggregation = aggregation;
	return sink->ops->type(sink, &t);
}

/* Samples of a multiprocessor; their period is in cycles. */
static uint32_t stall_type(struct sink *sink, const char *name)
{
	struct type t = time_type(sink, name);

	t.sample_type = sink_string(sink, "samples");
	t.unit = sink_string(sink, "count");
	t.period_type = sink_string(sink, "gpu");
	t.period_unit = sink_string(sink, "cycles");
	return sink->ops->type(sink, &t);
}

static struct gpu_types gpu_types_of(uint32_t events, struct sink *s)
{
	return (struct gpu_types){
		events & COLLECT_GPU_LAUNCH ? count_type(s, "gpu-launch", "count", AGG_SUM)
					    : TYPE_NONE,
		events & COLLECT_GPU_WAIT ? wait_type(s, "gpu-wait") : TYPE_NONE,
		events & COLLECT_GPU_COPY ? count_type(s, "gpu-copy", "bytes", AGG_SUM) : TYPE_NONE,
		events & COLLECT_NCCL ? count_type(s, "nccl", "bytes", AGG_SUM) : TYPE_NONE,
		events & COLLECT_HBM_ALLOC ? count_type(s, "hbm-alloc", "bytes", AGG_SUM)
					   : TYPE_NONE,
		events & COLLECT_HBM_INUSE ? count_type(s, "hbm-inuse", "bytes", AGG_SNAPSHOT)
					   : TYPE_NONE,
		events & COLLECT_GPU_TIME ? wait_type(s, "gpu-time") : TYPE_NONE,
		events & COLLECT_GPU_TIME ? wait_type(s, "gpu-window") : TYPE_NONE,
		events & COLLECT_GPU_TIME ? wait_type(s, "gpu-queue") : TYPE_NONE,
		events & COLLECT_GPU_STALL ? stall_type(s, "gpu-stall") : TYPE_NONE,
		events & COLLECT_GPU_STALL ? stall_type(s, "gpu-stall-not-issued") : TYPE_NONE,
		events & COLLECT_HBM_ALLOC ? count_type(s, "hbm-alloc-objects", "count", AGG_SUM)
					   : TYPE_NONE,
		events & COLLECT_HBM_INUSE
			? count_type(s, "hbm-inuse-objects", "count", AGG_SNAPSHOT)
			: TYPE_NONE,
	};
}

static uint32_t cpu_type(struct sink *sink)
{
	struct type t = {
		.name = sink_string(sink, "cpu"),
		.sample_type = sink_string(sink, "samples"),
		.unit = sink_string(sink, "count"),
		.period_type = sink_string(sink, "cpu"),
		.period_unit = sink_string(sink, "nanoseconds"),
		.aggregation = AGG_SUM,
	};

	return sink->ops->type(sink, &t);
}

/* A sample stands for a period, its weight beyond the block itself (collect/resolve/heap.h). */
static uint32_t heap_type(struct sink *sink, const char *name, const char *unit,
			  enum aggregation aggregation)
{
	struct type t = time_type(sink, name);

	t.unit = t.period_unit = sink_string(sink, unit);
	t.period_type = t.name;
	t.aggregation = aggregation;
	return sink->ops->type(sink, &t);
}

static struct heap_types heap_types_of(uint32_t events, struct sink *s)
{
	struct heap_types t = { TYPE_NONE, TYPE_NONE, TYPE_NONE, TYPE_NONE };

	if (events & COLLECT_ALLOC) {
		t.alloc = heap_type(s, "alloc", "bytes", AGG_SUM);
		t.alloc_objects = heap_type(s, "alloc-objects", "count", AGG_SUM);
	}
	if (events & COLLECT_INUSE) {
		t.inuse = heap_type(s, "inuse", "bytes", AGG_SNAPSHOT);
		t.inuse_objects = heap_type(s, "inuse-objects", "count", AGG_SNAPSHOT);
	}
	return t;
}

struct resolve_types collect_types(const struct sampler_opts *opts, struct sink *sink)
{
	uint32_t events = opts->events;
	struct resolve_types t = {
		.cpu = events & COLLECT_CPU ? cpu_type(sink) : TYPE_NONE,
		.off_cpu = events & COLLECT_OFF_CPU ? wait_type(sink, "off-cpu") : TYPE_NONE,
		.sched_wait =
			events & COLLECT_SCHED_WAIT ? wait_type(sink, "sched-wait") : TYPE_NONE,
		.wall = events & COLLECT_WALL ? wall_type(sink) : TYPE_NONE,
		.lock = events & COLLECT_LOCK ? wait_type(sink, "lock") : TYPE_NONE,
		.lock_waits = events & COLLECT_LOCK
				      ? count_type(sink, "lock-waits", "count", AGG_SUM)
				      : TYPE_NONE,
		.page_fault = events & COLLECT_PAGE_FAULT ? page_type(sink, "page-fault", AGG_SUM)
							  : TYPE_NONE,
		.rss = events & COLLECT_RSS ? page_type(sink, "rss", AGG_SNAPSHOT) : TYPE_NONE,
		.heap = heap_types_of(events, sink),
		.gpu = gpu_types_of(events, sink),
		.period_ns = 1000000000ll / (int64_t)opts->freq_hz,
	};

	return t;
}
