/* gpu/device/scripted.h: GPUs simulated by a text file: for tests, and to see what this machine
 * would show with GPUs. Each line is a statement; a line that starts with '#' is a comment, and an
 * unknown statement is reported with its line number. Readings are counted from 1. A list gives one
 * value per reading, and the last one for all later readings.
 *
 *     driver TEXT
 *     device LABEL UUID MEMORY NAME…        in the order of the devices; bytes
 *     metric LABEL NAME[:VALUE] V[,V…]      a row of gpu/device/metric.h, in its unit
 *     process LABEL PID MEMORY V[,V…]       bytes; share of the time
 *     lost LABEL READING                    from that reading on
 *     hang READING SECONDS                  how long that reading takes */
#ifndef CRESSET_GPU_DEVICE_SCRIPTED_H
#define CRESSET_GPU_DEVICE_SCRIPTED_H

#include "base/vec.h"
#include "gpu/device/backend.h"

#include <stddef.h>

struct err;

/* limit GPU_SCRIPT_BYTES: bytes of a script that plays GPUs */
/* limit GPU_SCRIPT_LINES: its lines */
/* limit GPU_SCRIPT_VALUES: values of a list in it */
enum { GPU_SCRIPT_BYTES = 1 << 20, GPU_SCRIPT_VALUES = 64, GPU_SCRIPT_LINES = 4096 };

struct gpu_script_values {
	double v[GPU_SCRIPT_VALUES];
	uint32_t n;
};
struct gpu_script_metric {
	uint32_t device;
	enum gpu_metric metric;
	struct gpu_script_values values;
};
struct gpu_script_process {
	uint32_t device, pid;
	uint64_t memory_bytes;
	struct gpu_script_values values;
};
struct gpu_script_event {
	uint32_t device, reading;
	double seconds;
};
struct gpu_script { /* zeroed = empty */
	struct gpu_machine machine;
	VEC(struct gpu_script_metric) metrics;
	VEC(struct gpu_script_process) processes;
	VEC(struct gpu_script_event) lost, hangs;
};
/* Returns 0, or -EBADMSG with err naming the line. */
int gpu_script_parse(const char *text, size_t len, struct gpu_script *out, struct err *err);
void gpu_script_done(struct gpu_script *s);

extern const struct gpu_backend gpu_scripted;

#endif
