/* collect/gpu/gpu_time_state.h: state shared by the files of gpu_time. Only gpu_time*.c,
 * gpu_pending_rings.c and gpu_works.c include it. */
#ifndef CRESSET_COLLECT_GPU_GPU_TIME_STATE_H
#define CRESSET_COLLECT_GPU_GPU_TIME_STATE_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/gpu/gpu_opts.h"
#include "collect/kernel/gpu_stats.h"
#include "gpu/ring/join.h"
#include "gpu/ring/ring_read.h"
#include "gpu/ring/window.h"
#include "profile/frame.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct sink;

/* --- gpu_pending_rings.c ---------------------------------------------------------------------- */

/* Processes that have mapped the library (gpu/ring/ring.h) but show no ring yet. Each is polled at
 * growing intervals for GPU_TIME_FOUND_WITHIN_S. An always-on collector polls as long as another
 * agent has the ring. A ring that was given back (gpu/ring/ring_look.h) is polled until it is
 * requested again. */

#define GPU_HOPES_AGAIN_NS    2000000000ull /* a ring that another agent has */
#define GPU_HOPES_DETACHED_NS 1000000000ull /* a ring that was given back */

struct gpu_pending_ring {
	uint32_t pid;
	uint64_t next_ns, pause_ns, until_ns;
	bool is_busy;     /* another agent has it */
	bool is_detached; /* it was given back */
};
struct gpu_pending_rings {
	bool is_always; /* always-on collector */
	/* Tries to open the ring. Returns 0, -ENOENT, -EPROTO or -EBUSY as ring_open does, or
	 * another error: there never will be one. */
	int (*open)(void *ctx, uint32_t pid, uint64_t now_ns, struct err *err);
	void (*give_up)(void *ctx, uint32_t pid, const char *why); /* for reportable reasons */
	void *ctx;
	VEC(struct gpu_pending_ring) all;
};
void gpu_pending_rings_done(struct gpu_pending_rings *h);

bool gpu_pending_rings_has(const struct gpu_pending_rings *h, uint32_t pid);
/* from_ns: when to poll first. */
void gpu_pending_rings_add(struct gpu_pending_rings *h, uint32_t pid, uint64_t from_ns);
void gpu_pending_rings_look(struct gpu_pending_rings *h, uint64_t now_ns);
/* Stops polling that process. */
void gpu_pending_rings_drop(struct gpu_pending_rings *h, uint32_t pid);
uint64_t gpu_pending_rings_next_ns(const struct gpu_pending_rings *h); /* UINT64_MAX: never */
/* Stops polling: gives up rings that could have been opened later, and forgets all. */
void gpu_pending_rings_end(struct gpu_pending_rings *h);

/* --- gpu_works.c ------------------------------------------------------------------------------ */

/* The kinds of work that run on GPUs: {kernel or marker, device, stream}. Each has a number that
 * stays when the sink changes, and a frame of the sink once needed. */

enum {
	/* limit: GPU kernels by device and stream; others lose both */
	GPU_WORKS_MAX = 1 << 18,
	GPU_WORKS_FEW = 1 << 12, /* not worth forgetting */
};

struct gpu_work {
	uint32_t name;        /* in names */
	uint32_t kind;        /* enum frame_kind */
	uint32_t gpu, stream; /* as in struct gpu_ran; 0: unknown */
};
struct gpu_works {
	struct strtab names;
	struct map index;
	VEC(struct gpu_work) all;
	VEC(uint32_t) frames; /* of each; FRAME_NONE: not requested yet */
};

void gpu_works_init(struct gpu_works *w);
void gpu_works_done(struct gpu_works *w);

/* names: largest number of different names, which are bounded elsewhere. Returns 0 when there is no
 * room. */
uint32_t gpu_works_put(struct gpu_works *w, enum frame_kind kind, const char *name, uint32_t gpu,
		       uint32_t stream, uint32_t names);
uint32_t gpu_works_frame(struct gpu_works *w, struct sink *sink, uint32_t work);
/* From now on frames are another sink's. */
void gpu_works_new_sink(struct gpu_works *w);
/* Forgets all of them, when there are many: call it when their numbers are no longer in use. */
void gpu_works_trim(struct gpu_works *w);

/* --- gpu_time.c ------------------------------------------------------------------------------- */

enum { GPU_WINDOWS_LATE_S = 2 };            /* after this a library no longer responds */
#define GPU_WINDOWS_AGAIN_NS 10000000000ull /* retry after a failed one */

/* Windows of one program from time to time, under a budget (gpu/ring/window.h). They are requested
 * through its ring, and closed by its library, which reports their cost. */
struct gpu_windows {
	struct window governor;
	uint64_t at_ns, until_ns; /* the next window, or the requested one … */
	uint64_t asked_ns;        /* … at this time; 0: none is requested */
	uint64_t reading_ns;      /* cost of reading its records so far; the caller adds to it */
	bool is_given_up;         /* no window will open */
};

/* limit: sums of GPU records; new ones displace others */
enum { GPU_DENSITY_ROWS = 8192 };

struct gpu_dense {
	uint32_t pid, origin, work;
	uint32_t samples;      /* that its stack was estimated from; 0: exact */
	uint64_t start_ns, ns; /* of the first one; of all */
};
/* Sums of what ran on GPUs, by origin and kind of work, used when there are too many records to
 * keep one by one. */
struct gpu_density { /* zeroed = empty */
	VEC(struct gpu_dense) rows;
	struct map index;
	/* Receives a sum. */
	void (*give)(void *ctx, const struct gpu_dense *d);
	void *ctx;
};

/* limit: GPU records with an estimated stack; others lose their time */
enum { GPU_HELD_MAX = 1 << 20 };

struct held_record {
	uint64_t start_ns, ns; /* the rest of it */
	uint32_t next;
};
struct held_queue {
	uint32_t first, last;
};
/* Records of what ran on GPUs without a stack. They are retained, in order, until shares of their
 * sum (gpu/ring/join.h) take them, so that each retains its time. */
struct gpu_held { /* zeroed = empty */
	VEC(struct held_record) records;
	VEC(struct held_queue) queues;
	struct map queue_of; /* process and work */
	uint32_t max;        /* records; 0: GPU_HELD_MAX */
};

/* A program whose ring is read. */
struct watched {
	uint32_t pid, user;
	struct ring_reader *ring;
	uint64_t found_ns;
	uint64_t window_ns; /* start of the open window; 0: none */
	struct ring_state_now before;
	struct gpu_windows windows;      /* if there are several */
	uint32_t gpus[RING_DEVICES_MAX]; /* as in struct gpu_ran; 0: unknown yet … */
	uint32_t gpus_since;             /* … by gpu_names.since */
	uint64_t asked_ns;               /* with one window: when it was last requested */
	bool is_told;                    /* a problem was reported */
};
struct gpu_time {
	struct gpu_time_opts opts;
	struct gpu_join *join;
	uint64_t start_ns, next_ns;
	struct gpu_pending_rings hopes;
	VEC(struct watched) programs;
	struct watched *reading;
	uint64_t read_ns;
	struct gpu_works works;
	struct gpu_held held;
	struct gpu_density density;
	uint64_t dense_ns;               /* start of the first of its sums */
	uint32_t exact;                  /* records of this interval put one by one */
	uint32_t dash, no_stack, window; /* frames */
	uint64_t watched_ns;             /* of programs that have ended */
	struct gpu_time_stats stats;
};

static inline bool gpu_time_is_always(const struct gpu_time *g)
{
	return g->opts.budget > 0;
}

/* gpu_time_ran.c: turns records of rings into samples. ctx: a struct gpu_time. */
void gpu_time_make_frames(struct gpu_time *g);
/* Returns the number of records. */
size_t gpu_time_read_ring(struct gpu_time *g, struct watched *p, uint64_t now_ns);
/* The open window has ended, or was cut, at end_ns. */
void gpu_time_put_window(struct gpu_time *g, struct watched *p, uint64_t end_ns);
void gpu_time_on_share(void *ctx, const struct gpu_share *share);
void gpu_time_on_held(void *ctx, uint32_t pid, uint32_t work, uint64_t start_ns, uint64_t ns);
void gpu_time_give_dense(void *ctx, const struct gpu_dense *d);
/* Passes all sums on. */
void gpu_density_flush(struct gpu_density *d);
void gpu_density_done(struct gpu_density *d);
/* Empties it; it can be used again. */
void gpu_held_done(struct gpu_held *h);

#endif
