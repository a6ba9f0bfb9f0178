/* base/clock.h: the clocks. Samples carry CLOCK_MONOTONIC; clock_wall_offset_ns() added to it gives Unix time. */
#ifndef CRESSET_BASE_CLOCK_H
#define CRESSET_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);
uint64_t clock_wall_ns(void);
/* Since the machine was started, with the time it was suspended. Nobody can set it. */
uint64_t clock_boot_ns(void);

/* Wall - monotonic, the best of several readings. */
int64_t clock_wall_offset_ns(void);

/* User + system time of this process, all threads, so far. */
uint64_t clock_cpu_ns(void);
/* That of this thread. */
uint64_t clock_thread_ns(void);

#endif
