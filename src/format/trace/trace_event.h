/* format/trace/trace_event.h: one event of a Chrome trace, read from JSON. Used only by
 * chrome_trace.c. */
#ifndef CRESSET_FORMAT_TRACE_TRACE_EVENT_H
#define CRESSET_FORMAT_TRACE_TRACE_EVENT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/v8/v8.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_reader;
struct sink;

/* A pid or tid: any text, usually a number. */
struct trace_id {
	uint64_t key;
	uint32_t number; /* SAMPLE_NO_ID if it is not a number */
	uint32_t name;   /* string of the sink if it is not a number, else 0 */
};

struct trace_event {
	char phase; /* 0: none */
	struct buf name;
	struct trace_id pid, tid;
	bool has_ts, has_dur, has_tdur;
	bool bad_dur; /* neither a number nor null */
	int64_t ts_ns, dur_ns, tdur_ns;
	uint64_t id;               /* of a profile, or of asynchronous events … */
	uint64_t category;         /* … that also have the same of these: a hash */
	bool is_sum;               /* its category or process has sums of others only */
	bool is_annotation;        /* outside of slices with the same time */
	struct buf args_name;      /* args.name */
	bool has_count, has_avg;   /* args.count, args["avg ms"] */
	struct v8_profile profile; /* args.data.cpuProfile and the members next to it */
	uint64_t stack_frame;      /* sf */
	uint32_t weight;
};

/* Reads the next value into *e, reusing its buffers. Returns 1, 0 if it is not an object, or an
 * error. */
int trace_event_read(struct trace_event *e, struct json_reader *r, struct sink *sink,
		     struct err *err);
void trace_event_done(struct trace_event *e);

/* --- async.c ---
 *
 * Pairs the begins and ends of asynchronous events, which are left out, to tell the time that they
 * stand for. Those of one process, category and id are nested. */

struct trace_async { /* zeroed = empty */
	VEC(struct async_begin) begins;
	struct map innermost; /* of a key: index in begins + 1 */
	uint64_t n;           /* events begun, or that ended without */
	int64_t total_ns;
};
struct async_begin {
	int64_t ts_ns;
	uint32_t outer; /* index + 1 */
};

/* Returns whether the event is an asynchronous one. */
bool trace_async_add(struct trace_async *a, const struct trace_event *e);
void trace_async_done(struct trace_async *a);

/* --- slices.c ---
 *
 * Converts the slices of one thread to stacks with the self time of each slice.
 *
 * A slice is a pair of events for its begin and end (B, E) or one event with a duration (X). Events
 * come in any order and are sorted by time, which costs nothing if they are in order. Then, as in
 * trace viewers:
 *
 * - A slice that begins inside another is its child, if it ends inside it, too. If it would end
 *   after it, one of them is cut and counted, whichever loses less: the child at the end of its
 *   parent, or the other, which it then follows, at its begin. So slices that follow each other are
 *   neighbours even if one begins a little before the end of the other.
 * - Of whole slices that begin together, the longest is the parent; of equally long ones, the first
 *   in the file.
 * - An end closes the innermost open B of its name (any name, if it has none). It is skipped and
 *   counted if none of the SLICES_MATCH innermost open B matches. At equal times an end is handled
 *   before a begin if it matches the innermost B.
 * - A B without an end ends with the slice around it, and is counted as skipped; outside of others,
 *   at the end of the thread.
 *
 * Memory: SLICES_EVENT_BYTES for each event, until its thread is passed to the sink. */

struct sample;

/* What was not read as it is in the file. */
struct slices_left {
	uint64_t skipped; /* ends without a start, starts without an end inside another slice */
	uint64_t cut;     /* slices that overlap another one */
	int64_t cut_ns;
};

enum {
	SLICES_MATCH = 64,
	SLICES_MAX_DEPTH = 2048, /* limit: depth of slices; deeper ones add their time to it */
	SLICES_EVENT_BYTES = 24,
	SLICES_NO_NAME = UINT32_MAX,
};

/* Values of dur_ns for events without a duration. */
#define SLICE_BEGIN -1
#define SLICE_END   -2

struct slice_event {
	int64_t ts_ns, dur_ns; /* dur_ns >= 0: a whole slice */
	uint32_t frame;        /* the sink's; SLICES_NO_NAME for an end without name */
	uint32_t order;        /* in the file; after all annotations */
};
_Static_assert(sizeof(struct slice_event) == SLICES_EVENT_BYTES, "no padding");

struct slices { /* zeroed = empty */
	VEC(struct slice_event) events;
	bool unordered;
};

void slices_add(struct slices *s, int64_t ts_ns, int64_t dur_ns, uint32_t frame,
		bool is_annotation);

/* Gives a sample for each time between changes of the stack, with its start and length; `like`
 * supplies the other fields. Returns the number of samples; adds to *left. s is empty
 * afterwards. */
uint64_t slices_give(struct slices *s, struct sink *sink, const struct sample *like,
		     struct slices_left *left);
void slices_done(struct slices *s);

#endif
