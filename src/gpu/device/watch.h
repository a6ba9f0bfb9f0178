/* gpu/device/watch.h: the GPUs of this machine, read once a second by a separate thread.
 *
 * A driver may block for any time: only that thread waits for it. Callers that take readings never
 * wait; when a call has not returned for a second, the state reports this. A machine without GPUs
 * is tried again once a minute, as is one whose driver does not work or has lost a device.
 *
 *     gpu_watch_start
 *     gpu_watch_take     now and then: the readings since the last call
 *     gpu_watch_state
 *     gpu_watch_stop     the thread ends when its driver call returns; callers wait at most a
 *                        second for it */
#ifndef CRESSET_GPU_DEVICE_WATCH_H
#define CRESSET_GPU_DEVICE_WATCH_H

#include "gpu/device/backend.h"

enum {
	/* limit: points of GPU metrics waiting for an interval's end */
	GPU_MAX_POINTS = 1 << 16
}; /* pending until taken: minutes of many devices; then the oldest are dropped */
#define GPU_WATCHDOG_NS 1000000000ull

struct gpu_watch_opts {
	struct gpu_source source;
	uint64_t interval_ns; /* 0: 1 s */
	uint64_t retry_ns;    /* 0: 60 s */
};

enum gpu_state {
	GPU_STARTING, /* nothing known yet */
	GPU_ABSENT,   /* no GPU here, or no driver */
	GPU_FAILED,   /* there is one, and it does not work */
	GPU_WORKS,
};
struct gpu_status {
	enum gpu_state state;
	uint64_t hangs_ns;   /* how long a call has waited for the driver; 0: none waits */
	char words[160];     /* the reason, for GPU_ABSENT and GPU_FAILED */
	const char *backend; /* its name; NULL: none */
	uint64_t implausible, truncated; /* as in struct gpu_reading, since the start */
	uint64_t dropped;                /* points not taken in time */
	uint64_t readings;               /* made so far */
};

struct gpu_watch;
struct gpu_watch *gpu_watch_start(
	const struct gpu_watch_opts *opts); /* strings are copied. NULL: no thread */
void gpu_watch_stop(struct gpu_watch *w);   /* NULL is fine */

/* Appends what was read since the last call. machine is replaced: points refer to its devices.
 * Points from before a change of devices are dropped and counted. */
void gpu_watch_take(struct gpu_watch *w, struct gpu_machine *machine, struct gpu_reading *out);
/* Replaces out with the devices only. Returns false if they are not known yet. */
bool gpu_watch_machine(struct gpu_watch *w, struct gpu_machine *out);
struct gpu_status gpu_watch_state(struct gpu_watch *w);
/* Waits for the first response, at most max_ns. */
void gpu_watch_wait(struct gpu_watch *w, uint64_t max_ns);

#endif
