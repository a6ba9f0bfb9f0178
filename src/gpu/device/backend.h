/* gpu/device/backend.h: GPUs of any vendor. Each vendor is one row of gpu_backends[], and only its
 * own files know the vendor:
 *
 *     open       checks what it needs: the vendor's library, the driver
 *     discover   lists the devices and the driver
 *     metrics    reads their state and the processes that use them    repeatedly
 *     close
 *
 * A driver's responses are not trusted: counts are bounded, texts are terminated and have no
 * control characters, impossible numbers are left out and counted. Any of these calls may block in
 * the driver for any time: they run in a separate thread (gpu/device/watch.h). */
#ifndef CRESSET_GPU_DEVICE_BACKEND_H
#define CRESSET_GPU_DEVICE_BACKEND_H

#include "base/vec.h"
#include "gpu/device/metric.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	/* limit: measured GPUs, with the instances of partitioned ones */
	GPU_MAX_DEVICES = 64,
	GPU_MAX_PROCESSES = 4096, /* limit: processes of a GPU */
	/* limit: samples of a series in a reading of the driver's buffer */
	GPU_MAX_SAMPLES = 512,
	GPU_TEXT = 96,
	GPU_PROCESS_NAME = 16,
};

struct gpu_source {
	/* a file in place of this machine's devices (gpu/device/scripted.h); NULL: none */
	const char *script;
};

struct gpu_device {
	char label[24]; /* "0"; for its instance 1: "0:1" */
	/* a part of the device with the same number; only its memory is known */
	bool is_instance;
	bool is_lost;                                       /* it no longer responds */
	uint32_t index;                                     /* in the vendor's order */
	char uuid[GPU_TEXT], name[GPU_TEXT], bus[GPU_TEXT]; /* "": unknown */
	uint64_t memory_bytes;                              /* 0: unknown */
};
struct gpu_machine { /* zeroed = none */
	VEC(struct gpu_device) devices;
	uint32_t left_out; /* devices beyond GPU_MAX_DEVICES, or that gave no response */
	char driver[GPU_TEXT];
};

/* device: index in the machine. Times are Unix. */
struct gpu_point {
	uint32_t device;
	enum gpu_metric metric;
	int64_t time_ns;
	double value;
};
struct gpu_process {
	uint32_t device, pid; /* in the initial namespace */
	int64_t time_ns;
	char name[GPU_PROCESS_NAME]; /* as seen by the reader; "": unknown */
	bool has_memory, has_utilization;
	uint64_t memory_bytes;
	double utilization; /* share of the time in which it ran something */
};
struct gpu_reading { /* zeroed = empty */
	VEC(struct gpu_point) points;
	VEC(struct gpu_process) processes;
	uint64_t implausible; /* impossible responses, left out */
	uint64_t truncated;   /* samples and processes beyond the limits */
};
void gpu_reading_done(struct gpu_reading *r);

/* When the current call started, CLOCK_MONOTONIC; 0: none is running. */
typedef _Atomic uint64_t gpu_call;

/* Which users may sample what a GPU executes, and read its counters. */
enum gpu_profiling {
	GPU_PROFILING_UNKNOWN,
	GPU_PROFILING_ALL,
	GPU_PROFILING_ADMIN, /* root and CAP_SYS_ADMIN */
};

struct gpu_session;
struct gpu_backend {
	const char *name; /* "nvidia" */

	/* Returns 0 and sets *out; -ENODEV if no such GPU exists here; -EAGAIN if there is one
	 * that does not work now; err has the reason. call stays the caller's and must exist until
	 * close. */
	int (*open)(const struct gpu_source *opts, gpu_call *call, struct gpu_session **out,
		    struct err *err);
	void (*close)(struct gpu_session *s); /* NULL is fine */

	/* Replaces the contents of out. Returns 0, or -EIO with err set. */
	int (*discover)(struct gpu_session *s, struct gpu_machine *out, struct err *err);
	/* Appends to out. with_slow: includes metrics that rarely change. Devices that are gone get
	 * is_lost and are not read again. */
	void (*metrics)(struct gpu_session *s, struct gpu_machine *m, bool with_slow,
			struct gpu_reading *out);

	/* The driver's setting; may be NULL. */
	enum gpu_profiling (*profiling)(void);
};
/* --- backends.c --- */

/* Returns the backend of that name, NULL if none exists. */
const struct gpu_backend *gpu_backend_of(const char *name);

/* NULL-terminated. */
extern const struct gpu_backend *const gpu_backends[];

/* --- backend.c --- */

/* Copies text, replaces every other character by '?', and truncates it. */
void gpu_text(char out[GPU_TEXT], const char *text, size_t max);
void gpu_point_put(struct gpu_reading *r, uint32_t device, enum gpu_metric metric, int64_t time_ns,
		   double value);

#endif
