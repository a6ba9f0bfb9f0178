/* collect/collect_gpu.h: the collector's part for GPUs: probes on their libraries (collect/gpu_probes.h), what programs have of their memory
 * (collect/gpu_live.h), what ran on them (collect/gpu_time.h) and where that stalled (collect/gpu_stall.h). All of it is there only when it was asked for. */
#ifndef CRESSET_COLLECT_COLLECT_GPU_H
#define CRESSET_COLLECT_COLLECT_GPU_H

#include "collect/collect.h"
#include "collect/gpu_before.h"
#include "collect/gpu_probes.h"
#include "collect/gpu_stall.h"
#include "collect/gpu_time.h"
#include "collect/order.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "collect/side_band.h"

struct collect_gpu {               /* zeroed = nothing was asked for */
	struct gpu_probes *probes; /* NULL: no event of a GPU was */
	struct gpu_time *time;     /* NULL: what ran was not */
	struct gpu_stall *stall;   /* NULL: where it stalled was not */
	const struct collect_opts *opts;
	struct sampler *sampler;
	struct resolver *resolver;
	struct order *order;
	struct gpu_before before;
	uint64_t calls_lost; /* when it was last asked whether allocations are still there */
};

/* What the resolver tells of, before it is there; g stays where it is. */
void collect_gpu_hooks(struct collect_gpu *g, struct resolve_opts *resolve);
/* sampler, resolver and order are set, and the caller's. -EOPNOTSUPP: options that do not go together. */
int collect_gpu_open(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types,
		     struct err *err);
void collect_gpu_done(struct collect_gpu *g);

/* What runs already. */
void collect_gpu_start(struct collect_gpu *g);
void collect_gpu_seen(struct collect_gpu *g, const struct side_record *r);
/* The same in time order, after the resolver. */
void collect_gpu_applied(struct collect_gpu *g, const struct side_record *r);
/* The resolver has looked at all processes anew. */
void collect_gpu_scanned(struct collect_gpu *g);
/* When it wants to be run again; UINT64_MAX: never. */
uint64_t collect_gpu_due_ns(const struct collect_gpu *g);
void collect_gpu_run(struct collect_gpu *g, uint64_t now_ns);
void collect_gpu_new_epoch(struct collect_gpu *g);

/* An interval ends: begin reads what ran up to now; when the launches up to then have been handed out (has_stacks; else some wait for
 * unwind tables), what is in use now and the sums of what ran go to the sink. True: there are launches to wait for. */
bool collect_gpu_begin_cut(struct collect_gpu *g, uint64_t now_ns);
void collect_gpu_cut(struct collect_gpu *g, uint64_t now_ns, bool has_stacks);
/* As collect_gpu_named and collect_gpu_told. */
void collect_gpu_take_names(struct collect_gpu *g, const struct gpu_machine *m);
void collect_gpu_take_told(struct collect_gpu *g, const struct gpu_reading *told);
/* Before resolve_set_sink. */
void collect_gpu_set_sink(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types);

/* At the end: no call is seen, nothing runs that is watched; what is left goes into the order; and, when that was handed out, the rest to the sink. */
void collect_gpu_stop_time(struct collect_gpu *g);
void collect_gpu_stop_probes(struct collect_gpu *g);
void collect_gpu_finish(struct collect_gpu *g);

void collect_gpu_stats(const struct collect_gpu *g, struct gpu_probes_stats *probes,
		       struct gpu_time_stats *time, struct gpu_stall_stats *stall);

#endif
