/* base/fmt.h: human-readable numbers with three significant digits, appended to b. */
#ifndef CRESSET_BASE_FMT_H
#define CRESSET_BASE_FMT_H

#include <stdint.h>

struct buf;

/* 1,234,567 */
void fmt_count(struct buf *b, uint64_t n);

/* 999 B, 1.50 kB, 12.3 MB: powers of 1000. */
void fmt_bytes(struct buf *b, uint64_t bytes);

/* 250 ns, 12.3 ms, 1.50 s, 5 min 10 s, 2 h 5 min, 3 d 4 h. */
void fmt_duration(struct buf *b, uint64_t ns);

#endif
