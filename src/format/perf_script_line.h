/* format/perf_script_line.h: the lines of perf script's text taken apart. Nothing is copied: all
 * texts lie in the line. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_LINE_H
#define CRESSET_FORMAT_PERF_SCRIPT_LINE_H

#include "profile/frame.h"

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
	bool is_record; /* rest is "PERF_RECORD_…": no sample */
	struct perf_text rest;
};
enum perf_header_trust {
	PERF_NO_HEADER,
	PERF_LOOSE_HEADER, /* says too little: counts only when a frame follows */
	PERF_FAIR_HEADER,  /* id and event, or time, as many a log line has */
	PERF_SURE_HEADER,
};
/* Bytes. The kernel's comms have at most 15; what the writer makes of 64 bytes must fit. */
enum { PERF_COMM_MAX = 256, PERF_LONE_COMM_MAX = 15, PERF_EVENT_MAX = 512 };

struct perf_header perf_header_none(void); /* nothing is known */
enum perf_header_trust perf_header_parse(const char *line, size_t len, struct perf_header *h);

/* "address text": what is behind the address, without blanks around it. False when the line,
 * which may be indented, is no frame. is_high: an address in the kernel's half. */
bool perf_frame_split(const char *line, size_t len, struct perf_text *text, bool *is_high);

/* The only frame of a sample without callchain, at the end of its header line: as
 * perf_frame_split. */
bool perf_header_frame(const struct perf_header *h, struct perf_text *text, bool *is_high);

/* "symbol+0x12 (dso)" or "symbol (inlined)". dso.len is 0 where there is none or it is unknown;
 * a name that is not there is "[unknown]". */
struct perf_symbol {
	struct perf_text name, dso;
	bool is_inlined, has_dso; /* has_dso: or "[unknown]" in its place */
};
void perf_symbol_parse(struct perf_text text, struct perf_symbol *out);

/* The kind of a frame by its dso, where there is none by its address, else by the guesses of
 * guess.h. */
enum frame_kind perf_symbol_kind(const struct perf_symbol *s, bool is_high);

/* What is shown as the frame's binary: "[kernel]", or the last part of the path; empty where it is
 * not known or would name one process (perf-PID.map). */
struct perf_text perf_dso_binary(struct perf_text dso, enum frame_kind kind);

/* "  file.c:12" behind a frame; false when the line is something else. */
bool perf_source_line(const char *line, size_t len, struct perf_text *file, uint32_t *number);

#endif
