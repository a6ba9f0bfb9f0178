/* symbol/code_scan.h: scans part of a perf map or jitdump for events, in file order
 * (symbol/code_log.h). */
#ifndef CRESSET_SYMBOL_CODE_SCAN_H
#define CRESSET_SYMBOL_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	CODE_WINDOW = 64 << 10,
	CODE_LOG_MAX_NAME = 1024, /* longer names are truncated */
	/* limit: bytes of a perf map's line; the rest is skipped */
	CODE_LOG_MAX_LINE = 4096,
};

enum code_event_kind {
	CODE_LOADED,
	CODE_MOVED, /* from start to `to`; the load with the same index has its name */
};
struct code_event {
	enum code_event_kind kind;
	uint64_t at; /* position in the file */
	uint64_t start, size, time_ns;
	uint64_t index, to; /* of a jitdump */
	const char *name;   /* len bytes, in the window */
	uint32_t len;
};

struct code_scan {
	int fd;
	void (*event)(void *ctx, const struct code_event *e);
	void *ctx;
	uint64_t at;      /* start of the next line or record; earlier events were reported */
	bool in_rest;     /* inside an overlong line, which is skipped */
	bool is_broken;   /* a record without a valid size: the next cannot be found */
	uint64_t skipped; /* unusable lines and records */
	uint64_t read_bytes;
	char window[CODE_WINDOW + 1];
};

/* Both scan from s->at to end, or stop before a line or record that goes beyond it. is_last: the
 * last line needs no newline. Return 0, -EBADMSG for something other than a perf map (zero bytes:
 * a hole), or -errno. */
int code_scan_map(struct code_scan *s, uint64_t end, bool is_last, struct err *err);
/* Scans at most max records. */
int code_scan_dump(struct code_scan *s, uint64_t end, uint64_t max, struct err *err);

/* Reads the header of a jitdump. *start: start of its records; *has_times: times are
 * CLOCK_MONOTONIC. */
int code_dump_header(int fd, uint64_t *begin, bool *has_times, struct err *err);

/* Reads at most len bytes at an offset; returns their number, fewer only at the end of the file, or
 * -errno. */
int64_t code_read_at(int fd, void *to, size_t len, uint64_t at);

#endif
