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
 * Memory: SLICES_EVENT_BYTES per B, E or X, and what the sink keeps of samples.
 *
 * Written: one type as a flame chart has it (format/flame_chart.h), for Perfetto and chrome://tracing: an X event for each box, its category the
 * frame's kind, args.binary the file it is in; M events name processes and threads. ts is in microseconds since the start of the recording, with the
 * nanoseconds as decimals. otherData has where and when it was recorded, and what is not shown. Where a thread has more than TRACE_LANE_BOXES boxes the
 * shortest are merged into ones called "N frames below 12 us". */
#ifndef CRESSET_FORMAT_CHROME_TRACE_H
#define CRESSET_FORMAT_CHROME_TRACE_H

#include "format/format.h"

enum {
	TRACE_MAX_EVENTS = 1 << 26, /* of slices; more are skipped and counted */
	TRACE_MAX_TRACKS = 1 << 20, /* threads; the like */
	TRACE_MAX_PROFILES = 1 << 12,
	TRACE_MAX_LANES = 1 << 14,  /* written: threads, those with the greatest sums */
	TRACE_LANE_BOXES = 1 << 20, /* written: of a thread */
};

extern const struct format format_chrome_trace;

bool chrome_trace_detect(const char *head, size_t len);
int chrome_trace_read(struct input *in, struct sink *sink, struct err *err);
/* -EINVAL where no sample has a time. */
int chrome_trace_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       struct err *err);

#endif
