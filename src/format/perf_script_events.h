/* format/perf_script_events.h: events of perf script's text as types, threads as series; and the
 * '#' lines in front of the samples. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_EVENTS_H
#define CRESSET_FORMAT_PERF_SCRIPT_EVENTS_H

#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_script_line.h"
#include "profile/sink.h"

/* What a '#' line says about an event. */
struct perf_attr {
	uint32_t name; /* string */
	int64_t period;
	bool is_freq; /* period is a rate in Hz */
	/* A line of ours: the whole type, and whether the file has values times the period. */
	bool has_type, is_scaled;
	struct type type;
};
struct perf_event {
	uint32_t type;
	int64_t period;  /* of its series */
	int64_t divisor; /* of the periods in the file; 0: none */
};
struct perf_events { /* zeroed but for sink = empty */
	struct sink *sink;
	VEC(struct perf_attr) attrs;
	VEC(struct perf_event) events;
	struct map attr_of_name, event_of_key, series_of_key;
	bool has_cpu; /* Cresset's own type is taken */
};

void perf_events_done(struct perf_events *e);

/* A line that begins with '#'. */
void perf_events_comment(struct perf_events *e, const char *line, size_t len);

/* The series of a sample with this header, and its value. */
uint32_t perf_events_series(struct perf_events *e, const struct perf_header *h, int64_t *value);

#endif
