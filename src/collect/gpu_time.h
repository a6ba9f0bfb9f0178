/* collect/gpu_time.h: what ran on GPUs, and for whom: of each program that has the library inside (gpu/ring.h) the records of its kernels, copies
 * and sets, joined (gpu/join.h) with the CPU stacks that the probes on its launches took.
 *
 *     gpu_time_expect   a process that has mapped the library: its ring is looked for, a window opened for as long as this goes on, or with
 *                       a budget windows from time to time (gpu/window.h)
 *     gpu_time_exec     one that runs another program from here on: its ring is left
 *     gpu_time_run      now and then: looks, beats, reads
 *     gpu_time_launch   what the resolver says of a launch
 *     gpu_time_cut      an interval ends: sums are shared out
 *     gpu_time_set_sink after that: the next sample goes to another sink
 *     gpu_time_stop     closes the windows, reads what was left
 *     gpu_time_flush    waits for no stack any more; after the last launch was told
 *
 * Types that are TYPE_NONE are left out. Samples of type gpu-time are ns; their stack is that of the launch, "-", and what ran:
 *
 *     record whose launch has a stack          that stack
 *     one of launches of which some have one   as those went (an estimate): each stack has its share of such records, the first ones first
 *     one without any                          "[no stack]"
 *
 * Samples of gpu-queue have the same stack, from the moment of the launch to that when its work began: of the first of these kinds only.
 *
 * With a limit on records, further ones of an interval are summed up each second, by stack and what ran: those have no length. Else each has its own
 * time and length, cut in two where a share ends, so that all of the time is in the sum and where it was. Samples of gpu-window say when a program was watched. Records are the word of a program of any user: those that
 * lie outside of the recorded time are counted and left out; programs and kinds of work are bounded. */
#ifndef CRESSET_COLLECT_GPU_TIME_H
#define CRESSET_COLLECT_GPU_TIME_H

#include "collect/collect.h"
#include "collect/resolve.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_time;

enum {
	GPU_TIME_PROGRAMS = 256,      /* watched at once; each maps some 8 MiB of shared memory */
	GPU_TIME_FOUND_WITHIN_S = 20, /* the library makes its ring soon after it was mapped */
	GPU_TIME_EXACT = 1 << 14,     /* records of an interval, where that is limited */
};

struct gpu_time_opts {
	struct sink *sink;
	struct resolver *resolver;                   /* the caller's, as the sink */
	uint32_t time_type, window_type, queue_type; /* TYPE_NONE: not asked for */
	uint32_t stacks_per_s;                       /* of a thread; 0: every launch */
	/* What windows may cost each program, of the wall time; 0: one window as long as this goes on, as with 1 and more. Not 0: limits
	 * are those of something that runs always. */
	double budget;
	struct gpu_stall *stall; /* told of what it is for; NULL: nobody asks. The caller's */
};
struct gpu_time *gpu_time_new(const struct gpu_time_opts *opts, uint64_t now_ns);
void gpu_time_free(struct gpu_time *g); /* NULL is fine */

/* Whether a path is the library's. */
bool gpu_time_wants(const char *path);
void gpu_time_expect(struct gpu_time *g, uint32_t pid, uint64_t now_ns);
void gpu_time_exec(struct gpu_time *g, uint32_t pid, uint64_t now_ns);
void gpu_time_run(struct gpu_time *g, uint64_t now_ns);
/* When it wants to be called again; UINT64_MAX: never. */
uint64_t gpu_time_due_ns(const struct gpu_time *g);
/* As resolve_opts.gpu_launch; ctx: struct gpu_time. */
void gpu_time_launch(void *ctx, uint32_t pid, uint32_t correlation, uint32_t origin,
		     uint32_t weight, uint64_t time_ns);
/* All that has come by now, also when it is not due; and whether some of it waits for its stack. */
void gpu_time_read(struct gpu_time *g, uint64_t now_ns);
bool gpu_time_waits(const struct gpu_time *g);
/* has_stacks: all launches up to now were told of, so that nothing waits for them any more. */
void gpu_time_cut(struct gpu_time *g, uint64_t now_ns, bool has_stacks);
/* Types are the new one's. to: the numbers that origins have from now on, as resolve_opts.gpu_renamed tells them. */
void gpu_time_set_sink(struct gpu_time *g, struct sink *sink, const struct gpu_types *types);
void gpu_time_rename(struct gpu_time *g, gpu_origin_move *to, void *to_ctx);
/* Takes as long as the programs need for their last records, at most 2 s. */
void gpu_time_stop(struct gpu_time *g);
void gpu_time_flush(struct gpu_time *g);
void gpu_time_get_stats(const struct gpu_time *g, struct gpu_time_stats *out);

#endif
