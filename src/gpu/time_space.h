/* gpu/time_space.h: what a program calls now, where it is in a time namespace of its own (time_namespaces(7)): its
 * CLOCK_MONOTONIC is ahead of, or behind, the one that this process and BPF programs read. */
#ifndef CRESSET_GPU_TIME_SPACE_H
#define CRESSET_GPU_TIME_SPACE_H

#include "base/err.h"
#include "gpu/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Its clock less ours, ns. -EXDEV when that cannot be told: it has prepared another namespace for its children, and
 * the kernel only tells that one's offsets; or they may not be read. */
int time_space_ahead(pid_t pid, int64_t *ns, struct err *err);

/* The offset of CLOCK_MONOTONIC in the text of /proc/PID/timens_offsets. False: malformed, *ns is untouched. */
bool time_space_parse(const char *text, size_t len, int64_t *ns);

/* A time moved by so much; 0 (never) and what cannot be held stay as they are. */
uint64_t ring_time(uint64_t ns, int64_t by_ns);
/* All times of a record. */
void ring_shift(union ring_any *record, int64_t by_ns);

#endif
