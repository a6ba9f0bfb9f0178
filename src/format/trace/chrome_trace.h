/* format/trace/chrome_trace.h: traces in the JSON Trace Event Format, as written by
 * chrome://tracing, DevTools, Perfetto, clang -ftime-trace, PyTorch and others: an array of events,
 * or {"traceEvents": [events], …}. A truncated array is accepted.
 *
 * Read:
 *
 *     B E X          slices of a thread (pid, tid); see format/trace/trace_event.h. Type trace,
 *                    time/nanoseconds: a sample for each time that a slice is the innermost
 *                    one. ts and dur are in microseconds; a missing dur is replaced by tdur, else 0
 *                    X events with args.count and args["avg ms"] named "Total …" sum up others
 *                    (clang -ftime-trace) and are left out
 *     M              process_name and thread_name: labels process and comm
 *     Profile, ProfileChunk, CpuProfile (by name): CPU profiles of V8; see format/v8/v8.h. Type cpu
 *     samples, stackFrames (next to traceEvents): sampled stacks, also of type cpu
 *
 * Other events have no durations of a thread (async, flow, instant, counter, object …) and are
 * skipped. A pid or tid that is not a number is the name of the process or thread.
 *
 * Memory: SLICES_EVENT_BYTES per B, E or X, and what the sink retains of samples.
 *
 * Written: one type as in a flame chart (format/picture/flame_chart.h), for Perfetto and
 * chrome://tracing: an X event for each box, with the frame's kind as category and its file in
 * args.binary; M events name processes and threads. ts is in microseconds since the start of the
 * recording, with the nanoseconds as decimals. otherData describes where and when it was recorded,
 * and what is not shown. If a thread has more than TRACE_LANE_BOXES boxes, the shortest are merged
 * into boxes named "N frames below 12 us". */
#ifndef CRESSET_FORMAT_TRACE_CHROME_TRACE_H
#define CRESSET_FORMAT_TRACE_CHROME_TRACE_H

#include "format/common/format.h"

struct err;
struct input;
struct out;
struct profile;
struct sink;

enum {
	TRACE_MAX_EVENTS = 1 << 26, /* limit: slice events; others are skipped */
	TRACE_MAX_TRACKS = 1 << 20, /* limit: threads of it; others are skipped */
	TRACE_MAX_PROFILES = 1 << 12,
	/* limit: threads in a written trace, those with the greatest sums */
	TRACE_MAX_LANES = 1 << 14,
	TRACE_LANE_BOXES = 1 << 20, /* limit: boxes of a thread in it */
};

extern const struct format format_chrome_trace;

bool chrome_trace_detect(const char *head, size_t len);
int chrome_trace_read(struct input *in, struct sink *sink, struct err *err);
/* Returns -EINVAL if no sample has a time. */
int chrome_trace_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       struct err *err);

#endif
