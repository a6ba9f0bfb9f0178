/* gpu/ring/time_space.h: the clock of a program in a time namespace of its own
 * (time_namespaces(7)): its CLOCK_MONOTONIC is ahead of or behind the one that this process and BPF
 * programs read. */
#ifndef CRESSET_GPU_RING_TIME_SPACE_H
#define CRESSET_GPU_RING_TIME_SPACE_H

#include "gpu/ring/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Sets *ns to its clock minus ours. Returns -EXDEV if that is unknown: it has prepared another
 * namespace for its children, and the kernel only shows that one's offsets; or they may not be
 * read. */
int time_space_ahead(pid_t pid, int64_t *ns, struct err *err);

/* Reads the offset of CLOCK_MONOTONIC from the text of /proc/PID/timens_offsets. Returns false if
 * it is malformed; then *ns is unchanged. */
bool time_space_parse(const char *text, size_t len, int64_t *ns);

/* Returns a time moved by by_ns; 0 (never) and results out of range stay as they are. */
uint64_t ring_time(uint64_t ns, int64_t by_ns);
/* Moves all times of a record. */
void ring_shift(union ring_any *record, int64_t by_ns);

#endif
