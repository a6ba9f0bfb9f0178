/* collect/gpu/gpu_time.h: work on GPUs, and its launchers: for each program with the library
 * (gpu/ring/ring.h), records of its kernels, copies and sets, joined (gpu/ring/join.h) with the CPU
 * stacks that the probes on its launches took.
 *
 *     gpu_time_expect   a process has mapped the library: looks for its ring, and opens a window
 *                       for the whole recording, or with a budget windows from time to time
 *                       (gpu/ring/window.h)
 *     gpu_time_exec     a process runs another program from here on: reads its ring to the end and
 *                       leaves it; records that CUPTI had not handed over are lost
 *     gpu_time_run      call it now and then: looks for rings, beats, reads
 *     gpu_time_launch   takes a launch from the resolver
 *     gpu_time_cut      ends an interval: shares out sums
 *     gpu_time_set_sink after that: the next sample goes to another sink
 *     gpu_time_stop     closes the windows, reads what is left
 *     gpu_time_flush    stops waiting for stacks; call it after the last launch
 *
 * Types that are TYPE_NONE are left out. Samples of type gpu-time are ns; their stack is that of
 * the launch, "-", and what ran:
 *
 *     record whose launch has a stack          that stack
 *     one of launches of which some have one   in proportion to those (an estimate): each stack has
 *                                              its share of such records, the first ones first
 *     one without any                          "[no stack]"
 *
 * Samples of gpu-queue have the same stack, from the launch to the start of its work: for the first
 * of these kinds only.
 *
 * With a limit on records, further records of an interval are summed up each second, by stack and
 * what ran; sums have no length. Otherwise each record has its own time and length, and is cut in
 * two where a share ends, so that all time is in the sum, at its place. Samples of gpu-window say
 * when a program was watched. Any user's program can write records: those outside the recorded time
 * are counted and left out; programs and kinds of work are bounded. */
#ifndef CRESSET_COLLECT_GPU_GPU_TIME_H
#define CRESSET_COLLECT_GPU_GPU_TIME_H

#include "collect/gpu/gpu_opts.h"
#include "collect/resolve/gpu_origins.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_time;
struct gpu_time_stats;
struct gpu_types;
struct sink;

struct gpu_time *gpu_time_new(const struct gpu_time_opts *opts, uint64_t now_ns);
void gpu_time_free(struct gpu_time *g); /* NULL is fine */

/* Returns whether a path is the library's. */
bool gpu_time_wants(const char *path);
void gpu_time_expect(struct gpu_time *g, uint32_t pid, uint64_t now_ns);
void gpu_time_exec(struct gpu_time *g, uint32_t pid, uint64_t now_ns);
void gpu_time_run(struct gpu_time *g, uint64_t now_ns);
/* Returns when it wants to be called again; UINT64_MAX: never. */
uint64_t gpu_time_due_ns(const struct gpu_time *g);
/* As resolve_links.gpu_launch; ctx: struct gpu_time. */
void gpu_time_launch(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
		     uint32_t weight, uint64_t time_ns);
/* Reads everything available now, even if it is not due. gpu_time_waits: whether some of it waits
 * for its stack. */
void gpu_time_read(struct gpu_time *g, uint64_t now_ns);
bool gpu_time_waits(const struct gpu_time *g);
/* has_stacks: all launches up to now were passed on, so nothing still waits for them. */
void gpu_time_cut(struct gpu_time *g, uint64_t now_ns, bool has_stacks);
/* types: the new sink's. to: returns the new number of an origin, as in
 * resolve_links.gpu_renamed. */
void gpu_time_set_sink(struct gpu_time *g, struct sink *sink, const struct gpu_types *types);
void gpu_time_rename(struct gpu_time *g, gpu_origin_move *to, void *to_ctx);
/* Takes as long as the programs need for their last records, at most 2 s. */
void gpu_time_stop(struct gpu_time *g);
void gpu_time_flush(struct gpu_time *g);
void gpu_time_get_stats(const struct gpu_time *g, struct gpu_time_stats *out);

#endif
