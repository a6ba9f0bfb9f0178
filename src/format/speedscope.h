/* format/speedscope.h: the JSON of speedscope (https://www.speedscope.app), versions 0.0.1 to
 * 1.25.
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
 * Read: keys in any order. Units of time become nanoseconds, "none" a count, "bytes" stays;
 * profiles of the same kind of unit are one type, a profile's name is the label "comm". Fractions
 * of counts and bytes are kept by counting in millionths. Equal stacks of sampled profiles are
 * added up. Evented profiles in units of time give a sample for each interval in which the stack
 * stayed the same, with its start as time. Samples with frames that are not there, events that do
 * not fit and arrays of unequal length are skipped and counted. Where the text is cut, what stands
 * before counts.
 *
 * Written: one type, as "sampled" profiles. Where all samples have a thread and times are known:
 * one profile per thread, the heaviest first, in the order of time; else one profile with each
 * stack once. Samples whose period is known are written as the time they stand for. */
#ifndef CRESSET_FORMAT_SPEEDSCOPE_H
#define CRESSET_FORMAT_SPEEDSCOPE_H

#include "format/format.h"

enum {
	SPEEDSCOPE_MAX_CALLS = 1 << 24, /* distinct prefixes of stacks; stacks beyond are skipped */
	SPEEDSCOPE_MAX_FRAMES = 1 << 20,  /* of a sampled stack; longer ones are skipped */
	SPEEDSCOPE_MAX_SAMPLES = 1 << 27, /* in one sampled profile; what follows is skipped */
	SPEEDSCOPE_MAX_TIMED = 1 << 24,   /* intervals that keep their time, in one file */
	SPEEDSCOPE_MAX_OPEN = 2048, /* events: frames open at once; what is deeper is one frame */
};

extern const struct format format_speedscope;

bool speedscope_detect(const char *head, size_t len);
int speedscope_read(struct input *in, struct sink *sink, struct err *err);
int speedscope_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err);

#endif
