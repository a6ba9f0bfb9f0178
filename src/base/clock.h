/* base/clock.h: the clocks. Samples have CLOCK_MONOTONIC times; adding clock_wall_offset_ns() gives
 * Unix time. */
#ifndef CRESSET_BASE_CLOCK_H
#define CRESSET_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);
uint64_t clock_wall_ns(void);
/* Time since boot, including suspend. Nobody can set it. */
uint64_t clock_boot_ns(void);

/* Wall - monotonic, the best of several readings. */
int64_t clock_wall_offset_ns(void);

/* User + system time of this process, all threads. */
uint64_t clock_cpu_ns(void);
/* The same of this thread. */
uint64_t clock_thread_ns(void);

#endif
