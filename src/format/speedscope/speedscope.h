/* format/speedscope/speedscope.h: the JSON of speedscope (https://www.speedscope.app), versions
 * 0.0.1 to 1.25.
 *
 *     {"$schema": "https://www.speedscope.app/file-format-schema.json",
 *      "shared": {"frames": [{"name": "main", "file": "a.c", "line": 3}, …]},
 *      "profiles": [
 *         {"type": "sampled", "name": "thread", "unit": "seconds", "startValue": 0, "endValue": 14,
 *          "samples": [[0, 1], [0]], "weights": [3, 11]},
 *         {"type": "evented", …, "events": [{"type": "O", "frame": 0, "at": 0}, …]}]}
 *
 * The format is described by https://www.speedscope.app/file-format-schema.json and by
 * src/lib/file-format-spec.ts of its source.
 *
 * Reading: keys may arrive in any order. Units of time become nanoseconds, "none" a count, "bytes"
 * stays. Profiles of the same kind of unit are one type; a profile's name becomes the label "comm".
 * Fractions of counts and bytes are retained by counting in millionths. Equal stacks of sampled
 * profiles are added up. Evented profiles in units of time give a sample for each interval of an
 * unchanged stack, with its start as time. Samples with missing frames, events that do not match
 * and arrays of unequal length are skipped and counted. If the text is truncated, the part before
 * is used.
 *
 * Writing: one type. If all samples are intervals that do not overlap within a thread, and no stack
 * is deeper than CHART_MAX_DEPTH, there is an "evented" profile per thread, with their exact times.
 * Else profiles are "sampled": if all samples have a thread and times are known, one per thread,
 * largest first, in chronological order; else one profile with each stack once. Times, and samples
 * with a known period, are in nanoseconds, memory in bytes, anything else in "none". A frame has
 * its lowest known line, or its binary as file. */
#ifndef CRESSET_FORMAT_SPEEDSCOPE_SPEEDSCOPE_H
#define CRESSET_FORMAT_SPEEDSCOPE_SPEEDSCOPE_H

#include "format/common/format.h"

struct err;
struct input;
struct out;
struct profile;
struct sink;

enum {
	/* limit: distinct prefixes of stacks; others are skipped */
	SPEEDSCOPE_MAX_CALLS = 1 << 24,
	/* limit: frames of a sampled stack; longer ones are skipped */
	SPEEDSCOPE_MAX_FRAMES = 1 << 20,
	/* limit: samples of a sampled profile; others are skipped */
	SPEEDSCOPE_MAX_SAMPLES = 1 << 27,
	SPEEDSCOPE_MAX_TIMED = 1 << 24, /* limit: intervals; others are summed */
	/* limit: open frames; deeper ones are [truncated: too deep] */
	SPEEDSCOPE_MAX_OPEN = 2048,
};

extern const struct format format_speedscope;

bool speedscope_detect(const char *head, size_t len);
int speedscope_read(struct input *in, struct sink *sink, struct err *err);
int speedscope_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err);

#endif
