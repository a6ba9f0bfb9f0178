/* gpu/backend.h: GPUs, whoever made them. Each kind is one row of gpu_backends[], and nothing but its own files knows the vendor:
 *
 *     open       what it takes is there: the vendor's library, the driver
 *     discover   which devices there are, and who drives them
 *     metrics    how they are now, and which processes use them       again and again
 *     close
 *
 * Whatever a driver answers may be wrong: counts are bounded, texts end and have no control characters, numbers that cannot be are left out and
 * counted. Any of these calls may block for as long as the driver likes: they are for a thread of their own (gpu/watch.h). */
#ifndef CRESSET_GPU_BACKEND_H
#define CRESSET_GPU_BACKEND_H

#include "base/err.h"
#include "base/vec.h"
#include "gpu/metric.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	GPU_MAX_DEVICES = 64,     /* with the instances that they are partitioned into */
	GPU_MAX_PROCESSES = 4096, /* of one device */
	GPU_MAX_SAMPLES = 512, /* of one series, of one reading: those of the driver's own buffer */
	GPU_TEXT = 96,
	GPU_PROCESS_NAME = 16,
};

struct gpu_source {
	const char *
		script; /* a file in place of the devices of this machine (gpu/scripted.h); NULL: none */
};

struct gpu_device {
	char label[24]; /* "0"; of the instance 1 of that: "0:1" */
	bool is_instance; /* a part of the device of which it has the number; of parts memory is known only */
	bool is_lost;                                       /* it answers no more */
	uint32_t index;                                     /* in the vendor's order */
	char uuid[GPU_TEXT], name[GPU_TEXT], bus[GPU_TEXT]; /* "": not known */
	uint64_t memory_bytes;                              /* 0: not known */
};
struct gpu_machine { /* zeroed = none */
	VEC(struct gpu_device) devices;
	uint32_t left_out; /* devices beyond GPU_MAX_DEVICES, or that did not answer */
	char driver[GPU_TEXT];
};

/* device: which one of the machine's. Times are Unix. */
struct gpu_point {
	uint32_t device;
	enum gpu_metric metric;
	int64_t time_ns;
	double value;
};
struct gpu_process {
	uint32_t device, pid; /* as the first namespace counts */
	int64_t time_ns;
	char name[GPU_PROCESS_NAME]; /* of the reader of it; "": not known */
	bool has_memory, has_utilization;
	uint64_t memory_bytes;
	double utilization; /* share of the time in which it had something running */
};
struct gpu_reading { /* zeroed = empty */
	VEC(struct gpu_point) points;
	VEC(struct gpu_process) processes;
	uint64_t implausible; /* answers that cannot be, and are left out */
	uint64_t truncated;   /* samples and processes beyond what is kept */
};
void gpu_reading_done(struct gpu_reading *r);

/* When the call that now runs began, CLOCK_MONOTONIC; 0: none runs. */
typedef _Atomic uint64_t gpu_call;

/* Who may take samples of what a GPU executes, and read its counters. */
enum gpu_profiling {
	GPU_PROFILING_UNKNOWN,
	GPU_PROFILING_ALL,
	GPU_PROFILING_ADMIN, /* root, and who has CAP_SYS_ADMIN */
};

struct gpu_session;
struct gpu_backend {
	const char *name; /* "nvidia" */

	/* 0 and *out; -ENODEV: there is nothing of the kind here, as err says; -EAGAIN: something is, and does not work now; err says what. call stays the
	 * caller's, and is there until close. */
	int (*open)(const struct gpu_source *opts, gpu_call *call, struct gpu_session **out,
		    struct err *err);
	void (*close)(struct gpu_session *s); /* NULL is fine */

	/* Replaces what is in out. 0, or -EIO with words. */
	int (*discover)(struct gpu_session *s, struct gpu_machine *out, struct err *err);
	/* Appends to out; with_slow: also what hardly ever changes. Devices that are gone meanwhile become is_lost, and are not asked again. */
	void (*metrics)(struct gpu_session *s, struct gpu_machine *m, bool with_slow,
			struct gpu_reading *out);

	/* As the driver is set; may be NULL. */
	enum gpu_profiling (*profiling)(void);
};
/* The one of that name; NULL: none. */
const struct gpu_backend *gpu_backend_of(const char *name);

/* NULL behind the last. */
extern const struct gpu_backend *const gpu_backends[];

/* Every other character of it is a '?'; what is longer is cut. */
void gpu_text(char out[GPU_TEXT], const char *text, size_t max);
void gpu_point_put(struct gpu_reading *r, uint32_t device, enum gpu_metric metric, int64_t time_ns,
		   double value);

#endif
