/* cmd/name_time.h: the moment that a file's name tells, in UTC.
 *
 *     cpu-2026-11-21T10:15:00Z.pprof   2026-11-21_10-15-00.5.folded   20261121-101500   20261121T101500Z   20261121101500
 *     heap.1763717400.pb.gz            Unix time: 10 digits are seconds, 13 ms, 16 us, 19 ns
 *
 * A date with its time of day, else Unix time; the first one in the name. A date alone is no moment. */
#ifndef CRESSET_CMD_NAME_TIME_H
#define CRESSET_CMD_NAME_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Only what is behind the last / of path counts. */
bool name_time(const char *path, int64_t *out_ns);

#endif
