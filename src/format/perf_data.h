/* format/perf_data.h: perf.data, the file that `perf record` writes, and what it writes to a pipe
 * (tools/perf/Documentation/perf.data-file-format.txt in the kernel's source, perf_event_open(2)), of
 * either byte order.
 *
 *     magic "PERFILE2", size, size of an attribute, sections {offset, size}: attributes, data, …    in a file
 *     magic "PERFILE2", 16, then records only                                                     in a pipe
 *     {u32 type, u16 misc, u16 size} …                                                            a record
 *
 * Each event becomes a type; the first that has samples is the default. cpu-clock and task-clock are
 * {cpu, samples/count, cpu/nanoseconds}: a sample counts 1 and its period is the series'. Other
 * events are {name, name/count} and a sample counts its period. Frames: perf_data_frames.h; they
 * have no names until collect/local_names.h gives them some. Order and mappings: perf_data_queue.h,
 * perf_data_space.h.
 *
 * What comes behind the data (names of events, build ids) is needed before it: a file that is packed
 * or comes through a pipe is kept in memory, up to PERF_DATA_MAX_PACKED. A recording that was cut off
 * or killed is read as far as it goes. */
#ifndef CRESSET_FORMAT_PERF_DATA_H
#define CRESSET_FORMAT_PERF_DATA_H

#include "format/format.h"

extern const struct format format_perf_data;

#define PERF_DATA_MAX_PACKED (1ull << 30)

bool perf_data_detect(const char *head, size_t len);
int perf_data_read(struct input *in, struct sink *sink, struct err *err);
/* The same on the machine it was recorded on: code made at run time gets its names. here may be
 * NULL. */
int perf_data_read_here(struct input *in, struct sink *sink, const struct format_here *here,
			struct err *err);

#endif
