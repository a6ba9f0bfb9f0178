/* bench/server/day.h: a store with the last 24 hours of 800 series. */
#ifndef CRESSET_BENCH_SERVER_DAY_H
#define CRESSET_BENCH_SERVER_DAY_H

void day_fill(const char *dir);

#endif
