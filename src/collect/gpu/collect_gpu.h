/* collect/gpu/collect_gpu.h: the collector's GPU part: probes on GPU libraries
 * (collect/gpu/gpu_probes.h), memory in use by programs (collect/resolve/gpu_live.h), what ran on
 * GPUs (collect/gpu/gpu_time.h) and where it stalled (collect/gpu/gpu_stall.h). Each exists only if
 * it was requested.
 *
 * Always on: level 0 in processes that map a GPU library, level 1 in programs with the library
 * inside. A library that cannot be switched off again is not switched on; that, and another tool
 * with CUPTI, is logged once per program. A ring held by another agent is requested every 10 s. At
 * a cut rings are read and launches waited for (20 ms). Memory in use is a snapshot per interval,
 * a sample for each thread and stack; one of 0 when a process's memory or the process is gone.
 * After lost calls the kernel's table shows existing allocations. */
#ifndef CRESSET_COLLECT_GPU_COLLECT_GPU_H
#define CRESSET_COLLECT_GPU_COLLECT_GPU_H

#include "collect/gpu/gpu_beats.h"
#include "collect/gpu/gpu_before.h"
#include "collect/gpu/gpu_opts.h"
#include "collect/gpu/gpu_probes.h"
#include "collect/gpu/gpu_stall.h"
#include "collect/gpu/gpu_time.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/side_band.h"
#include "collect/resolve/order.h"
#include "collect/resolve/resolve.h"

struct err;

struct collect_gpu {               /* zeroed = nothing was requested */
	struct gpu_probes *probes; /* NULL: no GPU event was requested */
	struct gpu_time *time;     /* NULL: GPU time was not requested */
	struct gpu_stall *stall;   /* NULL: stalls were not requested */
	struct gpu_beats *beats;   /* NULL with time, or if there is no thread for it */
	const struct sampler_opts *asked;
	const struct gpu_collect_opts *opts;
	struct sampler *sampler;
	struct resolver *resolver;
	struct helper *helper;
	struct proc_reader *reader; /* of programs */
	struct order *order;
	struct gpu_before before;
	uint64_t calls_lost; /* at the last check that allocations still exist */
};

/* Sets the resolver's callbacks, before the resolver exists; g must not move. */
void collect_gpu_hooks(struct collect_gpu *g, struct resolve_links *resolve);
/* sampler, resolver and order are set, and stay the caller's. -EOPNOTSUPP: options that exclude
 * each other. */
int collect_gpu_open(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types,
		     struct err *err);
void collect_gpu_done(struct collect_gpu *g);

/* Finds what already runs. */
void collect_gpu_start(struct collect_gpu *g);
/* Returns whether the process has mapped a library that is watched. */
bool collect_gpu_seen(struct collect_gpu *g, const struct side_record *r);
/* The same in time order, after the resolver has handled the record. */
void collect_gpu_applied(struct collect_gpu *g, const struct side_record *r);
/* Finds the programs and libraries of all processes that the resolver knows. Call it when the
 * resolver has read /proc, as records of mappings may have been lost: those found before stay. */
void collect_gpu_scanned(struct collect_gpu *g);
/* Returns when it wants to run again; UINT64_MAX: never. */
uint64_t collect_gpu_due_ns(const struct collect_gpu *g);
void collect_gpu_run(struct collect_gpu *g, uint64_t now_ns);
void collect_gpu_new_epoch(struct collect_gpu *g);

/* An interval ends: begin_cut reads what ran up to now, and returns true if there are launches to
 * wait for. Once the launches up to then have been handed out, cut puts memory in use now and the
 * sums of what ran into the sink. has_stacks: all launches were handed out; otherwise some wait for
 * unwind tables. */
bool collect_gpu_begin_cut(struct collect_gpu *g, uint64_t now_ns);
void collect_gpu_cut(struct collect_gpu *g, uint64_t now_ns, bool has_stacks);
/* As collect_gpu_named and collect_gpu_update. */
void collect_gpu_take_names(struct collect_gpu *g, const struct gpu_machine *m);
void collect_gpu_take_told(struct collect_gpu *g, const struct gpu_reading *told);
/* Call it before resolve_set_sink. */
void collect_gpu_set_sink(struct collect_gpu *g, struct sink *sink, const struct gpu_types *types);

/* At the end: stop_time ends what is watched; stop_probes ends the probes, and adds what is left to
 * the order; once that was handed out, finish puts the rest into the sink. */
void collect_gpu_stop_time(struct collect_gpu *g);
void collect_gpu_stop_probes(struct collect_gpu *g);
void collect_gpu_finish(struct collect_gpu *g);

void collect_gpu_stats(const struct collect_gpu *g, struct gpu_probes_stats *probes,
		       struct gpu_time_stats *time, struct gpu_stall_stats *stall);

#endif
