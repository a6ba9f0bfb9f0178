/* format/trace_counters.h: counters as tracks of a trace: C events, one process for each thing that they are of. */
#ifndef CRESSET_FORMAT_TRACE_COUNTERS_H
#define CRESSET_FORMAT_TRACE_COUNTERS_H

#include "format/counter.h"
#include "format/trace_put.h"

enum { TRACE_COUNTERS_PID = 20000000 }; /* of the first one: no process has such a number */

/* start_wall_ns: when the trace begins, with the last value that was there before. */
int trace_counters_put(const struct format_counters *c, int64_t start_wall_ns,
		       struct trace_put *put, struct err *err);

#endif
