/* bench/server/batches.h: the reference batch as agents send it: 2000 distinct stacks of 30 frames with names and build ids, 2500 samples of
 * 10 s; encoded before anything is measured. */
#ifndef CRESSET_BENCH_SERVER_BATCHES_H
#define CRESSET_BENCH_SERVER_BATCHES_H

#include "base/buf.h"

#include <stdint.h>

enum { BATCH_SAMPLES = 2500, BATCH_STACKS = 2000, BATCH_DEPTH = 30 };

/* world: two with the same one have the same stacks, names and files. second: which samples it has of them. */
struct batch_opts {
	uint32_t host, world, second;
	int64_t time_ns; /* of its first sample */
};
/* Appends the message, plain. */
void batch_encode(const struct batch_opts *o, struct buf *out);

void bench_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
