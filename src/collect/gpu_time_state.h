/* collect/gpu_time_state.h: what the files of gpu_time share. Only gpu_time*.c include it. */
#ifndef CRESSET_COLLECT_GPU_TIME_STATE_H
#define CRESSET_COLLECT_GPU_TIME_STATE_H

#include "base/vec.h"
#include "collect/gpu_density.h"
#include "collect/gpu_held.h"
#include "collect/gpu_hopes.h"
#include "collect/gpu_time.h"
#include "collect/gpu_windows.h"
#include "collect/gpu_works.h"
#include "gpu/join.h"
#include "gpu/ring_read.h"

/* A program whose ring is read. */
struct watched {
	uint32_t pid;
	struct ring_reader *ring;
	uint64_t found_ns;
	uint64_t window_ns; /* when the window opened; 0: none is open */
	struct ring_state_now before;
	struct gpu_windows windows;      /* where there is more than one */
	uint32_t gpus[RING_DEVICES_MAX]; /* as struct gpu_ran has them; 0: not known yet … */
	uint32_t gpus_since;             /* … by gpu_names.since */
	bool is_told;                    /* that something is wrong with it */
};
struct gpu_time {
	struct gpu_time_opts opts;
	struct gpu_join *join;
	uint64_t start_ns, next_ns;
	struct gpu_hopes hopes;
	VEC(struct watched) programs;
	struct watched *reading;
	uint64_t read_ns;
	struct gpu_works works;
	struct gpu_held held;
	struct gpu_density density;
	uint64_t dense_ns;               /* when the first of its sums began */
	uint32_t exact;                  /* records of this interval that were given one by one */
	uint32_t dash, no_stack, window; /* frames */
	uint64_t watched_ns;             /* of programs that are gone */
	struct gpu_time_stats stats;
};

static inline bool gpu_time_is_always(const struct gpu_time *g)
{
	return g->opts.budget > 0;
}

/* gpu_time_ran.c: what rings say, as samples. ctx: a struct gpu_time. */
void gpu_time_make_frames(struct gpu_time *g);
/* Returns how many records there were. */
size_t gpu_time_read_ring(struct gpu_time *g, struct watched *p, uint64_t now_ns);
/* A window that is open is over, or has been cut, there. */
void gpu_time_put_window(struct gpu_time *g, struct watched *p, uint64_t end_ns);
void gpu_time_on_share(void *ctx, const struct gpu_share *share);
void gpu_time_on_held(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns);
void gpu_time_give_dense(void *ctx, const struct gpu_dense *d);

#endif
