/* symbol/code_scan.h: the events in a stretch of a perf map or jitdump, in the order of the file (symbol/code_log.h). */
#ifndef CRESSET_SYMBOL_CODE_SCAN_H
#define CRESSET_SYMBOL_CODE_SCAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_WINDOW = 64 << 10 };

enum code_event_kind {
	CODE_LOADED,
	CODE_MOVED, /* away from start, to `to`; what it is called was said when index was loaded */
};
struct code_event {
	enum code_event_kind kind;
	uint64_t at; /* in the file */
	uint64_t start, size, time_ns;
	uint64_t index, to; /* of a jitdump */
	const char *name;   /* len bytes, in the window */
	uint32_t len;
};

struct code_scan {
	int fd;
	void (*event)(void *ctx, const struct code_event *e);
	void *ctx;
	uint64_t at;      /* where the next line or record begins; events of before were told */
	bool in_rest;     /* of a line too long: skips to its end */
	bool is_broken;   /* a record from which no way leads to the next */
	uint64_t skipped; /* lines and records without use */
	uint64_t read_bytes;
	char window[CODE_WINDOW + 1];
};

/* Both scan from s->at to end, or stop before a line or record that goes beyond it. is_last: a line that ends with the file is one. 0, -EBADMSG for
 * what is no perf map (bytes of zero: a hole), or -errno. */
int code_scan_map(struct code_scan *s, uint64_t end, bool is_last, struct err *err);
/* At most max records. */
int code_scan_dump(struct code_scan *s, uint64_t end, uint64_t max, struct err *err);

/* The header of a jitdump: where its records begin; *has_times: times are of CLOCK_MONOTONIC. */
int code_dump_header(int fd, uint64_t *begin, bool *has_times, struct err *err);

/* At most len bytes at an offset, fewer only at the end of the file; or -errno. */
int64_t code_read_at(int fd, void *to, size_t len, uint64_t at);

#endif
