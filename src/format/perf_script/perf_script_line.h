/* format/perf_script/perf_script_line.h: parses the lines of perf script's text. Nothing is copied:
 * all texts point into the line. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_PERF_SCRIPT_LINE_H
#define CRESSET_FORMAT_PERF_SCRIPT_PERF_SCRIPT_LINE_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/frame.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_text {
	const char *s;
	size_t len;
};

/* First line of a sample: "comm pid/tid [cpu] flags time: period event: rest", each part
 * optional. */
struct perf_header {
	struct perf_text comm, event; /* len 0: absent */
	uint32_t pid, tid, cpu;       /* SAMPLE_NO_ID */
	int64_t time_ns, period;
	bool has_time, has_period;
	bool is_record; /* rest is "PERF_RECORD_…": not a sample */
	struct perf_text rest;
};
enum perf_header_trust {
	PERF_NO_HEADER,
	PERF_LOOSE_HEADER, /* ambiguous: valid only if a frame follows */
	PERF_FAIR_HEADER,  /* id and event, or time, as in many log lines */
	PERF_SURE_HEADER,
};
/* Bytes. The kernel's comms have at most 15; those that the writer makes of 64 bytes must fit. */
enum { PERF_COMM_MAX = 256, PERF_LONE_COMM_MAX = 15, PERF_EVENT_MAX = 512 };

struct perf_header perf_header_none(void); /* everything is unknown */
enum perf_header_trust perf_header_parse(const char *line, size_t len, struct perf_header *h);

/* Splits "address text": sets text to the part after the address, trimmed. Returns false if the
 * line, which may be indented, is not a frame. is_high: the address is in the kernel's half. */
bool perf_frame_split(const char *line, size_t len, struct perf_text *text, bool *is_high);

/* Same, for the only frame of a sample without a callchain, at the end of its header line. */
bool perf_header_frame(const struct perf_header *h, struct perf_text *text, bool *is_high);

/* "symbol+0x12 (dso)" or "symbol (inlined)". dso.len is 0 if none exists or it is unknown; a
 * missing name is "[unknown]". */
struct perf_symbol {
	struct perf_text name, dso;
	bool is_inlined, has_dso; /* has_dso: also if it is "[unknown]" */
};
void perf_symbol_parse(struct perf_text text, struct perf_symbol *out);

/* Returns the kind of a frame by its dso, without one by its address, else by guess.h. */
enum frame_kind perf_symbol_kind(const struct perf_symbol *s, bool is_high);

/* Returns the frame's binary: "[kernel]", or the last part of the path; empty if it is unknown or
 * would name one process (perf-PID.map). */
struct perf_text perf_dso_binary(struct perf_text dso, enum frame_kind kind);

/* Whether a line after a frame says that it was inlined: "  file.c:12 (inlined)", as perf 7 has it
 * instead of the frame's own line. Call before perf_source_line. */
bool perf_line_is_inlined(const char *line, size_t len);

/* Parses "  file.c:12" after a frame. Returns false for any other line. */
bool perf_source_line(const char *line, size_t len, struct perf_text *file, uint32_t *number);

/* --- perf_script_events.c ---
 *
 * Maps events of perf script's text to types and threads to series, and reads the '#' lines before
 * the samples. */

/* A '#' line's description of an event. */
struct perf_attr {
	uint32_t name; /* string */
	int64_t period;
	bool is_freq; /* period is a rate in Hz */
	/* From our own line: the whole type, and whether values in the file are times the
	 * period. */
	bool has_type, is_scaled;
	struct type type;
};
struct perf_event {
	uint32_t type;
	int64_t period;  /* of its series */
	int64_t divisor; /* of the periods in the file; 0: none */
};
struct perf_events { /* zeroed, except for sink = empty */
	struct sink *sink;
	VEC(struct perf_attr) attrs;
	VEC(struct perf_event) events;
	struct map attr_of_name, event_of_key, series_of_key;
	bool has_cpu; /* Cresset's own type is in use */
};

void perf_events_done(struct perf_events *e);

/* Reads a line that starts with '#'. */
void perf_events_comment(struct perf_events *e, const char *line, size_t len);

/* Returns the series of a sample with this header, and sets its value. */
uint32_t perf_events_series(struct perf_events *e, const struct perf_header *h, int64_t *value);

#endif
