/* format/cpuprofile.h: .cpuprofile files: CPU profiles of V8 as Node.js (--cpu-prof), Chrome and others write them. One JSON
 * object; what it holds and becomes is in format/v8.h. Times are on V8's clock, from startTime on. */
#ifndef CRESSET_FORMAT_CPUPROFILE_H
#define CRESSET_FORMAT_CPUPROFILE_H

#include "format/format.h"

extern const struct format format_cpuprofile;

bool cpuprofile_detect(const char *head, size_t len);
int cpuprofile_read(struct input *in, struct sink *sink, struct err *err);

#endif
