/* format/perf_data/perf_data.h: perf.data, the output of `perf record` to a file or a pipe, in
 * either byte order (tools/perf/Documentation/perf.data-file-format.txt in the kernel's source,
 * perf_event_open(2)).
 *
 *     a file     magic "PERFILE2", size, size of an attribute, sections {offset, size}: attributes,
 *                data, …
 *     a pipe     magic "PERFILE2", 16, then records only
 *     a record   {u32 type, u16 misc, u16 size} …
 *
 * Each event becomes a type; the first that has samples is the default. cpu-clock and task-clock
 * are {cpu, samples/count, cpu/nanoseconds}: a sample counts 1 and its period is the series'. Other
 * events are {name, name/count} and a sample counts its period. Frames: perf_data_frames.h; they
 * have no names until collect/resolve/local.h symbolizes them. Order and mappings:
 * perf_data_reader.h, perf_data_space.h.
 *
 * Event names and build ids follow the data but are needed before it. Therefore a compressed file
 * or a pipe is retained in memory, up to PERF_DATA_MAX_PACKED. A truncated or killed recording is
 * read as far as it goes. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_H

#include "format/common/format.h"

struct err;
struct input;
struct sink;

extern const struct format format_perf_data;

/* limit: a file, compressed or piped */
#define PERF_DATA_MAX_PACKED (1ull << 30)

bool perf_data_detect(const char *head, size_t len);
int perf_data_read(struct input *in, struct sink *sink, struct err *err);
/* Same, on the machine of the recording: code generated at run time gets names. here may be
 * NULL. */
int perf_data_read_here(struct input *in, struct sink *sink, const struct format_here *here,
			struct err *err);

#endif
