/* gpu/scripted.h: GPUs that a text file plays: for tests, and to see what this machine would show if it had some. A line is a statement; what begins
 * with '#' is none, and of a line that says nothing known the number is said. Readings are counted from 1; a list gives each its value, and the last one all
 * that follow.
 *
 *     driver TEXT
 *     device LABEL UUID MEMORY NAME…        in this order they are; bytes
 *     metric LABEL NAME[:VALUE] V[,V…]      a row of gpu/metric.h, in its unit
 *     process LABEL PID MEMORY V[,V…]       bytes; share of the time
 *     lost LABEL READING                    from that one on
 *     hang READING SECONDS                  so long does that one take */
#ifndef CRESSET_GPU_SCRIPTED_H
#define CRESSET_GPU_SCRIPTED_H

#include "gpu/backend.h"

#include <stddef.h>

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
/* 0, or -EBADMSG with words that say which line. */
int gpu_script_parse(const char *text, size_t len, struct gpu_script *out, struct err *err);
void gpu_script_done(struct gpu_script *s);

extern const struct gpu_backend gpu_scripted;

#endif
