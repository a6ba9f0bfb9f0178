/* format/trace_event.h: one event of a Chrome trace as read from JSON. Only chrome_trace.c uses it. */
#ifndef CRESSET_FORMAT_TRACE_EVENT_H
#define CRESSET_FORMAT_TRACE_EVENT_H

#include "base/buf.h"
#include "base/json_read.h"
#include "format/v8.h"

/* A pid or tid: any text, most often a number. */
struct trace_id {
	uint64_t key;
	uint32_t number; /* SAMPLE_NO_ID when it is none */
	uint32_t name;   /* string of the sink where it is no number, else 0 */
};

struct trace_event {
	char phase; /* 0: none */
	struct buf name;
	struct trace_id pid, tid;
	bool has_ts, has_dur, has_tdur;
	int64_t ts_ns, dur_ns, tdur_ns;
	uint64_t id;               /* of a profile */
	struct buf args_name;      /* args.name */
	struct v8_profile profile; /* args.data.cpuProfile and what is beside it */
	uint64_t stack_frame;      /* sf */
	uint32_t weight;
};

/* Reads the next value into *e, whose buffers are used again. 1; 0: it was no object; or an error. */
int trace_event_read(struct trace_event *e, struct json_reader *r, struct sink *sink,
		     struct err *err);
void trace_event_done(struct trace_event *e);

#endif
