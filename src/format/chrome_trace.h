/* format/chrome_trace.h: traces in the JSON Trace Event Format, as chrome://tracing, DevTools, Perfetto, clang -ftime-trace,
 * PyTorch and others write them: an array of events, or {"traceEvents": [events], …}. An array that is cut off is fine.
 *
 * Read of it:
 *   B E X          slices of a thread (pid, tid); see format/slices.h. Type trace, time/nanoseconds: the time a slice had for
 *                  itself, at its begin. ts and dur are microseconds; where dur is missing tdur is taken, else 0
 *   M              process_name and thread_name: labels process and comm
 *   Profile, ProfileChunk, CpuProfile (by name): CPU profiles of V8; see format/v8.h. Type cpu
 *   samples, stackFrames (beside traceEvents): sampled stacks, likewise
 * Other events say nothing about durations of a thread (async, flow, instant, counter, object …) and are passed over. A pid or tid
 * that is no number is the name of the process or thread.
 *
 * Memory: SLICES_EVENT_BYTES per B, E or X, and what the sink keeps of samples. */
#ifndef CRESSET_FORMAT_CHROME_TRACE_H
#define CRESSET_FORMAT_CHROME_TRACE_H

#include "format/format.h"

enum {
	TRACE_MAX_EVENTS = 1 << 26, /* of slices; more are skipped and counted */
	TRACE_MAX_TRACKS = 1 << 20, /* threads; the like */
	TRACE_MAX_PROFILES = 1 << 12,
};

extern const struct format format_chrome_trace;

bool chrome_trace_detect(const char *head, size_t len);
int chrome_trace_read(struct input *in, struct sink *sink, struct err *err);

#endif
