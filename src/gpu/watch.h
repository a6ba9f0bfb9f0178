/* gpu/watch.h: the GPUs of this machine, read once a second by a thread of their own.
 *
 * A driver may block for as long as it likes: only that thread waits for it. Who takes readings never does; when a call has not come back for a second, they are
 * told so. A machine without GPUs is asked again once a minute, as is one whose driver does not work, or has lost a device.
 *
 *     gpu_watch_start
 *     gpu_watch_take     now and then: what was read since the last time
 *     gpu_watch_state
 *     gpu_watch_stop     the thread ends when its call does; nobody waits longer than a second for it */
#ifndef CRESSET_GPU_WATCH_H
#define CRESSET_GPU_WATCH_H

#include "gpu/backend.h"

enum {
	GPU_MAX_POINTS = 1 << 16
}; /* that wait to be taken: minutes of many devices; then the oldest go */
#define GPU_WATCHDOG_NS 1000000000ull

struct gpu_watch_opts {
	struct gpu_source source;
	uint64_t interval_ns; /* 0: 1 s */
	uint64_t retry_ns;    /* 0: 60 s */
};

enum gpu_state {
	GPU_STARTING, /* nothing is known yet */
	GPU_ABSENT,   /* none here, or no driver */
	GPU_FAILED,   /* there is something, and it does not work */
	GPU_WORKS,
};
struct gpu_status {
	enum gpu_state state;
	uint64_t hangs_ns;               /* so long does a call wait for the driver; 0: none does */
	char words[160];                 /* why, of GPU_ABSENT and GPU_FAILED */
	const char *backend;             /* its name; NULL: none */
	uint64_t implausible, truncated; /* as in struct gpu_reading, since the start */
	uint64_t dropped;                /* points that nobody took in time */
	uint64_t readings;               /* made so far */
};

struct gpu_watch;
struct gpu_watch *gpu_watch_start(
	const struct gpu_watch_opts *opts); /* strings are copied. NULL: no thread */
void gpu_watch_stop(struct gpu_watch *w);   /* NULL is fine */

/* Appends what came since the last time. machine is replaced: points are of its devices; those of before a change of devices are gone, and counted. */
void gpu_watch_take(struct gpu_watch *w, struct gpu_machine *machine, struct gpu_reading *out);
/* Which devices there are, alone: replaces what is in out. False: that is not known yet. */
bool gpu_watch_machine(struct gpu_watch *w, struct gpu_machine *out);
struct gpu_status gpu_watch_state(struct gpu_watch *w);
/* Waits until a first answer is there, or that long. */
void gpu_watch_wait(struct gpu_watch *w, uint64_t max_ns);

#endif
