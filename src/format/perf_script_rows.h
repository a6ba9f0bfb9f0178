/* format/perf_script_rows.h: the samples of a file that is being read, until their number decides
 * what becomes of their times.
 *
 * Up to PERF_SCRIPT_MAX_TIMED samples are kept one by one. When there are more, or when one has no
 * time, equal ones are added up: then memory goes with the distinct (series, stack, pid, tid, cpu),
 * above the limit without the cpu. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_ROWS_H
#define CRESSET_FORMAT_PERF_SCRIPT_ROWS_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/sink.h"

#include <stdbool.h>

enum { PERF_ROWS_BLOCK = 4096 };

struct perf_rows {                   /* zeroed = empty */
	VEC(struct sample *) blocks; /* of PERF_ROWS_BLOCK samples each */
	size_t n;
	bool is_summed, drop_cpus;
	struct map index; /* of summed rows */
	uint64_t times_dropped;
};

void perf_rows_done(struct perf_rows *r);
void perf_rows_add(struct perf_rows *r, const struct sample *sample, bool has_time);

/* Hands all samples to the sink and frees them on the way; tells it of the times that were
 * dropped, else of start and duration. */
void perf_rows_give(struct perf_rows *r, struct sink *sink);

#endif
