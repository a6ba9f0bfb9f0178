/* format/trace_put.h: events of a trace (format/chrome_trace.h), handed on as they come: what is held is bounded. */
#ifndef CRESSET_FORMAT_TRACE_PUT_H
#define CRESSET_FORMAT_TRACE_PUT_H

#include "base/fs.h"
#include "base/json.h"

struct trace_put {
	struct out *out;
	struct buf text; /* not yet handed to out */
	struct json json;
};
/* What is not known is SAMPLE_NO_ID. */
struct trace_track {
	uint32_t pid, tid;
};

/* put stays where it is. */
void trace_put_init(struct trace_put *put, struct out *out);
void trace_put_done(struct trace_put *put);

/* An object, to be ended by json_end. */
void trace_put_begin(struct trace_put *put, const char *phase, struct trace_track track);
/* Times are ns; events have them in µs, with decimals. */
void trace_put_time(struct trace_put *put, const char *key, int64_t ns);
/* Metadata events: process_name, thread_name; "" is none. And where it is to stand. */
void trace_put_name(struct trace_put *put, struct trace_track track, const char *what,
		    const char *name);
void trace_put_order(struct trace_put *put, struct trace_track track, const char *what, int64_t n);

/* What has come together goes out; TRACE_FLUSH_ALL: all of it. */
enum { TRACE_FLUSH_ALL = 0, TRACE_FLUSH_BYTES = 64 * 1024 };
int trace_put_flush(struct trace_put *put, size_t keep, struct err *err);

#endif
